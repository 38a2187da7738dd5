/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * txn: a transaction in memory: the new content of metadata blocks, the
 * allocated and freed blocks, and the moved inodes.
 */
#include "config.h"
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "e4layout/format/host_inode.h"
#include "journal_internal.h"

/* Groups whose bitmap has changed.  @flags: bg_flags before the change. */
struct groups {
	struct {
		dgrp_t group;
		uint16_t flags;
	} *v;
	size_t n;
};

/*
 * A moved inode.  For the group of inode @to, @flags and @unused are the
 * bg_flags and the bg_itable_unused before the move.
 */
struct moved {
	ext2_ino_t from, to;
	bool is_dir;
	uint16_t flags;
	uint32_t unused;
};

/*
 * A moved bitmap or inode table of a group.  @from is the first block of the
 * old location.
 */
struct placed {
	dgrp_t group;
	enum e4l_table table;
	blk64_t from;
};

/* A block that the transaction writes. */
struct block_entry {
	struct txn_block b;		/* must be first: key of e4l_txn.tree */
	/* links of the list that begins at e4l_txn.entries */
	struct block_entry *next, **link;
};

struct e4l_txn {
	struct e4l_journal *j;
	void *tree;	/* tsearch(3) tree of struct block_entry */
	struct block_entry *entries;
	size_t n;
	struct ranges allocs, frees;
	struct groups groups, inode_groups;
	struct moved *moved;
	size_t n_moved;
	struct placed *placed;
	size_t n_placed;
	uint8_t *seen; /* content of block @seen_blk on the device */
	blk64_t seen_blk; /* block number; 0: @seen has no content */
};

static ext2_filsys txn_fs(const struct e4l_txn *t)
{
	return t->j->e->fs;
}

/* --------------------------------------------------------------- blocks */

static struct block_entry *find_entry(const struct e4l_txn *t, blk64_t blk)
{
	struct txn_block key = { .blk = blk };
	void *node = tfind(&key, &t->tree, e4l_u64_cmp);

	return node ? *(struct block_entry **)node : NULL;
}

static struct txn_block *find_block(const struct e4l_txn *t, blk64_t blk)
{
	struct block_entry *e = find_entry(t, blk);

	return e ? &e->b : NULL;
}

static void free_entry(void *arg)
{
	struct block_entry *e = arg;

	free(e->b.data);
	free(e);
}

static void link_entry(struct e4l_txn *t, struct block_entry *e)
{
	e->next = t->entries;
	e->link = &t->entries;
	if (e->next)
		e->next->link = &e->next;
	t->entries = e;
	t->n++;
}

static void unlink_entry(struct e4l_txn *t, struct block_entry *e)
{
	*e->link = e->next;
	if (e->next)
		e->next->link = e->link;
	t->n--;
}

/* Adds block @blk, filled with zeroes, to the transaction. */
static errcode_t add_block(struct e4l_txn *t, blk64_t blk,
			   struct txn_block **ret)
{
	ext2_filsys fs = txn_fs(t);
	struct block_entry *e;

	if (blk <= fs->super->s_first_data_block ||
	    blk >= ext2fs_blocks_count(fs->super))
		return e4l_fail(t->j->e, E4L_ET_BLOCK_RANGE,
				"changing a block", 0, blk);
	if (!e4l_txn_room(t))
		return e4l_fail(t->j->e, E4L_ET_TXN_FULL,
				"changing a block", 0, blk);
	e = calloc(1, sizeof(*e));
	if (!e)
		return ENOMEM;
	e->b.blk = blk;
	e->b.data = calloc(1, fs->blocksize);
	if (!e->b.data || !tsearch(e, &t->tree, e4l_u64_cmp)) {
		free_entry(e);
		return ENOMEM;
	}
	link_entry(t, e);
	*ret = &e->b;
	return 0;
}

/*
 * Sets *@ret to the content of block @blk on the device, which is valid until
 * the next call.  @blk must not be 0.  Caches the last block, because callers
 * first examine most blocks, and then read the blocks again to change them.
 */
