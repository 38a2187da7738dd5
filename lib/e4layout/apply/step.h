/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* step: a change of one file in one transaction.  Does no I/O. */
#ifndef E4L_STEP_H
#define E4L_STEP_H

#include <e4layout/extents.h>
#include "e4layout/format/geometry.h"

/*
 * A move: the content of @len blocks of a file moves from block @from to block
 * @to of the disk.
 */
struct e4l_move {
	blk64_t from;
	blk64_t to;
	blk64_t len;
	/* false if the blocks are unwritten, so that no content is copied */
	bool copy;
};

/*
 * A complete change of a file: allocate the blocks @take, copy the blocks of
 * @moves, zero the blocks of @zero, replace the extent tree, and free the
 * blocks @give.  The new tree has the extents @new_extents, and is stored in
 * the blocks @tree, in the order of e4l_extent_tree_build().
 */
struct e4l_step {
	ext2_ino_t ino;
	/*
	 * Steps of one file in one batch are consecutive, and each step depends
	 * on the previous step.  Steps of different files in one batch are
	 * independent of each other.  A step may allocate blocks that steps of
	 * earlier batches free: the earlier batches must be durable before the
	 * step.
	 */
	unsigned int batch;
	struct e4l_extent *new_extents;	/* in logical order */
	/*
	 * number of extents before the step (@n_old) and after the step
	 * (@n_new)
	 */
	size_t n_old, n_new;
	uint64_t old_fragments, new_fragments;
	struct e4l_move *moves;		/* in logical order */
	size_t n_moves;
	/* unwritten blocks that are zeroed and become written */
	struct e4l_block_run *zero;
	size_t n_zero;
	/* runs of clusters to allocate (@take) and to free (@give) */
	struct e4l_block_run *take, *give;
	size_t n_take, n_give;
	blk64_t *tree;
	size_t n_tree;
	/*
	 * The blocks of @tree are the last blocks of @take, so that no metadata
	 * on disk refers to them before the step.
	 */
	bool tree_is_new;
	uint64_t bytes_to_copy;
	uint64_t bytes_to_zero;
};

/* Frees the arrays of a step. */
void e4l_step_free(struct e4l_step *step);

/* Returns the number of blocks that @step frees. */
uint64_t e4l_step_gives(const struct e4l_step *step);

#endif
