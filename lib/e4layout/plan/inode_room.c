/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "inode_room.h"

ext2_ino_t e4l_inode_free_in(ext2_filsys fs, ext2fs_inode_bitmap map,
			     ext2_ino_t first, ext2_ino_t end)
{
	ext2_ino_t ino, least = EXT2_FIRST_INO(fs->super);

	if (first < least)
		first = least;
	if (first >= end ||
	    ext2fs_find_first_zero_inode_bitmap2(map, first, end - 1, &ino))
		return 0;
	return ino;
}

ext2_ino_t e4l_inode_used_in(ext2_filsys fs, ext2fs_inode_bitmap map,
			     ext2_ino_t first, ext2_ino_t end)
{
	ext2_ino_t ino;

	if (first < EXT2_FIRST_INO(fs->super))
		return first;
	if (ext2fs_find_first_set_inode_bitmap2(map, first, end - 1, &ino))
		return 0;
	return ino;
}

ext2_ino_t e4l_inode_window(ext2_filsys fs, ext2fs_inode_bitmap map,
			    ext2_ino_t first, uint64_t end, uint32_t n)
{
	uint32_t per_block = EXT2_INODES_PER_BLOCK(fs->super);
	uint64_t at = first;
	ext2_ino_t start;

	while (at < end) {
		at = e4l_inode_free_in(fs, map, at, end);
		if (!at)
			return 0;
		start = e4l_inode_window_start(per_block, at, n);
		if ((uint64_t)start + n > end)
			return 0;
		at = e4l_inode_used_in(fs, map, start, start + n);
		if (!at)
			return start;
	}
	return 0;
}
