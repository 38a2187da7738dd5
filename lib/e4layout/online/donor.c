/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#include "donor.h"
#include "failure.h"
#include "e4layout/base/array.h"

/* percentage of the filesystem that stays free during a run */
#define SPARE_PERCENT	5
/* percentage of the filesystem that stays free for users other than root */
#define AVAIL_PERCENT	1
/*
 * if at most this number of blocks lies between two slices (ranges of the
 * donor's blocks), the blocks between them may count as free
 */
#define TREE_GAP	8
/*
 * Number of fallocate() calls that reserve the free space.  Other programs can
 * allocate space between two calls.
 */
#define CHUNKS	64
#define LEAST_CHUNK_BYTES	(16u << 20)
/* time in nanoseconds after which fstatvfs() is called again */
#define FRESH_NSEC	2000000

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
	d->spare_blocks = s.f_blocks * SPARE_PERCENT / 100;
	d->spare_avail_blocks = s.f_blocks * AVAIL_PERCENT / 100;
	return 0;
}

void e4l_donor_close(struct e4l_donor *d)
{
	if (d->behind)
		e4l_behind_finish(d->behind);
	e4l_file_close(&d->file);
	free(d->v);
	free(d->taken);
	free(d->given);
	d->v = d->taken = d->given = NULL;
	d->n = d->max = d->n_taken = d->max_taken = 0;
	d->n_given = d->max_given = 0;
}

/*
 * Returns the number of blocks that the donor (a file that reserves free space)
 * may reserve.  If less space is free than must stay free, the number is
 * negative.
 */
static int64_t room(const struct e4l_donor *d)
{
	struct statvfs s;
	int64_t all, avail;

	if (fstatvfs(d->root_fd, &s))
		return 0;
	all = (int64_t)(s.f_bfree - d->spare_blocks);
	avail = (int64_t)(s.f_bavail - d->spare_avail_blocks);
	return all < avail ? all : avail;
}

uint64_t e4l_donor_reach(const struct e4l_donor *d)
{
	int64_t blocks = room(d);

	return blocks > 0 ? (uint64_t)blocks : 0;
}

/* ---------------------------------------------------------------------- map */

static errcode_t append(struct e4l_slice **v, size_t *n, size_t *max,
			struct e4l_slice s)
{
	struct e4l_slice *last = *n ? &(*v)[*n - 1] : NULL;

	if (last && last->pblk + last->len == s.pblk &&
	    last->lblk + last->len == s.lblk) {
		last->len += s.len;
		return 0;
	}
	return s.len ? e4l_append(v, n, max, &s, 1, sizeof(s)) : 0;
}

static void sort(struct e4l_slice *v, size_t n)
{
	e4l_sort(v, n, sizeof(*v), e4l_u64_cmp);
}

static int map(struct e4l_donor *d)
{
	int err = e4l_file_map(d->file.fd, false, &d->file);
	size_t i;

	d->n = d->n_taken = d->n_given = 0;
	for (i = 0; i < d->file.n && !err; i++) {
		const struct e4l_extent *x = &d->file.ex[i];

		err = (int)append(&d->v, &d->n, &d->max, (struct e4l_slice) {
			x->pblk, x->lblk, x->len });
	}
	sort(d->v, d->n);
	return err;
}

/*
 * Returns the index of the extent of @f that contains logical block @lblk.  If
 * @lblk is in a hole, returns the index of the next extent.
 */
