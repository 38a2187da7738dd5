/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* make: functions that fill the members of a struct e4l_step. */
#ifndef E4L_STEP_MAKE_H
#define E4L_STEP_MAKE_H

#include "e4layout/read/fragments.h"
#include "step.h"

/*
 * Adds the @len blocks from block @pblk on to the array *@runs.  If the last
 * run ends directly before @pblk, extends the last run; otherwise, appends a
 * run.  Errors: ENOMEM.
 */
errcode_t e4l_step_add_run(struct e4l_block_run **runs, size_t *n, blk64_t pblk,
			   blk64_t len);

/*
 * Sets the moves and the new extents of @step.  @ex has the current @n extents
 * of the file.  @new lists the logical clusters that move, with their new
 * physical clusters.  All other clusters stay.  The new extents are packed with
 * e4l_pack().
 */
errcode_t e4l_step_map(const struct e4l_geometry *geo,
		       const struct e4l_extent *ex, size_t n,
		       const struct e4l_fragments *new, struct e4l_step *step);
/*
 * Sets the blocks that @step allocates and frees.  @ex has the current @n
 * extents of the file.  @new lists the logical clusters that move.  @step frees
 * their physical clusters in @ex, and allocates the physical clusters in @new.
 */
errcode_t e4l_step_exchange(const struct e4l_geometry *geo,
			    const struct e4l_extent *ex, size_t n,
			    const struct e4l_fragments *new,
			    struct e4l_step *step);

#endif
