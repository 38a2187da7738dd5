/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "behind.h"
#include "file.h"
#include "move_ext.h"

#define BEHIND_BYTES	(16u << 20)
#define NAP_NSEC	1000000
#define MAX_NAPS	20000

static int open_again(int fd)
{
	int flags = O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY, again;
	char name[40];

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	again = open(name, flags | O_NOATIME);
	return again < 0 && errno == EPERM ? open(name, flags) : again;
}

int e4l_behind_open(struct e4l_behind *b, int fd)
{
	int again;

	do
		again = open_again(fd);
	while (again < 0 && e4l_behind_close_for(b, errno));
	return again;
}

static off_t length_of(const struct e4l_moved *m)
{
	return m->pages.n * sysconf(_SC_PAGESIZE);
}

static int write_out(const struct e4l_moved *m)
{
	return e4l_file_write_out(m->pages.fd, m->pages.at, length_of(m));
}

/* What of it is left to be put back. */
struct back {
	const struct e4l_moved *m;
	int naps;
};

/* Somebody makes pages dirty: it goes between two of their writes. */
static int wait_for_writers(const struct move_extent *left, void *priv)
{
	const struct timespec t = { .tv_nsec = NAP_NSEC };
	struct back *back = priv;

	(void)left;
	if (back->naps++ == MAX_NAPS)
		return EBUSY;
	write_out(back->m);
	nanosleep(&t, NULL);
	return 0;
}

/* Whether nothing of these blocks can be lost: it is a hole, or is no more. */
static bool is_empty(const struct e4l_moved *m, uint64_t lblk, uint64_t len)
{
	off_t at = lblk * m->blocksize;
	off_t data = lseek(m->pages.fd, at, SEEK_DATA);

	return data < 0 ? errno == ENXIO :
			  (uint64_t)data >= (lblk + len) * m->blocksize;
}

/*
 * The kernel copies what is in memory, which nothing else has.  A page that has
 * been dropped is not put back: what would be read in its place is not known.
 */
static bool swap_back(struct back *back, size_t page, size_t end, bool held)
{
	const struct e4l_moved *m = back->m;
	uint64_t bs = m->blocksize, size = sysconf(_SC_PAGESIZE);
	uint64_t from = (m->pages.at + page * size) / bs;
	uint64_t to = (m->pages.at + end * size) / bs;
	struct move_extent x = { .donor_fd = m->donor_fd };

	if (from < m->lblk)
		from = m->lblk;
	if (to > m->lblk + m->len)
		to = m->lblk + m->len;
	x.orig_start = from;
	x.donor_start = m->donor_lblk + (from - m->lblk);
	x.len = to > from ? to - from : 0;
	return (held && !e4l_move_ext(m->pages.fd, &x, wait_for_writers,
				      back)) ||
	       !x.len || is_empty(m, x.orig_start, x.len);
}

static bool put_back(const struct e4l_moved *m)
{
	struct back back = { .m = m };
	unsigned char *page = calloc(m->pages.n, 1);
	bool held = page && e4l_resident_held(&m->pages, page), done = true;
	size_t n = m->pages.n, i, end;

	for (i = 0; i < n; i = end) {
		for (end = i + 1; end < n && page &&
		     (page[end] & 1) == (page[i] & 1); end++)
			;
		done &= swap_back(&back, i, end, held && page[i] & 1);
	}
	free(page);
	/* the old blocks still have what nobody has written since */
	write_out(m);
	return done;
}

static void finish(struct e4l_behind *b, struct e4l_moved *m)
{
	bool failed = write_out(m) && m->len, back = !failed || put_back(m);

	if (failed)
		b->failed(m->ino, back, b->priv);
	/* until it is dropped, what is lost can be read */
	if (back)
		e4l_resident_restore(&m->pages);
	else
		e4l_resident_free(&m->pages);
	close(m->pages.fd);
}

static void finish_first(struct e4l_behind *b)
{
	struct e4l_moved m = b->v[b->first];

	b->pages -= m.pages.n;
	b->first = (b->first + 1) % E4L_BEHIND;
	b->n--;
	finish(b, &m);
}

void e4l_behind_hold(struct e4l_behind *b, struct e4l_resident *pages)
{
	while (!e4l_resident_hold(pages) && b->n)
		finish_first(b);
}

void e4l_behind_add(struct e4l_behind *b, struct e4l_moved *m)
{
	size_t most = BEHIND_BYTES / sysconf(_SC_PAGESIZE);

	sync_file_range(m->pages.fd, m->pages.at, length_of(m),
			SYNC_FILE_RANGE_WRITE);
	if (b->n == E4L_BEHIND)
		finish_first(b);
	b->v[(b->first + b->n++) % E4L_BEHIND] = *m;
	b->pages += m->pages.n;
	while (b->pages > most)
		finish_first(b);
}

void e4l_behind_finish(struct e4l_behind *b)
{
	while (b->n)
		finish_first(b);
}

bool e4l_behind_close_for(struct e4l_behind *b, int error)
{
	if (!b->n || (error != EMFILE && error != ENFILE))
		return false;
	e4l_behind_finish(b);
	return true;
}
