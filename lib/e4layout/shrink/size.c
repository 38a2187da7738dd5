// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * size: computes the properties of a smaller filesystem (groups, descriptors,
 * inodes, and blocks of metadata and files), and the smallest size.
 */
#include "config.h"
#include <stdlib.h>
#include "own.h"
#include "size.h"

/* minimum number of blocks of the last group, without its metadata */
#define LAST_GROUP_BLOCKS 50

static blk64_t whole_clusters(ext2_filsys fs, blk64_t blocks)
{
	blk64_t mask = EXT2FS_CLUSTER_MASK(fs);

	return (blocks + mask) & ~mask;
}

/* ------------------------------------------------------------- the groups */

/*
 * Keeps the backup groups of sparse_super2 that are not removed.  A removed
 * backup group is not replaced by another group, for the following reason.  The
 * size and the backup groups are in different sectors of the superblock.  A
 * power failure can prevent the write of one of these sectors.  A group without
 * a backup must not become a backup group in this case.
 */
static void set_backups(ext2_filsys fs, struct e4l_size *size)
{
	int i;

	for (i = 0; i < 2; i++) {
		size->backup_bgs[i] = fs->super->s_backup_bgs[i];
		if (size->backup_bgs[i] >= size->groups)
			size->backup_bgs[i] = 0;
	}
}

/*
 * Sets the number of descriptor blocks.  If the filesystem has reserved GDT
 * blocks, descriptor blocks that are no longer needed also become reserved, so
 * that the filesystem can grow to its old size again.
 */
static void set_descriptors(ext2_filsys fs, struct e4l_size *size)
{
	struct ext2_super_block *sb = fs->super;
	uint32_t per_block = EXT2_DESC_PER_BLOCK(sb);
	uint32_t reserved = sb->s_reserved_gdt_blocks;
	uint32_t most = fs->blocksize / sizeof(uint32_t);

	size->desc_blocks = ext2fs_div_ceil(size->groups, per_block);
	if (ext2fs_has_feature_resize_inode(sb) && reserved) {
		reserved += fs->desc_blocks - size->desc_blocks;
		reserved = reserved < most ? reserved : most;
	}
	size->reserved_gdt = reserved;
	size->first_meta_bg = sb->s_first_meta_bg;
	if (ext2fs_has_feature_meta_bg(sb) &&
	    size->first_meta_bg > size->desc_blocks)
		size->first_meta_bg = size->desc_blocks;
}

static void set_groups(ext2_filsys fs, blk64_t blocks, struct e4l_size *size)
{
	const struct ext2_super_block *sb = fs->super;

	size->blocks = blocks;
	size->groups = ext2fs_div64_ceil(blocks - sb->s_first_data_block,
					 sb->s_blocks_per_group);
	size->inodes = size->groups * sb->s_inodes_per_group;
	set_descriptors(fs, size);
	set_backups(fs, size);
}

/*
 * Whether a shrink to @size is unsafe because the group descriptors have no
 * backup.  If e2fsck replays the journal before the size changes (see
 * journal/switch.c), reserved GDT blocks can overwrite descriptors.  e2fsck then
 * needs a backup of the descriptors.
 */
static bool needs_backup(ext2_filsys fs, const struct e4l_size *size)
{
	dgrp_t g;

	if (size->desc_blocks == fs->desc_blocks ||
	    !ext2fs_has_feature_journal(fs->super) ||
	    !ext2fs_has_feature_resize_inode(fs->super) ||
	    !fs->super->s_reserved_gdt_blocks)
		return false;
	for (g = 1; g < fs->group_desc_count; g++)
		if (ext2fs_bg_has_super(fs, g))
			return false;
	return true;
}

void e4l_size_set_super(const struct e4l_size *size,
			struct ext2_super_block *sb)
{
	ext2fs_blocks_count_set(sb, size->blocks);
	sb->s_inodes_count = size->inodes;
	sb->s_reserved_gdt_blocks = size->reserved_gdt;
	sb->s_first_meta_bg = size->first_meta_bg;
	sb->s_backup_bgs[0] = size->backup_bgs[0];
	sb->s_backup_bgs[1] = size->backup_bgs[1];
}

