// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * log: moves the journal, or makes the journal smaller.
 *
 * The kernel reads the journal inode before it replays the log, and then uses
 * the blocks of the journal inode as the log.  Therefore, before the log has
 * moved, no transaction may change or free the blocks of the log:
 *
 *   1. A transaction appends the new blocks to the journal inode, behind the
 *      log, as unwritten blocks beyond the end of the file.
 *   2. The log is empty, and needs_recovery is clear.  The old blocks are copied
 *      to the new blocks.                                                flush
 *   3. One write of the journal inode exchanges the old and the new blocks.  All
 *      changed bytes are in one sector.  Both logs are empty.            flush
 *   4. A transaction frees the old blocks, which are behind the log now.
 *
 * Tree blocks are never changed while an inode refers to them.  Steps 1 and 3
 * therefore use different tree blocks.  Each of these two steps maps the tree
 * blocks of the other step behind the log, so that each block has an owner.
 *
 * After a power cut at any write, the filesystem is clean, or the replay makes
 * the filesystem clean.  The journal inode can still have blocks behind the log.
 * The next run first frees these blocks, in a transaction as in step 4.
 *
 * A smaller journal keeps the first blocks of the log in their place.  One write
 * of the journal's superblock cuts the empty log.  A transaction then frees the
 * blocks behind the log.
 */
#include "config.h"
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/format/format.h"
#include "e4layout/format/host_inode.h"
#include "e4layout/format/jbd2.h"
#include "e4layout/journal/journal.h"
#include "log.h"
#include "own.h"
#include "place.h"

#define COPY_BYTES	(1u << 20)
#define MAX_LEN		32767u	/* maximum blocks of an unwritten extent */
#define UNWRITTEN	32768u	/* added to the length of an unwritten extent */
/* number of extents that fit into a tree block, even of 1 KiB */
#define MAX_RUNS	80

/* Runs of blocks, in logical order. */
struct runs {
	struct e4l_own_run v[MAX_RUNS];
	size_t n;
};

struct log {
	struct e4l *e;
	ext2_filsys fs;
	struct e4l_journal *j;
	io_channel external;
	const struct e4l_size *size;
	ext2_ino_t ino;
	uint8_t *inode;		/* in host byte order */
	struct runs now;	/* current blocks of the log */
	/* blocks of the extent tree, and all blocks of @behind */
	struct runs tree;
	/* blocks that the journal inode maps after the end of the log */
	struct runs behind;
	struct runs wanted;	/* blocks of the log after the move */
	struct runs new, old;	/* blocks that the log gets and loses */
	struct runs others;	/* blocks of the journal inode to free */
	/*
	 * Leaf blocks of the journal inode's extent tree.  @first is written
	 * when the new blocks are appended to the inode, @second when the new
	 * blocks become the log.  @log maps the log, and @behind maps the blocks
	 * behind the log.  0: no leaf block is needed.
	 */
	struct leaves {
		blk64_t log, behind;
	} first, second;
	uint64_t *lacking; /* result: number of missing free blocks */
	blk64_t shorter;	/* new length of the log, in blocks */
	errcode_t err;
};

static errcode_t pinned(struct log *l)
{
	return e4l_fail(l->e, E4L_ET_SHRINK_PINNED, "moving the journal",
			l->ino, 0);
}

/* ------------------------------------------------------------------- runs */

static bool add(struct runs *r, blk64_t blk, blk64_t len)
{
	struct e4l_own_run *last = r->n ? &r->v[r->n - 1] : NULL;
	blk64_t part;

	while (len) {
		if (last && last->blk + last->len == blk && last->len < MAX_LEN)
			part = MAX_LEN - last->len;
		else if (r->n < MAX_RUNS)
			part = MAX_LEN;
		else
			return false;
		part = part < len ? part : len;
		if (last && last->blk + last->len == blk && last->len < MAX_LEN)
			last->len += part;
		else
			r->v[r->n++] = (struct e4l_own_run) { blk, part };
		last = &r->v[r->n - 1];
		blk += part;
		len -= part;
	}
	return true;
}

