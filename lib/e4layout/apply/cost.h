/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cost: the metadata blocks of a transaction that a step needs.  No I/O. */
#ifndef E4L_COST_H
#define E4L_COST_H

#include "step.h"

/*
 * Sets *@blocks to the maximum number of metadata blocks that @step changes:
 * those of the inode, of the tree (unless it is new) and of quota, and bitmaps
 * and descriptors of the groups with taken or given blocks.  @less: number of
 * additional tree blocks that will be given.
 */
errcode_t e4l_step_cost(const struct e4l_geometry *geo,
			const struct e4l_step *step, size_t less,
			uint64_t *blocks);
/* Whether the step fits into a transaction. */
errcode_t e4l_step_fits(const struct e4l_geometry *geo,
			const struct e4l_step *step, size_t less, bool *fits);

/* The part of the cost that is the same for every step. */
static inline uint64_t e4l_inode_cost(const struct e4l_geometry *geo)
{
	return 1 + (uint64_t)geo->quota_blocks;
}

/* The groups of blocks; a group may occur several times. */
struct e4l_groups {
	const struct e4l_geometry *geo;
	uint32_t *v;
	size_t n;
};

errcode_t e4l_groups_add(struct e4l_groups *g, blk64_t blk, blk64_t len);
/* Returns the bitmaps of the groups and the blocks with their descriptors. */
uint64_t e4l_groups_cost(struct e4l_groups *g);

#endif
