/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file in memory to which the kernel's rule for converting unwritten extents
 * is applied.
 *
 * The file keeps its extents in leaves, which have as many entries as an
 * on-disk leaf.  The kernel merges entries, and moves blocks between entries,
 * only inside a leaf.  Higher levels of the tree have no influence.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "e4layout/base/internal.h"
#include "e4layout/format/format.h"
#include "e4layout/format/tree_size.h"
#include "zeroout.h"

struct leaf {
	uint32_t n;
	struct e4l_extent ex[];
};

struct e4l_zeroout_file {
	struct leaf **leaves;
	size_t n_leaves;
	uint32_t per_leaf;
	uint64_t eof_blk;
};

/* The position of an entry: ex[i] of leaves[leaf]. */
struct place {
	size_t leaf;
	uint32_t i;
};

static uint64_t end_of(const struct e4l_extent *ex)
{
	return (uint64_t)ex->lblk + ex->len;
}

void e4l_zeroout_rule(const struct e4l_extent *ex, uint32_t lblk, uint32_t len,
		      uint32_t max_blocks, uint64_t eof_blk,
		      struct e4l_zeroout *ret)
{
	uint32_t before = lblk - ex->lblk, rest = ex->len - before;

	*ret = (struct e4l_zeroout) { .lblk = lblk, .len = len };
	if (!max_blocks || rest == len || end_of(ex) > eof_blk)
		return;
	if (rest <= max_blocks) {
		ret->tail = rest - len;
		ret->len = rest;
	}
	if (before + ret->len < max_blocks) {
		ret->head = before;
		ret->lblk = ex->lblk;
		ret->len += before;
	}
}

static bool adjacent(const struct e4l_extent *a, const struct e4l_extent *b)
{
	return end_of(a) == b->lblk && a->pblk + a->len == b->pblk;
}

static bool can_merge(const struct e4l_extent *a, const struct e4l_extent *b)
{
	uint32_t max = a->unwritten ? E4L_UNWRITTEN_MAX_BLOCKS :
				      E4L_WRITTEN_MAX_BLOCKS;

	return a->unwritten == b->unwritten && adjacent(a, b) &&
	       a->len + b->len <= max;
}

static bool merge_right(struct leaf *leaf, uint32_t i)
{
	struct e4l_extent *ex = &leaf->ex[i];
	bool merged = false;

	while (i + 1 < leaf->n && can_merge(ex, ex + 1)) {
		ex->len += ex[1].len;
		leaf->n--;
		memmove(ex + 1, ex + 2, (leaf->n - i - 1) * sizeof(*ex));
		merged = true;
	}
	return merged;
}

static void merge(struct leaf *leaf, uint32_t i)
{
	if (!i || !merge_right(leaf, i - 1))
		merge_right(leaf, i);
}

/* Adds an empty leaf before leaf @at. */
static errcode_t add_leaf(struct e4l_zeroout_file *f, size_t at)
{
	struct leaf *leaf, **leaves;
	errcode_t err = e4l_grow(&f->leaves, f->n_leaves, sizeof(*f->leaves));

	if (err)
		return err;
	leaf = malloc(sizeof(*leaf) + f->per_leaf * sizeof(leaf->ex[0]));
	if (!leaf)
		return ENOMEM;
	leaf->n = 0;
	leaves = f->leaves + at;
	memmove(leaves + 1, leaves, (f->n_leaves - at) * sizeof(*leaves));
	*leaves = leaf;
	f->n_leaves++;
	return 0;
}

/*
 * Makes space for a new entry after the entry at @p, which does not move.  If
 * the leaf of @p has space, uses that leaf.  If @p is the last entry of a full
 * leaf and the next leaf has space, uses the start of the next leaf.
 * Otherwise, adds a leaf and moves all entries after @p to that leaf; the new
 * entry comes after @p or, if the leaf of @p is still full, at the start of the
 * new leaf.
 */
static errcode_t make_room(struct e4l_zeroout_file *f, struct place p,
			   struct place *ret)
{
	struct leaf *leaf = f->leaves[p.leaf], *next;
	uint32_t after = p.i + 1;
	errcode_t err;