static bool add_all(struct runs *r, const struct runs *more)
{
	size_t i;

	for (i = 0; i < more->n; i++)
		if (!add(r, more->v[i].blk, more->v[i].len))
			return false;
	return true;
}

static blk64_t count(const struct runs *r)
{
	blk64_t n = 0;
	size_t i;

	for (i = 0; i < r->n; i++)
		n += r->v[i].len;
	return n;
}

/* --------------------------------------------------------- the log's blocks */

static int note(ext2_filsys fs, blk64_t *blk, e2_blkcnt_t lblk, blk64_t ref_blk,
		int ref_offset, void *priv)
{
	struct log *l = priv;
	bool ok = lblk < 0 ? add(&l->tree, *blk, 1) :
		  lblk == (e2_blkcnt_t)count(&l->now) && add(&l->now, *blk, 1);

	if (!ok)
		l->err = pinned(l);
	return ok ? 0 : BLOCK_ABORT;
}

/*
 * Removes the blocks behind the log from l->now, and adds these blocks to
 * l->tree and l->behind, so that they will be freed.  An interrupted run can
 * have left blocks behind the log.
 */
static errcode_t cut_behind(struct log *l)
{
	const struct runs all = l->now;
	struct jbd2_super *jsb;
	blk64_t left;
	errcode_t err;
	size_t i;

	err = io_channel_alloc_buf(l->fs->io, 1, &jsb);
	if (err)
		return err;
	err = io_channel_read_blk64(l->fs->io, all.v[0].blk,
				    -(int)l->fs->blocksize, jsb);
	left = err ? 0 : be32toh(jsb->maxlen);
	ext2fs_free_mem(&jsb);
	if (err)
		return err;
	if (!left || left > count(&all))
		return pinned(l);
	l->now.n = 0;
	for (i = 0; i < all.n; i++) {
		blk64_t len = all.v[i].len < left ? all.v[i].len : left;

		if (!add(&l->now, all.v[i].blk, len) ||
		    !add(&l->tree, all.v[i].blk + len, all.v[i].len - len) ||
		    !add(&l->behind, all.v[i].blk + len, all.v[i].len - len))
			return pinned(l);
		left -= len;
	}
	return 0;
}

static errcode_t read_log(struct log *l)
{
	errcode_t err;

	l->now.n = l->tree.n = l->behind.n = 0;
	err = ext2fs_read_inode_full(l->fs, l->ino, (void *)l->inode,
					EXT2_INODE_SIZE(l->fs->super));

	if (!err)
		err = ext2fs_block_iterate3(l->fs, l->ino, BLOCK_FLAG_READ_ONLY,
					    NULL, note, l);
	if (!err)
		err = l->err;
	if (!err && !l->now.n)
		err = pinned(l);
	return err ? err : cut_behind(l);
}

/* Whether a run has blocks above the new end, so that the run must move. */
static bool is_above(const struct log *l, const struct e4l_own_run *r)
{
	return r->blk + r->len > l->size->blocks;
}

static bool any_above(const struct log *l)
{
	size_t i;

	for (i = 0; i < l->now.n; i++)
		if (is_above(l, &l->now.v[i]))
			return true;
	for (i = 0; i < l->tree.n; i++)
		if (is_above(l, &l->tree.v[i]))
			return true;
	return false;
}

/* -------------------------------------------------------------- new blocks */

static blk64_t ratio_of(const struct log *l)
{
	return EXT2FS_CLUSTER_RATIO(l->fs);
}

static errcode_t find(const struct log *l, blk64_t len, blk64_t *blk)
{
	return e4l_place_find(l->fs, 0, l->size->blocks, len, blk);
}

