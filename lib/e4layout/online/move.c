/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * move: EXT4_IOC_MOVE_EXT.  The kernel locks both files' pages one after the
 * other, reads what is not in memory, swaps the blocks under its own lock and
 * marks the pages dirty, so that writers of all kinds see one content all the
 * time.  It says EBUSY while pages are dirty, or were read in one large piece:
 * these are written out and dropped then, and it is asked again.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "e4layout/base/internal.h"
#include "e4layout/plan/fragments.h"
#include "failure.h"
#include "move_ext.h"
#include "way.h"

#define MOVE_TRIES	3	/* while the kernel says EBUSY */
#define PIECE_BYTES	(4u << 20)
#define LARGE_BYTES	(32u << 20)	/* such a fragment stays */

static const struct e4l_reason reasons[] = {
	{ EBUSY, E4L_SKIP_PAGES },
	{ EOPNOTSUPP, E4L_SKIP_UNSUPPORTED },
	{ ETXTBSY, E4L_SKIP_EXECUTED },
	{ EPERM, E4L_SKIP_PERMISSION },
	{ EACCES, E4L_SKIP_PERMISSION },
	{ ENOSPC, E4L_SKIP_RESERVE },
	{ EDQUOT, E4L_SKIP_QUOTA },
	{ 0, E4L_SKIP_REFUSED },
};

/* What is going to be swapped, of which nothing is yet. */
struct piece {
	struct e4l_ways *w;
	struct e4l_file *f;
	struct e4l_resident *pages;
	uint64_t start;
	int tries;
};

/*
 * Once some of it was swapped, pages have to stay in memory: the rest is
 * another piece then.
 */
static int unpin(const struct move_extent *left, void *priv)
{
	struct piece *p = priv;
	off_t bs = p->f->blocksize, at = left->orig_start * bs;

	if (left->orig_start != p->start || p->tries++ == MOVE_TRIES)
		return EBUSY;
	e4l_resident_let_go(p->pages);
	if (e4l_file_write_out(p->f->fd, at, left->len * bs))
		return EIO;
	posix_fadvise(p->f->fd, at, left->len * bs, POSIX_FADV_DONTNEED);
	if (e4l_resident_read(p->pages))
		return EIO;
	e4l_behind_hold(&p->w->behind, p->pages);
	return 0;
}

/* Returns how many blocks were swapped; fewer without an error: ask again. */
static uint64_t swap(struct e4l_ways *w, struct e4l_file *f,
		     struct e4l_resident *pages, struct move_extent m,
		     int *error)
{
	struct piece p = {
		.w = w, .f = f, .pages = pages, .start = m.orig_start,
	};
	uint64_t moved;

	*error = 0;
	e4l_behind_hold(&w->behind, pages);
	if (w->broken)
		return 0;
	*error = e4l_move_ext(f->fd, &m, unpin, &p);
	moved = m.orig_start - p.start;
	if (moved && *error == EBUSY)
		*error = 0;
	w->result->done.copied_blocks += moved;
	return moved;
}

/* The same; it stays in the donor until it is on the disk. */
static uint64_t swap_piece(struct e4l_ways *w, struct e4l_file *f,
			   struct move_extent x, uint64_t pblk, int *error)
{
	struct e4l_moved m = {
		.ino = f->st.st_ino, .donor_fd = x.donor_fd,
		.lblk = x.orig_start, .donor_lblk = x.donor_start,
		.pblk = pblk, .blocksize = f->blocksize,
	};
	off_t at = (off_t)x.orig_start * f->blocksize;
	size_t len = x.len * f->blocksize;
	int fd = e4l_behind_open(&w->behind, f->fd);

	*error = fd < 0 ? errno : 0;
	/* an error of before is not to be taken for one of this */
	if (!*error && e4l_file_write_out(fd, at, len))
		*error = EIO;
	if (*error) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	e4l_resident_note(fd, at, len, &m.pages);
	*error = e4l_resident_read(&m.pages);
	if (!*error)
		m.len = swap(w, f, &m.pages, x, error);
	e4l_behind_add(&w->behind, &m);
	return m.len;
}