	*ret = (struct place) { p.leaf, after };
	if (leaf->n == f->per_leaf) {
		next = p.leaf + 1 < f->n_leaves ? f->leaves[p.leaf + 1] : NULL;
		if (after < leaf->n || !next || next->n == f->per_leaf) {
			err = add_leaf(f, p.leaf + 1);
			if (err)
				return err;
			next = f->leaves[p.leaf + 1];
			next->n = leaf->n - after;
			memcpy(next->ex, &leaf->ex[after],
			       next->n * sizeof(leaf->ex[0]));
			leaf->n = after;
		}
		if (after == f->per_leaf)
			*ret = (struct place) { p.leaf + 1, 0 };
	}
	leaf = f->leaves[ret->leaf];
	memmove(&leaf->ex[ret->i + 1], &leaf->ex[ret->i],
		(leaf->n - ret->i) * sizeof(leaf->ex[0]));
	leaf->n++;
	return 0;
}

/*
 * Splits the unwritten entry at @p after @keep blocks, and sets the state of
 * the second part to @unwritten.  @keep must not exceed the length of the
 * entry; if @keep is 0, sets the state of the whole entry.  If @join is true,
 * merges the second part with its neighbours.
 */
static errcode_t split(struct e4l_zeroout_file *f, struct place p,
		       uint32_t keep, bool unwritten, bool join)
{
	struct e4l_extent *ex, *new;
	struct place at = p;
	errcode_t err;

	if (keep) {
		err = make_room(f, p, &at);
		if (err)
			return err;
		ex = &f->leaves[p.leaf]->ex[p.i];
		new = &f->leaves[at.leaf]->ex[at.i];
		*new = (struct e4l_extent) {
			.lblk = ex->lblk + keep, .pblk = ex->pblk + keep,
			.len = ex->len - keep,
		};
		ex->len = keep;
	}
	f->leaves[at.leaf]->ex[at.i].unwritten = unwritten;
	if (join)
		merge(f->leaves[at.leaf], at.i);
	return 0;
}

/*
 * Handles a write of @len blocks at the start or end of the entry at @p.  If
 * the blocks are adjacent to a written entry in the same leaf, and this entry
 * can become longer, moves the blocks to this entry and returns true.
 */
static bool pass_on(struct e4l_zeroout_file *f, struct place p, uint32_t lblk,
		    uint32_t len)
{
	struct leaf *leaf = f->leaves[p.leaf];
	struct e4l_extent *ex = &leaf->ex[p.i], *to;

	if (len == ex->len)
		return false;
	if (lblk == ex->lblk) {
		to = ex - 1;
		if (!p.i || to->unwritten || !adjacent(to, ex) ||
		    to->len + len >= E4L_WRITTEN_MAX_BLOCKS)
			return false;
		ex->lblk += len;
		ex->pblk += len;
	} else {
		to = ex + 1;
		if (lblk + (uint64_t)len != end_of(ex) ||
		    p.i + 1 == leaf->n || to->unwritten || !adjacent(ex, to) ||
		    to->len + len >= E4L_WRITTEN_MAX_BLOCKS)
			return false;
		to->lblk -= len;
		to->pblk -= len;
	}
	ex->len -= len;
	to->len += len;
	return true;
}

/*
 * Finds the entry that contains @lblk.  If no entry contains @lblk, returns
 * false.
 */
static bool find(const struct e4l_zeroout_file *f, uint32_t lblk,
		 struct place *p)
{
	size_t low = 0, high = f->n_leaves, mid;
	const struct leaf *leaf;

	while (high - low > 1) {
		mid = low + (high - low) / 2;
		if (f->leaves[mid]->ex[0].lblk <= lblk)
			low = mid;
		else
			high = mid;
	}
	if (!high)
		return false;
	leaf = f->leaves[p->leaf = low];
	for (low = 0, high = leaf->n; high - low > 1; ) {
		mid = low + (high - low) / 2;
		if (leaf->ex[mid].lblk <= lblk)
			low = mid;
		else
			high = mid;
	}
	p->i = low;
	return leaf->ex[low].lblk <= lblk && lblk < end_of(&leaf->ex[low]);
}

/*
 * Applies a write of @len blocks from @lblk, which are all in the unwritten
 * extent at @p.  @max_blocks, @zero and @priv: as in e4l_zeroout_file_write().
 */
