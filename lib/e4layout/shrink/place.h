/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* place: finds contiguous free clusters for metadata. */
#ifndef E4L_SHRINK_PLACE_H
#define E4L_SHRINK_PLACE_H

#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

/*
 * Finds the first @len contiguous free blocks in [@from, @to) that begin at a
 * cluster boundary.  Sets *@blk to the first of these blocks.  Returns ENOSPC
 * if no free extent is long enough.
 */
errcode_t e4l_place_find(ext2_filsys fs, blk64_t from, blk64_t to, blk64_t len,
			 blk64_t *blk);

#endif
