/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * maps: the plan for files, extent trees and free space, and its execution.
 */
#ifndef E4L_REPACK_MAPS_H
#define E4L_REPACK_MAPS_H

#include "e4layout/apply/run.h"

struct e4l_maps;

/*
 * Scans @e, checks that each block has one owner, and makes the plan.
 * run->result gets the layout as it is (->before) and as planned (->after),
 * ->planned and what is skipped.  Errors: those of e4l_repack().
 */
errcode_t e4l_maps_plan(struct e4l *e, struct e4l_repack_run *run,
			struct e4l_maps **ret);

/* Whether there is anything to do. */
bool e4l_maps_has_plan(const struct e4l_maps *m);

/*
 * Carries the plan out on @e, which is in the state that it was made for;
 * run->result gets ->done, and what was left when stop() ended it.
 */
errcode_t e4l_maps_apply(struct e4l_maps *m, struct e4l *e);

/* NULL is allowed. */
void e4l_maps_free(struct e4l_maps *m);

#endif