void e4l_size_shape(ext2_filsys fs, const struct e4l_size *size,
		    struct e4l_shape *shape)
{
	struct ext2_super_block *sb = &shape->sb;

	shape->fs = *fs;
	shape->sb = *fs->super;
	shape->fs.super = sb;
	shape->fs.group_desc_count = size->groups;
	shape->fs.desc_blocks = size->desc_blocks;
	e4l_size_set_super(size, sb);
}

/* Returns the maximum number of blocks of the last group's metadata. */
static blk64_t last_overhead(ext2_filsys fs, const struct e4l_size *size)
{
	struct e4l_own_run runs[E4L_OWN_BACKUPS];
	struct e4l_shape shape;
	blk64_t blocks;
	size_t n, i;

	e4l_size_shape(fs, size, &shape);
	blocks = 2 * whole_clusters(fs, 1) +
		 whole_clusters(fs, fs->inode_blocks_per_group);
	n = e4l_own_backups(&shape.fs, size->groups - 1, runs);
	for (i = 0; i < n; i++)
		blocks += whole_clusters(fs, runs[i].len);
	return blocks;
}

static blk64_t last_length(ext2_filsys fs, const struct e4l_size *size)
{
	return size->blocks - fs->super->s_first_data_block -
	       (blk64_t)(size->groups - 1) * fs->super->s_blocks_per_group;
}

/* Returns the minimum length of the last group of @size, in blocks. */
static blk64_t last_least(ext2_filsys fs, const struct e4l_size *size)
{
	blk64_t least = whole_clusters(fs, last_overhead(fs, size) +
				       LAST_GROUP_BLOCKS);

	return least < fs->super->s_blocks_per_group ? least :
						fs->super->s_blocks_per_group;
}

/* Sets *@size to the largest valid size of at most @blocks blocks. */
static errcode_t lay_out(ext2_filsys fs, blk64_t blocks, struct e4l_size *size)
{
	blk64_t first = fs->super->s_first_data_block;
	blk64_t now = ext2fs_blocks_count(fs->super);

	if (blocks > now || blocks <= first)
		return E4L_ET_BAD_ARGUMENT;
	if (blocks < now)
		blocks &= ~(blk64_t)EXT2FS_CLUSTER_MASK(fs);
	for (;;) {
		if (blocks <= first)
			return E4L_ET_BAD_ARGUMENT;
		set_groups(fs, blocks, size);
		if (needs_backup(fs, size))
			return E4L_ET_BAD_ARGUMENT;
		/* the current size is always valid */
		if (blocks == now || last_length(fs, size) >=
				     last_least(fs, size))
			return 0;
		blocks -= last_length(fs, size);
	}
}

/* ------------------------------------------------------------- the blocks */

/*
 * Sets of own blocks.  @now has the own blocks of the current size, and @kept
 * has those of the new size.  @gone has the blocks that are only in @now, and
 * @new has the blocks that are only in @kept.
 */
struct sets {
	struct e4l_own now, kept, gone, new;
};

static void free_sets(struct sets *s)
{
	e4l_own_free(&s->now);
	e4l_own_free(&s->kept);
	e4l_own_free(&s->gone);
	e4l_own_free(&s->new);
}

static errcode_t fill_sets(ext2_filsys fs, struct e4l_shape *shape,
			   struct sets *s)
{
	errcode_t err = e4l_own_add(fs, 0, fs->group_desc_count, &s->now);

	if (!err)
		err = e4l_own_add(&shape->fs, 0, shape->fs.group_desc_count,
				  &s->kept);
	if (err)
		return err;
	e4l_own_sort(&s->now);
	e4l_own_sort(&s->kept);
	err = e4l_own_minus(&s->now, &s->kept, &s->gone);
	if (!err)
		err = e4l_own_minus(&s->kept, &s->now, &s->new);
	return err;
}

