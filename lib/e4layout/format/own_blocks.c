/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "own_blocks.h"

size_t e4l_own_backups(ext2_filsys fs, dgrp_t group, struct e4l_own_run *runs)
{
	struct ext2_super_block *sb = fs->super;
	blk64_t super, old_desc, new_desc, old_blocks;
	size_t n = 0;

	ext2fs_super_and_bgd_loc2(fs, group, &super, &old_desc, &new_desc,
				  NULL);
	old_blocks = ext2fs_has_feature_meta_bg(sb) ? sb->s_first_meta_bg :
		     fs->desc_blocks + sb->s_reserved_gdt_blocks;
	if (super || !group)
		runs[n++] = (struct e4l_own_run) { super, 1 };
	if (!group && super && EXT2FS_CLUSTER_RATIO(fs) > 1)
		runs[n++] = (struct e4l_own_run) { 0, super };
	if (old_desc && old_blocks)
		runs[n++] = (struct e4l_own_run) { old_desc, old_blocks };
	if (new_desc)
		runs[n++] = (struct e4l_own_run) { new_desc, 1 };
	return n;
}

size_t e4l_own_blocks(ext2_filsys fs, dgrp_t group, struct e4l_own_run *runs)
{
	const struct e4l_own_run own[] = {
		{ ext2fs_inode_table_loc(fs, group),
		  fs->inode_blocks_per_group },
		{ ext2fs_block_bitmap_loc(fs, group), 1 },
		{ ext2fs_inode_bitmap_loc(fs, group), 1 },
		{ group || !ext2fs_has_feature_mmp(fs->super) ? 0 :
		  fs->super->s_mmp_block, 1 },
	};
	size_t n = e4l_own_backups(fs, group, runs), i;

	for (i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (own[i].blk && own[i].len)
			runs[n++] = own[i];
	return n;
}
