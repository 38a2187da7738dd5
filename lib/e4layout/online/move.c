/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * move: exchanges blocks with EXT4_IOC_MOVE_EXT.  The kernel locks the pages of
 * the two files, and reads pages that are not in memory.  While the block maps
 * of the files are locked, the kernel swaps the blocks and marks the pages
 * dirty.  At any time, readers and writers see the unchanged content.
 *
 * If pages are dirty or in large folios, the kernel returns EBUSY.  The run
 * then writes the pages out, drops the pages from memory, and repeats the call.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "e4layout/base/fd.h"
#include "failure.h"
#include "move_ext.h"
#include "way.h"

#define MOVE_TRIES	3 /* repetitions after the kernel has returned EBUSY */
#define PIECE_BYTES	(4u << 20)

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

/* Blocks of a file that are moved together: at most PIECE_BYTES. */
struct piece {
	struct e4l_ways *w;
	struct e4l_open_file *f;
	struct e4l_resident *pages;
	uint64_t lblk, len;
	bool begun;
	int tries;
};

/*
 * Called if the kernel returns EBUSY; @left is the rest of the exchange.
 * Writes the pages of the piece (a range of a file) out, drops the pages from
 * memory, and reads the pages again.  If a block of the piece was already
 * exchanged, the pages have to stay in memory.  In this case, returns EBUSY, so
 * that the remaining blocks become another piece.
 */
static int unpin(const struct move_extent *left, void *priv)
{
	struct piece *p = priv;
	off_t bs = p->f->blocksize, at = p->lblk * bs;

	if (p->begun || left->orig_start != p->lblk || p->tries++ == MOVE_TRIES)
		return EBUSY;
	e4l_resident_let_go(p->pages);
	if (e4l_file_write_out(p->pages->fd, at, p->len * bs))
		return EIO;
	posix_fadvise(p->pages->fd, at, p->len * bs, POSIX_FADV_DONTNEED);
	if (e4l_resident_read(p->pages))
		return EIO;
	e4l_behind_hold(&p->w->behind, p->pages);
	return 0;
}

/*
 * Exchanges the file's blocks from block @lblk on with the donor's blocks @s,
 * and appends the exchange to m->v.  Returns 0 or an errno.
 */
static int exchange(struct piece *p, uint64_t lblk, const struct e4l_slice *s,
		    struct e4l_moved *m)
{
	struct move_extent x = {
		.donor_fd = p->w->donor.file.fd, .orig_start = lblk,
		.donor_start = s->lblk, .len = s->len,
	};
	int err = (int)e4l_grow(&m->v, m->n, sizeof(*m->v));
	uint64_t moved;

	if (!err)
		err = e4l_move_ext(p->f->fd, &x, unpin, p);
	moved = x.orig_start - lblk;
	p->begun |= moved;
	p->w->result->done.copied_blocks += moved;
	if (!moved)
		return err;
	m->v[m->n++] = (struct e4l_exchange) {
		.lblk = lblk, .donor_lblk = s->lblk, .pblk = s->pblk,
		.len = moved,
	};
	/*
	 * after ENOMEM, the donor does not know the old blocks of the file, so
	 * that the run does not use these blocks
	 */
	if (e4l_donor_note(&p->w->donor, p->f, &m->v[m->n - 1]) && !err)
		err = ENOMEM;
	return err;
}

/*
 * Exchanges the blocks of a piece (a range of a file) with blocks of the donor,
 * and sets *@done to the number of exchanged blocks.  If the kernel returns
 * EBUSY for a later block of the piece, exchanges only the blocks before this
 * block.  Returns 0 or an errno.
 */
static int exchange_held(struct piece *p, uint64_t pblk, struct e4l_moved *m,
			 uint64_t *done)
{
	struct e4l_slice s;
	int err = 0;

	e4l_behind_hold(&p->w->behind, p->pages);
	if (p->w->broken)
		return 0;
	for (*done = 0; *done < p->len && !err; *done += s.len) {
		if (!e4l_donor_at(&p->w->donor, pblk + *done, p->len - *done,
				  &s))
			return ENOSPC;
		err = exchange(p, p->lblk + *done, &s, m);
		if (err && m->n && m->v[m->n - 1].lblk == p->lblk + *done)
			*done += m->v[m->n - 1].len;
		if (err)
			break;
	}
	return err == EBUSY && *done ? 0 : err;
}

/*
 * Moves @len blocks of the file, from block @lblk on, to physical block @pblk.
 * The donor keeps the old blocks until the data of the piece is on disk.  Sets
 * *@done to the number of moved blocks.  Returns 0 or an errno.
 */
static int move_piece(struct e4l_ways *w, struct e4l_open_file *f, uint64_t lblk,
		      uint64_t len, uint64_t pblk, uint64_t *done)
{
	struct e4l_moved m = {
		.ino = f->st.st_ino, .donor_fd = w->donor.file.fd,
		.blocksize = f->blocksize,
	};
	struct piece p = {
		.w = w, .f = f, .pages = &m.pages, .lblk = lblk, .len = len,
	};
	off_t at = (off_t)lblk * f->blocksize;
	size_t bytes = len * f->blocksize;
	int fd = e4l_behind_open(&w->behind, f->fd, f->shared);
	int err = fd < 0 ? errno : 0;

	f->shared = true;
	*done = 0;
	/*
	 * if an earlier write to the file has failed, this call returns the
	 * error, so that later errors are errors of this piece
	 */
	if (!err && e4l_file_write_out(fd, at, bytes))
		err = EIO;
	if (err) {
		e4l_close_fd(fd);
		return err;
	}
	e4l_resident_note(fd, at, bytes, &m.pages);
	err = e4l_resident_read(&m.pages);
	if (!err)
		err = exchange_held(&p, pblk, &m, done);
	e4l_behind_add(&w->behind, &m);
	return err;
}

enum e4l_skip e4l_way_move(struct e4l_ways *w, struct e4l_open_file *f,
			   uint64_t lblk, uint64_t *len, uint64_t pblk)
{
	uint64_t most = PIECE_BYTES / f->blocksize, done;
	int err = 0;

	for (; *len && !err; lblk += done, pblk += done) {
		if (!e4l_donor_has_room(&w->donor) ||
		    !e4l_donor_fits(&w->donor, lblk, pblk, 1))
			return E4L_SKIP_RESERVE;
		err = move_piece(w, f, lblk, *len < most ? *len : most, pblk,
				 &done);
		*len -= done;
		if (e4l_ways_stop(w, done) && !err)
			return E4L_SKIP_NONE;
	}
	return err ? e4l_reason_skip(err, reasons) : E4L_SKIP_NONE;
}
