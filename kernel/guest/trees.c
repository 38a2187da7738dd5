/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes, uses and removes directory trees.
 *
 *  trees create DIR DIRS FILES [WRITE]
 *	makes DIRS directories, and then FILES files in each directory: one
 *	file in every directory, then the second file in every directory, and
 *	so on; writes WRITE bytes to each file (default: 0)
 *  trees remove DIR DIRS FILES
 *	removes the tree of "trees create", directory by directory
 *  trees stat DIR DIRS
 *	calls stat() for every file, in the order of readdir()
 *  trees locality DIR DIRS INODES_PER_BLOCK
 *	prints the average number of inode-table blocks that a directory and
 *	its files occupy, in hundredths
 *  trees script|grow|prune DIR SEED STEPS WORKER
 *	makes and removes random files and directories in STEPS steps: "script"
 *	makes and removes them, "grow" removes few files and almost no
 *	directories, and "prune" only removes; "grow" and "prune" print each
 *	step, with the inode number of a new file
 *  trees tops DIR SEED
 *	makes eight directories in DIR, and prints their inode numbers
 *  trees mail DIR SEED FILES STEPS
 *	makes FILES files of 500 to 10,000 bytes in 100 directories; each step
 *	removes or makes one file, and reads or appends to another file
 *  trees fill DIR
 *	creates empty files until no inode is free, and prints the number of
 *	files
 *
 * "create", "remove", "stat" and "mail" print the elapsed seconds and the CPU
 * time in milliseconds.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
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

typedef void (*entry_fn)(DIR *dir, const struct dirent *entry, void *priv);

/* Calls @fn for each entry of directory number @d below @top. */
static void each_entry(const char *top, unsigned int d, entry_fn fn, void *priv)
{
	const struct dirent *entry;
	char path[4096];
	DIR *dir;

	snprintf(path, sizeof(path), "%s/d%05u", top, d);
	dir = opendir(path);
	if (!dir)
		err(1, "%s", path);
	while ((entry = readdir(dir)))
		fn(dir, entry, priv);
	closedir(dir);
}

static void stat_entry(DIR *dir, const struct dirent *entry, void *priv)
{
	fstatat(dirfd(dir), entry->d_name, priv, AT_SYMLINK_NOFOLLOW);
}

static void stat_all(char **argv)
{
	unsigned int dirs = atoi(argv[1]), d;
	struct stat st;

	for (d = 0; d < dirs; d++)
		each_entry(argv[0], d, stat_entry, &st);
}

/* A set of blocks of the inode table. */
struct blocks {
	unsigned int inodes_per_block, n;
	unsigned long block[NAMES];
};

static void add_entry(DIR *dir, const struct dirent *entry, void *priv)
{
	struct blocks *b = priv;
	unsigned long block = (entry->d_ino - 1) / b->inodes_per_block;
	unsigned int i;

	(void)dir;
	if (!strcmp(entry->d_name, ".."))
		return;
	for (i = 0; i < b->n; i++)
		if (b->block[i] == block)
			return;
	if (b->n == NAMES)
		errx(1, "too many blocks");
	b->block[b->n++] = block;
}

static void locality(char **argv)
{
	struct blocks b = { .inodes_per_block = atoi(argv[2]) };
	unsigned int dirs = atoi(argv[1]), d;
	unsigned long sum = 0;

	for (d = 0; d < dirs; d++) {
		b.n = 0;
		each_entry(argv[0], d, add_entry, &b);
		sum += b.n;
	}
	printf("%lu\n", sum * 100 / dirs);
}

/*
 * Sets @name to the worker's directory, or to a random directory up to three
 * levels below the worker's directory.
 */
static void dir_name(uint64_t *seed, unsigned int worker, char *name, size_t n)
{
	unsigned int depth = below(seed, 4), at = 0;

	at = snprintf(name, n, "w%u", worker);
	while (depth--)
		at += snprintf(name + at, n - at, "/d%u", below(seed, 6));
}

/*
 * A step draws a random number from 0 to 19.  A number below @mkdir makes a
 * directory.  A number from @mkdir to @create - 1 creates a file.  A number
 * from @create to @unlink - 1 removes a file.  A larger number removes a
 * directory.  If @tell is true, each successful step is printed.
 */
static const struct mix {
	const char *name;
	bool tell;
	unsigned int mkdir, create, unlink;
} mixes[] = {
	{ "script", false, 3, 14, 19 },
	{ "grow", true, 4, 19, 20 },
	{ "prune", true, 0, 0, 16 },
};