static errcode_t read_device(struct e4l_txn *t, blk64_t blk, const void **ret)
{
	ext2_filsys fs = txn_fs(t);
	errcode_t err;

	*ret = t->seen;
	if (t->seen_blk == blk)
		return 0;
	t->seen_blk = 0;
	err = io_channel_read_blk64(fs->io, blk, -(int)fs->blocksize, t->seen);
	if (err)
		return e4l_fail(t->j->e, err, "reading metadata", 0, blk);
	t->seen_blk = blk;
	return 0;
}

/*
 * Sets *@ret to the content of block @blk with the changes of the transaction.
 * The content is valid until the next call of read_device().
 */
static errcode_t look_at_block(struct e4l_txn *t, blk64_t blk,
			       const void **ret)
{
	const struct txn_block *b = find_block(t, blk);

	if (b) {
		*ret = b->data;
		return 0;
	}
	if (blk >= ext2fs_blocks_count(txn_fs(t)->super))
		return e4l_fail(t->j->e, E4L_ET_BLOCK_RANGE,
				"reading metadata", 0, blk);
	return read_device(t, blk, ret);
}

/* Removes block @blk from the transaction. */
static void forget_block(struct e4l_txn *t, blk64_t blk)
{
	struct block_entry *e = find_entry(t, blk);

	if (!e)
		return;
	tdelete(e, &t->tree, e4l_u64_cmp);
	unlink_entry(t, e);
	free_entry(e);
}

errcode_t e4l_txn_edit_block(struct e4l_txn *t, blk64_t blk, void **data)
{
	struct txn_block *b = find_block(t, blk);
	const void *now;
	errcode_t err;

	if (!b) {
		err = add_block(t, blk, &b);
		if (err)
			return err;
		err = read_device(t, blk, &now);
		if (err) {
			forget_block(t, blk);
			return err;
		}
		memcpy(b->data, now, txn_fs(t)->blocksize);
	}
	*data = b->data;
	return 0;
}

errcode_t e4l_txn_new_block(struct e4l_txn *t, blk64_t blk, void **data)
{
	struct txn_block *b = find_block(t, blk);
	errcode_t err = b ? 0 : add_block(t, blk, &b);

	if (err)
		return err;
	memset(b->data, 0, txn_fs(t)->blocksize);
	*data = b->data;
	return 0;
}

uint32_t e4l_txn_room(const struct e4l_txn *t)
{
	return t->j->capacity - t->n;
}

/* --------------------------------------------------------------- inodes */

static errcode_t locate_inode(struct e4l_txn *t, ext2_ino_t ino, blk64_t *blk,
			      size_t *offset)
{
	ext2_filsys fs = txn_fs(t);
	uint32_t per_group = fs->super->s_inodes_per_group;
	blk64_t table;
	uint64_t byte;

	if (!ino || ino > fs->super->s_inodes_count)
		return e4l_fail(t->j->e, E4L_ET_BAD_ARGUMENT,
				"locating an inode", ino, 0);
	table = ext2fs_inode_table_loc(fs, (ino - 1) / per_group);
	byte = (uint64_t)((ino - 1) % per_group) * EXT2_INODE_SIZE(fs->super);
	*blk = table + byte / fs->blocksize;
	*offset = byte % fs->blocksize;
	if (table <= fs->super->s_first_data_block ||
	    *blk >= ext2fs_blocks_count(fs->super))
		return e4l_fail(t->j->e, E4L_ET_ITABLE_RANGE,
				"locating an inode", ino, *blk);
	return 0;
}

errcode_t e4l_txn_read_inode(struct e4l_txn *t, ext2_ino_t ino, void *inode)
{
	const void *block;
	size_t offset;
	blk64_t blk;
	errcode_t err = locate_inode(t, ino, &blk, &offset);

	if (!err)
		err = look_at_block(t, blk, &block);
	if (!err)
		e4l_inode_to_host(txn_fs(t), inode,
				  (const char *)block + offset);
	return err;
}

errcode_t e4l_txn_put_inode(struct e4l_txn *t, ext2_ino_t ino,
			    const void *inode)
{
	ext2_filsys fs = txn_fs(t);
	size_t offset;
	void *data;
	blk64_t blk;
	errcode_t err;

	err = locate_inode(t, ino, &blk, &offset);
	if (!err)
		err = e4l_txn_edit_block(t, blk, &data);
	if (err)
		return err;
	data = (uint8_t *)data + offset;
	e4l_inode_to_disk(fs, data, inode);
	return ext2fs_inode_csum_set(fs, ino, data);
}

