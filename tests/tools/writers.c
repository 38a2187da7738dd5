/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * writers DIR SECONDS SEED: threads change their own files in DIR in many ways,
 * and check every byte.  Exit status 1: a byte was wrong.
 */
#include "config.h"
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREADS	6
#define BLOCK	4096
#define BLOCKS	256
#define BYTES	(BLOCK * BLOCKS)

struct writer {
	pthread_t thread;
	const char *dir;
	unsigned int number, names, seed;
	uint64_t ops;
	char last[32];	/* one letter for each of the latest operations */
	int fd;
	bool direct;
	size_t size;			/* size of the file */
	unsigned char *is;		/* expected content */
	unsigned char *io;		/* aligned for direct I/O */
};

static time_t end;
static atomic_bool failed;

static unsigned int draw(struct writer *w, unsigned int n)
{
	return rand_r(&w->seed) % n;
}

static const char *path(const struct writer *w, char buf[200])
{
	snprintf(buf, 200, "%s/w%u.%u", w->dir, w->number, w->names);
	return buf;
}

static void wrong(struct writer *w, const char *doing)
{
	warn("writer %u, after %llu operations, ...%s, size %zu: %s",
	     w->number, (unsigned long long)w->ops, w->last, w->size, doing);
	failed = true;
}

static void must(struct writer *w, bool ok, const char *doing)
{
	if (!ok && errno != ENOSPC)
		wrong(w, doing);
}

static void reopen(struct writer *w, int how)
{
	char name[200];

	if (w->fd >= 0)
		close(w->fd);
	/* while no descriptor is open, another program can take a lease */
	if (!draw(w, 4))
		usleep(draw(w, 60000));
	w->direct = draw(w, 3) == 0;
	w->fd = open(path(w, name), O_RDWR | how |
		     (w->direct ? O_DIRECT : 0), 0644);
	must(w, w->fd >= 0, "open");
}

static void compare(struct writer *w)
{
	size_t at = draw(w, 2) ? 0 : draw(w, BLOCKS) * BLOCK, i;
	ssize_t n = pread(w->fd, w->io, BYTES, at);

	if (n != (ssize_t)(w->size > at ? w->size - at : 0)) {
		wrong(w, "its size is another");
		return;
	}
	for (i = 0; i < (size_t)n && w->io[i] == w->is[at + i]; i++)
		;
	if (i < (size_t)n) {
		warnx("byte %zu is %u, not %u", at + i, w->io[i],
		      w->is[at + i]);
		wrong(w, "lost or stale");
	}
}

static void grow(struct writer *w, size_t to)
{
	if (w->size < to)
		w->size = to;
}

static void put(struct writer *w)
{
	size_t at = draw(w, BLOCKS - 4) * BLOCK;
	size_t len = (1 + draw(w, 4)) * BLOCK;

	if (!w->direct) {
		at += draw(w, BLOCK);
		len -= draw(w, BLOCK);
	}
	memset(w->io, 1 + draw(w, 255), len);
	if (pwrite(w->fd, w->io, len, at) != (ssize_t)len) {
		must(w, false, "write");
		return;
	}
	memcpy(w->is + at, w->io, len);
	grow(w, at + len);
}

static void map(struct writer *w)
{
	size_t at, len;
	char *v;

	if (!w->size)
		return;
	at = draw(w, w->size);
	len = 1 + draw(w, w->size - at < 9000 ? w->size - at : 9000);
	v = mmap(NULL, w->size, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd, 0);
	if (v == MAP_FAILED) {
		must(w, false, "mmap");
		return;
	}
	memset(w->is + at, 1 + draw(w, 255), len);
	memcpy(v + at, w->is + at, len);
	if (draw(w, 3))
		munmap(v, w->size);
	else if (usleep(draw(w, 3000)), memcmp(v, w->is, w->size))
		wrong(w, "a mapping has lost something");
	else
		munmap(v, w->size);
}

static void cut(struct writer *w)
{
	size_t to = draw(w, BYTES);

	must(w, !ftruncate(w->fd, to), "truncate");
	if (to < w->size)
		memset(w->is + to, 0, w->size - to);
	w->size = to;
}

