/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tree_size: the number of blocks of an extent tree.  Does no I/O. */
#ifndef E4L_TREE_SIZE_H
#define E4L_TREE_SIZE_H

#include <stdint.h>

/*
 * Returns the maximum number of entries in an extent-tree block of @blocksize
 * bytes.  The header and each entry have 12 bytes.  The remainder, 4 bytes or
 * more, contains the checksum.
 */
static inline uint32_t e4l_entries_per_block(uint32_t blocksize)
{
	return (blocksize - 12) / 12;
}

/*
 * Returns the smallest number of tree blocks for @extents leaf entries.  The
 * root is in the inode and is not counted.  The root has up to four entries:
 * leaf entries or index entries.
 */
uint64_t e4l_ideal_tree_blocks(uint64_t extents, uint32_t blocksize);

#endif