/* ----------------------------------------------- allocating and freeing */

static blk64_t group_end(ext2_filsys fs, dgrp_t group)
{
	return ext2fs_group_last_block2(fs, group) + 1;
}

/*
 * Sets *@group to the group of the first block of @r.  Returns the part of @r
 * that is in this group.
 */
static struct range first_part(ext2_filsys fs, const struct range *r,
			       dgrp_t *group)
{
	struct range part = *r;
	blk64_t end;

	*group = ext2fs_group_of_blk2(fs, r->blk);
	end = group_end(fs, *group);
	if (part.count > end - part.blk)
		part.count = end - part.blk;
	return part;
}

static bool has_group(const struct groups *groups, dgrp_t group)
{
	size_t i;

	for (i = groups->n; i--; )
		if (groups->v[i].group == group)
			return true;
	return false;
}

/*
 * Adds two blocks to the transaction: @bitmap, a bitmap of @group, and the
 * block with the group's descriptor.  fill_groups() fills the two blocks at the
 * commit.  If @group is already in @groups, does nothing.
 */
static errcode_t reserve_bitmap(struct e4l_txn *t, struct groups *groups,
				dgrp_t group, blk64_t bitmap)
{
	ext2_filsys fs = txn_fs(t);
	void *data;
	errcode_t err;

	if (has_group(groups, group))
		return 0;
	if (bitmap <= fs->super->s_first_data_block ||
	    bitmap >= ext2fs_blocks_count(fs->super))
		return e4l_fail_group(t->j->e, E4L_ET_BITMAP_RANGE,
				      "locating a bitmap", group, bitmap);
	err = e4l_grow(&groups->v, groups->n, sizeof(*groups->v));
	if (!err)
		err = e4l_txn_new_block(t, bitmap, &data);
	if (err)
		return err;
	err = e4l_txn_new_block(t, e4l_descriptor_blk(fs, group), &data);
	if (err) {
		forget_block(t, bitmap);
		return err;
	}
	groups->v[groups->n].flags = ext2fs_bg_flags(fs, group);
	groups->v[groups->n++].group = group;
	return 0;
}

static errcode_t reserve_group(struct e4l_txn *t, dgrp_t group)
{
	return reserve_bitmap(t, &t->groups, group,
			      ext2fs_block_bitmap_loc(txn_fs(t), group));
}

static errcode_t reserve_groups(struct e4l_txn *t, struct range r)
{
	errcode_t err = 0;
	dgrp_t group;

	while (!err && r.count) {
		struct range part = first_part(txn_fs(t), &r, &group);

		err = reserve_group(t, group);
		r.blk += part.count;
		r.count -= part.count;
	}
	return err;
}

static errcode_t check_range(struct e4l_txn *t, const struct range *r)
{
	ext2_filsys fs = txn_fs(t);
	blk64_t end = ext2fs_blocks_count(fs->super);
	blk64_t mask = EXT2FS_CLUSTER_MASK(fs);

	if (r->blk <= fs->super->s_first_data_block || r->blk >= end ||
	    !r->count || r->count > end - r->blk)
		return e4l_fail(t->j->e, E4L_ET_BLOCK_RANGE,
				"allocating or freeing blocks", 0, r->blk);
	if (r->blk & mask || (r->count & mask && r->blk + r->count != end))
		return e4l_fail(t->j->e, E4L_ET_BAD_ARGUMENT,
				"allocating or freeing part of a cluster", 0,
				r->blk);
	return 0;
}

/*
 * If @in_use is true, checks that all clusters of @r are in use; otherwise,
 * checks that all clusters of @r are free.
 */
static errcode_t check_bits(struct e4l_txn *t, const struct range *r,
			    bool in_use)
{
	ext2_filsys fs = txn_fs(t);
	blk64_t blk;

	for (blk = r->blk; blk < r->blk + r->count;
	     blk += EXT2FS_CLUSTER_RATIO(fs))
		if (!!ext2fs_test_block_bitmap2(fs->block_map, blk) != in_use)
			return e4l_fail(t->j->e,
					in_use ? E4L_ET_BLOCK_NOT_IN_USE :
						 E4L_ET_BLOCK_IN_USE,
					"allocating or freeing blocks", 0, blk);
	return 0;
}

