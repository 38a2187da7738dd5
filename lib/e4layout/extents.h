/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* extents: extents of files, and blocks of extent trees. */
#ifndef E4LAYOUT_EXTENTS_H
#define E4LAYOUT_EXTENTS_H

#include <e4layout/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The maximum number of blocks in one written or unwritten leaf entry
 * (EXT_INIT_MAX_LEN and EXT_UNWRITTEN_MAX_LEN in Linux).
 */
#define E4L_WRITTEN_MAX_BLOCKS		32768u
#define E4L_UNWRITTEN_MAX_BLOCKS	32767u

/*
 * One leaf entry of an extent tree, or one contiguous range of an
 * indirect-mapped file.  E4L_WRITTEN_MAX_BLOCKS and E4L_UNWRITTEN_MAX_BLOCKS
 * limit the length of leaf entries only.  pblk + len never exceeds
 * ext2fs_blocks_count(), lblk + len never exceeds 2^32, and len is never 0.
 */
struct e4l_extent {
	blk64_t pblk;		/* first block on the device */
	uint32_t lblk;		/* first block in the file */
	uint32_t len : 31;	/* blocks */
	uint32_t unwritten : 1;
};

/* Blocks that are contiguous on the device. */
struct e4l_block_run {
	blk64_t pblk;
	blk64_t len;
};

/* One block of an extent tree or of an indirect map. */
struct e4l_tree_block {
	blk64_t pblk;
	uint32_t lblk;		/* first logical block that the block maps */
	/* 0: the block maps data; n: the block maps tree blocks of level n-1 */
	uint32_t level;
};

#ifdef __cplusplus
}
#endif
#endif
