/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * model: the places of the fragments of files, and the used clusters.  All
 * units are clusters.
 */
#ifndef E4L_PLAN_MODEL_H
#define E4L_PLAN_MODEL_H

#include "e4layout/base/map.h"
#include "plan.h"
#include "e4layout/read/zero_runs.h"

/*
 * A fragment.  @next: the next fragment of the same logical run, or E4L_NONE;
 * @lstart: E4L_NONE for a tree block.
 */
struct e4l_frag {
	uint32_t start, len, lstart, item, next;
};

/* An item, contiguous in the file: @n fragments, linked from @first on. */
struct e4l_item {
	uint32_t len, first, n, file;
};

struct e4l_owner {
	ext2_ino_t ino;
	uint32_t goal;			/* a cluster of the inode's group */
	uint32_t allowed;
	uint32_t first_item, n_items;	/* logical runs, then tree blocks */
	uint32_t n_kept;		/* number of items that are needed tree blocks */
	/* tree blocks to free; packing alone frees the last @n_surplus */
	uint32_t first_spare, n_spare, n_surplus;
	uint32_t extents;
	uint32_t loose;			/* extents that packing alone saves */
	bool zeroes;			/* some of its runs may be zeroed */
};

/* The files and the free space of a filesystem, and the plan. */
struct e4l_plan {
	struct e4l_plan_options opt;
	struct e4l_plan_result result;
	struct e4l_plan_move *move;
	size_t n_moves;
	bool late;			/* enough() has ended the planning */
	uint32_t clusters;		/* a multiple of 64 */
	uint32_t large;			/* clusters of a large free extent */
	uint32_t stretch;		/* length of the longest stretch without walls */
	uint64_t *used, *unwritten;	/* maps; @unwritten: of blocks, or NULL */
	uint64_t *other_free;		/* free space that the plan must not use, or NULL */
	uint64_t *look;			/* a temporary map of clusters */
	struct e4l_frag *frag;
	struct e4l_item *item;
	struct e4l_owner *owner;
	uint32_t *spare;		/* the places of spare tree blocks */
	uint32_t n_frags, n_items, n_owners, n_spares;
	size_t max_frags, max_items, max_owners, max_spares;
	struct e4l_zero_run *zero;	/* sorted by file and logical block */
	size_t n_zero;
	struct e4l_plan_skipped *skipped;
	size_t n_skipped;
};

/*
 * Called after all files and free extents were added: detects clusters with two
 * owners.
 */
errcode_t e4l_plan_check(const struct e4l_plan *p);

errcode_t e4l_plan_note_skipped(struct e4l_plan *p, ext2_ino_t ino,
				enum e4l_plan_skip why, uint64_t extents,
				uint64_t blocks);

/* Returns the number of written blocks in the @len clusters from @start on. */
uint64_t e4l_plan_written(const uint64_t *unwritten, uint32_t ratio,
			  uint32_t start, uint32_t len);

#endif
