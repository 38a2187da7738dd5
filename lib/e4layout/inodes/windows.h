/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windows: finds runs of free inodes that occupy as few blocks of the inode
 * tables as possible, in a bitmap of inodes.  Used for new and existing
 * filesystems.  Does no I/O.
 */
#ifndef E4L_INODE_WINDOWS_H
#define E4L_INODE_WINDOWS_H

#include <e4layout/context.h>

/*
 * Returns the first inode in [@first, @end) that is free in @map and not
 * reserved (below s_first_ino).  If there is no such inode, returns 0.
 */
ext2_ino_t e4l_inode_free_in(ext2_filsys fs, ext2fs_inode_bitmap map,
			     ext2_ino_t first, ext2_ino_t end);

/*
 * Returns the first inode in [@first, @end) that is in use or reserved.  If all
 * inodes are free, returns 0.
 */
ext2_ino_t e4l_inode_used_in(ext2_filsys fs, ext2fs_inode_bitmap map,
			     ext2_ino_t first, ext2_ino_t end);

/*
 * Returns the first inode of a window (range of @n inodes) that may begin at
 * inode @at or later.  A block of the inode table has @per_block inodes.  If a
 * window occupies fewer blocks when it begins at the start of the next block,
 * returns the first inode of the next block; otherwise, returns @at.
 */
static inline ext2_ino_t e4l_inode_window_start(uint32_t per_block,
						ext2_ino_t at, uint32_t n)
{
	uint32_t left = (per_block - (at - 1) % per_block) % per_block;
	uint32_t rest = n % per_block;

	return left && (left < rest || !rest) ? at + left : at;
}

/*
 * Number of inode-table blocks that Linux reads with one request: the default
 * of inode_readahead_blks.  The first block of a request is a multiple of this
 * number.
 */
#define E4L_TABLE_AHEAD	32

/*
 * Returns the first inode of the first window of @n inodes that are free in
 * @map.  The window lies in [@first, @end), a range within one group.  If
 * @ahead is true, considers only windows that Linux reads with the fewest
 * requests.  If there is no window, returns 0.
 */
ext2_ino_t e4l_inode_window(ext2_filsys fs, ext2fs_inode_bitmap map,
			    ext2_ino_t first, uint64_t end, uint32_t n,
			    bool ahead);

#endif