/*
 * Checks that the free cluster counts of all groups of @r stay in range if
 * set_range() is called with @r and @in_use.
 */
static errcode_t check_counts(struct e4l_txn *t, struct range r, bool in_use)
{
	ext2_filsys fs = txn_fs(t);
	errcode_t err = 0;
	dgrp_t group;

	while (!err && r.count) {
		struct range part = first_part(fs, &r, &group);
		int64_t clusters = EXT2FS_NUM_B2C(fs, part.count);

		err = e4l_counts_add_clusters(t->j->e, group,
					      in_use ? -clusters : clusters);
		r.blk += part.count;
		r.count -= part.count;
	}
	return err;
}

/*
 * Marks the blocks of @r in memory: if @in_use is true, as in use; otherwise,
 * as free.  Updates the free counts and the flags of the groups.
 */
static void set_range(ext2_filsys fs, struct range r, bool in_use)
{
	dgrp_t group;

	if (in_use)
		ext2fs_mark_block_bitmap_range2(fs->block_map, r.blk, r.count);
	else
		ext2fs_unmark_block_bitmap_range2(fs->block_map, r.blk,
						  r.count);
	while (r.count) {
		struct range part = first_part(fs, &r, &group);
		int64_t clusters = EXT2FS_NUM_B2C(fs, part.count);
		int64_t delta = in_use ? -clusters : clusters;

		ext2fs_bg_free_blocks_count_set(fs, group,
			ext2fs_bg_free_blocks_count(fs, group) + delta);
		ext2fs_bg_flags_clear(fs, group, EXT2_BG_BLOCK_UNINIT);
		ext2fs_free_blocks_count_add(fs->super, delta *
					     EXT2FS_CLUSTER_RATIO(fs));
		r.blk += part.count;
		r.count -= part.count;
	}
}

static errcode_t push_range(struct ranges *list, struct range r)
{
	errcode_t err = e4l_grow(&list->r, list->n, sizeof(*list->r));

	if (!err)
		list->r[list->n++] = r;
	return err;
}

static errcode_t note_range(struct e4l_txn *t, struct ranges *list,
			    struct range r, bool in_use)
{
	errcode_t err = check_range(t, &r);

	if (!err)
		err = check_bits(t, &r, in_use);
	if (!err)
		err = reserve_groups(t, r);
	if (!err)
		err = e4l_discard_note(t->j, r);
	return err ? err : push_range(list, r);
}

errcode_t e4l_txn_alloc(struct e4l_txn *t, blk64_t blk, blk64_t count)
{
	struct range r = { blk, count };
	errcode_t err = check_range(t, &r);

	if (!err)
		err = check_counts(t, r, true);
	if (!err)
		err = note_range(t, &t->allocs, r, false);
	if (!err)
		set_range(txn_fs(t), r, true);
	return err;
}

errcode_t e4l_txn_free(struct e4l_txn *t, blk64_t blk, blk64_t count)
{
	struct range r = { blk, count };
	errcode_t err = note_range(t, &t->frees, r, true);

	for (; !err && r.count; r.blk++, r.count--)
		forget_block(t, r.blk);
	return err;
}

/*
 * Checks that all blocks that the transaction writes are in use after the
 * commit.  Data can be written to a free block before the next commit, and a
 * replay would overwrite the data.
 */
static errcode_t check_blocks(struct e4l_txn *t,
			      const struct txn_block *blocks)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		if (!ext2fs_test_block_bitmap2(txn_fs(t)->block_map,
					       blocks[i].blk))
			return e4l_fail(t->j->e, E4L_ET_BLOCK_NOT_IN_USE,
					"changing a block", 0, blocks[i].blk);
	return 0;
}

/*
 * Applies the frees of the transaction to the bitmaps in memory.  After an
 * error, undoes the frees.
 */
