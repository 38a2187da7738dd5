/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tree_size: how many blocks an extent tree takes.  Pure. */
#ifndef E4L_TREE_SIZE_H
#define E4L_TREE_SIZE_H

#include <stdint.h>

/*
 * Returns how many entries one extent-tree block of @blocksize bytes holds.  The
 * header and each entry have 12 bytes.  The remainder, 4 bytes or more, holds the
 * checksum.
 */
static inline uint32_t e4l_entries_per_block(uint32_t blocksize)
{
	return (blocksize - 12) / 12;
}

/*
 * The fewest tree blocks for @extents leaf entries: none for four, which the
 * inode itself holds; more need a tree whose root has at most four children.
 */
uint64_t e4l_ideal_tree_blocks(uint64_t extents, uint32_t blocksize);

#endif
