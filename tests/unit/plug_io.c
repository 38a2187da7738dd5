/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the write plug with an array, under random operations. */
#include "config.h"
#include <string.h>
#include <e4layout/e4layout.h>
#include "e4layout/base/plug_io.h"
#include "unit.h"

#define DEV_BYTES	(6u << 20)
/* the minimum limit, so that the plug is often full */
#define LIMIT_BYTES	(1u << 20)
#define STEPS		6000

/*
 * ---------------------------- the channel below: an array with write failures
 */

struct mem {
	unsigned char *bytes;
	unsigned int writes, flushes;
	int fail_in;		/* calls until a write fails; 0: no failure */
	bool fail_all;
	uint64_t last_end;	/* end of the last write, to check the order */
	bool out_of_order;
	bool closed;
};

static bool fails(struct mem *m)
{
	return m->fail_all || (m->fail_in && --m->fail_in == 0);
}

static size_t bytes_of(io_channel c, int count)
{
	return count < 0 ? -count : (size_t)count * c->block_size;
}

static errcode_t mem_read(io_channel c, unsigned long long block, int count,
			  void *buf)
{
	struct mem *m = c->private_data;
	uint64_t at = block * c->block_size;

	if (at + bytes_of(c, count) > DEV_BYTES)
		return EXT2_ET_SHORT_READ;
	memcpy(buf, m->bytes + at, bytes_of(c, count));
	return 0;
}

static errcode_t mem_write(io_channel c, unsigned long long block, int count,
			   const void *buf)
{
	struct mem *m = c->private_data;
	uint64_t at = block * c->block_size;

	m->writes++;
	if (fails(m))
		return EXT2_ET_SHORT_WRITE;
	ck_assert_uint_le(at + bytes_of(c, count), DEV_BYTES);
	if (at < m->last_end)
		m->out_of_order = true;
	m->last_end = at + bytes_of(c, count);
	memcpy(m->bytes + at, buf, bytes_of(c, count));
	return 0;
}

static errcode_t mem_zeroout(io_channel c, unsigned long long block,
			     unsigned long long count)
{
	struct mem *m = c->private_data;

	if (fails(m))
		return EXT2_ET_SHORT_WRITE;
	memset(m->bytes + block * c->block_size, 0, count * c->block_size);
	return 0;
}

/* Discarded bytes read as a recognizable value. */
static errcode_t mem_discard(io_channel c, unsigned long long block,
			     unsigned long long count)
{
	struct mem *m = c->private_data;

	if (fails(m))
		return EXT2_ET_SHORT_WRITE;
	memset(m->bytes + block * c->block_size, 0xdd, count * c->block_size);
	return 0;
}

static errcode_t mem_set_blksize(io_channel c, int blksize)
{
	c->block_size = blksize;
	return 0;
}

static errcode_t mem_flush(io_channel c)
{
	struct mem *m = c->private_data;

	m->flushes++;
	return 0;
}

static errcode_t mem_close(io_channel c)
{
	((struct mem *)c->private_data)->closed = true;
	return 0;
}

static struct struct_io_manager mem_manager = {
	.magic = EXT2_ET_MAGIC_IO_MANAGER,
	.name = "array",
	.close = mem_close,
	.set_blksize = mem_set_blksize,
	.flush = mem_flush,
	.read_blk64 = mem_read,
	.write_blk64 = mem_write,
	.zeroout = mem_zeroout,
	.discard = mem_discard,
};

/* ------------------------------------------------------------- the fixture */

struct rig {
	struct mem mem;
	struct struct_io_channel under;
	io_channel plug;
	unsigned char *model;	/* expected content */
	unsigned char *buf;
};

static void set_up(struct rig *r)
{
	memset(r, 0, sizeof(*r));
	r->mem.bytes = calloc(1, DEV_BYTES);
	r->model = calloc(1, DEV_BYTES);
	r->buf = malloc(DEV_BYTES);
	r->under = (struct struct_io_channel) {
		.magic = EXT2_ET_MAGIC_IO_CHANNEL,
		.manager = &mem_manager,
		.block_size = 1024,
		.private_data = &r->mem,
	};
	ck_assert_int_eq(e4l_plug_io_wrap(&r->under, LIMIT_BYTES, &r->plug), 0);
}

static void tear_down(struct rig *r)
{
	free(r->mem.bytes);
	free(r->model);
	free(r->buf);
}

static void fill_random(unsigned char *buf, size_t n)
{
	uint32_t x = rand() | 1;

	for (; n; n--) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		*buf++ = x >> 8;
	}
}