static errcode_t apply_frees(struct e4l_txn *t,
			     const struct txn_block *blocks)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < t->frees.n; i++) {
		err = check_bits(t, &t->frees.r[i], true);
		if (!err)
			err = check_counts(t, t->frees.r[i], false);
		if (err)
			break;
		set_range(txn_fs(t), t->frees.r[i], false);
	}
	if (!err)
		err = check_blocks(t, blocks);
	while (err && i--)
		set_range(txn_fs(t), t->frees.r[i], true);
	return err;
}

/* ------------------------------------------------------- moving inodes */

/*
 * Marks inode @ino as in use if @delta is 1, or as free if @delta is -1, and
 * updates the counts of its group.  If @is_dir is true, also updates the number
 * of directories.
 */
static void count_inode(ext2_filsys fs, ext2_ino_t ino, bool is_dir, int delta)
{
	dgrp_t group = ext2fs_group_of_ino(fs, ino);

	if (delta > 0)
		ext2fs_mark_inode_bitmap2(fs->inode_map, ino);
	else
		ext2fs_unmark_inode_bitmap2(fs->inode_map, ino);
	ext2fs_bg_free_inodes_count_set(fs, group,
		ext2fs_bg_free_inodes_count(fs, group) - delta);
	if (is_dir)
		ext2fs_bg_used_dirs_count_set(fs, group,
			ext2fs_bg_used_dirs_count(fs, group) + delta);
}

/*
 * Marks inode @ino, and all inodes before it in the inode table, as initialized
 * in the group descriptor.  Without group checksums, marks the whole inode
 * table.
 */
static void use_table(ext2_filsys fs, ext2_ino_t ino)
{
	uint32_t per_group = fs->super->s_inodes_per_group;
	uint32_t above = per_group - 1 - (ino - 1) % per_group;
	dgrp_t group = ext2fs_group_of_ino(fs, ino);

	if (!ext2fs_has_group_desc_csum(fs))
		above = 0;
	if (ext2fs_bg_flags_test(fs, group, EXT2_BG_INODE_UNINIT) ||
	    ext2fs_bg_itable_unused(fs, group) > above)
		ext2fs_bg_itable_unused_set(fs, group, above);
	ext2fs_bg_flags_clear(fs, group, EXT2_BG_INODE_UNINIT);
}

/*
 * Sets the checksums of the group descriptors of m->from and m->to, because
 * functions that read inode tables verify these checksums.
 */
static void seal_groups_of(ext2_filsys fs, const struct moved *m)
{
	ext2fs_group_desc_csum_set(fs, ext2fs_group_of_ino(fs, m->from));
	ext2fs_group_desc_csum_set(fs, ext2fs_group_of_ino(fs, m->to));
}

static void move_bits(ext2_filsys fs, const struct moved *m)
{
	count_inode(fs, m->from, m->is_dir, -1);
	count_inode(fs, m->to, m->is_dir, 1);
	use_table(fs, m->to);
	seal_groups_of(fs, m);
}

static void move_bits_back(ext2_filsys fs, const struct moved *m)
{
	dgrp_t group = ext2fs_group_of_ino(fs, m->to);

	count_inode(fs, m->to, m->is_dir, -1);
	count_inode(fs, m->from, m->is_dir, 1);
	ext2fs_bg_itable_unused_set(fs, group, m->unused);
	ext2fs_bg_flags_zap(fs, group);
	ext2fs_bg_flags_set(fs, group, m->flags);
	seal_groups_of(fs, m);
}

static errcode_t reserve_inode(struct e4l_txn *t, ext2_ino_t ino)
{
	dgrp_t group = ext2fs_group_of_ino(txn_fs(t), ino);

	return reserve_bitmap(t, &t->inode_groups, group,
			      ext2fs_inode_bitmap_loc(txn_fs(t), group));
}

/* Copies inode @from to inode @to, and zeroes inode @from. */
static errcode_t move_bytes(struct e4l_txn *t, ext2_ino_t from, ext2_ino_t to)
{
	ext2_filsys fs = txn_fs(t);
	size_t size = EXT2_INODE_SIZE(fs->super), at, new_at;
	void *old, *new;
	blk64_t blk, new_blk;
	errcode_t err;

	err = locate_inode(t, from, &blk, &at);
	if (!err)
		err = locate_inode(t, to, &new_blk, &new_at);
	if (!err)
		err = e4l_txn_edit_block(t, blk, &old);
	if (!err)
		err = e4l_txn_edit_block(t, new_blk, &new);
	if (err)
		return err;
	memcpy((uint8_t *)new + new_at, (uint8_t *)old + at, size);
	memset((uint8_t *)old + at, 0, size);
	return ext2fs_inode_csum_set(fs, to, (void *)((uint8_t *)new + new_at));
}

