/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Several processes write to a preallocated file at the same time.  Checks the
 * content of the file afterwards.
 *
 *  races FILE CELLS SEED HOW
 *	The file has CELLS cells of 32 blocks.  HOW has a letter for each
 *	process.  All processes write to the same cell, and then continue with
 *	the next cell.  A process with a lower-case letter waits for a random
 *	time before it writes.  The content of a block is the same in each
 *	write.
 *	  D  writes the last four blocks directly
 *	  B  writes the last four blocks through the page cache, and calls
 *	     fdatasync()
 *	  e  writes one of the last four blocks directly
 *	  m  writes one of the last four blocks through a mapping
 *	  n  writes the third block directly, and then the fifth last block
 *	  z  before the race, writes the fifth last block and the first eight
 *	     blocks of the next cell; in the race, zeroes the range of the
 *	     fifth last block, which joins its neighbouring unwritten extents,
 *	     and writes the sixth last block directly
 *	  f  before the race, punches a hole at the fifth last block and writes
 *	     the first eight blocks of the next cell; in the race, writes the
 *	     fifth last block through a mapping
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "rand.h"

#define BLOCK	4096
#define CELL	32	/* blocks in a cell */
/* processes D and B write this number of blocks at the end of each cell */
#define LAST	4
/* processes z and f write this number of blocks of the next cell */
#define NEXT	8

static char *buffer(unsigned int blocks)
{
	char *buf = aligned_alloc(BLOCK, blocks * BLOCK);

	if (!buf)
		err(1, "buffer");
	return buf;
}

/*
 * Ignores EIO of a sync: in every kernel, a direct write to a page that is
 * dirty through a mapping makes the next sync fail with EIO.  The content of
 * the disk is checked at the end.
 */
static void synced(int ret)
{
	if (ret && errno != EIO)
		err(1, "sync");
}

static void fill(char *buf, uint32_t block, uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		memset(buf + i * BLOCK, 1 + (block + i) % 255, BLOCK);
}

static void put(int fd, uint32_t block, uint32_t count)
{
	static char *buf;

	if (!buf)
		buf = buffer(LAST);
	fill(buf, block, count);
	if (pwrite(fd, buf, count * BLOCK, (off_t)block * BLOCK) !=
	    count * BLOCK)
		err(1, "writing block %u", block);
}

static void put_mapped(int fd, uint32_t block)
{
	char *map = mmap(NULL, BLOCK, PROT_WRITE, MAP_SHARED, fd,
			 (off_t)block * BLOCK);

	if (map == MAP_FAILED)
		err(1, "mmap");
	fill(map, block, 1);
	synced(msync(map, BLOCK, MS_SYNC));
	munmap(map, BLOCK);
}

/*
 * Before the race, prepares cell number @cell (CELL blocks of the file) for a
 * process with the letter @how.
 */
static void prepare_cell(const char *path, char how, uint32_t cell,
			 uint32_t cells)
{
	uint32_t next = (cell + 1) * CELL, i;
	int fd = open(path, O_RDWR);

	if (fd < 0)
		err(1, "%s", path);
	if (how == 'z')
		put_mapped(fd, next - LAST - 1);
	else if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			   (next - LAST - 1ULL) * BLOCK, BLOCK))
		err(1, "punching block %u", next - LAST - 1);
	for (i = 0; i < NEXT && cell + 1 < cells; i++)
		put(fd, next + i, 1);
	synced(fsync(fd));
	close(fd);
}

static void do_cell(int fd, char how, uint32_t cell)
{
	uint32_t first = cell * CELL, last = first + CELL - LAST;

	switch (how) {
	case 'D':
		put(fd, last, LAST);
		break;
	case 'B':
		put(fd, last, LAST);
		synced(fdatasync(fd));
		break;
	case 'e':
		put(fd, last + 1, 1);
		break;
	case 'm':
		put_mapped(fd, last + 2);
		break;
	case 'z':
		if (fallocate(fd, FALLOC_FL_ZERO_RANGE,
			      (last - 1ULL) * BLOCK, BLOCK))
			err(1, "zeroing block %u", last - 1);
		put(fd, last - 2, 1);
		break;
	case 'f':
		put_mapped(fd, last - 1);
		break;
	case 'n':
		put(fd, first + 2, 1);
		put(fd, last - 1, 1);
		break;
	default:
		errx(2, "what is %c?", how);
	}
}

static void work(const char *path, uint32_t cells, uint64_t seed, char how,
		 atomic_uint *arrived, uint32_t workers)
{
	int fd = open(path, O_RDWR | (strchr("Denz", how) ? O_DIRECT : 0));
	uint32_t cell;

	if (fd < 0)
		err(1, "%s", path);
	for (cell = 0; cell < cells; cell++) {
		if (strchr("zf", how))
			prepare_cell(path, how, cell, cells);
		atomic_fetch_add(arrived, 1);
		while (atomic_load(arrived) < (cell + 1) * workers)
			usleep(100);
		if (how > 'Z')
			usleep(below(&seed, 8000));
		do_cell(fd, how, cell);
	}
	exit(0);
}

/*
 * Returns whether a process writes @block.  @how has a letter for each process.
 */
static int written(const char *how, uint32_t block)
{
	uint32_t at = block % CELL;

	if ((at >= CELL - LAST && strpbrk(how, "DB")) ||
	    (at < NEXT && block >= CELL && strpbrk(how, "zf")))
		return 1;
	if (at == CELL - LAST - 2)
		return strchr(how, 'z') != NULL;
	if (at == CELL - LAST - 1 || at == 2)
		return strpbrk(how, at == 2 ? "n" : "nf") != NULL;
	return (at == CELL - LAST + 1 && strchr(how, 'e')) ||
	       (at == CELL - LAST + 2 && strchr(how, 'm'));
}

static void check(const char *path, uint32_t blocks, const char *how)
{
	char *buf = buffer(1), *want = buffer(1);
	int fd = open(path, O_RDONLY | O_DIRECT);
	uint32_t i, bad = 0;

	for (i = 0; i < blocks; i++) {
		if (pread(fd, buf, BLOCK, (off_t)i * BLOCK) != BLOCK)
			err(1, "reading block %u", i);
		memset(want, 0, BLOCK);
		if (written(how, i))
			fill(want, i, 1);
		bad += memcmp(buf, want, BLOCK) != 0;
	}
	if (bad)
		errx(1, "%s: %u blocks of %u are lost", path, bad, blocks);
}

int main(int argc, char **argv)
{
	uint32_t cells, workers, i;
	atomic_uint *arrived;
	int fd, status;

	if (argc != 5)
		errx(2, "usage: races FILE CELLS SEED HOW");
	cells = atoi(argv[2]);
	workers = strlen(argv[4]);
	arrived = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (arrived == MAP_FAILED || fd < 0 ||
	    fallocate(fd, 0, 0, (off_t)cells * CELL * BLOCK) || fsync(fd))
		err(1, "%s", argv[1]);
	for (i = 0; i < workers; i++)
		if (!fork())
			work(argv[1], cells, atoi(argv[3]) * 100 + i,
			     argv[4][i], arrived, workers);
	while (wait(&status) > 0)
		if (status)
			errx(1, "a process failed");
	fsync(fd);
	close(fd);
	check(argv[1], cells * CELL, argv[4]);
	return 0;
}
