/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cost: the metadata blocks of a transaction that a step needs.  No I/O. */
#ifndef E4L_COST_H
#define E4L_COST_H

#include "step.h"

/*
 * Sets *@blocks to the maximum number of metadata blocks that @step changes:
 * those of the inode, of the tree (unless it is new) and of quota, and bitmaps
 * and descriptors of the groups with taken or given blocks.  Error: ENOMEM.
 */
errcode_t e4l_step_cost(const struct e4l_geometry *geo,
			const struct e4l_step *step, uint64_t *blocks);
/* Whether the step fits into a transaction.  Error: ENOMEM. */
errcode_t e4l_step_fits(const struct e4l_geometry *geo,
			const struct e4l_step *step, bool *fits);

/* The groups of blocks; a group may occur several times. */
struct e4l_groups {
	const struct e4l_geometry *geo;
	uint32_t *v;
	size_t n;
};

errcode_t e4l_groups_add(struct e4l_groups *g, blk64_t blk, blk64_t len);
/* Returns the bitmaps of the groups and the blocks with their descriptors. */
uint64_t e4l_groups_cost(struct e4l_groups *g);

/* The share of a transaction that a step takes. */
struct e4l_load {
	unsigned int batch;
	ext2_ino_t ino;
	uint64_t blocks;		/* journaled, without inode and groups */
	uint64_t bytes;			/* to copy and to zero */
	struct e4l_groups groups;	/* the caller frees groups.v */
};
/* @more: journaled blocks that @step does not list.  Error: ENOMEM. */
errcode_t e4l_step_load(const struct e4l_geometry *geo,
			const struct e4l_step *step, uint32_t more,
			struct e4l_load *load);
/* Returns the journaled blocks of a step that is alone in its transaction. */
uint64_t e4l_load_cost(struct e4l_load *load);

#define TXN_PARTS	16	/* a transaction of so many parts is not dropped */

/*
 * The rule by which steps share a transaction, for apply.c and for the cost that a
 * plan announces: steps of one batch, as many as the journal holds, that copy and
 * zero up to 64 MiB and up to TXN_PARTS parts.
 */
struct e4l_packer {
	const struct e4l_geometry *geo;
	uint64_t capacity, most_bytes;
	/* of groups and descriptor blocks: the last transaction with them */
	uint32_t *group, *desc;
	uint32_t transactions;		/* transactions begun so far */
	bool open;
	unsigned int batch;
	uint32_t inode_block;
	uint64_t blocks, bytes;
};
/* Error: ENOMEM.  After an error, call e4l_packer_free() as well. */
errcode_t e4l_packer_begin(struct e4l_packer *p,
			   const struct e4l_geometry *geo, uint64_t capacity,
			   uint64_t part_blocks);
/* Adds a step; *@full: it begins another transaction. */
void e4l_packer_add(struct e4l_packer *p, const struct e4l_load *load,
		    bool *full);
/* The next step begins another transaction. */
void e4l_packer_end(struct e4l_packer *p);
void e4l_packer_free(struct e4l_packer *p);

#endif
