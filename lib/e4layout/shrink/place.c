// SPDX-License-Identifier: LGPL-2.1-or-later
/* place: finds contiguous free clusters for metadata. */
#include "config.h"
#include <errno.h>
#include "place.h"

/*
 * Returns the first free block in [@blk, @to), or @to if all blocks are used.
 */
static blk64_t next_free(ext2_filsys fs, blk64_t blk, blk64_t to)
{
	blk64_t found;

	if (blk >= to || ext2fs_find_first_zero_block_bitmap2(fs->block_map,
						blk, to - 1, &found))
		return to;
	return found;
}

static blk64_t next_used(ext2_filsys fs, blk64_t blk, blk64_t to)
{
	blk64_t found;

	if (blk >= to || ext2fs_find_first_set_block_bitmap2(fs->block_map,
						blk, to - 1, &found))
		return to;
	return found;
}

errcode_t e4l_place_find(ext2_filsys fs, blk64_t from, blk64_t to, blk64_t len,
			 blk64_t *blk)
{
	blk64_t mask = EXT2FS_CLUSTER_MASK(fs), at, end;

	if (from <= fs->super->s_first_data_block)
		from = fs->super->s_first_data_block + 1;
	for (at = from; at < to; at = end) {
		at = (next_free(fs, at, to) + mask) & ~mask;
		end = next_used(fs, at, to);
		if (at < to && end - at >= len) {
			*blk = at;
			return 0;
		}
		if (end <= at)
			end = at + 1;
	}
	return ENOSPC;
}
