/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes and removes trees.
 *
 *  trees create DIR DIRS FILES [WRITE]
 *	DIRS directories, and then FILES files in each, one in every directory
 *	before the next; of WRITE bytes if given
 *  trees remove DIR DIRS FILES
 *	removes them again, directory by directory
 *  trees stat DIR DIRS
 *	looks at every file, in the order of readdir
 *  trees locality DIR DIRS INODES_PER_BLOCK
 *	prints the blocks of the inode table that a directory and its files
 *	occupy, in hundredths, on average
 *  trees script DIR SEED STEPS WORKER
 *	creates, makes and removes what the random numbers say
 *  trees fill DIR
 *	creates empty files until none is left, and prints how many
 *
 * The first three print the seconds and the CPU's milliseconds that they took.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "rand.h"

#define NAMES 400

static void make_file(const char *path, unsigned int bytes)
{
	static char data[65536];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	if (fd < 0 || (bytes && write(fd, data, bytes) != (ssize_t)bytes))
		err(1, "%s", path);
	close(fd);
}

static void create(char **argv, unsigned int bytes)
{
	unsigned int dirs = atoi(argv[1]), files = atoi(argv[2]), d, f;
	char path[4096];

	for (d = 0; d < dirs; d++) {
		snprintf(path, sizeof(path), "%s/d%05u", argv[0], d);
		if (mkdir(path, 0755))
			err(1, "%s", path);
	}
	for (f = 0; f < files; f++) {
		for (d = 0; d < dirs; d++) {
			snprintf(path, sizeof(path), "%s/d%05u/f%02u", argv[0],
				 d, f);
			make_file(path, bytes);
		}
	}
}

static void remove_all(char **argv)
{
	unsigned int dirs = atoi(argv[1]), files = atoi(argv[2]), d, f;
	char path[4096];

	for (d = 0; d < dirs; d++) {
		for (f = 0; f < files; f++) {
			snprintf(path, sizeof(path), "%s/d%05u/f%02u", argv[0],
				 d, f);
			if (unlink(path))
				err(1, "%s", path);
		}
		snprintf(path, sizeof(path), "%s/d%05u", argv[0], d);
		if (rmdir(path))
			err(1, "%s", path);
	}
}

static void stat_all(char **argv)
{
	unsigned int dirs = atoi(argv[1]), d;
	const struct dirent *entry;
	char path[4096];
	struct stat st;
	DIR *dir;

	for (d = 0; d < dirs; d++) {
		snprintf(path, sizeof(path), "%s/d%05u", argv[0], d);
		dir = opendir(path);
		if (!dir)
			err(1, "%s", path);
		while ((entry = readdir(dir)))
			fstatat(dirfd(dir), entry->d_name, &st,
				AT_SYMLINK_NOFOLLOW);
		closedir(dir);
	}
}

static unsigned int add_block(unsigned long *blocks, unsigned int n,
			      unsigned long block)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (blocks[i] == block)
			return n;
	if (n == NAMES)
		errx(1, "too many blocks");
	blocks[n] = block;
	return n + 1;
}

static void locality(char **argv)
{
	unsigned int dirs = atoi(argv[1]), per_block = atoi(argv[2]), d, n;
	unsigned long blocks[NAMES], sum = 0;
	const struct dirent *entry;
	char path[4096];
	DIR *dir;

	for (d = 0; d < dirs; d++) {
		snprintf(path, sizeof(path), "%s/d%05u", argv[0], d);
		dir = opendir(path);
		if (!dir)
			err(1, "%s", path);
		n = 0;
		while ((entry = readdir(dir)))
			if (strcmp(entry->d_name, ".."))
				n = add_block(blocks, n,
					      (entry->d_ino - 1) / per_block);
		sum += n;
		closedir(dir);
	}
	printf("%lu\n", sum * 100 / dirs);
}

/* A directory at most three deep, by number; the root is ".". */
static void dir_name(uint64_t *seed, unsigned int worker, char *name, size_t n)
{
	unsigned int depth = below(seed, 4), at = 0;

	at = snprintf(name, n, "w%u", worker);
	while (depth--)
		at += snprintf(name + at, n - at, "/d%u", below(seed, 6));
}

static void script(char **argv)
{
	unsigned int steps = atoi(argv[2]), worker = atoi(argv[3]), action;
	uint64_t seed = atoi(argv[1]) * 1000 + worker;
	char name[200], path[300];

	if (chdir(argv[0]))
		err(1, "%s", argv[0]);
	snprintf(name, sizeof(name), "w%u", worker);
	if (mkdir(name, 0755) && errno != EEXIST)
		err(1, "%s", name);
	while (steps--) {
		action = below(&seed, 20);
		dir_name(&seed, worker, name, sizeof(name));
		snprintf(path, sizeof(path), "%s/f%u", name,
			 below(&seed, NAMES));
		if (action < 3)
			mkdir(name, 0755);
		else if (action < 14)
			close(open(path, O_WRONLY | O_CREAT, 0644));
		else if (action < 19)
			unlink(path);
		else
			rmdir(name);
	}
}

static void fill(char **argv)
{
	unsigned int n;
	char path[4096];
	int fd;

	for (n = 0; ; n++) {
		snprintf(path, sizeof(path), "%s/x%u", argv[0], n);
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
		if (fd < 0)
			break;
		close(fd);
	}
	if (errno != ENOSPC)
		err(1, "%s", path);
	printf("%u\n", n);
}

static double seconds(const struct timespec *from)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - from->tv_sec + (now.tv_nsec - from->tv_nsec) / 1e9;
}

int main(int argc, char **argv)
{
	struct timespec start;
	struct rusage use;

	clock_gettime(CLOCK_MONOTONIC, &start);
	if (argc >= 5 && !strcmp(argv[1], "create")) {
		create(argv + 2, argc > 5 ? atoi(argv[5]) : 0);
	} else if (argc == 5 && !strcmp(argv[1], "remove")) {
		remove_all(argv + 2);
	} else if (argc == 4 && !strcmp(argv[1], "stat")) {
		stat_all(argv + 2);
	} else if (argc == 5 && !strcmp(argv[1], "locality")) {
		locality(argv + 2);
		return 0;
	} else if (argc == 6 && !strcmp(argv[1], "script")) {
		script(argv + 2);
		return 0;
	} else if (argc == 3 && !strcmp(argv[1], "fill")) {
		fill(argv + 2);
		return 0;
	} else {
		errx(2, "usage: trees create|remove|stat|script|fill ...");
	}
	getrusage(RUSAGE_SELF, &use);
	printf("%.3f %ld\n", seconds(&start),
	       use.ru_stime.tv_sec * 1000 + use.ru_stime.tv_usec / 1000);
	return 0;
}
