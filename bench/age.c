/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * age DIR [SCALE]: ages the filesystem that is mounted at DIR, until about 81 %
 * of the filesystem is in use.  The filesystem must have 8 GiB at SCALE 100.
 * The program writes small files and deletes 40 % of them.  Then the program
 * appends to many files alternately, writes half of the blocks of preallocated
 * files, and fills free space with large files.  The sequence of operations
 * depends only on SCALE.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BLOCK 4096
#define MOSAIC_BLOCKS 8192

static char block[64 * BLOCK];
static uint64_t seed = 88172645463325252ULL;

static uint32_t rnd(uint32_t below)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 16) % below;
}

static void put(int fd, size_t bytes, off_t at, const char *path)
{
	if (pwrite(fd, block, bytes, at) != (ssize_t)bytes)
		err(1, "writing %s", path);
}

static int create(const char *path)
{
	int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0644);

	if (fd < 0)
		err(1, "creating %s", path);
	return fd;
}

static void sync_all(void)
{
	int fd = open(".", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syncfs(fd))
		err(1, "syncfs");
	close(fd);
}

/*
 * Preallocates a file, and writes every second block of the file.  If @random
 * is set, makes the same number of writes, each to a random block.
 */
static void mosaic(unsigned int n, int random)
{
	char path[64];
	unsigned int i;
	int fd;

	snprintf(path, sizeof(path), "mosaic/%c%u", random ? 'r' : 'a', n);
	fd = create(path);
	if (fallocate(fd, 0, 0, (off_t)MOSAIC_BLOCKS * BLOCK))
		err(1, "preallocating %s", path);
	for (i = 0; i < MOSAIC_BLOCKS / 2; i++) {
		off_t b = random ? rnd(MOSAIC_BLOCKS) : 2 * i;

		put(fd, BLOCK, b * BLOCK, path);
	}
	if (fsync(fd))
		err(1, "fsync of %s", path);
	close(fd);
}

static void small_files(unsigned int dirs, unsigned int per_dir)
{
	char path[64];
	unsigned int d, f;

	for (d = 0; d < dirs; d++) {
		snprintf(path, sizeof(path), "small/%u", d);
		mkdir(path, 0755);
	}
	for (f = 0; f < per_dir; f++) {
		for (d = 0; d < dirs; d++) {
			int fd;

			snprintf(path, sizeof(path), "small/%u/%u", d, f);
			fd = create(path);
			put(fd, 1 + rnd(3 * BLOCK), 0, path);
			close(fd);
		}
	}
	sync_all();
	for (d = 0; d < dirs; d++) {
		for (f = 0; f < per_dir; f++) {
			snprintf(path, sizeof(path), "small/%u/%u", d, f);
			if (rnd(100) < 40)
				unlink(path);
		}
	}
	sync_all();
}

/*
 * Creates @files files and appends to the files in @rounds rounds.  Each round
 * appends one or two blocks to every file, and flushes the files.
 */
static void grow(unsigned int files, unsigned int rounds)
{
	off_t *size = calloc(files, sizeof(*size));
	char path[64];
	unsigned int r, i;

	if (!size)
		err(1, "growing files");
	for (r = 0; r < rounds; r++) {
		for (i = 0; i < files; i++) {
			size_t bytes = BLOCK * (1 + rnd(2));
			int fd;

			snprintf(path, sizeof(path), "grow/%u/%u", i % 64, i);
			fd = create(path);
			put(fd, bytes, size[i], path);
			size[i] += bytes;
			close(fd);
		}
		sync_all();
	}
	free(size);
}

static int used_percent(void)
{
	struct statvfs st;

	if (statvfs(".", &st))
		err(1, "statvfs");
	return 100 - 100 * st.f_bfree / st.f_blocks;
}

static void fill(int percent)
{
	char path[64];
	unsigned int n = 0, i;

	while (used_percent() < percent) {
		int fd;

		snprintf(path, sizeof(path), "big/%u", n++);
		fd = create(path);
		for (i = 0; i < 256; i++)
			put(fd, sizeof(block), (off_t)i * sizeof(block), path);
		if (fsync(fd))
			err(1, "fsync of %s", path);
		close(fd);
	}
}

int main(int argc, char **argv)
{
	unsigned int scale = argc > 2 ? atoi(argv[2]) : 100, i;
	char path[64];

	if (argc < 2 || !scale || chdir(argv[1]))
		errx(2, "usage: age DIR [SCALE]");
	memset(block, 0x5A, sizeof(block));
	mkdir("mosaic", 0755);
	mkdir("small", 0755);
	mkdir("grow", 0755);
	mkdir("big", 0755);
	for (i = 0; i < 64; i++) {
		snprintf(path, sizeof(path), "grow/%u", i);
		mkdir(path, 0755);
	}
	small_files(20 * scale, 234);
	grow(196 * scale, 20);
	for (i = 0; i < 20 * scale / 100; i++)
		mosaic(i, 0);
	for (i = 0; i < 20 * scale / 100; i++)
		mosaic(i, 1);
	fill(81);
	return 0;
}
