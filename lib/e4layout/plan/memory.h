/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memory: selects the files that a model keeps if mem_bytes is too small for
 * all.
 */
#ifndef E4L_PLAN_MEMORY_H
#define E4L_PLAN_MEMORY_H

#include "model.h"

/*
 * Makes room for @file with its kept data @o, or removes E4L_PLAN_MOVE and
 * E4L_PLAN_AWAY from o->allowed.  Fragmented files are dropped in the order of
 * their fragments per cluster, the lowest first.  Unfragmented files are dropped
 * where they use most of the disk, because regions are made elsewhere.
 */
errcode_t e4l_memory_make_room(struct e4l_plan *m,
			       const struct e4l_plan_file *file,
			       struct e4l_owner *o);

#endif