static void punch(struct writer *w)
{
	size_t at = draw(w, BYTES / 2), len = 1 + draw(w, BYTES / 4), last;
	bool zero = draw(w, 2);

	if (fallocate(w->fd, FALLOC_FL_KEEP_SIZE | (zero ?
		      FALLOC_FL_ZERO_RANGE : FALLOC_FL_PUNCH_HOLE), at, len)) {
		must(w, false, "punch");
		return;
	}
	last = at + len < w->size ? at + len : w->size;
	if (at < last)
		memset(w->is + at, 0, last - at);
}

static void reserve(struct writer *w)
{
	must(w, !fallocate(w->fd, 0, 0, BYTES), "fallocate");
	if (errno != ENOSPC)
		w->size = BYTES;
}

static void shift(struct writer *w)
{
	size_t at, len = BLOCK * (1 + draw(w, 4)), move;
	bool insert = draw(w, 2);

	if (w->size < 16 * BLOCK || (insert && w->size + len > BYTES))
		return;
	at = draw(w, 8) * BLOCK;
	if (fallocate(w->fd, insert ? FALLOC_FL_INSERT_RANGE :
		      FALLOC_FL_COLLAPSE_RANGE, at, len)) {
		must(w, false, "insert or collapse");
		return;
	}
	if (insert) {
		memmove(w->is + at + len, w->is + at, w->size - at);
		memset(w->is + at, 0, len);
		w->size += len;
		return;
	}
	move = w->size - at - len;
	memmove(w->is + at, w->is + at + len, move);
	memset(w->is + at + move, 0, len);
	w->size -= len;
}

static void change_name(struct writer *w)
{
	char old[200], new[200];

	path(w, old);
	w->names++;
	must(w, !rename(old, path(w, new)), "rename");
}

static void begin_anew(struct writer *w)
{
	char name[200];

	must(w, !unlink(path(w, name)), "unlink");
	compare(w);
	w->names++;
	w->size = 0;
	memset(w->is, 0, BYTES);
	reopen(w, O_CREAT | O_TRUNC);
}

/* Makes a preallocated file that is written in several places. */
static void scatter(struct writer *w)
{
	int i;

	reserve(w);
	for (i = 0; i < 60 && !failed; i++)
		put(w);
	fdatasync(w->fd);
}

static void flush(struct writer *w)
{
	must(w, !fsync(w->fd), "fsync");
}

static void open_again(struct writer *w)
{
	reopen(w, 0);
}

/* An action, the letter of the action, and its frequency in percent. */
static const struct {
	void (*act)(struct writer *w);
	char letter;
	unsigned int share;
} steps[] = {
	{ put, 'w', 35 }, { map, 'm', 15 }, { compare, 'c', 15 },
	{ punch, 'p', 7 }, { cut, 't', 5 }, { shift, 's', 4 },
	{ change_name, 'n', 4 }, { begin_anew, 'u', 2 }, { scatter, 'f', 3 },
	{ flush, 'y', 3 }, { open_again, 'o', 7 },
};

static void step(struct writer *w)
{
	unsigned int what = draw(w, 100), i = 0;

	for (; what >= steps[i].share; i++)
		what -= steps[i].share;
	errno = 0;
	w->ops++;
	memmove(w->last, w->last + 1, sizeof(w->last) - 2);
	w->last[sizeof(w->last) - 2] = steps[i].letter;
	steps[i].act(w);
}

static void *work(void *arg)
{
	struct writer *w = arg;

	reopen(w, O_CREAT | O_TRUNC);
	while (!failed && time(NULL) < end)
		step(w);
	close(w->fd);
	w->fd = -1;
	reopen(w, 0);
	if (!failed)
		compare(w);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct writer all[THREADS];
	uint64_t ops = 0;
	int i;

	if (argc != 4)
		errx(2, "usage: writers DIR SECONDS SEED");
	end = time(NULL) + strtol(argv[2], NULL, 10);
	for (i = 0; i < THREADS; i++) {
		all[i] = (struct writer) {
			.dir = argv[1], .number = i, .fd = -1,
			.last = "...............................",
			.seed = strtoul(argv[3], NULL, 10) * 100 + i,
			.is = calloc(BYTES, 1),
			.io = aligned_alloc(BLOCK, BYTES),
		};
		if (!all[i].is || !all[i].io ||
		    pthread_create(&all[i].thread, NULL, work, &all[i]))
			errx(2, "cannot begin");
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(all[i].thread, NULL);
		ops += all[i].ops;
	}
	printf("%llu operations\n", (unsigned long long)ops);
	return failed;
}