static errcode_t check_move(struct e4l_txn *t, ext2_ino_t from, ext2_ino_t to)
{
	ext2_filsys fs = txn_fs(t);
	ext2_ino_t least = EXT2_FIRST_INO(fs->super);
	ext2_ino_t most = fs->super->s_inodes_count;
	errcode_t err = 0;

	if (from < least || from > most || to < least || to > most)
		err = E4L_ET_BAD_ARGUMENT;
	else if (!fs->inode_map)
		err = EXT2_ET_NO_INODE_BITMAP;
	else if (!ext2fs_test_inode_bitmap2(fs->inode_map, from) ||
		 ext2fs_test_inode_bitmap2(fs->inode_map, to))
		err = E4L_ET_CHANGED;
	return err ? e4l_fail(t->j->e, err, "moving an inode", from, 0) : 0;
}

errcode_t e4l_txn_move_inode(struct e4l_txn *t, ext2_ino_t from, ext2_ino_t to,
			     bool is_dir)
{
	ext2_filsys fs = txn_fs(t);
	dgrp_t group = ext2fs_group_of_ino(fs, to);
	struct moved *m;
	errcode_t err = check_move(t, from, to);

	if (!err)
		err = e4l_counts_move_inode(t->j->e, from, to, is_dir);
	if (!err)
		err = reserve_inode(t, from);
	if (!err)
		err = reserve_inode(t, to);
	if (!err)
		err = e4l_grow(&t->moved, t->n_moved, sizeof(*t->moved));
	if (!err)
		err = move_bytes(t, from, to);
	if (err)
		return err;
	m = &t->moved[t->n_moved++];
	*m = (struct moved) {
		.from = from, .to = to, .is_dir = is_dir,
		.flags = ext2fs_bg_flags(fs, group),
		.unused = ext2fs_bg_itable_unused(fs, group),
	};
	move_bits(fs, m);
	return 0;
}

/* -------------------------------------- moving bitmaps and inode tables */

blk64_t e4l_table_loc(ext2_filsys fs, dgrp_t group, enum e4l_table table)
{
	switch (table) {
	case E4L_BLOCK_BITMAP:
		return ext2fs_block_bitmap_loc(fs, group);
	case E4L_INODE_BITMAP:
		return ext2fs_inode_bitmap_loc(fs, group);
	default:
		return ext2fs_inode_table_loc(fs, group);
	}
}

static void set_table_loc(ext2_filsys fs, dgrp_t group, enum e4l_table table,
			  blk64_t blk)
{
	switch (table) {
	case E4L_BLOCK_BITMAP:
		ext2fs_block_bitmap_loc_set(fs, group, blk);
		break;
	case E4L_INODE_BITMAP:
		ext2fs_inode_bitmap_loc_set(fs, group, blk);
		break;
	default:
		ext2fs_inode_table_loc_set(fs, group, blk);
	}
}

/* Undoes the last change of e4l_txn_place_table() in the group descriptor. */
static void put_table_back(struct e4l_txn *t)
{
	const struct placed *p = &t->placed[--t->n_placed];

	set_table_loc(txn_fs(t), p->group, p->table, p->from);
	ext2fs_group_desc_csum_set(txn_fs(t), p->group);
}

errcode_t e4l_txn_add_group(struct e4l_txn *t, dgrp_t group)
{
	return reserve_group(t, group);
}

errcode_t e4l_txn_place_table(struct e4l_txn *t, dgrp_t group,
			      enum e4l_table table, blk64_t to)
{
	ext2_filsys fs = txn_fs(t);
	errcode_t err = e4l_grow(&t->placed, t->n_placed, sizeof(*t->placed));

	if (err)
		return err;
	t->placed[t->n_placed++] = (struct placed) {
		group, table, e4l_table_loc(fs, group, table),
	};
	set_table_loc(fs, group, table, to);
	err = reserve_group(t, group);
	if (!err && table == E4L_INODE_BITMAP)
		err = reserve_bitmap(t, &t->inode_groups, group, to);
	if (err)
		put_table_back(t);
	return err;
}

