/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * extent_tree_build: a whole extent tree from a list, in as few blocks as
 * possible.  Pure: where the blocks are and who writes them is the caller's.
 */
#ifndef E4L_EXTENT_TREE_BUILD_H
#define E4L_EXTENT_TREE_BUILD_H

#include <e4layout/extents.h>
#include "extent_tree.h"

/* How many blocks the packed tree of a number of extents has. */
struct e4l_extent_tree_shape {
	unsigned int depth;	/* levels of tree blocks */
	uint64_t at[EXTENT_MAX_DEPTH];	/* blocks of level i; 0 maps data */
	uint64_t blocks;	/* all of them: e4l_ideal_tree_blocks() */
};

/* @extents is at most 2^32, which never needs more than EXTENT_MAX_DEPTH. */
void e4l_extent_tree_shape(uint64_t extents, uint32_t blocksize,
		    struct e4l_extent_tree_shape *shape);

/*
 * Makes the tree of @n extents, in logical order, for inode @ino of generation
 * @generation.  @pblk holds where each tree block will be, as many as
 * e4l_extent_tree_shape() says; they are used from the highest level down, each level
 * in logical order, so that ascending numbers are read in ascending order.
 * Writes the root, I_BLOCK_BYTES, to @root, and the blocks, in the order of
 * @pblk and with their checksums, to @blocks, which holds a block for each.
 * @fs gives the block size and the checksums' seed and is not changed.
 * Errors: E4L_ET_EXTENT_ORDER, E4L_ET_EXTENT_RANGE (an extent or a tree block
 * outside the filesystem, or longer than an entry can say); @root and @blocks
 * are then untouched.
 */
errcode_t e4l_extent_tree_build(ext2_filsys fs, ext2_ino_t ino, uint32_t generation,
			 const struct e4l_extent *extents, size_t n,
			 const blk64_t *pblk, void *root, void *blocks);

#endif