static size_t extent_at(const struct e4l_open_file *f, uint64_t lblk)
{
	size_t low = 0, high = f->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (f->ex[mid].lblk + (uint64_t)f->ex[mid].len <= lblk)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

errcode_t e4l_donor_note(struct e4l_donor *d, const struct e4l_open_file *f,
			 const struct e4l_exchange *x)
{
	const struct e4l_slice taken = { x->pblk, x->donor_lblk, x->len };
	uint64_t end = x->lblk + x->len, from, to;
	size_t i = extent_at(f, x->lblk);
	errcode_t err = append(&d->taken, &d->n_taken, &d->max_taken, taken);

	for (; i < f->n && f->ex[i].lblk < end && !err; i++) {
		from = f->ex[i].lblk;
		to = from + f->ex[i].len < end ? from + f->ex[i].len : end;
		if (from < x->lblk)
			from = x->lblk;
		err = append(&d->given, &d->n_given, &d->max_given,
			     (struct e4l_slice) {
			f->ex[i].pblk + (from - f->ex[i].lblk),
			x->donor_lblk + (from - x->lblk), to - from });
	}
	return err;
}

/*
 * Merges three lists of slices (ranges of blocks), which are sorted by physical
 * block, into a new map of the donor.  The new map has the slices of @v without
 * the slices of @taken, plus the slices of @given.
 */
struct merge {
	const struct e4l_slice *v, *end, *taken, *taken_end, *given, *given_end;
	/* the part of v[-1] that is not merged yet; empty if rest.len is 0 */
	struct e4l_slice rest;
};

static bool next_kept(struct merge *m)
{
	const struct e4l_slice *t;
	uint64_t skip;

	for (;;) {
		if (!m->rest.len) {
			if (m->v == m->end)
				return false;
			m->rest = *m->v++;
		}
		while (m->taken != m->taken_end &&
		       m->taken->pblk + m->taken->len <= m->rest.pblk)
			m->taken++;
		t = m->taken;
		if (t == m->taken_end || t->pblk > m->rest.pblk)
			return true;
		skip = t->pblk + t->len - m->rest.pblk;
		if (skip > m->rest.len)
			skip = m->rest.len;
		m->rest.pblk += skip;
		m->rest.lblk += skip;
		m->rest.len -= skip;
	}
}

/*
 * Removes the blocks before the next taken block from m->rest, and returns the
 * removed blocks as a slice (range of blocks).
 */
static struct e4l_slice take_kept(struct merge *m)
{
	struct e4l_slice s = m->rest;

	if (m->taken != m->taken_end && m->taken->pblk < s.pblk + s.len)
		s.len = m->taken->pblk - s.pblk;
	m->rest.pblk += s.len;
	m->rest.lblk += s.len;
	m->rest.len -= s.len;
	return s;
}

/*
 * Sorts the lists of changes, and starts merging the lists with the donor's
 * map.  If the transactions of the moves are on disk, @committed is true, and
 * the merge includes the blocks that files have left.
 */
static struct merge begin_merge(struct e4l_donor *d, bool committed)
{
	sort(d->taken, d->n_taken);
	if (committed)
		sort(d->given, d->n_given);
	return (struct merge) {
		.v = d->v, .end = d->v + d->n,
		.taken = d->taken, .taken_end = d->taken + d->n_taken,
		.given = d->given,
		.given_end = d->given + (committed ? d->n_given : 0),
	};
}

/*
 * Sets *@slice to the next slice (range of blocks) of the new map.  Returns
 * false after the last slice.
 */
static bool take_next(struct merge *m, struct e4l_slice *slice)
{
	bool kept = next_kept(m);

	if (m->given != m->given_end &&
	    (!kept || m->given->pblk < m->rest.pblk)) {
		*slice = *m->given++;
		return true;
	}
	if (kept)
		*slice = take_kept(m);
	return kept;
}

/*
 * Updates the donor's map: removes the blocks that files have taken.  If
 * @committed is true, the exchanges are durable, and the blocks that files have
 * left are added to the map.
 */
static errcode_t update(struct e4l_donor *d, bool committed)
{
	struct merge m = begin_merge(d, committed);
	struct e4l_slice *v = NULL, slice;
	size_t n = 0, max = 0;
	errcode_t err = 0;

	while (!err && take_next(&m, &slice))
		err = append(&v, &n, &max, slice);
	if (err) {
		free(v);
		return err;
	}
	free(d->v);
	d->v = v;
	d->n = n;
	d->max = max;
	d->n_taken = 0;
	if (committed)
		d->n_given = 0;
	return 0;
}

/*
 * Returns the length, in blocks, of the largest free extent that the donor's
 * slices (ranges of blocks) form if the @len blocks from block @pblk on are
 * used.  Short gaps between slices count as free, because the gaps can be tree
 * blocks of the donor.
 */
static uint64_t longest(const struct e4l_donor *d, uint64_t pblk, uint64_t len)
{
	uint64_t most = 0, start = 0, end = 0;
	size_t i;

	for (i = 0; i < d->n; i++) {
		const struct e4l_slice *s = &d->v[i];

		if (s->pblk > end + TREE_GAP)
			start = s->pblk;
		end = s->pblk + s->len;
		if (len && s->pblk <= pblk && pblk < end) {
			if (pblk - start > most)
				most = pblk - start;
			start = pblk + len;
		}
		if (end - start > most)
			most = end - start;
	}
	return most;
}

/* ------------------------------------------------------------------ reserve */

static int create(struct e4l_donor *d, const char *dir)
{
	d->file = (struct e4l_open_file) {
		.blocksize = d->blocksize,
		.fd = e4l_file_unnamed(d->root_fd, dir),
	};
	return d->file.fd < 0 ? errno : 0;
}

/*
 * Commits the running transaction of the kernel, because blocks that other
 * files have freed become usable only after a commit.  fchmod() changes the
 * inode, so that fsync() has to commit.
 */
static int commit(const struct e4l_donor *d)
{
	return fchmod(d->file.fd, 0600) || fsync(d->file.fd) ? errno : 0;
}

/*
 * Reserves @blocks blocks.  If only the blocks are free that the run must leave
 * free for other programs, stops early without an error.
 */
static int fill(struct e4l_donor *d, uint64_t blocks)
{
	uint64_t bytes = blocks * d->blocksize, at, len, most;
	uint64_t chunk = bytes / CHUNKS / d->blocksize * d->blocksize;
	int err = ftruncate(d->file.fd, (off_t)bytes) ? errno : 0;

	if (chunk < LEAST_CHUNK_BYTES)
		chunk = LEAST_CHUNK_BYTES;
	for (at = 0; at < bytes && !err; at += len) {
		most = e4l_donor_reach(d) * d->blocksize;
		len = bytes - at < chunk ? bytes - at : chunk;
		if (len > most)
			len = most;
		if (!len)
			break;
		/*
		 * posix_fallocate() would write zeroes if the filesystem does
		 * not support fallocate()
		 */
		if (fallocate(d->file.fd, 0, (off_t)at, (off_t)len))
			err = errno;
	}
	return err;
}

static const struct e4l_reason reasons[] = {
	{ ENOSPC, E4L_SKIP_RESERVE },
	{ EDQUOT, E4L_SKIP_QUOTA },
	{ EACCES, E4L_SKIP_DONOR_PERMISSION },
	{ EPERM, E4L_SKIP_DONOR_PERMISSION },
	{ EFBIG, E4L_SKIP_FILE_SIZE },
	{ 0, E4L_SKIP_DONOR },
};

enum e4l_skip e4l_donor_reserve(struct e4l_donor *d, const char *dir)
{
	int64_t blocks = room(d);
	int err, err2;

	if (blocks <= 0)
		return E4L_SKIP_RESERVE;
	/* a file of ext4 cannot have more blocks */
	if (blocks > UINT32_MAX - 1)
		blocks = UINT32_MAX - 1;
	err = create(d, dir);
	if (!err)
		err = commit(d);
	if (!err)
		err = fill(d, blocks);
	err2 = d->file.fd < 0 ? 0 : map(d);
	if (d->n && !err2 && (!err || err == ENOSPC || err == EDQUOT))
		return E4L_SKIP_NONE;
	e4l_donor_close(d);
	return e4l_reason_skip(err ? err : err2 ? err2 : ENOSPC, reasons);
}

int e4l_donor_commit(struct e4l_donor *d, bool remap)
{
	int err;

	e4l_behind_finish(d->behind);
	/* do not commit moves whose data the device could not write */
	if (d->behind->broken)
		return EIO;
	err = commit(d);
	if (err)
		return err;
	return remap || update(d, true) ? map(d) : 0;
}

/* --------------------------------------------------------------- find, take */

bool e4l_donor_at(const struct e4l_donor *d, uint64_t pblk, uint64_t len,
		  struct e4l_slice *slice)
{
	uint64_t after = pblk + 1, skip;
	size_t i = e4l_lower_bound(&after, d->v, d->n, sizeof(*d->v),
				   e4l_u64_cmp);

	if (!i || pblk - d->v[i - 1].pblk >= d->v[i - 1].len)
		return false;
	*slice = d->v[i - 1];
	skip = pblk - slice->pblk;
	slice->pblk += skip;
	slice->lblk += skip;
	slice->len -= skip;
	if (slice->len > len)
		slice->len = len;
	return true;
}

uint64_t e4l_donor_page_blocks(const struct e4l_donor *d)
{
	uint64_t page = sysconf(_SC_PAGESIZE);

	return page > d->blocksize ? page / d->blocksize : 1;
}

/*
 * Returns the number of blocks to skip at the start of slice @s (a range of the
 * donor's blocks).  The block after the skipped blocks has the same offset in a
 * page as block @lblk of a file.
 */
static uint64_t pad(const struct e4l_donor *d, const struct e4l_slice *s,
		    uint64_t lblk)
{
	uint64_t in_page = e4l_donor_page_blocks(d);

	return (lblk % in_page + in_page - s->lblk % in_page) % in_page;
}

bool e4l_donor_fits(const struct e4l_donor *d, uint64_t lblk, uint64_t pblk,
		    uint64_t len)
{
	struct e4l_slice s;

	for (; len; lblk += s.len, pblk += s.len, len -= s.len)
		if (!e4l_donor_at(d, pblk, len, &s) || pad(d, &s, lblk))
			return false;
	return true;
}

bool e4l_donor_find(struct e4l_donor *d, uint64_t lblk, uint64_t len,
		    uint64_t *pblk)
{
	struct e4l_slice *s, *best = NULL;
	uint64_t without;

	if (d->n_taken && update(d, false))
		return false;
	for (s = d->v; s < d->v + d->n; s++)
		if (s->len >= len + pad(d, s, lblk) &&
		    (!best || s->len < best->len))
			best = s;
	if (!best)
		return false;
	*pblk = best->pblk + pad(d, best, lblk);
	/* keep the largest free extent free for other programs */
	without = longest(d, *pblk, len);
	if (without < d->long_blocks && without < longest(d, 0, 0))
		return false;
	return true;
}

/* --------------------------------------------------------------- give back */

static int by_length(const void *a, const void *b)
{
	const struct e4l_slice *x = a, *y = b;

	return x->len != y->len ? (x->len < y->len) - (x->len > y->len) :
				  e4l_u64_cmp(a, b);
}

/*
 * Gives @blocks blocks back to other programs.  Punches holes into the ends of
 * the largest slices (ranges of the donor's blocks), because a plan leaves
 * these blocks free.
 */
static void punch(struct e4l_donor *d, uint64_t blocks)
{
	uint64_t bs = d->blocksize, len;
	struct e4l_slice *s;
	size_t i, n = 0;

	e4l_sort(d->v, d->n, sizeof(*d->v), by_length);
	for (s = d->v; s < d->v + d->n && blocks; s++) {
		len = s->len < blocks ? s->len : blocks;
		if (fallocate(d->file.fd,
			      FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			      (off_t)((s->lblk + s->len - len) * bs),
			      (off_t)(len * bs)))
			break;
		s->len -= len;
		blocks -= len;
	}
	for (i = 0; i < d->n; i++)
		if (d->v[i].len)
			d->v[n++] = d->v[i];
	d->n = n;
	sort(d->v, d->n);
}

int e4l_donor_keep(struct e4l_donor *d, uint64_t blocks)
{
	uint64_t kept = 0;
	size_t i;

	e4l_sort(d->v, d->n, sizeof(*d->v), by_length);
	for (i = d->n; i && kept < blocks; i--)
		kept += d->v[i - 1].len;
	d->n = i;
	if (kept > blocks)
		d->v[d->n++] = (struct e4l_slice) {
			.lblk = d->v[i].lblk + d->v[i].len - (kept - blocks),
			.len = kept - blocks,
		};
	punch(d, UINT64_MAX);
	return e4l_donor_commit(d, true);
}

/*
 * Gives @blocks blocks back to other programs, or as many blocks as all earlier
 * calls together, if this number is larger.  A program that needs space may
 * soon need more.
 *
 * Does not give back blocks that moved files have left, because these blocks
 * become usable only after a commit, which takes time.
 */
static void give_back(struct e4l_donor *d, uint64_t blocks)
{
	if (blocks < d->gave_blocks)
		blocks = d->gave_blocks;
	d->gave_blocks += blocks;
	if (!update(d, false))
		punch(d, blocks);
}

/*
 * Returns whether the result of the last fstatvfs() is recent enough.  If the
 * result is too old, records the current time, because the caller calls
 * fstatvfs() next.
 */
static bool is_fresh(struct e4l_donor *d)
{
	struct timespec t;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	if (now - d->asked_nsec < FRESH_NSEC)
		return true;
	d->asked_nsec = now;
	return false;
}

bool e4l_donor_has_room(struct e4l_donor *d)
{
	int64_t left;

	if (d->file.fd < 0)
		return false;
	if (is_fresh(d))
		return true;
	left = room(d);
	/*
	 * tolerate a small lack of space, because the donor's extent tree needs
	 * a varying number of blocks
	 */
	if (left + (int64_t)(d->spare_avail_blocks / 4) >= 0)
		return true;
	/*
	 * give blocks back without a commit, because other programs could run
	 * out of space during a commit
	 */
	give_back(d, (uint64_t)-left + d->spare_avail_blocks);
	if (d->n || d->n_given)
		return true;
	e4l_donor_close(d);
	return false;
}