static const struct mix *find_mix(const char *name)
{
	unsigned int i;

	for (i = 0; i < sizeof(mixes) / sizeof(mixes[0]); i++)
		if (!strcmp(name, mixes[i].name))
			return &mixes[i];
	return NULL;
}

/* If mix->tell is true, prints the result of a step. */
static void told(const struct mix *mix, const char *what, const char *path,
		 int failed)
{
	struct stat st = { 0 };

	if (!mix->tell || failed)
		return;
	lstat(path, &st);
	printf("%s %lu %s\n", what, (unsigned long)st.st_ino, path);
}

static int create_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	return fd < 0 ? -1 : close(fd);
}

static void script(char **argv, const struct mix *mix)
{
	unsigned int steps = atoi(argv[2]), worker = atoi(argv[3]), action;
	uint64_t seed = atoi(argv[1]) * 1000 + worker;
	char name[200], path[300];
	int failed;

	if (chdir(argv[0]))
		err(1, "%s", argv[0]);
	snprintf(name, sizeof(name), "w%u", worker);
	failed = mkdir(name, 0755);
	if (failed && errno != EEXIST)
		err(1, "%s", name);
	told(mix, "mkdir", name, failed);
	while (steps--) {
		action = below(&seed, 20);
		dir_name(&seed, worker, name, sizeof(name));
		snprintf(path, sizeof(path), "%s/f%u", name,
			 below(&seed, NAMES));
		if (action < mix->mkdir)
			told(mix, "mkdir", name, mkdir(name, 0755));
		else if (action < mix->create)
			told(mix, "create", path, create_file(path));
		else if (action < mix->unlink)
			told(mix, "unlink", path, unlink(path));
		else
			told(mix, "rmdir", name, rmdir(name));
	}
}

static void tops(char **argv)
{
	const struct mix *mix = find_mix("grow");
	unsigned int i;
	char name[40];

	if (chdir(argv[0]))
		err(1, "%s", argv[0]);
	for (i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "t%.20s-%u", argv[1], i);
		if (mkdir(name, 0755))
			err(1, "%s", name);
		told(mix, "mkdir", name, 0);
	}
}

static void mail_file(char *path, const char *dir, unsigned int i)
{
	sprintf(path, "%.3000s/s%02u/f%u", dir, i % 100, i);
}

/* Reads a file, or appends to it. */
static void mail_use(const char *path, uint64_t *seed)
{
	static char data[10000];
	bool append = below(seed, 2);
	ssize_t n = below(seed, 500) + 1;
	int fd = open(path, append ? O_WRONLY | O_APPEND : O_RDONLY);

	if (fd < 0 || (append ? write(fd, data, n) != n :
				read(fd, data, sizeof(data)) <= 0))
		err(1, "%s", path);
	close(fd);
}

static void mail(char **argv)
{
	unsigned int files = atoi(argv[2]), steps = atoi(argv[3]), i;
	bool *there = calloc(files, sizeof(*there));
	uint64_t seed = atoi(argv[1]);
	char path[4096];

	for (i = 0; i < 100; i++) {
		sprintf(path, "%.3000s/s%02u", argv[0], i);
		if (mkdir(path, 0755))
			err(1, "%s", path);
	}
	for (i = 0; i < files + steps; i++) {
		unsigned int nr = i < files ? i : below(&seed, files);

		mail_file(path, argv[0], nr);
		if (there[nr] && unlink(path))
			err(1, "%s", path);
		if (!there[nr])
			make_file(path, 500 + below(&seed, 9500));
		there[nr] = !there[nr];
		nr = below(&seed, files);
		mail_file(path, argv[0], nr);
		if (i >= files && there[nr])
			mail_use(path, &seed);
	}
	for (i = 0; i < files; i++) {
		mail_file(path, argv[0], i);
		if (there[i] && unlink(path))
			err(1, "%s", path);
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
	const struct mix *mix = argc == 6 ? find_mix(argv[1]) : NULL;
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
	} else if (argc == 6 && !strcmp(argv[1], "mail")) {
		mail(argv + 2);
	} else if (mix) {
		script(argv + 2, mix);
		return 0;
	} else if (argc == 4 && !strcmp(argv[1], "tops")) {
		tops(argv + 2);
		return 0;
	} else if (argc == 3 && !strcmp(argv[1], "fill")) {
		fill(argv + 2);
		return 0;
	} else {
		errx(2, "usage: trees create|remove|stat|locality|script|grow|"
		     "prune|tops|mail|fill ARGUMENT...");
	}
	getrusage(RUSAGE_SELF, &use);
	printf("%.3f %ld\n", seconds(&start),
	       use.ru_stime.tv_sec * 1000 + use.ru_stime.tv_usec / 1000);
	return 0;
}
