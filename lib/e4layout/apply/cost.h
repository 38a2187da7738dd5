/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cost: how much of a transaction a step takes.  Pure. */
#ifndef E4L_COST_H
#define E4L_COST_H

#include "step.h"

/*
 * The most metadata blocks that @step changes: its inode's, its tree's unless
 * it is new, what quota counts, and bitmaps and descriptors of the groups whose
 * blocks come or go.  @less: how many tree blocks it is going to give back
 * beside.
 */
errcode_t e4l_step_cost(const struct e4l_geometry *geo,
			const struct e4l_step *step, size_t less,
			uint64_t *blocks);
/* Whether it fits into a transaction. */
errcode_t e4l_step_fits(const struct e4l_geometry *geo,
			const struct e4l_step *step, size_t less, bool *fits);

/* The part of that cost which every step has. */
static inline uint64_t e4l_inode_cost(const struct e4l_geometry *geo)
{
	return 1 + (uint64_t)geo->quota_blocks;
}

/* The groups that blocks are in, perhaps some of them several times. */
struct e4l_groups {
	const struct e4l_geometry *geo;
	uint32_t *v;
	size_t n;
};

errcode_t e4l_groups_add(struct e4l_groups *g, blk64_t blk, blk64_t len);
/* A bitmap for each, and the blocks that their descriptors are in. */
uint64_t e4l_groups_cost(struct e4l_groups *g);

#endif
