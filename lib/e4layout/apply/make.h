/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* make: how the parts of a step come about. */
#ifndef E4L_STEP_MAKE_H
#define E4L_STEP_MAKE_H

#include "e4layout/read/fragments.h"
#include "step.h"

/* Appends a run, or makes the last one longer.  ENOMEM. */
errcode_t e4l_step_add_run(struct e4l_block_run **runs, size_t *n, blk64_t pblk,
			   blk64_t len);

/*
 * The new extents of @step, packed, and its moves, once the clusters of @ex that
 * are in @new are there, and others stay.
 */
errcode_t e4l_step_map(const struct e4l_geometry *geo,
		       const struct e4l_extent *ex, size_t n,
		       const struct e4l_fragments *new, struct e4l_step *step);
/* What it takes and gives for that. */
errcode_t e4l_step_exchange(const struct e4l_geometry *geo,
			    const struct e4l_extent *ex, size_t n,
			    const struct e4l_fragments *new,
			    struct e4l_step *step);

#endif