/* ------------------------------------------------- bitmaps, descriptors */

/*
 * Copies the block bitmap of @group from memory to @buf, and sets the bits
 * after the last cluster of the group.
 */
static errcode_t fill_bitmap(struct e4l_txn *t, dgrp_t group, void *buf)
{
	ext2_filsys fs = txn_fs(t);
	struct ext2_super_block *sb = fs->super;
	uint32_t clusters = EXT2_CLUSTERS_PER_GROUP(sb);
	blk64_t first = ext2fs_group_first_block2(fs, group);
	uint64_t bit, valid = EXT2FS_NUM_B2C(fs, group_end(fs, group) - first);
	errcode_t err;

	memset(buf, 0xff, fs->blocksize);
	err = ext2fs_get_block_bitmap_range2(fs->block_map,
				EXT2FS_B2C(fs, sb->s_first_data_block) +
				(blk64_t)group * clusters, valid, buf);
	if (err)
		return err;
	for (bit = valid; bit < 8ull * fs->blocksize && bit & 7; bit++)
		ext2fs_set_bit(bit, buf);
	return ext2fs_block_bitmap_csum_set(fs, group, buf, clusters / 8);
}

static errcode_t fill_descriptors(struct e4l_txn *t, dgrp_t group)
{
	ext2_filsys fs = txn_fs(t);
	struct txn_block *b = find_block(t, e4l_descriptor_blk(fs, group));
	uint32_t per_block = EXT2_DESC_PER_BLOCK(fs->super);
	uint32_t i = group / per_block;

	if (!b)
		return E4L_ET_BITMAP_RANGE;
	ext2fs_group_desc_csum_set(fs, group);
	memcpy(b->data, (uint8_t *)fs->group_desc + (size_t)i * fs->blocksize,
	       fs->blocksize);
#ifdef WORDS_BIGENDIAN
	for (i = 0; i < per_block; i++)
		ext2fs_swap_group_desc2(fs, (struct ext2_group_desc *)
			(b->data + i * EXT2_DESC_SIZE(fs->super)));
#endif
	return 0;
}

/*
 * Copies the inode bitmap of @group from memory to @buf, and sets the bits
 * after the last inode of the group.
 */
static errcode_t fill_inode_bitmap(struct e4l_txn *t, dgrp_t group, void *buf)
{
	ext2_filsys fs = txn_fs(t);
	uint32_t per_group = fs->super->s_inodes_per_group;
	errcode_t err;

	memset(buf, 0xff, fs->blocksize);
	err = ext2fs_get_inode_bitmap_range2(fs->inode_map,
					     (uint64_t)group * per_group + 1,
					     per_group, buf);
	return err ? err : ext2fs_inode_bitmap_csum_set(fs, group, buf,
							per_group / 8);
}

static errcode_t fill_bitmaps(struct e4l_txn *t, const struct groups *groups,
			      blk64_t (*where)(ext2_filsys fs, dgrp_t group),
			      errcode_t (*fill)(struct e4l_txn *t, dgrp_t group,
						void *buf))
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; !err && i < groups->n; i++) {
		struct txn_block *b = find_block(t, where(txn_fs(t),
						groups->v[i].group));

		err = b ? fill(t, groups->v[i].group, b->data) :
			  E4L_ET_BITMAP_RANGE;
	}
	return err;
}

static errcode_t fill_groups(struct e4l_txn *t)
{
	errcode_t err;
	size_t i;

	err = fill_bitmaps(t, &t->groups, ext2fs_block_bitmap_loc, fill_bitmap);
	if (!err)
		err = fill_bitmaps(t, &t->inode_groups, ext2fs_inode_bitmap_loc,
				   fill_inode_bitmap);
	for (i = 0; !err && i < t->groups.n; i++)
		err = fill_descriptors(t, t->groups.v[i].group);
	for (i = 0; !err && i < t->inode_groups.n; i++)
		err = fill_descriptors(t, t->inode_groups.v[i].group);
	return err;
}

/* -------------------------------------------------------- begin and end */