static enum e4l_skip swap_slice(struct e4l_ways *w, struct e4l_file *f,
			      uint64_t lblk, struct e4l_slice s)
{
	uint64_t piece = PIECE_BYTES / f->blocksize, moved, len;
	int error = 0;

	for (; s.len && !error; s.len -= moved, s.lblk += moved,
				s.pblk += moved, lblk += moved) {
		len = s.len < piece ? s.len : piece;
		if (!e4l_donor_has_room(&w->donor))
			return E4L_SKIP_RESERVE;
		moved = swap_piece(w, f, (struct move_extent) {
			.donor_fd = w->donor.file.fd, .orig_start = lblk,
			.donor_start = s.lblk, .len = len,
		}, s.pblk, &error);
		if (e4l_ways_stop(w, moved) && !error)
			return E4L_SKIP_NONE;
	}
	return error ? e4l_reason_skip(error, reasons) : E4L_SKIP_NONE;
}

/* Short fragments that are contiguous in the file. */
struct group {
	uint64_t lblk, len, fragments;
};

/* Whether it is in @n pieces already: another run may be at work. */
static bool is_moved(const struct e4l_file *f, const struct group *g, size_t n)
{
	off_t bs = f->blocksize;

	return e4l_file_count(f->fd, g->lblk * bs, g->len * bs) <= n;
}

static enum e4l_skip move_group(struct e4l_ways *w, struct e4l_file *f,
			      const struct group *g)
{
	uint64_t left = w->limits->copy_blocks, lblk = g->lblk;
	struct e4l_slice *slices;
	enum e4l_skip why;
	size_t n, i;

	if (left != E4L_NO_LIMIT && left - w->result->done.copied_blocks < g->len)
		return E4L_SKIP_COPY_LIMIT;
	why = e4l_donor_take(&w->donor, g->lblk, g->len, g->fragments, &slices,
			     &n);
	if (!why && is_moved(f, g, n))
		n = 0;
	for (i = 0; i < n && !why && !e4l_ways_ended(w); i++) {
		why = swap_slice(w, f, lblk, slices[i]);
		lblk += slices[i].len;
	}
	free(slices);
	return why;
}

/* The group that begins with the fragment @v, in @n; how many it takes. */
static size_t next_group(const struct e4l_fragment *v, size_t n,
			 uint64_t large, uint64_t eof, struct group *g)
{
	size_t k = 0;

	*g = (struct group) { .lblk = v->lc };
	while (k < n && v[k].n < large && v[k].lc == g->lblk + g->len &&
	       v[k].lc + v[k].n <= eof) {
		g->len += v[k++].n;
		g->fragments++;
	}
	return k ? k : 1;
}

enum e4l_skip e4l_way_move(struct e4l_ways *w, struct e4l_file *f,
			 const struct e4l_rules *rules)
{
	struct e4l_fragments list;
	enum e4l_skip why = E4L_SKIP_LARGE_FRAGMENTS, failed;
	struct group g;
	bool tried = false;
	size_t i, k;

	if (!w->journal)
		return E4L_SKIP_NO_JOURNAL;
	if (w->fast_commits)
		return E4L_SKIP_FAST_COMMIT;
	if (e4l_fragments_of(f->ex, f->n, 1, &list))
		return e4l_failure_skip(ENOMEM);
	for (i = 0; i < list.n && !e4l_ways_ended(w); i += k) {
		k = next_group(list.v + i, list.n - i,
			       LARGE_BYTES / f->blocksize, rules->eof_blk, &g);
		if (g.fragments < 2)
			continue;
		failed = move_group(w, f, &g);
		if (failed || !tried)
			why = failed;
		tried = true;
	}
	free(list.v);
	return why;
}
