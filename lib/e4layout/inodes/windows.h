/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windows: finds runs of free inodes that occupy as few blocks of the inode
 * tables as possible, in a bitmap of inodes.  Used for new and existing
 * filesystems.  Does no I/O.
 */
#ifndef E4L_INODE_WINDOWS_H
#define E4L_INODE_WINDOWS_H

#include <e4layout/context.h>

/* The first free inode of [@first, @end) in @map, or 0. */
ext2_ino_t e4l_inode_free_in(ext2_filsys fs, ext2fs_inode_bitmap map,
			     ext2_ino_t first, ext2_ino_t end);

/* The first inode in use or reserved in [@first, @end), or 0. */
ext2_ino_t e4l_inode_used_in(ext2_filsys fs, ext2fs_inode_bitmap map,
			     ext2_ino_t first, ext2_ino_t end);

/*
 * The first start of @n inodes at or after @at: @at, or the next block of
 * @per_block inodes if the @n inodes occupy fewer blocks there.
 */
static inline ext2_ino_t e4l_inode_window_start(uint32_t per_block,
						ext2_ino_t at, uint32_t n)
{
	uint32_t left = (per_block - (at - 1) % per_block) % per_block;
	uint32_t rest = n % per_block;

	return left && (left < rest || !rest) ? at + left : at;
}

/*
 * The number of inode-table blocks that Linux reads with one request, aligned
 * on the device (default of inode_readahead_blks).
 */
#define E4L_TABLE_AHEAD	32

/*
 * The first window of @n free inodes in [@first, @end) of @map, within one
 * group, or 0.  @ahead: only windows that Linux reads with the fewest requests.
 */
ext2_ino_t e4l_inode_window(ext2_filsys fs, ext2fs_inode_bitmap map,
			    ext2_ino_t first, uint64_t end, uint32_t n,
			    bool ahead);

#endif
