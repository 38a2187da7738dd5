/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* steps: converts the moves of a plan into steps.  Does no I/O. */
#ifndef E4L_STEPS_H
#define E4L_STEPS_H

#include "e4layout/plan/plan.h"
#include "step.h"

/* The extents and tree blocks of a file before its steps. */
struct e4l_plan_now {
	const struct e4l_extent *extents;
	size_t n_extents;
	const struct e4l_tree_block *tree;
	size_t n_tree;
};

/*
 * Makes the steps for the @n @moves of one file in one batch, and calls @visit
 * for each step.  @now has the block map of the file before the first step.
 * Each step fits into a transaction, and begins with the file as the previous
 * step leaves it.  A step is valid only during the call of @visit.  Errors:
 * E4L_ET_CHANGED (the extents or the tree of the file have changed after
 * planning), E4L_ET_TXN_FULL, ENOMEM, and errors of @visit.
 */
errcode_t e4l_plan_steps(struct e4l_plan *p, const struct e4l_plan_move *moves,
			 size_t n, const struct e4l_plan_now *now,
			 errcode_t (*visit)(const struct e4l_step *step,
					    void *priv), void *priv);

/*
 * The numbers of extents, fragments and tree blocks after all moves of a file.
 */
struct e4l_plan_outcome {
	uint64_t extents, fragments, tree_blocks;
	uint64_t old_fragments; /* number of fragments before the first move */
};
/*
 * Makes the steps that e4l_plan_steps() will make for the @n @moves of one
 * file, and calls @visit for each step.  Does not change the plan.  @moves must
 * be sorted by batch.  Sets *@ret to the numbers of extents, fragments and
 * tree blocks after all steps.  Errors: errors of e4l_plan_steps().
 */
errcode_t e4l_plan_foresee(struct e4l_plan *p,
			   const struct e4l_plan_move *moves, size_t n,
			   const struct e4l_plan_now *now,
			   errcode_t (*visit)(const struct e4l_step *step,
					      void *priv), void *priv,
			   struct e4l_plan_outcome *ret);

#endif
