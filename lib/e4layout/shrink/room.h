/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * room: makes a free extent for the journal below the new end of a filesystem
 * that is made smaller.
 */
#ifndef E4L_SHRINK_ROOM_H
#define E4L_SHRINK_ROOM_H

#include "evacuate.h"
#include "size.h"

/*
 * Makes a free extent for the journal if the journal has blocks above the end
 * of @size, and no free extent below the end is long enough.  Evacuates the
 * range below the end that needs the fewest moves.  Evacuated files can move
 * above the end.  If no range can be evacuated, does nothing.  Of @what, only
 * the members may_move and priv are used.  Errors: as e4l_evacuate().
 */
errcode_t e4l_shrink_room(struct e4l *e, struct e4l_repack_run *run,
			  const struct e4l_size *size,
			  const struct e4l_evacuation *what,
			  struct e4l_evacuated *result);

#endif
