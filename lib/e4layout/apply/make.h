/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* make: functions that fill the members of a step. */
#ifndef E4L_STEP_MAKE_H
#define E4L_STEP_MAKE_H

#include "e4layout/read/fragments.h"
#include "step.h"

/*
 * Extends the last run if the new run begins at its end; otherwise, appends the
 * new run.  Errors: ENOMEM.
 */
errcode_t e4l_step_add_run(struct e4l_block_run **runs, size_t *n, blk64_t pblk,
			   blk64_t len);

/*
 * Sets the new extents of @step, packed, and its moves.  @ex has the current @n
 * extents of the file.  Clusters of @ex that are in @new move to the places in
 * @new; other clusters of @ex stay.
 */
errcode_t e4l_step_map(const struct e4l_geometry *geo,
		       const struct e4l_extent *ex, size_t n,
		       const struct e4l_fragments *new, struct e4l_step *step);
/*
 * Sets the blocks that @step allocates and frees when clusters of @ex move to
 * the places in @new.
 */
errcode_t e4l_step_exchange(const struct e4l_geometry *geo,
			    const struct e4l_extent *ex, size_t n,
			    const struct e4l_fragments *new,
			    struct e4l_step *step);

#endif
