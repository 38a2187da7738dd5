/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes one preallocated file from several processes at once, and checks it.
 *
 *  races FILE BLOCKS SEED HOW
 *	HOW has a letter for each process: d writes directly, b with fsync, m
 *	through a mapping, z zeroes ranges of preallocated blocks.  Each has
 *	every n-th block to itself, and writes all of them once, in an order of
 *	its own; so the neighbours of a block are in flight all the time.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rand.h"

#define BLOCK 4096

static void *buffer(void)
{
	void *buf = aligned_alloc(BLOCK, BLOCK);

	if (!buf)
		err(1, "buffer");
	return buf;
}

static void put(int fd, char how, uint32_t block)
{
	static char *buf;
	off_t at = (off_t)block * BLOCK;
	char *map;

	if (!buf)
		buf = buffer();
	memset(buf, 1 + block % 255, BLOCK);
	switch (how) {
	case 'z':
		if (fallocate(fd, FALLOC_FL_ZERO_RANGE, at, BLOCK))
			err(1, "zeroing block %u", block);
		return;
	case 'm':
		map = mmap(NULL, BLOCK, PROT_WRITE, MAP_SHARED, fd, at);
		if (map == MAP_FAILED)
			err(1, "mmap");
		memcpy(map, buf, BLOCK);
		if (msync(map, BLOCK, MS_SYNC))
			err(1, "msync");
		munmap(map, BLOCK);
		return;
	default:
		if (pwrite(fd, buf, BLOCK, at) != BLOCK ||
		    (how == 'b' && fdatasync(fd)))
			err(1, "writing block %u", block);
	}
}

static void work(const char *path, uint32_t blocks, uint64_t seed, char how,
		 uint32_t first, uint32_t step)
{
	uint32_t n = (blocks - first + step - 1) / step, i, j, swap, *order;
	int fd = open(path, O_RDWR | (how == 'd' ? O_DIRECT : 0));

	order = calloc(n, sizeof(*order));
	if (fd < 0 || !order)
		err(1, "%s", path);
	for (i = 0; i < n; i++) {
		j = below(&seed, i + 1);
		order[i] = first + i * step;
		swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
	for (i = 0; i < n; i++)
		put(fd, how, order[i]);
	exit(0);
}

static void check(const char *path, uint32_t blocks, const char *how)
{
	char *buf = buffer(), *want = buffer();
	int fd = open(path, O_RDONLY | O_DIRECT);
	uint32_t i, bad = 0;

	for (i = 0; i < blocks; i++) {
		if (pread(fd, buf, BLOCK, (off_t)i * BLOCK) != BLOCK)
			err(1, "reading block %u", i);
		memset(want, how[i % strlen(how)] == 'z' ? 0 : 1 + i % 255,
		       BLOCK);
		bad += memcmp(buf, want, BLOCK) != 0;
	}
	if (bad)
		errx(1, "%s, %s: %u blocks of %u are lost", path, how, bad,
		     blocks);
}

int main(int argc, char **argv)
{
	uint32_t blocks, workers, i;
	int fd, status;

	if (argc != 5)
		errx(2, "usage: races FILE BLOCKS SEED HOW");
	blocks = atoi(argv[2]);
	workers = strlen(argv[4]);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || fallocate(fd, 0, 0, (off_t)blocks * BLOCK) || fsync(fd))
		err(1, "%s", argv[1]);
	for (i = 0; i < workers; i++)
		if (!fork())
			work(argv[1], blocks, atoi(argv[3]) * 100 + i,
			     argv[4][i], i, workers);
	while (wait(&status) > 0)
		if (status)
			errx(1, "a process failed");
	fsync(fd);
	close(fd);
	check(argv[1], blocks, argv[4]);
	return 0;
}
