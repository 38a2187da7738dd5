/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * reads IMAGE LIST: reads the 4 KiB blocks of IMAGE that LIST names, and
 * ignores their content.  LIST has one block number per line, as `floor IMAGE
 * LIST` writes it.  The program reads in disk order, 32 requests in parallel,
 * without the page cache.  A request has at most 1 MiB, including gaps of up to
 * 8 KiB.  The program measures how fast the device can deliver the input of a
 * layout report.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCK	4096
#define GAP	2		/* maximum gap in a request, in blocks */
#define MAX	256
#define THREADS	32

struct run {
	uint64_t blk;
	unsigned int blocks;
};

static struct run *runs;
static size_t n_runs;
static atomic_size_t next;
static int fd;

static int cmp(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->blk < y->blk ? -1 : x->blk > y->blk;
}

static void load(const char *name)
{
	FILE *f = fopen(name, "r");
	unsigned long long blk;
	size_t max = 0;

	if (!f)
		err(1, "%s", name);
	while (fscanf(f, "%llu", &blk) == 1) {
		if (n_runs == max) {
			max = max ? 2 * max : 4096;
			runs = reallocarray(runs, max, sizeof(*runs));
			if (!runs)
				err(1, "memory");
		}
		runs[n_runs++] = (struct run) { .blk = blk, .blocks = 1 };
	}
	fclose(f);
}

/*
 * Sorts the blocks, and merges blocks into runs of at most MAX blocks.  The gap
 * between two blocks of a run is at most GAP blocks long.
 */
static void join(void)
{
	size_t i, n = 0;

	qsort(runs, n_runs, sizeof(*runs), cmp);
	for (i = 1; i < n_runs; i++) {
		struct run *last = &runs[n];

		if (runs[i].blk <= last->blk + last->blocks + GAP &&
		    runs[i].blk - last->blk < MAX)
			last->blocks = runs[i].blk - last->blk + 1;
		else
			runs[++n] = runs[i];
	}
	n_runs = n_runs ? n + 1 : 0;
}

static void *read_runs(void *arg)
{
	size_t i, bytes;
	void *buf;

	if (posix_memalign(&buf, BLOCK, MAX * BLOCK))
		err(1, "memory");
	while ((i = next++) < n_runs) {
		bytes = (size_t)runs[i].blocks * BLOCK;
		if (pread(fd, buf, bytes, runs[i].blk * BLOCK) !=
		    (ssize_t)bytes)
			err(1, "reading block %llu",
			    (unsigned long long)runs[i].blk);
	}
	free(buf);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int i;

	if (argc != 3)
		errx(1, "usage: reads IMAGE LIST");
	fd = open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (fd < 0)
		err(1, "%s", argv[1]);
	load(argv[2]);
	join();
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, read_runs, NULL))
			errx(1, "no thread");
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