static errcode_t convert(struct e4l_zeroout_file *f, struct place p,
			 uint32_t lblk, uint32_t len, uint32_t max_blocks,
			 e4l_zero_fn zero, void *priv)
{
	struct e4l_extent ex = f->leaves[p.leaf]->ex[p.i];
	struct e4l_zeroout z;
	uint32_t tail;
	errcode_t err;

	if (pass_on(f, p, lblk, len))
		return 0;
	e4l_zeroout_rule(&ex, lblk, len, max_blocks, f->eof_blk, &z);
	if (z.lblk + (uint64_t)z.len < end_of(&ex)) {
		err = split(f, p, z.lblk + z.len - ex.lblk, true, false);
		if (err)
			return err;
	}
	err = split(f, p, z.lblk - ex.lblk, false, true);
	if (err)
		return err;
	tail = lblk + len;
	if (zero && z.tail)
		zero(ex.pblk + (tail - ex.lblk), tail, z.tail, priv);
	if (zero && z.head)
		zero(ex.pblk, ex.lblk, z.head, priv);
	return 0;
}

static bool has_hole(const struct e4l_zeroout_file *f, uint32_t lblk,
		     uint64_t end)
{
	const struct e4l_extent *ex;
	struct place p;
	uint64_t at;

	for (at = lblk; at < end; at = end_of(ex)) {
		if (!find(f, at, &p))
			return true;
		ex = &f->leaves[p.leaf]->ex[p.i];
	}
	return false;
}

errcode_t e4l_zeroout_file_write(struct e4l_zeroout_file *f, uint32_t lblk,
				 uint32_t len, uint32_t max_blocks,
				 e4l_zero_fn zero, void *priv)
{
	uint64_t end = (uint64_t)lblk + len, at, next;
	const struct e4l_extent *ex;
	struct place p;
	errcode_t err;

	if (!len || end > FILE_MAX_BLOCKS || has_hole(f, lblk, end))
		return E4L_ET_BAD_ARGUMENT;
	for (at = lblk; at < end; at = next) {
		find(f, at, &p);
		ex = &f->leaves[p.leaf]->ex[p.i];
		next = end_of(ex) < end ? end_of(ex) : end;
		if (!ex->unwritten)
			continue;
		err = convert(f, p, at, next - at, max_blocks, zero, priv);
		if (err)
			return err;
	}
	if (f->eof_blk < end)
		f->eof_blk = end;
	return 0;
}

static bool well_formed(const struct e4l_extent *ex, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (!ex[i].len || end_of(&ex[i]) > FILE_MAX_BLOCKS ||
		    ex[i].len > (ex[i].unwritten ? E4L_UNWRITTEN_MAX_BLOCKS :
						   E4L_WRITTEN_MAX_BLOCKS))
			return false;
		if (i && end_of(&ex[i - 1]) > ex[i].lblk)
			return false;
	}
	return true;
}

errcode_t e4l_zeroout_file_new(const struct e4l_extent *extents, size_t n,
			       uint32_t blocksize, uint64_t eof_blk,
			       struct e4l_zeroout_file **ret)
{
	struct e4l_zeroout_file *f;
	struct leaf *leaf;
	errcode_t err;
	size_t i;

	*ret = NULL;
	if (blocksize < EXT2_MIN_BLOCK_SIZE ||
	    blocksize > EXT2_MAX_BLOCK_SIZE || !well_formed(extents, n))
		return E4L_ET_BAD_ARGUMENT;
	f = calloc(1, sizeof(*f));
	if (!f)
		return ENOMEM;
	f->per_leaf = e4l_entries_per_block(blocksize);
	f->eof_blk = eof_blk;
	for (i = 0; i < n; i += leaf->n) {
		err = add_leaf(f, f->n_leaves);
		if (err) {
			e4l_zeroout_file_free(f);
			return err;
		}
		leaf = f->leaves[f->n_leaves - 1];
		leaf->n = n - i < f->per_leaf ? n - i : f->per_leaf;
		memcpy(leaf->ex, extents + i, leaf->n * sizeof(*extents));
	}
	*ret = f;
	return 0;
}

void e4l_zeroout_file_free(struct e4l_zeroout_file *f)
{
	size_t i;

	if (!f)
		return;
	for (i = 0; i < f->n_leaves; i++)
		free(f->leaves[i]);
	free(f->leaves);
	free(f);
}

size_t e4l_zeroout_file_extents(const struct e4l_zeroout_file *f,
				struct e4l_extent *ret)
{
	size_t i, n = 0;

	for (i = 0; i < f->n_leaves; i++) {
		if (ret)
			memcpy(ret + n, f->leaves[i]->ex,
			       f->leaves[i]->n * sizeof(*ret));
		n += f->leaves[i]->n;
	}
	return n;
}
