/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "donor.h"
#include "failure.h"
#include "e4layout/base/array.h"

#define SHARED_BYTES	(64u << 20)	/* of a donor for many files */
#define RESERVE_SHARE	20		/* one of so many blocks */

errcode_t e4l_donor_init(struct e4l_donor *d, int root_fd, uint32_t blocksize,
			 struct e4l_behind *behind)
{
	struct statvfs s;

	*d = (struct e4l_donor) {
		.root_fd = root_fd, .blocksize = blocksize, .behind = behind,
		.file.fd = -1,
	};
	if (fstatvfs(root_fd, &s))
		return errno;
	d->reserve_blocks = s.f_blocks / RESERVE_SHARE;
	return 0;
}

void e4l_donor_close(struct e4l_donor *d)
{
	if (d->behind)
		e4l_behind_finish(d->behind);
	e4l_file_close(&d->file);
	free(d->free);
	d->free = NULL;
	d->n_free = 0;
}

static uint64_t available(const struct e4l_donor *d)
{
	struct statvfs s;

	return fstatvfs(d->root_fd, &s) ? 0 : s.f_bavail;
}

bool e4l_donor_has_room(struct e4l_donor *d)
{
	if (available(d) < d->reserve_blocks / 2)
		e4l_donor_close(d);
	return d->file.fd >= 0;
}

/* What the allocator gave, as slices. */
static int note_slices(struct e4l_donor *d)
{
	struct e4l_file *f = &d->file;
	struct e4l_slice *last = NULL;
	blk64_t next = 0;
	size_t i;

	for (i = 0; i < f->n; i++) {
		const struct e4l_extent *x = &f->ex[i];

		if (last && x->pblk == next &&
		    last->lblk + last->len == x->lblk) {
			last->len += x->len;
		} else {
			if (e4l_grow(&d->free, d->n_free, sizeof(*d->free)))
				return ENOMEM;
			last = &d->free[d->n_free++];
			*last = (struct e4l_slice) {
				x->lblk, x->pblk, x->len,
			};
		}
		next = x->pblk + x->len;
	}
	return 0;
}

/* The first @len blocks of @s, which are not in it any more. */
static struct e4l_slice take(struct e4l_slice *s, uint64_t len)
{
	struct e4l_slice taken = { s->lblk, s->pblk, len };

	s->lblk += len;
	s->pblk += len;
	s->len -= len;
	return taken;
}

/* A new donor of @blocks, as the allocator gives them. */
static int fill(struct e4l_donor *d, uint64_t blocks)
{
	int err;

	e4l_donor_close(d);
	d->file = (struct e4l_file) {
		.blocksize = d->blocksize,
		.fd = openat(d->root_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC,
			     0600),
	};
	if (d->file.fd < 0)
		return errno;
	/* posix_fallocate() would write where the kernel does not do this */
	err = fallocate(d->file.fd, 0, 0, (off_t)blocks * d->blocksize) ?
	      errno : 0;
	if (!err)
		err = e4l_file_map(d->file.fd, false, &d->file);
	if (!err)
		err = note_slices(d);
	if (err)
		e4l_donor_close(d);
	return err;
}

/* Blocks to leave out of @s so that it begins as in a page as @lblk does. */
static uint64_t pad(const struct e4l_donor *d, const struct e4l_slice *s,
		    uint64_t lblk)
{
	uint64_t page = sysconf(_SC_PAGESIZE), in_page;

	in_page = page > d->blocksize ? page / d->blocksize : 1;
	return (lblk % in_page + in_page - s->lblk % in_page) % in_page;
}

/* The shortest slice that holds all of it. */
static bool take_one(struct e4l_donor *d, uint64_t lblk, uint64_t len,
		     struct e4l_slice *ret)
{
	struct e4l_slice *s, *best = NULL;

	for (s = d->free; s < d->free + d->n_free; s++)
		if (s->len >= len + pad(d, s, lblk) &&
		    (!best || s->len < best->len))
			best = s;
	if (!best)
		return false;
	take(best, pad(d, best, lblk));
	*ret = take(best, len);
	return true;
}

/* All of a donor that was made for it, in several slices. */
static size_t take_all(struct e4l_donor *d, uint64_t lblk, uint64_t len,
		       struct e4l_slice *ret, size_t most)
{
	struct e4l_slice *s;
	size_t n = 0;

	for (s = d->free; len && s < d->free + d->n_free && n < most; s++) {
		if (pad(d, s, lblk))
			return 0;
		ret[n] = take(s, s->len < len ? s->len : len);
		lblk += ret[n].len;
		len -= ret[n++].len;
	}
	return len ? 0 : n;
}

static int refill(struct e4l_donor *d, uint64_t len)
{
	uint64_t shared = SHARED_BYTES / d->blocksize, room;

	e4l_donor_close(d);
	room = available(d);
	if (room < d->reserve_blocks || room - d->reserve_blocks < len)
		return ENOSPC;
	room -= d->reserve_blocks;
	if (shared > room / 4)
		shared = room / 4;
	/* whole pages more, so that where it begins in one is no matter */
	return fill(d, (len > shared / 4 ? len : shared) + 64);
}

static const struct e4l_reason reasons[] = {
	{ ENOSPC, E4L_SKIP_RESERVE },
	{ EDQUOT, E4L_SKIP_QUOTA },
	{ EACCES, E4L_SKIP_DONOR_PERMISSION },
	{ EPERM, E4L_SKIP_DONOR_PERMISSION },
	{ 0, E4L_SKIP_DONOR },
};

enum e4l_skip e4l_donor_take(struct e4l_donor *d, uint64_t lblk, uint64_t len,
			   uint64_t fragments, struct e4l_slice **slices,
			   size_t *n)
{
	int err;

	*n = 0;
	*slices = e4l_array_zalloc(fragments, sizeof(**slices));
	if (!*slices)
		return e4l_failure_skip(ENOMEM);
	if (take_one(d, lblk, len, *slices)) {
		*n = 1;
		return E4L_SKIP_NONE;
	}
	err = refill(d, len);
	if (err)
		return e4l_reason_skip(err, reasons);
	*n = take_one(d, lblk, len, *slices) ? 1 :
	     take_all(d, lblk, len, *slices, fragments - 1);
	return *n ? E4L_SKIP_NONE : E4L_SKIP_NO_SPACE;
}
