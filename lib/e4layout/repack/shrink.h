/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* shrink: e4l_repack() with E4L_REPACK_SHRINK. */
#ifndef E4L_REPACK_SHRINK_H
#define E4L_REPACK_SHRINK_H

#include "e4layout/apply/run.h"

/*
 * Shrinks the filesystem to the size that run->what requests.  Sets
 * run->result->shrink, ->planned and ->done.  Errors: as e4l_repack().
 */
errcode_t e4l_repack_shrink(struct e4l *e, struct e4l_repack_run *run);

/*
 * Measures the current layout of @e.  If @only is not NULL, measures only the
 * files in @only.  Errors: as e4l_model_build().  The function is in repack.c.
 */
errcode_t e4l_repack_measure(struct e4l *e, ext2fs_inode_bitmap only,
			     struct e4l_layout *ret);

#endif
