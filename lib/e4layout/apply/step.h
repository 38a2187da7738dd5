/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* step: what is done to one file at once.  Pure. */
#ifndef E4L_STEP_H
#define E4L_STEP_H

#include <e4layout/extents.h>
#include "e4layout/format/geometry.h"

struct e4l_move {
	blk64_t from;
	blk64_t to;
	blk64_t len;
	bool copy;			/* false: unwritten, nothing to copy */
};

/*
 * A step is whole in itself: whoever carries it out allocates @take, copies and
 * zeroes, replaces the tree by one of @new_extents in the blocks @tree (in the
 * order of e4l_extent_tree_build()), and frees @give.
 */
struct e4l_step {
	ext2_ino_t ino;
	/*
	 * Steps of one batch do not depend on each other, but for those of one
	 * file, which are neighbours.  They may use what steps of earlier
	 * batches give, so that those must be durable first.
	 */
	unsigned int batch;
	struct e4l_extent *new_extents;	/* in logical order */
	size_t n_old, n_new;		/* extents */
	uint64_t old_fragments, new_fragments;
	struct e4l_move *moves;		/* in logical order */
	size_t n_moves;
	struct e4l_block_run *zero;	/* unwritten now, written then */
	size_t n_zero;
	struct e4l_block_run *take, *give;	/* whole clusters */
	size_t n_take, n_give;
	blk64_t *tree;
	size_t n_tree;
	/* All of @tree is the end of @take: nobody refers to it before. */
	bool tree_is_new;
	uint64_t bytes_to_copy;
	uint64_t bytes_to_zero;
};

/* Frees what a step holds. */
void e4l_step_free(struct e4l_step *step);

/* How many blocks it gives. */
uint64_t e4l_step_gives(const struct e4l_step *step);

#endif
