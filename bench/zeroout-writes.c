/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes random writes of one 4 KiB block, to a file or to the model in memory:
 *
 *   write FILE BLOCKS WRITES to FILE, with a flush after each write
 *   simulate EXTENTS BLOCKS WRITES CHUNK
 *                                   prints the resulting number of extents
 *
 * EXTENTS is a file with lines of the form "inode logical physical length
 * state".  If EXTENTS is "-", the file has unwritten extents of maximum
 * length.  CHUNK is in blocks.
 */
#include "config.h"
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <e4layout/e4layout.h>
#include "../debugfs/zeroout.h"

#define BLOCKSIZE 4096
#define MAX_EXTENTS 4096

static uint32_t next_block(uint32_t blocks)
{
	return random() % blocks;
}

static void write_file(const char *path, uint32_t blocks, uint32_t writes)
{
	static char data[BLOCKSIZE];
	int fd = open(path, O_RDWR);
	off_t off;

	if (fd < 0)
		err(1, "%s", path);
	memset(data, 0x5a, sizeof(data));
	while (writes--) {
		off = (off_t)next_block(blocks) * BLOCKSIZE;
		if (pwrite(fd, data, BLOCKSIZE, off) != BLOCKSIZE)
			err(1, "pwrite");
		if (sync_file_range(fd, off, BLOCKSIZE,
				    SYNC_FILE_RANGE_WAIT_BEFORE |
				    SYNC_FILE_RANGE_WRITE |
				    SYNC_FILE_RANGE_WAIT_AFTER))
			err(1, "sync_file_range");
	}
	if (close(fd))
		err(1, "%s", path);
}

static size_t fallocated(uint32_t blocks, struct e4l_extent *ex)
{
	uint32_t at, len;
	size_t n = 0;

	for (at = 0; at < blocks && n < MAX_EXTENTS; at += len) {
		len = blocks - at < E4L_UNWRITTEN_MAX_BLOCKS ?
		      blocks - at : E4L_UNWRITTEN_MAX_BLOCKS;
		ex[n++] = (struct e4l_extent) {
			.lblk = at, .pblk = 100000 + at, .len = len,
			.unwritten = 1,
		};
	}
	return n;
}

static size_t load(const char *path, struct e4l_extent *ex)
{
	FILE *in = fopen(path, "r");
	unsigned long long pblk;
	unsigned int lblk, len;
	size_t n = 0;
	char state;

	if (!in)
		err(1, "%s", path);
	while (n < MAX_EXTENTS && fscanf(in, "%*u %u %llu %u %c", &lblk,
					 &pblk, &len, &state) == 4)
		ex[n++] = (struct e4l_extent) {
			.lblk = lblk, .pblk = pblk, .len = len,
			.unwritten = state == 'u',
		};
	fclose(in);
	return n;
}

static size_t simulate(const char *extents, uint32_t blocks, uint32_t writes,
		       uint32_t chunk_blocks)
{
	static struct e4l_extent ex[MAX_EXTENTS];
	struct e4l_zeroout_file *f;
	size_t n;

	n = strcmp(extents, "-") ? load(extents, ex) : fallocated(blocks, ex);
	if (e4l_zeroout_file_new(ex, n, BLOCKSIZE, blocks, &f))
		errx(1, "%s: bad extents", extents);
	while (writes--)
		if (e4l_zeroout_file_write(f, next_block(blocks), 1,
					   chunk_blocks, NULL, NULL))
			errx(1, "%s: a write failed", extents);
	n = e4l_zeroout_file_extents(f, NULL);
	e4l_zeroout_file_free(f);
	return n;
}

int main(int argc, char **argv)
{
	srandom(1);
	if (argc == 5 && !strcmp(argv[1], "write"))
		write_file(argv[2], atoi(argv[3]), atoi(argv[4]));
	else if (argc == 6 && !strcmp(argv[1], "simulate"))
		printf("%zu\n", simulate(argv[2], atoi(argv[3]),
					 atoi(argv[4]), atoi(argv[5])));
	else
		errx(2, "usage: zeroout-writes write|simulate ARGUMENT...");
	return 0;
}
