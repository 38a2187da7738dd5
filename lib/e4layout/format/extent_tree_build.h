/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * extent_tree_build: builds an extent tree from a list, in as few blocks as
 * possible.  Does no I/O: the caller allocates and writes the blocks.
 */
#ifndef E4L_EXTENT_TREE_BUILD_H
#define E4L_EXTENT_TREE_BUILD_H

#include <e4layout/extents.h>
#include "extent_tree.h"

/* The size of a packed extent tree. */
struct e4l_extent_tree_shape {
	unsigned int depth;	/* levels of tree blocks */
	/* number of blocks on level i; level 0 maps data */
	uint64_t at[EXTENT_MAX_DEPTH];
	uint64_t blocks;	/* sum of all levels: e4l_ideal_tree_blocks() */
};

/*
 * Computes the size of a tree with @extents leaf entries, at most 2^32: they
 * need at most EXTENT_MAX_DEPTH levels.
 */
void e4l_extent_tree_shape(uint64_t extents, uint32_t blocksize,
		    struct e4l_extent_tree_shape *shape);

/*
 * Builds the tree of @n extents, in logical order, for inode @ino of generation
 * @generation.  @pblk has the block numbers of the tree blocks, as many as
 * e4l_extent_tree_shape() requires.  The highest level gets the first numbers,
 * each level in logical order, so that a walk of the tree reads ascending
 * numbers in ascending order.
 *
 * Writes the root, I_BLOCK_BYTES, to @root, and the blocks, in the order of
 * @pblk and with their checksums, to @blocks, which must have space for all of
 * them.  @fs provides the block size and the checksum seed, and is not changed.
 * Errors, with @root and @blocks unchanged:  E4L_ET_EXTENT_ORDER,
 * E4L_ET_EXTENT_RANGE (an extent or a tree block lies outside the filesystem,
 * or an extent is too long).
 */
errcode_t e4l_extent_tree_build(ext2_filsys fs, ext2_ino_t ino, uint32_t generation,
			 const struct e4l_extent *extents, size_t n,
			 const blk64_t *pblk, void *root, void *blocks);

#endif
