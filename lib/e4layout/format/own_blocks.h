/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* own_blocks: which blocks are the filesystem's own, not any inode's. */
#ifndef E4L_OWN_BLOCKS_H
#define E4L_OWN_BLOCKS_H

#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

/* Blocks as the disk has them: nothing says that they lie in the device. */
struct e4l_own_run {
	blk64_t blk, len;
};
#define E4L_OWN_BACKUPS	4	/* at most in one group */
#define E4L_OWN_RUNS	(E4L_OWN_BACKUPS + 4)

/*
 * The superblock and the descriptors of @group or their copies, with what is
 * reserved for descriptors to come; and the boot block where it shares the
 * first cluster.  Returns how many runs, none empty.
 */
size_t e4l_own_backups(ext2_filsys fs, dgrp_t group, struct e4l_own_run *runs);

/*
 * These, the bitmaps and the inode table of @group, wherever they are, and with
 * the first group the MMP block.
 */
size_t e4l_own_blocks(ext2_filsys fs, dgrp_t group, struct e4l_own_run *runs);

#endif