errcode_t e4l_txn_begin(struct e4l_journal *j, struct e4l_txn **ret)
{
	struct e4l_txn *t;
	errcode_t err;

	*ret = NULL;
	if (e4l_journal_failed(j))
		return j->failed;
	if (j->txn)
		return e4l_fail(j->e, E4L_ET_BAD_ARGUMENT,
				"beginning a transaction", 0, 0);
	t = calloc(1, sizeof(*t));
	if (!t)
		return ENOMEM;
	err = io_channel_alloc_buf(j->e->fs->io, 1, &t->seen);
	if (err) {
		free(t);
		return err;
	}
	t->j = j;
	j->txn = t;
	*ret = t;
	return 0;
}

static void txn_destroy(struct e4l_txn *t)
{
	t->j->txn = NULL;
	tdestroy(t->tree, free_entry);
	free(t->allocs.r);
	free(t->frees.r);
	free(t->groups.v);
	free(t->inode_groups.v);
	free(t->moved);
	free(t->placed);
	ext2fs_free_mem(&t->seen);
	free(t);
}

/*
 * Restores the flag EXT2_BG_BLOCK_UNINIT to the state before the transaction,
 * in all groups whose block bitmap has changed.  Then sets the checksums of the
 * group descriptors.
 */
static void restore_flags(struct e4l_txn *t)
{
	ext2_filsys fs = txn_fs(t);
	size_t i;

	for (i = 0; i < t->groups.n; i++) {
		dgrp_t group = t->groups.v[i].group;

		ext2fs_bg_flags_set(fs, group, t->groups.v[i].flags &
				    EXT2_BG_BLOCK_UNINIT);
		ext2fs_group_desc_csum_set(fs, group);
	}
}

void e4l_txn_abort(struct e4l_txn *t)
{
	if (!t)
		return;
	while (t->allocs.n--)
		set_range(txn_fs(t), t->allocs.r[t->allocs.n], false);
	while (t->n_moved--)
		move_bits_back(txn_fs(t), &t->moved[t->n_moved]);
	while (t->n_placed)
		put_table_back(t);
	restore_flags(t);
	txn_destroy(t);
}

/*
 * Returns the blocks of the transaction in disk order.  The caller frees the
 * array; the data belong to the transaction.
 */
static struct txn_block *sorted_blocks(const struct e4l_txn *t)
{
	struct txn_block *blocks = calloc(t->n + 1, sizeof(*blocks));
	const struct block_entry *e;
	size_t n = 0;

	if (!blocks)
		return NULL;
	for (e = t->entries; e; e = e->next)
		blocks[n++] = e->b;
	qsort(blocks, n, sizeof(*blocks), e4l_u64_cmp);
	return blocks;
}

static errcode_t write_blocks(struct e4l_journal *j,
			      const struct txn_block *blocks, size_t n,
			      bool *switched)
{
	if (switched)
		return e4l_journal_switch(j, blocks, n, switched);
	return n ? e4l_journal_commit(j, blocks, n) : 0;
}

/*
 * Commits the transaction.  Unless @switched is NULL, also changes the size of
 * the filesystem.
 */
static errcode_t commit(struct e4l_txn *t, bool *switched)
{
	struct e4l_journal *j = t->j;
	struct txn_block *blocks;
	errcode_t err = 0;

	blocks = sorted_blocks(t);
	if (!blocks)
		err = ENOMEM;
	if (!err)
		err = apply_frees(t, blocks);
	if (err) {
		e4l_txn_abort(t);
		goto out;
	}
	err = fill_groups(t);
	if (err)
		j->failed = e4l_fail(j->e, err, "filling bitmaps", 0, 0);
	else
		err = write_blocks(j, blocks, t->n, switched);
	ext2fs_flush_icache(txn_fs(t));
	txn_destroy(t);
out:
	free(blocks);
	return err;
}

errcode_t e4l_txn_commit(struct e4l_txn *t)
{
	return commit(t, NULL);
}

errcode_t e4l_txn_switch(struct e4l_txn *t, bool *switched)
{
	*switched = false;
	return commit(t, switched);
}

errcode_t e4l_txn_end(struct e4l_txn *t, errcode_t err)
{
	if (!err)
		return e4l_txn_commit(t);
	e4l_txn_abort(t);
	return err;
}
