// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * prepare: before the size changes, moves metadata of kept groups below the new
 * end, and metadata of removed groups above the new end.  Each move is a
 * transaction of its own, and leaves a valid filesystem.
 */
#include "config.h"
#include <errno.h>
#include "e4layout/base/io_pool.h"
#include "e4layout/journal/journal.h"
#include "end.h"
#include "own.h"
#include "place.h"

#define COPY_BYTES (1u << 20)

struct prepare {
	struct e4l *e;
	ext2_filsys fs;
	struct e4l_journal *j;
	const struct e4l_size *size;
	bool moved;		/* a bitmap or an inode table was moved */
};

static blk64_t table_len(ext2_filsys fs, enum e4l_table table)
{
	return table == E4L_INODE_TABLE ? fs->inode_blocks_per_group : 1;
}

static blk64_t whole(ext2_filsys fs, blk64_t len)
{
	return (len + EXT2FS_CLUSTER_MASK(fs)) &
	       ~(blk64_t)EXT2FS_CLUSTER_MASK(fs);
}

/*
 * Copies blocks without a transaction, because nothing refers to the new blocks
 * yet.
 */
static errcode_t copy_blocks(struct prepare *p, blk64_t from, blk64_t to,
			     blk64_t len)
{
	ext2_filsys fs = p->fs;
	blk64_t max = COPY_BYTES / fs->blocksize, done, n;
	errcode_t err;
	void *buf;

	err = io_channel_alloc_buf(fs->io, max, &buf);
	if (err)
		return err;
	for (done = 0; done < len && !err; done += n) {
		int bytes;

		n = len - done < max ? len - done : max;
		bytes = -(int)(n * fs->blocksize);
		err = e4l_journal_check(p->j);
		if (err)
			break;
		err = io_channel_read_blk64(fs->io, from + done, bytes, buf);
		if (!err)
			err = io_channel_write_blk64(fs->io, to + done, bytes,
						     buf);
		if (err)
			e4l_fail(p->e, err, "moving metadata", 0, from + done);
	}
	ext2fs_free_mem(&buf);
	return err ? err : e4l_renew_buffers(fs->io);
}

/*
 * Frees the old clusters of a bitmap or an inode table, except clusters that
 * have other own blocks.  With bigalloc, several bitmaps can share a cluster.
 */
static errcode_t free_old(struct prepare *p, struct e4l_txn *t, blk64_t blk,
			  blk64_t len)
{
	struct e4l_own own = { NULL, 0 }, left = { NULL, 0 };
	struct e4l_own_run old = {
		.blk = blk & ~(blk64_t)EXT2FS_CLUSTER_MASK(p->fs),
		.len = 0,
	};
	const struct e4l_own one = { &old, 1 };
	blk64_t end = ext2fs_blocks_count(p->fs->super);
	errcode_t err;
	size_t i;

	old.len = whole(p->fs, blk + len) - old.blk;
	if (old.len > end - old.blk)
		old.len = end - old.blk;
	err = e4l_own_add(p->fs, 0, p->fs->group_desc_count, &own);
	if (!err) {
		e4l_own_sort(&own);
		err = e4l_own_minus(&one, &own, &left);
	}
	for (i = 0; i < left.n && !err; i++)
		err = e4l_txn_free(t, left.v[i].blk, left.v[i].len);
	e4l_own_free(&own);
	e4l_own_free(&left);
	return err;
}

static errcode_t move_in(struct prepare *p, struct e4l_txn *t, dgrp_t group,
			 enum e4l_table table, blk64_t to)
{
	blk64_t from = e4l_table_loc(p->fs, group, table);
	blk64_t len = table_len(p->fs, table);
	errcode_t err = e4l_txn_place_table(t, group, table, to);

	if (!err)
		err = e4l_txn_alloc(t, to, whole(p->fs, len));
	if (!err)
		err = free_old(p, t, from, len);
	if (!err && table == E4L_INODE_TABLE)
		err = copy_blocks(p, from, to, len);
	return err;
}

/*
 * Moves a bitmap or the inode table of @group to free blocks in [@from, @to).
 */
static errcode_t move_table(struct prepare *p, dgrp_t group,
			    enum e4l_table table, blk64_t from, blk64_t to)
{
	blk64_t len = whole(p->fs, table_len(p->fs, table)), blk;
	struct e4l_txn *t;
	errcode_t err;

	err = e4l_place_find(p->fs, from, to, len, &blk);
	if (err)
		return e4l_fail_group(p->e, err, "moving metadata", group, 0);
	err = e4l_txn_begin(p->j, &t);
	if (err)
		return err;
	err = move_in(p, t, group, table, blk);
	p->moved |= !err;
	return e4l_txn_end(t, err);
}

/*
 * Moves a bitmap or the inode table of a kept group below the new end.  Without
 * flex_bg, the new blocks must be in the group.
 */
static errcode_t move_below(struct prepare *p, dgrp_t group,
			    enum e4l_table table)
{
	blk64_t from = 0;