/* Returns the number of blocks of all used clusters. */
static blk64_t blocks_in_use(ext2_filsys fs)
{
	blk64_t clusters = 0, all;
	dgrp_t g;

	all = ext2fs_blocks_count(fs->super) - fs->super->s_first_data_block;
	for (g = 0; g < fs->group_desc_count; g++)
		clusters += ext2fs_bg_free_blocks_count(fs, g);
	return whole_clusters(fs, all) - EXT2FS_C2B(fs, clusters);
}

/*
 * Counts the blocks of bitmaps and inode tables that are on the wrong side of
 * the new end.  A kept group must have these blocks below the end; a removed
 * group must have them above the end.
 */
static void count_tables(ext2_filsys fs, dgrp_t group, struct e4l_size *size)
{
	const struct e4l_own_run tables[] = {
		{ ext2fs_inode_table_loc(fs, group),
		  fs->inode_blocks_per_group },
		{ ext2fs_block_bitmap_loc(fs, group), 1 },
		{ ext2fs_inode_bitmap_loc(fs, group), 1 },
	};
	size_t i;

	for (i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		blk64_t len = whole_clusters(fs, tables[i].len);

		if (group >= size->groups) {
			if (tables[i].blk < size->blocks)
				size->lift_blocks += len;
			continue;
		}
		if (tables[i].blk + tables[i].len <= size->blocks)
			continue;
		size->move_blocks += len;
		if (tables[i].blk < size->blocks &&
		    EXT2FS_CLUSTER_RATIO(fs) == 1)
			size->split_blocks += size->blocks - tables[i].blk;
		if (len > size->move_longest)
			size->move_longest = len;
	}
}

/*
 * Counts the own blocks of kept groups that become free below the new end when
 * the size changes.
 */
static errcode_t count_late(ext2_filsys fs, const struct sets *s,
			    struct e4l_size *size)
{
	struct e4l_own late = { NULL, 0 };
	errcode_t err = 0;
	dgrp_t g;

	for (g = 0; g < size->groups && !err; g++)
		err = e4l_own_add(fs, g, g + 1, &late);
	if (!err) {
		struct e4l_own left = { NULL, 0 };

		e4l_own_sort(&late);
		err = e4l_own_minus(&late, &s->kept, &left);
		e4l_own_cut(&left, size->blocks);
		size->late_blocks = e4l_own_count(&left);
		e4l_own_free(&left);
	}
	e4l_own_free(&late);
	return err;
}

/* Sets the members of *@size that count blocks. */
static errcode_t count(ext2_filsys fs, struct e4l_size *size)
{
	struct e4l_shape shape;
	struct sets s = { .now = { NULL, 0 } };
	blk64_t all, mmp = fs->super->s_mmp_block;
	errcode_t err;
	dgrp_t g;

	e4l_size_shape(fs, size, &shape);
	err = fill_sets(fs, &shape, &s);
	for (g = 0; g < fs->group_desc_count; g++)
		count_tables(fs, g, size);
	if (!err)
		err = count_late(fs, &s, size);
	size->file_blocks = blocks_in_use(fs) - e4l_own_count(&s.now);
	e4l_own_cut(&s.kept, size->blocks);
	size->own_blocks = e4l_own_count(&s.kept) + size->move_blocks -
			   size->split_blocks;
	if (ext2fs_has_feature_mmp(fs->super) && mmp >= size->blocks)
		size->own_blocks += whole_clusters(fs, 1);
	free_sets(&s);
	all = whole_clusters(fs, size->blocks - fs->super->s_first_data_block);
	size->free_blocks = (int64_t)all - (int64_t)size->own_blocks -
			    (int64_t)size->file_blocks;
	return err;
}

static ext2_ino_t inodes_in_use(ext2_filsys fs)
{
	ext2_ino_t free_inodes = 0;
	dgrp_t g;

	for (g = 0; g < fs->group_desc_count; g++)
		free_inodes += ext2fs_bg_free_inodes_count(fs, g);
	return fs->super->s_inodes_count - free_inodes;
}