/* Finds the longest free run of at most @len blocks below the new end. */
static errcode_t find_longest(const struct log *l, blk64_t len,
			      struct e4l_own_run *run)
{
	blk64_t low = 0, high = len / ratio_of(l), mid, blk;

	while (low < high) {
		mid = high - (high - low) / 2;
		if (find(l, mid * ratio_of(l), &blk)) {
			high = mid - 1;
			continue;
		}
		low = mid;
		*run = (struct e4l_own_run) { blk, mid * ratio_of(l) };
	}
	return low ? 0 : ENOSPC;
}

static errcode_t take(struct log *l, struct e4l_txn *t, blk64_t len,
		      struct e4l_own_run *run)
{
	errcode_t err = find_longest(l, len, run);

	return err ? err : e4l_txn_alloc(t, run->blk, run->len);
}

/*
 * Reports that the free space below the new end is too small or too fragmented
 * for the log.  Sets *l->lacking to the number of blocks by which the largest
 * free extent is too short for the log, or to one cluster if that is more.
 */
static errcode_t no_space(struct log *l)
{
	struct e4l_own_run run = { 0, 0 };
	blk64_t len = count(&l->now);

	if (find_longest(l, len, &run))
		run.len = 0;
	*l->lacking = len - run.len > ratio_of(l) ? len - run.len : ratio_of(l);
	return e4l_fail(l->e, ENOSPC, "moving the journal", l->ino, 0);
}

/*
 * Takes free blocks for @len blocks of the log.  Adds the free blocks to
 * l->wanted and l->new.
 */
static errcode_t take_all(struct log *l, struct e4l_txn *t, blk64_t len)
{
	struct e4l_own_run run;
	errcode_t err = 0;

	for (; len && !err; len -= run.len) {
		err = take(l, t, len, &run);
		if (!err && (!add(&l->wanted, run.blk, run.len) ||
			     !add(&l->new, run.blk, run.len)))
			err = ENOSPC;
	}
	return err;
}

static bool fits_whole(const struct log *l)
{
	blk64_t blk;

	return !find(l, count(&l->now), &blk);
}

/*
 * Chooses the blocks of the log after the move: one free run, if any is long
 * enough; otherwise, new blocks only for runs above the new end.
 */
static errcode_t choose(struct log *l, struct e4l_txn *t)
{
	bool whole = fits_whole(l);
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < l->now.n && !err; i++) {
		const struct e4l_own_run *r = &l->now.v[i];

		if (!whole && !is_above(l, r)) {
			if (!add(&l->wanted, r->blk, r->len))
				err = pinned(l);
			continue;
		}
		if (!add(&l->old, r->blk, r->len))
			err = pinned(l);
		else if (!whole)
			err = take_all(l, t, r->len);
	}
	return err || !whole ? err : take_all(l, t, count(&l->now));
}

/* --------------------------------------------------------------- the inode */

/*
 * Writes the header of an extent tree node to @node, which has @entries of at
 * most @max entries.  A @depth of 0 means a leaf.  Returns the address of the
 * node's first entry.
 */
static uint8_t *put_header(uint8_t *node, size_t entries, size_t max,
			   unsigned int depth)
{
	put_le16(node, EXTENT_MAGIC);
	put_le16(node + 2, entries);
	put_le16(node + EXTENT_EH_MAX, max);
	put_le16(node + 6, depth);
	return node + EXTENT_ENTRY_BYTES;
}

/*
 * Writes extents for the runs @r, from logical block @lblk on.  Extents after
 * the last block of the log are unwritten.
 */
static void put_extents(const struct log *l, uint8_t *entry,
			const struct runs *r, blk64_t lblk)
{
	size_t i;

	for (i = 0; i < r->n; i++, entry += EXTENT_ENTRY_BYTES) {
		put_le32(entry, lblk);
		put_le16(entry + 4, r->v[i].len +
			 (lblk < count(&l->now) ? 0 : UNWRITTEN));
		put_le16(entry + 6, r->v[i].blk >> 32);
		put_le32(entry + 8, (uint32_t)r->v[i].blk);
		lblk += r->v[i].len;
	}
}