static void check_all(struct rig *r)
{
	unsigned int bs = r->plug->block_size;

	ck_assert_int_eq(io_channel_read_blk64(r->plug, 0, DEV_BYTES / bs,
					       r->buf), 0);
	ck_assert(!memcmp(r->buf, r->model, DEV_BYTES));
}

/* Applies a write to the model if the plug reported no error. */
static void took(struct rig *r, errcode_t err, uint64_t at, size_t n)
{
	if (!err)
		memcpy(r->model + at, r->buf, n);
}

static void random_write(struct rig *r)
{
	unsigned int bs = r->plug->block_size;
	uint64_t block = rand() % (DEV_BYTES / bs);
	int count = 1 + rand() % (rand() % 20 ? 8 : 700);
	size_t n;

	if (count > DEV_BYTES / bs - block)
		count = DEV_BYTES / bs - block;
	if (rand() % 4 == 0)
		count = -(1 + rand() % (count * (int)bs));
	n = bytes_of(r->plug, count);
	fill_random(r->buf, n);
	took(r, io_channel_write_blk64(r->plug, block, count, r->buf),
	     block * bs, n);
}

static void random_write_byte(struct rig *r)
{
	size_t n = 1 + rand() % 5000;
	uint64_t at = rand() % (DEV_BYTES - n);

	fill_random(r->buf, n);
	took(r, io_channel_write_byte(r->plug, at, n, r->buf), at, n);
}

static void random_clear(struct rig *r, bool discard)
{
	unsigned int bs = r->plug->block_size;
	uint64_t block = rand() % (DEV_BYTES / bs), count;
	errcode_t err;

	count = 1 + rand() % 64;
	if (count > DEV_BYTES / bs - block)
		count = DEV_BYTES / bs - block;
	err = discard ? io_channel_discard(r->plug, block, count) :
			io_channel_zeroout(r->plug, block, count);
	if (!err)
		memset(r->model + block * bs, discard ? 0xdd : 0, count * bs);
}

static void random_read(struct rig *r)
{
	unsigned int bs = r->plug->block_size;
	uint64_t block = rand() % (DEV_BYTES / bs - 32);
	int count = rand() % 3 ? 1 + rand() % 32 : -(1 + rand() % 9000);
	size_t n = bytes_of(r->plug, count);

	ck_assert_int_eq(io_channel_read_blk64(r->plug, block, count, r->buf),
			 0);
	ck_assert(!memcmp(r->buf, r->model + block * bs, n));
}

static void random_step(struct rig *r)
{
	switch (rand() % 32) {
	case 0:
		io_channel_set_blksize(r->plug, 1024 << rand() % 3);
		break;
	case 1:
		random_clear(r, false);
		break;
	case 2:
		random_clear(r, true);
		break;
	case 3 ... 6:
		random_write_byte(r);
		break;
	case 7 ... 12:
		random_read(r);
		break;
	case 13:
		if (rand() % 8 == 0)
			io_channel_flush(r->plug);
		break;
	default:
		random_write(r);
	}
}

/* --------------------------------------------------------------- the tests */

START_TEST(equals_a_plain_array)
{
	struct rig r;
	int i;

	srand(1 + _i);
	set_up(&r);
	for (i = 0; i < STEPS; i++)
		random_step(&r);
	check_all(&r);
	ck_assert_int_eq(io_channel_flush(r.plug), 0);
	ck_assert(!memcmp(r.mem.bytes, r.model, DEV_BYTES));
	ck_assert_int_eq(io_channel_close(r.plug), 0);
	ck_assert(r.mem.closed);
	tear_down(&r);
}
END_TEST

/* After any failure, reads see every accepted write, and no other write. */
START_TEST(loses_nothing_when_writes_fail)
{
	struct rig r;
	int i;

	srand(100 + _i);
	set_up(&r);
	for (i = 0; i < STEPS; i++) {
		if (rand() % 16 == 0)
			r.mem.fail_in = 1 + rand() % 40;
		random_step(&r);
		if (i % 500 == 0)
			check_all(&r);
	}
	check_all(&r);
	r.mem.fail_in = 0;
	ck_assert_int_eq(io_channel_flush(r.plug), 0);
	ck_assert(!memcmp(r.mem.bytes, r.model, DEV_BYTES));
	ck_assert_int_eq(io_channel_close(r.plug), 0);
	tear_down(&r);
}
END_TEST

