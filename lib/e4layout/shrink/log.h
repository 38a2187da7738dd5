/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* log: moves the journal below the new end of a filesystem, or shortens it. */
#ifndef E4L_SHRINK_LOG_H
#define E4L_SHRINK_LOG_H

#include "size.h"

/*
 * Moves the blocks of an internal journal from above the end of @size to free
 * blocks below the end, in several journal sessions.  Errors: ENOSPC (free
 * space below the end is too small or too fragmented; *@lacking is the number
 * of missing blocks), E4L_ET_SHRINK_PINNED (the journal has an indirect map or
 * too many extents).
 */
errcode_t e4l_shrink_move_log(struct e4l *e, io_channel external,
			      const struct e4l_size *size, uint64_t *lacking);

/*
 * Makes an internal journal smaller, in several journal sessions.  Keeps the
 * first @blocks blocks, rounded up to whole clusters, and frees the other
 * blocks.  After an interrupted run, the journal inode can have blocks after
 * the end of the log.  If the journal has at most @blocks blocks, frees only
 * these blocks.  Errors: E4L_ET_JOURNAL_SHORT, E4L_ET_SHRINK_PINNED (the
 * journal has an indirect map or too many extents).
 */
errcode_t e4l_shrink_cut_log(struct e4l *e, io_channel external,
			     uint32_t blocks);

#endif
