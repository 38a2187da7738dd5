/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * windows: where in the inode tables, by a bitmap of inodes, so many lie side
 * by side in as few blocks as so many can.  The rule for new images and for what
 * exists.  Pure.
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
 * Where @n inodes that could begin at @at do begin: there, or with the next
 * block of @per_block of them, if they take fewer blocks then.
 */
static inline ext2_ino_t e4l_inode_window_start(uint32_t per_block,
						ext2_ino_t at, uint32_t n)
{
	uint32_t left = (per_block - (at - 1) % per_block) % per_block;
	uint32_t rest = n % per_block;

	return left && (left < rest || !rest) ? at + left : at;
}

/*
 * So many blocks of a table, aligned on the device, does Linux read at once when
 * it needs one of them (inode_readahead_blks, which has this default).
 */
#define E4L_TABLE_AHEAD	32

/*
 * The first window of @n free inodes in [@first, @end) of @map, or 0.  They are
 * of one group.  @ahead: of those alone for which Linux reads as seldom as it can.
 */
ext2_ino_t e4l_inode_window(ext2_filsys fs, ext2fs_inode_bitmap map,
			    ext2_ino_t first, uint64_t end, uint32_t n,
			    bool ahead);

#endif
