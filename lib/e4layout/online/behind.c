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

int e4l_behind_open(struct e4l_behind *b, int fd, bool shared)
{
	int again;

	do
		again = shared ? open_again(fd) :
				 fcntl(fd, F_DUPFD_CLOEXEC, 0);
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

/* Used while the blocks of a moved part of a file are swapped back. */
struct back {
	const struct e4l_moved *m;
	const struct e4l_exchange *x; /* the exchange that is being reverted */
	int naps;
};

/*
 * Called if an exchange of blocks fails because other programs have made pages
 * of the file dirty.  Writes the dirty pages out, so that the next attempt can
 * succeed.  Returns 0 for another attempt, or EBUSY after MAX_NAPS attempts.
 */
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

/*
 * Sets *@part to the blocks of extent @x that the exchange @m has moved to new
 * physical blocks.  If @m has moved no block of @x, returns false.
 */
static bool moved_part(const struct e4l_exchange *m, const struct e4l_extent *x,
		       struct e4l_extent *part)
{
	uint64_t from = x->pblk, to = x->pblk + x->len;

	if (from < m->pblk)
		from = m->pblk;
	if (to > m->pblk + m->len)
		to = m->pblk + m->len;
	*part = *x;
	part->lblk += from - x->pblk;
	part->pblk = from;
	part->len = to > from ? to - from : 0;
	return part->len;
}

static bool is_held(const struct e4l_moved *m, const unsigned char *page,
		    uint64_t lblk)
{
	uint64_t bs = m->blocksize, size = sysconf(_SC_PAGESIZE);
	uint64_t at = lblk * bs - m->pages.at, i;

	for (i = at / size; i <= (at + bs - 1) / size; i++)
		if (!(page[i] & 1))
			return false;
	return true;
}

/*
 * Swaps the blocks of extent @x back to the old physical blocks.  The kernel
 * takes the content from the pages in memory, which are the only copy of the
 * data.  If a page was dropped from memory, skips the blocks of the page,
 * because their content on disk is unknown.
 */
static void swap_back(struct back *back, const unsigned char *page,
		      const struct e4l_extent *x)
{
	const struct e4l_moved *m = back->m;
	uint64_t lblk, next, end = x->lblk + x->len;

	for (lblk = x->lblk; lblk < end; lblk = next) {
		bool held = is_held(m, page, lblk);
		struct move_extent swap = {
			.donor_fd = m->donor_fd, .orig_start = lblk,
			.donor_start = back->x->donor_lblk +
				       (lblk - back->x->lblk),
		};

		for (next = lblk + 1; next < end &&
		     is_held(m, page, next) == held; next++)
			;
		swap.len = next - lblk;
		if (held)
			e4l_move_ext(m->pages.fd, &swap, wait_for_writers,
				     back);
	}
}

/*
 * Swaps the blocks of @m back if they are still at the logical and physical
 * blocks at which the exchange left them.  If other programs have shifted a
 * block in the file, skips the block, because its page is not in memory.
 */
static void swap_all_back(const struct e4l_moved *m, const struct e4l_open_file *f,
			  const unsigned char *page)
{
	struct back back = { .m = m };
	struct e4l_extent x;
	size_t i, k;

	for (k = 0; k < m->n; k++) {
		back.x = &m->v[k];
		for (i = 0; i < f->n; i++)
			if (moved_part(back.x, &f->ex[i], &x) &&
			    x.pblk - back.x->pblk == x.lblk - back.x->lblk)
				swap_back(&back, page, &x);
	}
}

/*
 * Returns whether the file has only holes or unwritten blocks in the range of
 * @x.
 */
static bool is_empty(const struct e4l_moved *m, const struct e4l_extent *x)
{
	off_t at = (off_t)x->lblk * m->blocksize;
	off_t data = lseek(m->pages.fd, at, SEEK_DATA);

	return data < 0 ? errno == ENXIO : data >= at +
	       (off_t)x->len * m->blocksize;
}

/*
 * Returns whether all data of the file has left the new physical blocks of @m.
 */
static bool is_back(const struct e4l_moved *m, const struct e4l_open_file *f)
{
	struct e4l_extent x;
	size_t i, k;

	for (k = 0; k < m->n; k++)
		for (i = 0; i < f->n; i++)
			if (moved_part(&m->v[k], &f->ex[i], &x) &&
			    !is_empty(m, &x))
				return false;
	return true;
}

static bool put_back(const struct e4l_moved *m)
{
	struct e4l_open_file f = { .fd = -1, .blocksize = m->blocksize };
	unsigned char *page = calloc(m->pages.n, 1);
	bool back;

	if (page && e4l_resident_held(&m->pages, page) &&
	    !e4l_file_map(m->pages.fd, false, &f))
		swap_all_back(m, &f, page);
	free(page);
	/*
	 * first write out the data that other programs have written after the
	 * exchange
	 */
	write_out(m);
	back = !e4l_file_map(m->pages.fd, false, &f) && is_back(m, &f);
	e4l_file_close(&f);
	return back;
}

static void finish(struct e4l_behind *b, struct e4l_moved *m)
{
	bool failed = write_out(m) && m->n, back = !failed || put_back(m);

	b->broken |= failed;
	if (failed)
		b->failed(m->ino, back, b->priv);
	/*
	 * e4l_resident_restore() drops pages from memory.  If not all data is
	 * back in the old blocks, keep the pages, so that programs can still
	 * read the data.
	 */
	if (back)
		e4l_resident_restore(&m->pages);
	else
		e4l_resident_free(&m->pages);
	close(m->pages.fd);
	free(m->v);
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
