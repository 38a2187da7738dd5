/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cost: the number of metadata blocks that a step changes.  No I/O. */
#ifndef E4L_COST_H
#define E4L_COST_H

#include "step.h"

/*
 * Sets *@blocks to the maximum number of metadata blocks that @step journals:
 * the block of the inode, the tree blocks (unless the tree is new), blocks of
 * quota files, and the bitmaps and descriptor blocks of the groups in which
 * @step takes or gives blocks.  Error: ENOMEM.
 */
errcode_t e4l_step_cost(const struct e4l_geometry *geo,
			const struct e4l_step *step, uint64_t *blocks);
/*
 * Sets *@fits to whether the step fits into a transaction.  If geo->txn_blocks
 * is 0, every step fits.  Error: ENOMEM.
 */
errcode_t e4l_step_fits(const struct e4l_geometry *geo,
			const struct e4l_step *step, bool *fits);

/* A list of block groups; a group may occur several times. */
struct e4l_groups {
	const struct e4l_geometry *geo;
	uint32_t *v;
	size_t n;
};

/* Adds the groups of the @len blocks that begin at @blk.  Error: ENOMEM. */
errcode_t e4l_groups_add(struct e4l_groups *g, blk64_t blk, blk64_t len);
/* Returns the number of block bitmaps and descriptor blocks of the groups. */
uint64_t e4l_groups_cost(struct e4l_groups *g);

/* The blocks and bytes that a step adds to a transaction. */
struct e4l_load {
	unsigned int batch;
	ext2_ino_t ino;
	/* journaled, except the inode's block and the blocks of @groups */
	uint64_t blocks;
	uint64_t bytes;			/* to copy and to zero */
	struct e4l_groups groups;	/* the caller frees groups.v */
};
/*
 * Sets *@load for @step and @more other journaled blocks, which @step does not
 * list.  Error: ENOMEM.
 */
errcode_t e4l_step_load(const struct e4l_geometry *geo,
			const struct e4l_step *step, uint32_t more,
			struct e4l_load *load);
/*
 * Returns the number of blocks that a step with @load journals if its
 * transaction has no other step.
 */
uint64_t e4l_load_cost(struct e4l_load *load);

/* stop() is not called in a transaction of up to this number of parts */
#define TXN_PARTS	16

/*
 * Divides steps into transactions, both to carry out a plan and to compute its
 * cost.  All steps of a transaction are in one batch.  A step begins another
 * transaction if the current one would exceed @capacity, or would copy and zero
 * more than 64 MiB or more than TXN_PARTS parts.
 */
struct e4l_packer {
	const struct e4l_geometry *geo;
	uint64_t capacity, most_bytes;
	/* the last transaction that changes each group or descriptor block */
	uint32_t *group, *desc;
	uint32_t transactions;		/* transactions begun so far */
	bool open;
	unsigned int batch;
	uint32_t inode_block;
	uint64_t blocks, bytes;
};
/* Error: ENOMEM.  Call e4l_packer_free() also after an error. */
errcode_t e4l_packer_begin(struct e4l_packer *p,
			   const struct e4l_geometry *geo, uint64_t capacity,
			   uint64_t part_blocks);
/*
 * Adds a step.  Sets *@full to whether the step begins another transaction
 * because the current one has no space for it.
 */
void e4l_packer_add(struct e4l_packer *p, const struct e4l_load *load,
		    bool *full);
/* Ends the transaction: the next step begins another one. */
void e4l_packer_end(struct e4l_packer *p);
void e4l_packer_free(struct e4l_packer *p);

#endif
