/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * own_blocks: the blocks of the filesystem's metadata that belong to no inode.
 */
#ifndef E4L_OWN_BLOCKS_H
#define E4L_OWN_BLOCKS_H

#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

/*
 * A range of blocks from a field of the superblock or of a group descriptor.
 * If the filesystem is damaged, the range can be outside the filesystem.
 */
struct e4l_own_run {
	blk64_t blk, len;
};
/*
 * The maximum number of ranges that e4l_own_backups() and e4l_own_blocks()
 * list.
 */
#define E4L_OWN_BACKUPS	4
#define E4L_OWN_RUNS	(E4L_OWN_BACKUPS + 4)

/*
 * Lists the copies of the superblock and of the group descriptors in @group,
 * and the blocks reserved for descriptors.  Also lists the boot block if the
 * boot block is in the cluster of the superblock.  Returns the number of
 * ranges; no range is empty.
 */
size_t e4l_own_backups(ext2_filsys fs, dgrp_t group, struct e4l_own_run *runs);

/*
 * Lists the ranges of e4l_own_backups(), the bitmaps and the inode table of
 * @group, and, for group 0, the MMP block.  With flex_bg, the bitmaps and the
 * inode table of a group can be in another group.  Returns the number of
 * ranges; no range is empty.
 */
size_t e4l_own_blocks(ext2_filsys fs, dgrp_t group, struct e4l_own_run *runs);

#endif
