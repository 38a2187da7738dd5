/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * extent_tree_build: builds an extent tree from a list of extents, in as few
 * blocks as possible.  Does no I/O: the caller allocates and writes the blocks.
 */
#ifndef E4L_EXTENT_TREE_BUILD_H
#define E4L_EXTENT_TREE_BUILD_H

#include <e4layout/extents.h>
#include "extent_tree.h"

/* The size of an extent tree with as few blocks as possible. */
struct e4l_extent_tree_shape {
	unsigned int depth;	/* levels of tree blocks */
	/* number of blocks on level i; level 0 maps data */
	uint64_t at[EXTENT_MAX_DEPTH];
	/* number of blocks on all levels */
	uint64_t blocks;
};

/*
 * Computes the size of a tree with @extents leaf entries.  @extents must be at
 * most 2^32, so that the tree has at most EXTENT_MAX_DEPTH levels.
 */
void e4l_extent_tree_shape(uint64_t extents, uint32_t blocksize,
		    struct e4l_extent_tree_shape *shape);

/*
 * Builds the tree of @n extents, in logical order, for inode @ino of generation
 * @generation.  @pblk has the block numbers of the tree blocks;
 * e4l_extent_tree_shape() computes how many are needed.  The numbers are used
 * for the levels from the highest to the lowest, and in logical order on each
 * level.
 *
 * Writes the root to @root, which has I_BLOCK_BYTES.  Writes the tree blocks
 * with their checksums to @blocks, in the order of @pblk; @blocks must have
 * space for all tree blocks.  @fs provides the block size and the checksum
 * seed, and is not changed.  Errors, with @root and @blocks unchanged:
 * E4L_ET_EXTENT_ORDER, E4L_ET_EXTENT_RANGE (an extent or a tree block lies
 * outside the filesystem, or an extent is too long).
 */
errcode_t e4l_extent_tree_build(ext2_filsys fs, ext2_ino_t ino, uint32_t generation,
			 const struct e4l_extent *extents, size_t n,
			 const blk64_t *pblk, void *root, void *blocks);

#endif
