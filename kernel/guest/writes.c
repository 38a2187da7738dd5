/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes to preallocated files, and checks their content.  A block has 4096
 * bytes, or $BLOCK_BYTES if it is set.  "direct" writes directly; "sync" and
 * "late" write through the page cache.
 *
 *  writes random [direct|sync|late] FILE BLOCKS COUNT SEED [PROGRESS]
 *	preallocates BLOCKS blocks and makes COUNT random writes of one block;
 *	syncs after each write or, with "late", only after the last write; adds
 *	a byte to the file PROGRESS after each write
 *  writes stride [direct|sync] FILE COUNT STRIDE_KB
 *	preallocates FILE and makes COUNT writes at a distance of STRIDE_KB
 *  writes once [direct|dsync] FILE BLOCK NR
 *	writes BLOCK directly, with the content of write number NR; "dsync" uses
 *	O_DSYNC
 *  writes part [late|fsync|osync] FILE OFFSET BYTES
 *	writes BYTES letters at OFFSET, through the page cache; "fsync" calls
 *	fsync(), and "osync" uses O_SYNC
 *  writes eof [direct|sync] FILE
 *	preallocates 64 blocks, and writes the fourth block of a file of ten
 *	blocks
 *  writes check FILE BLOCKS COUNT SEED
 *	fails unless FILE has the data of "writes random", and zeroes elsewhere
 *  writes survived FILE BLOCKS COUNT SEED
 *	fails unless each block that the first COUNT writes of "writes random"
 *	have written has the data of the last of these writes, or of a later
 *	write; other blocks can have zeroes or data of a later write
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "blocks.h"
#include "rand.h"

/*
 * Fills a block with the content of write number @nr, which is different for
 * each write.
 */
static void fill(char *buf, uint32_t block, uint32_t nr)
{
	fill_words(buf, block + 1, nr + 1);
}

static int open_new(const char *how, const char *path, off_t size)
{
	int flags = O_RDWR | O_CREAT | O_TRUNC, fd;

	if (!strcmp(how, "direct"))
		flags |= O_DIRECT;
	fd = open(path, flags, 0644);
	if (fd < 0 || (size && fallocate(fd, 0, 0, size)) || fsync(fd))
		err(1, "%s", path);
	return fd;
}

static void put(int fd, uint32_t block, uint32_t nr)
{
	static char *buf;

	if (!buf)
		buf = buffer();
	fill(buf, block, nr);
	if (pwrite(fd, buf, bytes, (off_t)block * bytes) != bytes)
		err(1, "block %u", block);
}

static void write_block(int fd, uint32_t block, uint32_t nr)
{
	put(fd, block, nr);
	if (fsync(fd))
		err(1, "block %u", block);
}

static void random_writes(char **argv)
{
	uint32_t blocks = atoi(argv[2]), count = atoi(argv[3]), i;
	uint64_t seed = atoi(argv[4]);
	int fd = open_new(argv[0], argv[1], (off_t)blocks * bytes), done = -1;

	if (argv[5])
		done = open(argv[5], O_WRONLY | O_CREAT | O_TRUNC, 0644);
	for (i = 0; i < count; i++) {
		if (strcmp(argv[0], "late"))
			write_block(fd, below(&seed, blocks), i);
		else
			put(fd, below(&seed, blocks), i);
		if (argv[5] && write(done, ".", 1) != 1)
			err(1, "%s", argv[5]);
	}
	if (fsync(fd))
		err(1, "%s", argv[1]);
	close(fd);
}

static void stride_writes(char **argv)
{
	uint32_t count = atoi(argv[2]), i;
	uint32_t stride = atoi(argv[3]) * 1024 / bytes;
	int fd = open_new(argv[0], argv[1], (off_t)count * stride * bytes);

	for (i = 0; i < count; i++)
		write_block(fd, i * stride, i);
	close(fd);
}

static void write_before_eof(char **argv)
{
	int fd = open_new(argv[0], argv[1], 0);

	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 64 * bytes) ||
	    ftruncate(fd, 10 * bytes) || fsync(fd))
		err(1, "%s", argv[1]);
	write_block(fd, 3, 0);
	close(fd);
}

static void write_once(char **argv)
{
	int dsync = strcmp(argv[0], "dsync") ? 0 : O_DSYNC;
	int fd = open(argv[1], O_WRONLY | O_DIRECT | dsync);

	if (fd < 0)
		err(1, "%s", argv[1]);
	put(fd, atoi(argv[2]), atoi(argv[3]));
	close(fd);
}

static void write_part(char **argv)
{
	int osync = strcmp(argv[0], "osync") ? 0 : O_SYNC;
	int fd = open(argv[1], O_WRONLY | O_CREAT | osync, 0644);
	size_t len = atoi(argv[3]);
	char *part = malloc(len);

	if (fd < 0 || !part)
		err(1, "%s", argv[1]);
	memset(part, 'x', len);
	if (pwrite(fd, part, len, atoi(argv[2])) != (ssize_t)len ||
	    (!strcmp(argv[0], "fsync") && fsync(fd)))
		err(1, "%s", argv[1]);
	free(part);
	close(fd);
}

/*
 * Returns whether @buf is the complete content that write number @nr, or a
 * later write, has written to @block.
 */
static int later_write(const char *buf, char *want, uint32_t block, uint32_t nr)
{
	uint32_t words[2];

	memcpy(words, buf, sizeof(words));
	fill(want, block, words[1] - 1);
	return words[1] > nr && !memcmp(buf, want, bytes);
}

static void check(char **argv, int crashed)
{
	uint32_t blocks = atoi(argv[1]), count = atoi(argv[2]), i, bad = 0;
	uint32_t *last = calloc(blocks, sizeof(*last));
	char *buf = buffer(), *want = buffer();
	uint64_t seed = atoi(argv[3]);
	int fd = open(argv[0], O_RDONLY);

	if (fd < 0 || !last)
		err(1, "%s", argv[0]);
	for (i = 0; i < count; i++)
		last[below(&seed, blocks)] = i + 1;
	for (i = 0; i < blocks; i++) {
		if (pread(fd, buf, bytes, (off_t)i * bytes) != bytes)
			err(1, "reading block %u", i);
		memset(want, 0, bytes);
		if (last[i])
			fill(want, i, last[i] - 1);
		bad += memcmp(buf, want, bytes) != 0 &&
		       (!crashed || !later_write(buf, want, i, last[i]));
	}
	if (bad)
		errx(1, "%s: %u blocks of %u are wrong", argv[0], bad, blocks);
}

int main(int argc, char **argv)
{
	if (getenv("BLOCK_BYTES"))
		bytes = atoi(getenv("BLOCK_BYTES"));
	if (bytes < 512 || bytes > 4096 || bytes % 512)
		errx(2, "blocks of %u bytes", bytes);
	if ((argc == 7 || argc == 8) && !strcmp(argv[1], "random"))
		random_writes(argv + 2);
	else if (argc == 6 && !strcmp(argv[1], "stride"))
		stride_writes(argv + 2);
	else if (argc == 6 && !strcmp(argv[1], "once"))
		write_once(argv + 2);
	else if (argc == 6 && !strcmp(argv[1], "part"))
		write_part(argv + 2);
	else if (argc == 6 && !strcmp(argv[1], "check"))
		check(argv + 2, 0);
	else if (argc == 6 && !strcmp(argv[1], "survived"))
		check(argv + 2, 1);
	else if (argc == 4 && !strcmp(argv[1], "eof"))
		write_before_eof(argv + 2);
	else
		errx(2, "usage: writes random|stride|once|part|eof|check|survived ARGUMENT...");
	return 0;
}
