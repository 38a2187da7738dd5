/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * model: the positions of the fragments of files, and the used clusters.  All
 * positions and lengths are in clusters.
 */
#ifndef E4L_PLAN_MODEL_H
#define E4L_PLAN_MODEL_H

#include "e4layout/base/map.h"
#include "plan.h"
#include "e4layout/read/zero_runs.h"

/*
 * A fragment of @len clusters: @start is its first cluster on the disk, and
 * @lstart its first logical cluster in the file.  For a tree block, @lstart is
 * E4L_NONE.  @item is the index of the fragment's item.  @next is the index of
 * the next fragment of the logical run; in the last fragment, @next is
 * E4L_NONE.
 */
struct e4l_frag {
	uint32_t start, len, lstart, item, next;
};

/*
 * An item of @len clusters.  The @n fragments of the item form a linked list;
 * @first is the index of the first fragment.  @file is the index of the item's
 * file.
 */
struct e4l_item {
	uint32_t len, first, n, file;
};

struct e4l_owner {
	ext2_ino_t ino;
	uint32_t goal;	/* a cluster in the inode's block group */
	uint32_t allowed;
	/* items of the file: first the logical runs, then the tree blocks */
	uint32_t first_item, n_items;
	uint32_t n_kept;	/* number of tree blocks among the items */
	/*
	 * Tree blocks that the plan can free.  If the tree is packed without
	 * moving data, the last @n_surplus spare tree blocks become free.
	 */
	uint32_t first_spare, n_spare, n_surplus;
	uint32_t extents;
	/* number of extents that packing saves if no data is moved */
	uint32_t loose;
	bool zeroes;		/* the file has runs that may be zeroed */
};

/* The files and the free space of a filesystem, and the plan. */
struct e4l_plan {
	struct e4l_plan_options opt;
	struct e4l_plan_result result;
	struct e4l_plan_move *move;
	size_t n_moves;
	bool late;			/* enough() has ended the planning */
	uint32_t clusters;	/* number of clusters, a multiple of 64 */
	uint32_t large;	/* minimum length of a large free extent, in clusters */
	/* length of the longest stretch without walls, in clusters */
	uint32_t stretch;
	/*
	 * @used has one bit per cluster.  @unwritten has one bit per block, or
	 * is NULL if the files have no unwritten blocks.
	 */
	uint64_t *used, *unwritten;
	/*
	 * map of the free clusters that the plan must not use; NULL: the plan
	 * may use all free clusters
	 */
	uint64_t *other_free;
	uint64_t *look;	/* buffer for the map that in_use() returns */
	struct e4l_frag *frag;
	struct e4l_item *item;
	struct e4l_owner *owner;
	/* clusters of the tree blocks that the plan can free */
	uint32_t *spare;
	uint32_t n_frags, n_items, n_owners, n_spares;
	size_t max_frags, max_items, max_owners, max_spares;
	struct e4l_zero_run *zero;	/* sorted by file and logical block */
	size_t n_zero;
	struct e4l_plan_skipped *skipped;
	size_t n_skipped;
};

/*
 * Checks that no cluster has two owners, and that no free cluster has an owner.
 * Call this function after all files and free extents have been added.  Errors:
 * E4L_ET_BLOCK_SHARED, ENOMEM.
 */
errcode_t e4l_plan_check(const struct e4l_plan *p);

errcode_t e4l_plan_note_skipped(struct e4l_plan *p, ext2_ino_t ino,
				enum e4l_plan_skip why, uint64_t extents,
				uint64_t blocks);

/*
 * Returns the number of written blocks in @len clusters from cluster @start on.
 */
uint64_t e4l_plan_written(const uint64_t *unwritten, uint32_t ratio,
			  uint32_t start, uint32_t len);

#endif