static void put_index(uint8_t *entry, blk64_t lblk, blk64_t leaf)
{
	put_le32(entry, lblk);
	put_le32(entry + 4, (uint32_t)leaf);
	put_le16(entry + 8, leaf >> 32);
}

/*
 * Writes a tree block without a transaction, because no inode refers to the
 * tree block yet.
 */
static errcode_t write_leaf(struct log *l, const struct runs *r, blk64_t lblk,
			    blk64_t leaf)
{
	ext2_filsys fs = l->fs;
	size_t max = fs->blocksize / EXTENT_ENTRY_BYTES - 1;
	uint8_t *buf;
	errcode_t err;

	err = io_channel_alloc_buf(fs->io, 1, &buf);
	if (err)
		return err;
	memset(buf, 0, fs->blocksize);
	put_extents(l, put_header(buf, r->n, max, 0), r, lblk);
	err = ext2fs_extent_block_csum_set(fs, l->ino, (void *)buf);
	if (!err)
		err = io_channel_write_blk64(fs->io, leaf, -(int)fs->blocksize,
					     buf);
	ext2fs_free_mem(&buf);
	return err;
}

/*
 * Sets the size and the map of the journal inode in memory.  i_size is the
 * length of @log, so that the blocks of @behind are like preallocated blocks
 * beyond the end of the file.
 */
static errcode_t set_inode(struct log *l, const struct runs *log,
			   const struct runs *behind,
			   const struct leaves *leaves)
{
	struct ext2_inode *in = (struct ext2_inode *)l->inode;
	uint8_t *root = (uint8_t *)in->i_block, *entry;
	blk64_t clusters = (count(log) + count(behind)) / ratio_of(l);
	size_t n = leaves->log ? 1 + !!behind->n : log->n + behind->n;
	errcode_t err;

	err = ext2fs_inode_size_set(l->fs, in, count(log) * l->fs->blocksize);
	if (err)
		return err;
	memset(root, 0, sizeof(in->i_block));
	entry = put_header(root, n, EXTENT_ROOT_ENTRIES, !!leaves->log);
	if (leaves->log) {
		put_index(entry, 0, leaves->log);
		if (behind->n)
			put_index(entry + EXTENT_ENTRY_BYTES, count(log),
				  leaves->behind);
		clusters += n;
	} else {
		put_extents(l, entry, log, 0);
		put_extents(l, entry + log->n * EXTENT_ENTRY_BYTES, behind,
			    count(log));
	}
	return ext2fs_iblk_set(l->fs, in, clusters);
}

/*
 * Writes the leaf blocks @leaves, if any, and sets the map of the journal inode
 * in memory.
 */
static errcode_t set_map(struct log *l, const struct runs *log,
			 const struct runs *behind,
			 const struct leaves *leaves)
{
	errcode_t err = 0;

	if (leaves->log)
		err = write_leaf(l, log, 0, leaves->log);
	if (!err && leaves->log)
		err = write_leaf(l, behind, count(log), leaves->behind);
	return err ? err : set_inode(l, log, behind, leaves);
}

/* -------------------------------------------------------------- the steps */

static bool add_leaves(const struct log *l, struct runs *r,
		       const struct leaves *leaves)
{
	return !leaves->log || (add(r, leaves->log, ratio_of(l)) &&
				add(r, leaves->behind, ratio_of(l)));
}

/*
 * Sets *@behind to the blocks that the journal inode has behind the log before
 * the new blocks become the log.  behind_second() sets *@behind to the blocks
 * behind the log after this exchange.  Both functions return false if *@behind
 * would need more than MAX_RUNS runs.
 */
