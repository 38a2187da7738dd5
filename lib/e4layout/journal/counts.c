/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * counts: checks the counts in the group descriptors.  Each count must be in
 * the range that is valid for the group, before and after a transaction changes
 * the count.
 */
#include "config.h"
#include "journal_internal.h"

static uint32_t group_clusters(ext2_filsys fs, dgrp_t group)
{
	uint32_t blocks = ext2fs_group_blocks_count(fs, group);

	return EXT2FS_NUM_B2C(fs, blocks);
}

static bool counts_ok(ext2_filsys fs, dgrp_t group)
{
	uint32_t inodes = fs->super->s_inodes_per_group;
	uint32_t free_inodes = ext2fs_bg_free_inodes_count(fs, group);

	return ext2fs_bg_free_blocks_count(fs, group) <=
	       group_clusters(fs, group) &&
	       free_inodes <= inodes &&
	       ext2fs_bg_used_dirs_count(fs, group) <= inodes - free_inodes &&
	       (!ext2fs_has_group_desc_csum(fs) ||
		ext2fs_bg_itable_unused(fs, group) <= free_inodes);
}

static errcode_t tell_group(struct e4l *e, dgrp_t group)
{
	return e4l_fail_group(e, E4L_ET_GROUP_COUNT,
			      "checking the group descriptors", group, 0);
}

errcode_t e4l_counts_check(struct e4l *e)
{
	dgrp_t group;

	for (group = 0; group < e->fs->group_desc_count; group++)
		if (!counts_ok(e->fs, group))
			return tell_group(e, group);
	return 0;
}

void e4l_counts_total(ext2_filsys fs)
{
	uint64_t clusters = 0;
	uint32_t inodes = 0;
	dgrp_t group;

	for (group = 0; group < fs->group_desc_count; group++) {
		clusters += ext2fs_bg_free_blocks_count(fs, group);
		inodes += ext2fs_bg_free_inodes_count(fs, group);
	}
	ext2fs_free_blocks_count_set(fs->super, EXT2FS_C2B(fs, clusters));
	fs->super->s_free_inodes_count = inodes;
}

errcode_t e4l_counts_add_clusters(struct e4l *e, dgrp_t group, int64_t delta)
{
	int64_t n = ext2fs_bg_free_blocks_count(e->fs, group) + delta;

	return n < 0 || n > group_clusters(e->fs, group) ?
	       tell_group(e, group) : 0;
}

errcode_t e4l_counts_move_inode(struct e4l *e, ext2_ino_t from, ext2_ino_t to,
				bool is_dir)
{
	dgrp_t old = ext2fs_group_of_ino(e->fs, from);
	dgrp_t new = ext2fs_group_of_ino(e->fs, to);

	if (!counts_ok(e->fs, old) ||
	    (is_dir && !ext2fs_bg_used_dirs_count(e->fs, old)))
		return tell_group(e, old);
	if (!counts_ok(e->fs, new) ||
	    !ext2fs_bg_free_inodes_count(e->fs, new))
		return tell_group(e, new);
	return 0;
}
