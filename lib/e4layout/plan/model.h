/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * model: the places of the fragments of files, and the used clusters.  All
 * units are clusters.
 */
#ifndef E4L_PLAN_MODEL_H
#define E4L_PLAN_MODEL_H

#include "e4layout/base/map.h"
#include "plan.h"
#include "zero.h"

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
	uint32_t n_kept; /* number of items that are needed tree blocks */
	/* tree blocks to free; packing alone frees the last @n_surplus */
	uint32_t first_spare, n_spare, n_surplus;
	/* extents now, after merging, and after joining all runs */
	uint32_t extents, packed, joined;
	uint32_t fragments;
	uint32_t loose;			/* extents that packing alone saves */
	bool zeroes;			/* some of its runs may be zeroed */
};

/* The files of a filesystem and its free space. */
struct e4l_places {
	struct e4l_plan_options opt;
	uint32_t clusters;		/* a multiple of 64 */
	uint32_t large;			/* clusters of a large free extent */
	/* maps of clusters and of blocks; NULL: none */
	uint64_t *used, *unwritten;
	uint64_t *other_free;	/* free, but not for the plan; NULL: none */
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
	/* for memory.h */
	/* files with fewer fragments per cluster are dropped */
	uint32_t dropped_density;
	uint32_t dropped_fill;	/* whole files in fuller segments are dropped */
	uint32_t *fill;	/* clusters of whole files per segment */
};

/* Returns the files of a plan, for execution. */
struct e4l_places *e4l_plan_model(const struct e4l_plan *p);

/* Number of segments of the disk for the sums of whole files. */
#define E4L_SEGMENTS	4096u

errcode_t e4l_places_begin(struct e4l_places *m,
			  const struct e4l_plan_options *options);
errcode_t e4l_places_add(struct e4l_places *m, const struct e4l_plan_file *file);
errcode_t e4l_places_add_free(struct e4l_places *m,
			     const struct e4l_block_run *run);
errcode_t e4l_places_add_other_free(struct e4l_places *m,
				    const struct e4l_block_run *run);
/*
 * Called after all files and free extents were added: detects clusters with two
 * owners.
 */
errcode_t e4l_places_check(const struct e4l_places *m);
void e4l_places_free(struct e4l_places *m);

errcode_t e4l_places_skip(struct e4l_places *m, ext2_ino_t ino, enum e4l_plan_skip why,
			 uint64_t extents, uint64_t blocks);

/* Returns the number of written blocks in the @len clusters from @start on. */
uint64_t e4l_places_written(const uint64_t *unwritten, uint32_t ratio,
			   uint32_t start, uint32_t len);

#endif