static bool behind_first(const struct log *l, struct runs *behind)
{
	*behind = l->new;
	return add_all(behind, &l->tree) && add_leaves(l, behind, &l->second);
}

static bool behind_second(const struct log *l, struct runs *behind)
{
	*behind = l->old;
	return add_all(behind, &l->tree) && add_leaves(l, behind, &l->first);
}

static errcode_t take_leaf(struct log *l, struct e4l_txn *t, blk64_t *leaf)
{
	struct e4l_own_run run;
	errcode_t err = take(l, t, ratio_of(l), &run);

	if (!err)
		*leaf = run.blk;
	return err;
}

/*
 * Allocates leaf blocks for the two extent trees that the journal inode will
 * have, one after the other: l->first and l->second, see struct log.  If both
 * trees fit in the inode, allocates nothing.
 */
static errcode_t take_leaves(struct log *l, struct e4l_txn *t)
{
	const size_t most = EXTENT_ROOT_ENTRIES;
	errcode_t err;

	if (l->now.n + l->new.n + l->tree.n <= most &&
	    l->wanted.n + l->old.n + l->tree.n <= most)
		return 0;
	err = take_leaf(l, t, &l->first.log);
	if (!err)
		err = take_leaf(l, t, &l->first.behind);
	if (!err)
		err = take_leaf(l, t, &l->second.log);
	return err ? err : take_leaf(l, t, &l->second.behind);
}

static errcode_t append_in(struct log *l, struct e4l_txn *t)
{
	struct runs behind, later;
	errcode_t err = choose(l, t);

	if (!err)
		err = take_leaves(l, t);
	if (!err && (!behind_first(l, &behind) || !behind_second(l, &later)))
		err = ENOSPC;
	if (!err)
		err = set_map(l, &l->now, &behind, &l->first);
	return err ? err : e4l_txn_put_inode(t, l->ino, l->inode);
}

/* Makes @change in a transaction of the current session. */
static errcode_t transact(struct log *l,
			  errcode_t (*change)(struct log *, struct e4l_txn *))
{
	struct e4l_txn *t;
	errcode_t err = e4l_txn_begin(l->j, &t);

	return err ? err : e4l_txn_end(t, change(l, t));
}

/* Opens a journal session, calls @step, and closes the session. */
static errcode_t in_session(struct log *l, errcode_t (*step)(struct log *))
{
	errcode_t err, err2;

	err = e4l_journal_open(l->e, l->external, &l->j);
	if (err)
		return err;
	err = step(l);
	err2 = e4l_journal_close(l->j);
	return err ? err : err2;
}

/* Begins the move of the log: appends the new blocks to the journal inode. */
static errcode_t append(struct log *l)
{
	errcode_t err = transact(l, append_in);

	if (err == ENOSPC)
		no_space(l);
	return err;
}

/*
 * Returns the block of @r that has the logical block @lblk.  Limits *@len to
 * the number of contiguous blocks from the returned block on.
 */
static blk64_t place_of(const struct runs *r, blk64_t lblk, blk64_t *len)
{
	size_t i = 0;

	while (lblk >= r->v[i].len)
		lblk -= r->v[i++].len;
	if (*len > r->v[i].len - lblk)
		*len = r->v[i].len - lblk;
	return r->v[i].blk + lblk;
}

/* Copies the empty log to its new blocks. */
static errcode_t copy_log(struct log *l)
{
	blk64_t blocks = count(&l->now), done, n;
	io_channel io = l->fs->io;
	errcode_t err;
	uint8_t *buf;

	err = io_channel_alloc_buf(io, COPY_BYTES / l->fs->blocksize, &buf);
	if (err)
		return err;
	for (done = 0; done < blocks && !err; done += n) {
		blk64_t from, to;
		int bytes;

		n = COPY_BYTES / l->fs->blocksize;
		n = n < blocks - done ? n : blocks - done;
		from = place_of(&l->now, done, &n);
		to = place_of(&l->wanted, done, &n);
		bytes = -(int)(n * l->fs->blocksize);
		/*
		 * in an overlay, only the superblock of the journal is read, so
		 * that the other blocks need no copy
		 */
		if (from == to || (l->e->over && done))
			continue;
		err = e4l_journal_check(l->j);
		if (err)
			break;
		err = io_channel_read_blk64(io, from, bytes, buf);
		if (!err)
			err = io_channel_write_blk64(io, to, bytes, buf);
		if (err)
			e4l_fail(l->e, err, "copying the journal", l->ino,
				 from);
	}
	ext2fs_free_mem(&buf);
	return err;
}

