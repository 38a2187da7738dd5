/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* place: finds places for metadata. */
#ifndef E4L_SHRINK_PLACE_H
#define E4L_SHRINK_PLACE_H

#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

/*
 * Sets *@blk to the first @len free blocks, from a cluster boundary on, in
 * [@from, @to).  Returns ENOSPC if there are none.
 */
errcode_t e4l_place_find(ext2_filsys fs, blk64_t from, blk64_t to, blk64_t len,
			 blk64_t *blk);

#endif