errcode_t e4l_size_for(struct e4l *e, blk64_t blocks, struct e4l_size *size)
{
	errcode_t err;

	*size = (struct e4l_size) { .blocks = 0 };
	err = lay_out(e->fs, blocks, size);
	if (!err)
		err = count(e->fs, size);
	if (!err && inodes_in_use(e->fs) > size->inodes)
		err = E4L_ET_NO_INODES;
	return err ? e4l_fail(e, err, "computing the size", 0, blocks) : 0;
}

/* ------------------------------------------------------ the smallest size */

static blk64_t end_of_groups(ext2_filsys fs, dgrp_t groups)
{
	blk64_t end = fs->super->s_first_data_block +
		      (blk64_t)groups * fs->super->s_blocks_per_group;

	return end < ext2fs_blocks_count(fs->super) ? end :
	       ext2fs_blocks_count(fs->super);
}

static bool suffices(const struct e4l_size *size, blk64_t free_blocks)
{
	return size->free_blocks >= 0 &&
	       (blk64_t)size->free_blocks >= free_blocks + size->late_blocks;
}

/*
 * Sets *@size to the largest size with @groups groups.  Sets *@enough to
 * whether at least @free_blocks blocks are free with this size.
 */
static errcode_t try_groups(struct e4l *e, dgrp_t groups, blk64_t free_blocks,
			    struct e4l_size *size, bool *enough)
{
	errcode_t err = e4l_size_for(e, end_of_groups(e->fs, groups), size);

	*enough = !err && size->groups == groups &&
		  suffices(size, free_blocks);
	return err == ENOMEM ? err : 0;
}

/*
 * Finds the smallest number of groups with at least @free_blocks free blocks.
 * A binary search is possible, because each additional group adds free blocks.
 */
static errcode_t fewest_groups(struct e4l *e, blk64_t free_blocks,
			       dgrp_t *groups)
{
	dgrp_t low = 1, high = e->fs->group_desc_count, mid;
	struct e4l_size size;
	errcode_t err;
	bool enough;

	while (low < high) {
		mid = low + (high - low) / 2;
		err = try_groups(e, mid, free_blocks, &size, &enough);
		if (err)
			return err;
		if (enough)
			high = mid;
		else
			low = mid + 1;
	}
	*groups = low;
	return 0;
}

/*
 * Returns the number of blocks that @size lacks to have @free_blocks free
 * blocks.  If @size has more free blocks, returns a negative number.
 */
static int64_t missing(const struct e4l_size *size, blk64_t free_blocks)
{
	return (int64_t)(free_blocks + size->late_blocks) - size->free_blocks;
}

/*
 * Makes the last group of *@size as short as possible while @free_blocks blocks
 * stay free.  If the new end is lower, more bitmaps and inode tables may have to
 * move below the end.  If the free blocks do not suffice for these tables, a
 * larger size is tried.
 */
static errcode_t shorten(struct e4l *e, blk64_t free_blocks,
			 struct e4l_size *size)
{
	const struct e4l_size full = *size;
	blk64_t least = full.blocks - last_length(e->fs, &full) +
			last_least(e->fs, &full), blocks;
	int64_t more = missing(size, free_blocks);
	errcode_t err = 0;

	blocks = whole_clusters(e->fs, full.blocks + more);
	while (!err) {
		if (blocks < least)
			blocks = least;
		if (blocks >= full.blocks)
			break;
		err = e4l_size_for(e, blocks, size);
		more = missing(size, free_blocks);
		if (err || (size->groups == full.groups && more <= 0))
			return err;
		blocks += whole_clusters(e->fs, more > 0 ? more : 1);
	}
	*size = full;
	return err;
}

errcode_t e4l_size_smallest(struct e4l *e, blk64_t free_blocks,
			    struct e4l_size *size)
{
	dgrp_t groups;
	bool enough;
	errcode_t err = fewest_groups(e, free_blocks, &groups);

	if (!err)
		err = try_groups(e, groups, free_blocks, size, &enough);
	if (!err && !enough)
		return e4l_size_for(e, ext2fs_blocks_count(e->fs->super), size);
	e4l_fail(e, 0, NULL, 0, 0);
	return err ? err : shorten(e, free_blocks, size);
}