/* Writes the journal inode to the inode table, without a transaction. */
static errcode_t write_inode(struct log *l)
{
	ext2_filsys fs = l->fs;
	size_t at = (l->ino - 1) % fs->super->s_inodes_per_group *
		    (size_t)EXT2_INODE_SIZE(fs->super);
	dgrp_t group = ext2fs_group_of_ino(fs, l->ino);
	blk64_t blk = ext2fs_inode_table_loc(fs, group) + at / fs->blocksize;
	errcode_t err;
	uint8_t *buf;

	at %= fs->blocksize;
	err = io_channel_alloc_buf(fs->io, 1, &buf);
	if (err)
		return err;
	err = io_channel_read_blk64(fs->io, blk, -(int)fs->blocksize, buf);
	if (!err) {
		e4l_inode_to_disk(fs, (void *)(buf + at), (void *)l->inode);
		err = ext2fs_inode_csum_set(fs, l->ino, (void *)(buf + at));
	}
	if (!err)
		err = io_channel_write_blk64(fs->io, blk, -(int)fs->blocksize,
					     buf);
	ext2fs_free_mem(&buf);
	ext2fs_flush_icache(fs);
	return err ? e4l_fail(l->e, err, "moving the journal", l->ino, blk) : 0;
}

/*
 * Moves the log with one write of the journal inode.  The new blocks become the
 * log, and the old blocks are mapped after the last block of the log.
 */
static errcode_t exchange_in(struct log *l)
{
	struct runs behind;
	errcode_t err;

	if (!behind_second(l, &behind))
		return pinned(l);
	err = set_map(l, &l->wanted, &behind, &l->second);
	if (!err)
		err = io_channel_flush(l->fs->io);
	if (!err)
		err = e4l_journal_check(l->j);
	if (!err)
		err = write_inode(l);
	if (!err)
		err = io_channel_flush(l->fs->io);
	return err ? err : e4l_renew_buffers(l->fs->io);
}

/*
 * Copies the empty log to the new blocks, and then exchanges the old and the
 * new blocks in the journal inode.  The journal session writes nothing, but
 * checks that no other program has changed the filesystem.
 */
static errcode_t exchange(struct log *l)
{
	errcode_t err = copy_log(l);

	return err ? err : exchange_in(l);
}

/*
 * Frees the clusters of the runs @r.  Contiguous runs are joined first, because
 * two contiguous runs can share a cluster.
 */
static errcode_t free_all(struct e4l_txn *t, const struct runs *r, blk64_t ratio)
{
	errcode_t err = 0;
	size_t i, k;

	for (i = 0; i < r->n && !err; i = k) {
		blk64_t blk = r->v[i].blk, len = r->v[i].len;

		for (k = i + 1; k < r->n && r->v[k].blk == blk + len; k++)
			len += r->v[k].len;
		err = e4l_txn_free(t, blk & ~(ratio - 1),
				   (len + ratio - 1) & ~(ratio - 1));
	}
	return err;
}

/*
 * If the inode is too small for the extents of the log, and the log has no tree
 * block, writes a new tree block.
 */
static errcode_t make_tree(struct log *l, struct e4l_txn *t)
{
	errcode_t err;

	if (l->second.log || l->wanted.n <= EXTENT_ROOT_ENTRIES)
		return 0;
	err = take_leaf(l, t, &l->second.log);
	return err ? err : write_leaf(l, &l->wanted, 0, l->second.log);
}

