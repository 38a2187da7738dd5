/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "windows.h"

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

/*
 * Returns the inode, at or after @start, at which a window of @n inodes should
 * begin, so that Linux reads the window with the fewest requests.  The inode is
 * @start, or the first inode of the next request.
 */
static uint64_t ahead_start(ext2_filsys fs, ext2_ino_t start, uint32_t n)
{
	uint32_t per_block = EXT2_INODES_PER_BLOCK(fs->super);
	dgrp_t group = ext2fs_group_of_ino(fs, start);
	uint64_t nr = (start - 1) % fs->super->s_inodes_per_group / per_block;
	uint64_t skip = (ext2fs_inode_table_loc(fs, group) + nr) %
			E4L_TABLE_AHEAD;
	uint64_t blocks = ((start - 1) % per_block + (uint64_t)n + per_block -
			   1) / per_block;
	uint64_t rest = blocks % E4L_TABLE_AHEAD;

	/*
	 * The first request begins @skip blocks before @start.  The window has
	 * @rest blocks more than whole requests.  If @skip is 0, or if @rest is
	 * not 0 and @skip + @rest blocks fit in one request, a window at @start
	 * needs no additional request.
	 */
	if (!skip || (rest && skip + rest <= E4L_TABLE_AHEAD))
		return start;
	return start - (start - 1) % per_block +
	       (E4L_TABLE_AHEAD - skip) * per_block;
}

ext2_ino_t e4l_inode_window(ext2_filsys fs, ext2fs_inode_bitmap map,
			    ext2_ino_t first, uint64_t end, uint32_t n,
			    bool ahead)
{
	uint32_t per_block = EXT2_INODES_PER_BLOCK(fs->super);
	uint64_t at = first, start;

	while (at < end) {
		at = e4l_inode_free_in(fs, map, at, end);
		if (!at)
			return 0;
		start = e4l_inode_window_start(per_block, at, n);
		if (ahead)
			start = ahead_start(fs, start, n);
		if (start + n > end)
			return 0;
		at = e4l_inode_used_in(fs, map, start, start + n);
		if (!at)
			return start;
	}
	return 0;
}