	if (!ext2fs_has_feature_flex_bg(p->fs->super))
		from = ext2fs_group_first_block2(p->fs, group);
	return move_table(p, group, table, from, p->size->blocks);
}

/*
 * Moves a bitmap or the inode table of a removed group above the new end, if
 * there are enough free blocks.
 */
static errcode_t move_above(struct prepare *p, dgrp_t group,
			    enum e4l_table table)
{
	blk64_t end = ext2fs_blocks_count(p->fs->super), blk;
	blk64_t len = whole(p->fs, table_len(p->fs, table));

	/*
	 * check free space first, because ENOSPC of move_table() can be a write
	 * error
	 */
	if (!ext2fs_has_feature_flex_bg(p->fs->super) ||
	    e4l_place_find(p->fs, p->size->blocks, end, len, &blk))
		return 0;
	return move_table(p, group, table, p->size->blocks, end);
}

static errcode_t move_group(struct prepare *p, dgrp_t group)
{
	bool kept = group < p->size->groups;
	enum e4l_table table;
	errcode_t err = 0;

	for (table = 0; table < E4L_TABLES && !err; table++) {
		blk64_t blk = e4l_table_loc(p->fs, group, table);

		if (kept && blk + table_len(p->fs, table) > p->size->blocks)
			err = move_below(p, group, table);
		else if (!kept && blk < p->size->blocks)
			err = move_above(p, group, table);
	}
	return err;
}

/* ---------------------------------------------------- the resize inode */

static errcode_t move_dind(struct prepare *p, struct e4l_txn *t,
			   struct ext2_inode *inode, uint8_t *whole_inode,
			   blk64_t to)
{
	blk64_t ratio = EXT2FS_CLUSTER_RATIO(p->fs);
	blk64_t from = inode->i_block[EXT2_DIND_BLOCK];
	void *old, *new;
	errcode_t err;

	err = e4l_txn_alloc(t, to, ratio);
	if (!err)
		err = e4l_txn_edit_block(t, from, &old);
	if (!err)
		err = e4l_txn_new_block(t, to, &new);
	if (err)
		return err;
	memcpy(new, old, p->fs->blocksize);
	inode->i_block[EXT2_DIND_BLOCK] = to;
	err = e4l_txn_put_inode(t, EXT2_RESIZE_INO, whole_inode);
	return err ? err : e4l_txn_free(t, from & ~(ratio - 1), ratio);
}

/*
 * Moves the double indirect block of the resize inode below the new end.  All
 * other blocks of the resize inode are reserved GDT blocks, which cannot move.
 */
static errcode_t move_resize(struct prepare *p)
{
	struct e4l_txn *t;
	blk64_t to, ratio = EXT2FS_CLUSTER_RATIO(p->fs);
	uint8_t *inode = NULL;
	struct ext2_inode *in;
	errcode_t err;

	if (!ext2fs_has_feature_resize_inode(p->fs->super))
		return 0;
	err = ext2fs_get_mem(EXT2_INODE_SIZE(p->fs->super), &inode);
	if (err)
		return err;
	in = (struct ext2_inode *)inode;
	err = e4l_txn_begin(p->j, &t);
	if (err)
		goto out;
	err = e4l_txn_read_inode(t, EXT2_RESIZE_INO, inode);
	if (!err && in->i_block[EXT2_DIND_BLOCK] < p->size->blocks) {
		e4l_txn_abort(t);
		goto out;
	}
	if (!err)
		err = e4l_place_find(p->fs, 0, p->size->blocks, ratio,
				     &to);
	if (!err)
		err = move_dind(p, t, in, inode, to);
	err = e4l_txn_end(t, err);
out:
	ext2fs_free_mem(&inode);
	return err;
}

/* ------------------------------------------------------------------ both */

static errcode_t first_of(errcode_t err, errcode_t err2)
{
	return err ? err : err2;
}

static errcode_t move_all(struct prepare *p)
{
	errcode_t err = 0;
	dgrp_t g;

	if (!p->fs->inode_map)
		err = ext2fs_read_inode_bitmap(p->fs);
	for (g = 0; g < p->fs->group_desc_count && !err; g++)
		err = move_group(p, g);
	if (!err)
		err = move_resize(p);
	/*
	 * update the backups even after an error, because the backup
	 * descriptors must not refer to freed blocks
	 */
	return p->moved && !e4l_journal_check(p->j) ?
	       first_of(err, e4l_journal_write_backups(p->j)) : err;
}

errcode_t e4l_shrink_prepare(struct e4l *e, io_channel external,
			     struct e4l_size *size)
{
	struct prepare p = { .e = e, .fs = e->fs, .size = size };
	errcode_t err;

	err = e4l_journal_open(e, external, &p.j);
	if (err)
		return err;
	err = move_all(&p);
	err = first_of(err, e4l_journal_close(p.j));
	return err ? err : e4l_size_for(e, size->blocks, size);
}