/*
 * Removes the blocks behind the log from the journal inode, and frees the
 * blocks in l->others.  The tree block that maps the log does not change.
 */
static errcode_t truncate_in(struct log *l, struct e4l_txn *t)
{
	const struct runs none = { .n = 0 };
	errcode_t err = make_tree(l, t);

	if (!err)
		err = set_inode(l, &l->wanted, &none, &l->second);
	if (!err)
		err = e4l_txn_put_inode(t, l->ino, l->inode);
	return err ? err : free_all(t, &l->others, ratio_of(l));
}

/* Updates the copy of the journal inode's map and size in the superblock. */
static void keep_map(struct log *l)
{
	struct ext2_inode *in = (struct ext2_inode *)l->inode;
	struct ext2_super_block *sb = l->fs->super;

	if (sb->s_jnl_backup_type != EXT3_JNL_BACKUP_BLOCKS)
		return;
	memcpy(sb->s_jnl_blocks, in->i_block, sizeof(in->i_block));
	sb->s_jnl_blocks[EXT2_N_BLOCKS] = in->i_size_high;
	sb->s_jnl_blocks[EXT2_N_BLOCKS + 1] = in->i_size;
}

static errcode_t cut(struct log *l)
{
	errcode_t err = transact(l, truncate_in);

	if (!err)
		keep_map(l);
	return err;
}

/*
 * Ends the move of the log: frees the old blocks, which the journal inode now
 * maps after the end of the log.
 */
static errcode_t finish(struct log *l)
{
	struct runs *others = &l->others;

	if (!behind_second(l, others) ||
	    (l->second.behind && !add(others, l->second.behind, ratio_of(l))))
		return pinned(l);
	return in_session(l, cut);
}

static bool has_extents(const struct log *l)
{
	const struct ext2_inode *in = (struct ext2_inode *)l->inode;

	return in->i_flags & EXT4_EXTENTS_FL &&
	       !(count(&l->now) % ratio_of(l));
}

static blk64_t get_index(const uint8_t *entry)
{
	return get_le32(entry + 4) | (blk64_t)get_le16(entry + 8) << 32;
}

/*
 * Sets *@leaves to the leaf blocks of the journal inode's extent tree.  If the
 * tree does not have the form that set_map() writes, returns false.
 */
static bool find_leaves(const struct log *l, struct leaves *leaves)
{
	const struct ext2_inode *in = (struct ext2_inode *)l->inode;
	const uint8_t *root = (const uint8_t *)in->i_block;
	const uint8_t *entry = root + EXTENT_ENTRY_BYTES;

	*leaves = (struct leaves) { 0, 0 };
	if (!get_le16(root + 6))
		return true;
	if (get_le16(root + 6) > 1 || get_le16(root + 2) != 2 ||
	    get_le32(entry + EXTENT_ENTRY_BYTES) != count(&l->now))
		return false;
	leaves->log = get_index(entry);
	leaves->behind = get_index(entry + EXTENT_ENTRY_BYTES);
	return true;
}

/*
 * Frees the blocks after the end of the log, which an interrupted run has left
 * in the journal inode.
 */
static errcode_t clean(struct log *l)
{
	const struct ext2_inode *in = (struct ext2_inode *)l->inode;
	struct leaves leaves;
	errcode_t err;

	l->others = l->behind;
	if (!l->behind.n || !has_extents(l) || !find_leaves(l, &leaves) ||
	    EXT2_I_SIZE(in) != count(&l->now) * l->fs->blocksize ||
	    (leaves.log && !add(&l->others, leaves.behind, ratio_of(l))))
		return 0;
	l->wanted = l->now;
	l->second = leaves;
	err = in_session(l, cut);
	l->wanted.n = 0;
	l->second = (struct leaves) { 0, 0 };
	return err ? err : read_log(l);
}

