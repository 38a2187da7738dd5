/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* log: moves the journal below a new end of the filesystem. */
#ifndef E4L_SHRINK_LOG_H
#define E4L_SHRINK_LOG_H

#include "size.h"

/*
 * Moves the blocks of an internal journal that lie above the end of @size to
 * free blocks below it, in sessions of its own.  Errors: ENOSPC, with *@lacking
 * set to a number of blocks: the free space below the end is too small, or in
 * too many pieces; E4L_ET_SHRINK_PINNED: the journal has a block map, or very
 * many extents.
 */
errcode_t e4l_shrink_move_log(struct e4l *e, io_channel external,
			      const struct e4l_size *size, uint64_t *lacking);

#endif
