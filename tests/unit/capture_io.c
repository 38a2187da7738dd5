/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "e4layout/journal/capture_io.h"
#include "unit.h"

#define BLOCKS 16
#define BS 1024

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 16;
}

/*
 * Opens a file of BLOCKS blocks, and returns a filesystem struct that has only
 * the channel of the file.
 */
static struct struct_ext2_filsys open_device(char *path, uint8_t *content)
{
	struct struct_ext2_filsys fs = { .blocksize = BS };
	uint32_t state = 3;
	size_t i;
	int fd = mkstemp(path);

	for (i = 0; i < BLOCKS * BS; i++)
		content[i] = next_random(&state);
	ck_assert_int_eq(write(fd, content, BLOCKS * BS), BLOCKS * BS);
	close(fd);
	ck_assert_int_eq(unix_io_manager->open(path, IO_FLAG_RW, &fs.io), 0);
	ck_assert_int_eq(io_channel_set_blksize(fs.io, BS), 0);
	unlink(path);
	return fs;
}

/*
 * Chooses a random request, and returns the length of the request in bytes.
 * Sets *@count to the number of blocks or, if the request does not have whole
 * blocks, to the negative number of bytes.
 */
static size_t random_span(uint32_t *state, blk64_t *blk, int *count)
{
	*blk = next_random(state) % BLOCKS;
	*count = 1 + next_random(state) % (BLOCKS - *blk);
	if (next_random(state) % 2)
		return (size_t)*count * BS;
	*count = -(int)(1 + next_random(state) % (*count * BS));
	return -*count;
}

/*
 * Reads and writes of the channel agree with an array, and do not change the
 * device.
 */
START_TEST(follows_a_model)
{
	static uint8_t before[BLOCKS * BS], model[BLOCKS * BS];
	static uint8_t buf[BLOCKS * BS];
	char path[] = "/tmp/e4l-capture-XXXXXX";
	struct struct_ext2_filsys fs = open_device(path, before);
	io_channel device = fs.io;
	uint32_t state = 9;
	struct capture *c;
	size_t bytes, k;
	blk64_t blk;
	int count, i;

	memcpy(model, before, sizeof(model));
	ck_assert_int_eq(e4l_capture_start(&fs, &c), 0);
	for (i = 0; i < 2000; i++) {
		bytes = random_span(&state, &blk, &count);
		if (i % 2) {
			io_channel_read_blk64(fs.io, blk, count, buf);
			ck_assert_mem_eq(buf, model + blk * BS, bytes);
			continue;
		}
		for (k = 0; k < bytes; k++)
			buf[k] = next_random(&state);
		ck_assert_int_eq(io_channel_write_blk64(fs.io, blk, count, buf),
				 0);
		memcpy(model + blk * BS, buf, bytes);
	}
	e4l_capture_stop(c);
	ck_assert_ptr_eq(fs.io, device);
	ck_assert_int_eq(io_channel_read_blk64(fs.io, 0, BLOCKS, buf), 0);
	ck_assert_mem_eq(buf, before, sizeof(buf));
	for (k = 0; k < c->n; k++)
		memcpy(buf + c->blocks[k].blk * BS, c->blocks[k].data, BS);
	ck_assert_mem_eq(buf, model, sizeof(buf));
	e4l_capture_free(c);
	io_channel_close(fs.io);
}
END_TEST

START_TEST(keeps_only_what_differs)
{
	static uint8_t before[BLOCKS * BS], buf[BLOCKS * BS];
	char path[] = "/tmp/e4l-capture-XXXXXX";
	struct struct_ext2_filsys fs = open_device(path, before);
	io_channel device = fs.io;
	struct capture *c;

	memcpy(buf, before, sizeof(buf));
	buf[5 * BS + 7] ^= 1;
	ck_assert_int_eq(e4l_capture_start(&fs, &c), 0);
	ck_assert_int_eq(io_channel_write_blk64(fs.io, 0, BLOCKS, buf), 0);
	ck_assert_int_eq(io_channel_flush(fs.io), 0);
	ck_assert_uint_eq(c->n, 1);
	ck_assert_uint_eq(c->blocks[0].blk, 5);
	/*
	 * writes of the superblock are dropped; requests with another block
	 * size are refused
	 */
	ck_assert_int_eq(io_channel_write_byte(fs.io, 1024, 2, buf), 0);
	ck_assert_uint_eq(c->n, 1);
	ck_assert_int_ne(io_channel_set_blksize(fs.io, 2 * BS), 0);
	e4l_capture_free(c);
	ck_assert_ptr_eq(fs.io, device);
	io_channel_close(fs.io);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("capture_io");
	TCase *tc = tcase_create("capture_io");

	tcase_add_test(tc, follows_a_model);
	tcase_add_test(tc, keeps_only_what_differs);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
