/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cost: counts the metadata blocks that a step changes.  Does no I/O. */
#ifndef E4L_COST_H
#define E4L_COST_H

#include "step.h"

/*
 * Sets *@blocks to the maximum number of metadata blocks that @step journals.
 * Counts the block of the inode, blocks of quota files, tree blocks that are
 * not new, and the bitmaps and descriptor blocks of groups in which @step
 * allocates or frees blocks.  Error: ENOMEM.
 */
errcode_t e4l_step_cost(const struct e4l_geometry *geo,
			const struct e4l_step *step, uint64_t *blocks);
/*
 * Sets *@fits to whether @step fits into a transaction.  If geo->txn_blocks is
 * 0, all steps fit.  Error: ENOMEM.
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
/*
 * Returns how many block bitmaps and descriptor blocks the groups in @g have.
 * A group or descriptor block that occurs several times counts once.
 */
uint64_t e4l_groups_cost(struct e4l_groups *g);

/* The blocks and bytes that a step adds to a transaction. */
struct e4l_load {
	unsigned int batch;
	ext2_ino_t ino;
	/*
	 * journaled blocks, without the inode's block, bitmaps and descriptor
	 * blocks
	 */
	uint64_t blocks;
	uint64_t bytes; /* number of bytes that the step copies and zeroes */
	/*
	 * groups in which the step allocates or frees blocks; the caller frees
	 * groups.v
	 */
	struct e4l_groups groups;
};
/*
 * Sets *@load to the blocks and bytes that @step adds to a transaction.  Adds
 * @more journaled blocks, for other changes.  Error: ENOMEM.
 */
errcode_t e4l_step_load(const struct e4l_geometry *geo,
			const struct e4l_step *step, uint32_t more,
			struct e4l_load *load);
/*
 * Returns the number of blocks that a transaction journals for a step with
 * @load, if the transaction has no other step.
 */
uint64_t e4l_load_cost(struct e4l_load *load);

/*
 * A part is the number of blocks in e4l_apply_options.part_blocks.  Several
 * steps share a transaction only if they copy and zero at most TXN_PARTS parts
 * together.  Only if a single step has more than TXN_PARTS parts, stop() is
 * called inside a transaction.
 */
#define TXN_PARTS	16

/*
 * Divides the steps of a plan into transactions.  All steps of a transaction
 * are in one batch.  A transaction with several steps journals at most
 * @capacity blocks.  The steps copy and zero at most 64 MiB together, and at
 * most TXN_PARTS parts.  If a step would exceed a limit, the step begins
 * another transaction.
 */
struct e4l_packer {
	const struct e4l_geometry *geo;
	uint64_t capacity, most_bytes;
	/*
	 * number of the last transaction that changes each group (@group) and
	 * each block of group descriptors (@desc)
	 */
	uint32_t *group, *desc;
	uint32_t transactions; /* number of transactions begun so far */
	bool open;
	unsigned int batch;
	uint32_t inode_block;
	uint64_t blocks, bytes;
};
/*
 * Initializes @p.  @capacity is the maximum number of journaled blocks in a
 * transaction.  @part_blocks is e4l_apply_options.part_blocks.  The caller
 * calls e4l_packer_free() even after an error.  Error: ENOMEM.
 */
errcode_t e4l_packer_begin(struct e4l_packer *p,
			   const struct e4l_geometry *geo, uint64_t capacity,
			   uint64_t part_blocks);
/*
 * Adds a step with @load.  If the current transaction cannot contain the step,
 * ends the transaction, begins another transaction, and sets *@full to true.
 * Otherwise, sets *@full to false.
 */
void e4l_packer_add(struct e4l_packer *p, const struct e4l_load *load,
		    bool *full);
/* Ends the transaction.  The next step begins another transaction. */
void e4l_packer_end(struct e4l_packer *p);
void e4l_packer_free(struct e4l_packer *p);

#endif
