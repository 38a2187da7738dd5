/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* steps: from the moves of a plan to what is done to files.  Pure. */
#ifndef E4L_STEPS_H
#define E4L_STEPS_H

#include "e4layout/plan/plan.h"
#include "step.h"

/* A file as it is when its turn comes. */
struct e4l_plan_now {
	const struct e4l_extent *extents;
	size_t n_extents;
	const struct e4l_tree_block *tree;
	size_t n_tree;
};

/*
 * Makes the steps for the @n @moves of one file in one batch, of which each fits
 * into a transaction, and hands them to @visit one after another.  Each is for the
 * file as the one before has left it, and belongs to @p.
 * Errors: E4L_ET_CHANGED (the file is not where the plan has it), E4L_ET_TXN_FULL,
 * ENOMEM, those of @visit.
 */
errcode_t e4l_plan_steps(struct e4l_plan *p, const struct e4l_plan_move *moves,
			 size_t n, const struct e4l_plan_now *now,
			 errcode_t (*visit)(const struct e4l_step *step,
					    void *priv), void *priv);

/* What a file has after all of its moves, which are in the order of batches. */
struct e4l_plan_outcome {
	uint64_t extents, fragments, tree_blocks;
	uint64_t old_fragments;
};
/* Errors: E4L_ET_CHANGED, ENOMEM. */
errcode_t e4l_plan_outcome(const struct e4l_plan *p,
			   const struct e4l_plan_move *moves, size_t n,
			   const struct e4l_plan_now *now,
			   struct e4l_plan_outcome *ret);

#endif
