/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* memory: which files a model keeps when mem_bytes do not hold all of them. */
#ifndef E4L_PLAN_MEMORY_H
#define E4L_PLAN_MEMORY_H

#include "model.h"

/*
 * Makes room for the file with what is to be kept of it, @o, or takes from
 * o->allowed that it may move.  Files in pieces stay by fragments in a cluster,
 * the densest longest; whole ones where the disk has the fewest of them, since
 * regions are made there.
 */
errcode_t e4l_memory_make_room(struct e4l_places *m,
			       const struct e4l_plan_file *file,
			       struct e4l_owner *o);

#endif