START_TEST(a_dead_device_is_reported_every_time)
{
	struct rig r;
	unsigned int flushes;

	set_up(&r);
	memset(r.buf, 7, 4096);
	ck_assert_int_eq(io_channel_write_blk64(r.plug, 9, 4, r.buf), 0);
	r.mem.fail_all = true;
	flushes = r.mem.flushes;
	ck_assert_int_eq(io_channel_flush(r.plug), EXT2_ET_SHORT_WRITE);
	ck_assert_int_eq(io_channel_flush(r.plug), EXT2_ET_SHORT_WRITE);
	ck_assert_int_eq(io_channel_discard(r.plug, 8, 2),
			 EXT2_ET_SHORT_WRITE);
	ck_assert_uint_eq(r.mem.flushes, flushes);
	memset(r.buf, 0, 4096);
	ck_assert_int_eq(io_channel_read_blk64(r.plug, 9, 4, r.buf), 0);
	ck_assert_int_eq(r.buf[0], 7);
	ck_assert_int_eq(r.buf[4095], 7);
	ck_assert_int_eq(io_channel_close(r.plug), EXT2_ET_SHORT_WRITE);
	ck_assert(r.mem.closed);
	tear_down(&r);
}
END_TEST

/*
 * The plug merges 900 blocks, each written twice in random order, into one
 * write.
 */
START_TEST(merges_in_order)
{
	struct e4l_plug_stats stats;
	struct rig r;
	int i;

	set_up(&r);
	for (i = 0; i < 1800; i++) {
		memset(r.buf, i, 1024);
		ck_assert_int_eq(io_channel_write_blk64(r.plug, 5 + i * 7 % 900,
							1, r.buf), 0);
	}
	memset(r.buf, 1, 2048);
	ck_assert_int_eq(io_channel_write_blk64(r.plug, 2000, 2, r.buf), 0);
	ck_assert_uint_eq(r.mem.writes, 0);
	ck_assert_int_eq(io_channel_flush(r.plug), 0);
	ck_assert_uint_eq(r.mem.writes, 2);
	ck_assert_uint_eq(r.mem.flushes, 1);
	ck_assert(!r.mem.out_of_order);
	e4l_plug_io_get_stats(r.plug, &stats);
	ck_assert_uint_eq(stats.asked, 1801);
	ck_assert_uint_eq(stats.asked_bytes, 1802 * 1024);
	ck_assert_uint_eq(stats.issued, 2);
	ck_assert_uint_eq(stats.issued_bytes, 902 * 1024);
	ck_assert_uint_eq(stats.unplugs, 1);
	io_channel_close(r.plug);
	tear_down(&r);
}
END_TEST

/* Held writes beyond the end of the device can be read through the plug. */
START_TEST(reads_beyond_the_end)
{
	struct rig r;
	unsigned int past = DEV_BYTES / 1024;

	set_up(&r);
	memset(r.buf, 3, 4096);
	ck_assert_int_eq(io_channel_write_blk64(r.plug, past - 2, 4, r.buf), 0);
	memset(r.buf, 0, 8192);
	ck_assert_int_eq(io_channel_read_blk64(r.plug, past - 4, 6, r.buf), 0);
	ck_assert_int_eq(r.buf[2047], 0);
	ck_assert_int_eq(r.buf[2048], 3);
	ck_assert_int_eq(r.buf[6143], 3);
	ck_assert_int_eq(io_channel_read_blk64(r.plug, past, 3, r.buf),
			 EXT2_ET_SHORT_READ);
	r.mem.fail_all = true;
	io_channel_close(r.plug);
	tear_down(&r);
}
END_TEST

START_TEST(refuses_bad_arguments)
{
	struct rig r;
	io_channel c;

	set_up(&r);
	ck_assert_int_eq(e4l_plug_io_wrap(&r.under, LIMIT_BYTES - 1, &c),
			 E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(io_channel_set_blksize(r.plug, 1000),
			 EXT2_ET_INVALID_ARGUMENT);
	io_channel_close(r.plug);
	tear_down(&r);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plug_io");
	TCase *tc = tcase_create("plug_io");

	tcase_add_loop_test(tc, equals_a_plain_array, 0, 8);
	tcase_add_loop_test(tc, loses_nothing_when_writes_fail, 0, 8);
	tcase_add_test(tc, a_dead_device_is_reported_every_time);
	tcase_add_test(tc, merges_in_order);
	tcase_add_test(tc, reads_beyond_the_end);
	tcase_add_test(tc, refuses_bad_arguments);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