static errcode_t move_log(struct log *l)
{
	errcode_t err = read_log(l);

	if (!err)
		err = clean(l);
	if (err || !any_above(l))
		return err;
	if (!has_extents(l) || (l->tree.n && ratio_of(l) > 1))
		return pinned(l);
	err = in_session(l, append);
	if (!err)
		err = in_session(l, exchange);
	return err ? err : finish(l);
}

/* ------------------------------------------------------- a smaller journal */

/* Cuts the empty log.  The journal inode stays unchanged. */
static errcode_t cut_log(struct log *l)
{
	errcode_t err = e4l_journal_cut(l->j, l->shorter);

	return err ? e4l_fail(l->e, err, "cutting the journal", l->ino, 0) :
		     read_log(l);
}

/*
 * Frees the blocks behind the log, and reduces s_overhead_clusters in memory.
 * A journal session writes only the first sector of the superblock.
 * s_overhead_clusters is in the second sector: journal/switch.c writes it when
 * the size of the filesystem changes.
 */
static errcode_t free_behind(struct log *l)
{
	uint32_t *overhead = &l->fs->super->s_overhead_clusters;
	blk64_t clusters = EXT2FS_NUM_B2C(l->fs, count(&l->behind));

	*overhead -= clusters < *overhead ? clusters : *overhead;
	l->wanted = l->now;
	l->others = l->tree;
	return cut(l);
}

static errcode_t shorten_in(struct log *l)
{
	errcode_t err = 0;

	if (l->shorter < count(&l->now))
		err = cut_log(l);
	return err ? err : free_behind(l);
}

/*
 * An interrupted run can have shortened the log without freeing the blocks
 * behind the log.
 */
static errcode_t shorten(struct log *l)
{
	errcode_t err = read_log(l);

	if (!err)
		err = clean(l);
	if (err || (l->shorter >= count(&l->now) && !l->behind.n))
		return err;
	if (!has_extents(l) || (l->tree.n && ratio_of(l) > 1))
		return pinned(l);
	return in_session(l, shorten_in);
}

/*
 * Allocates l->inode, the buffer for the journal inode, reads the block bitmap,
 * and calls @work.  If the filesystem has no internal journal, returns 0.
 */
static errcode_t with_log(struct log *l, errcode_t (*work)(struct log *l))
{
	struct ext2_super_block *sb = l->fs->super;
	errcode_t err;

	l->ino = sb->s_journal_inum;
	if (!ext2fs_has_feature_journal(sb) || !l->ino ||
	    e4l_has_external_journal(sb))
		return 0;
	err = ext2fs_get_mem(EXT2_INODE_SIZE(sb), &l->inode);
	if (err)
		return err;
	if (!l->fs->block_map)
		err = ext2fs_read_block_bitmap(l->fs);
	if (!err)
		err = work(l);
	ext2fs_free_mem(&l->inode);
	return err;
}

errcode_t e4l_shrink_move_log(struct e4l *e, io_channel external,
			      const struct e4l_size *size, uint64_t *lacking)
{
	struct log l = {
		.e = e, .fs = e->fs, .external = external, .size = size,
		.lacking = lacking,
	};

	return with_log(&l, move_log);
}

errcode_t e4l_shrink_cut_log(struct e4l *e, io_channel external,
			     uint32_t blocks)
{
	uint32_t ratio = EXT2FS_CLUSTER_RATIO(e->fs);
	const struct e4l_size size = {
		.blocks = ext2fs_blocks_count(e->fs->super),
	};
	uint64_t lacking;
	struct log l = {
		.e = e, .fs = e->fs, .external = external, .size = &size,
		.lacking = &lacking,
		.shorter = ((uint64_t)blocks + ratio - 1) / ratio * ratio,
	};

	return with_log(&l, shorten);
}
