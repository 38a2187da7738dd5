/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* maps: the plan for files, extent trees and free space, and its execution. */
#ifndef E4L_REPACK_MAPS_H
#define E4L_REPACK_MAPS_H

#include "e4layout/apply/run.h"

struct e4l_maps;

/*
 * Scans @e, checks that no block has two owners, and makes the plan.  Sets
 * run->result->before (the current layout), ->after (the planned layout) and
 * ->planned, and reports the skipped files.  Errors: as e4l_repack().
 */
errcode_t e4l_maps_plan(struct e4l *e, struct e4l_repack_run *run,
			struct e4l_maps **ret);

/* Whether the plan has at least one move. */
bool e4l_maps_has_plan(const struct e4l_maps *m);

/*
 * Carries out the plan on @e, which must be in the state for which the plan was
 * made.  Sets run->result->done.  If stop() ended the run, reports the
 * remaining savings as skipped.
 */
errcode_t e4l_maps_apply(struct e4l_maps *m, struct e4l *e);

/* Frees @m; NULL is allowed. */
void e4l_maps_free(struct e4l_maps *m);

#endif
