/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * own_blocks: the blocks of the filesystem's metadata that belong to no inode.
 */
#ifndef E4L_OWN_BLOCKS_H
#define E4L_OWN_BLOCKS_H

#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

/* Blocks as on disk, which may lie outside the device. */
struct e4l_own_run {
	blk64_t blk, len;
};
#define E4L_OWN_BACKUPS	4	/* at most in one group */
#define E4L_OWN_RUNS	(E4L_OWN_BACKUPS + 4)

/*
 * Lists the superblock and the descriptors of @group or their copies, with the
 * blocks reserved for descriptors, and the boot block if it shares the first
 * cluster.  Returns the number of runs; no run is empty.
 */
size_t e4l_own_backups(ext2_filsys fs, dgrp_t group, struct e4l_own_run *runs);

/*
 * Lists the runs of e4l_own_backups(), the bitmaps and the inode table of
 * @group, in any group, and for group 0 the MMP block.
 */
size_t e4l_own_blocks(ext2_filsys fs, dgrp_t group, struct e4l_own_run *runs);

#endif
