/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* model: where the fragments of files are, and what is in use.  In clusters. */
#ifndef E4L_PLAN_MODEL_H
#define E4L_PLAN_MODEL_H

#include "e4layout/base/map.h"
#include "plan.h"
#include "zero.h"

/*
 * @next is the next fragment of the same logical run, or E4L_NONE; @lstart is
 * E4L_NONE for a tree block.
 */
struct e4l_frag {
	uint32_t start, len, lstart, item, next;
};

/* Contiguous in the file; @first and the @n - 1 behind it in the list. */
struct e4l_item {
	uint32_t len, first, n, file;
};

struct e4l_owner {
	ext2_ino_t ino;
	uint32_t goal;			/* a cluster of the inode's group */
	uint32_t allowed;
	uint32_t first_item, n_items;	/* logical runs, then tree blocks */
	uint32_t n_kept;		/* of them, tree blocks it will need */
	/* those it has beside; the last @n_surplus packing alone frees */
	uint32_t first_spare, n_spare, n_surplus;
	/* extents now, once they are merged, and once all runs are joined, too */
	uint32_t extents, packed, joined;
	uint32_t fragments;
	uint32_t loose;			/* extents that packing alone saves */
	bool zeroes;			/* some of its runs may be zeroed */
};

/* The files of a filesystem, and its free space. */
struct e4l_places {
	struct e4l_plan_options opt;
	uint32_t clusters;		/* a multiple of 64 */
	uint32_t large;			/* clusters of a large free extent */
	uint64_t *used, *unwritten;	/* maps; the latter of blocks, or NULL */
	uint64_t *other_free;		/* used, and counted as free; or NULL */
	uint64_t *look;			/* scratch of its size */
	struct e4l_frag *frag;
	struct e4l_item *item;
	struct e4l_owner *owner;
	uint32_t *spare;		/* where spare tree blocks are */
	uint32_t n_frags, n_items, n_owners, n_spares;
	size_t max_frags, max_items, max_owners, max_spares;
	struct e4l_zero_run *zero;	/* by file and logical block */
	size_t n_zero;
	struct e4l_plan_skipped *skipped;
	size_t n_skipped;
	/* What memory is used for: see memory.h. */
	uint32_t dropped_density;	/* files of less are not kept */
	uint32_t dropped_fill;		/* whole files in fuller segments */
	uint32_t *fill;			/* whole files in each segment */
};

/* The files of a plan, for those who carry it out. */
struct e4l_places *e4l_plan_model(const struct e4l_plan *p);

/* Of the disk, for which the sums of whole files are kept. */
#define E4L_SEGMENTS	4096u

errcode_t e4l_places_begin(struct e4l_places *m,
			  const struct e4l_plan_options *options);
errcode_t e4l_places_add(struct e4l_places *m, const struct e4l_plan_file *file);
errcode_t e4l_places_add_free(struct e4l_places *m,
			     const struct e4l_block_run *run);
errcode_t e4l_places_add_other_free(struct e4l_places *m,
				    const struct e4l_block_run *run);
/* Everything is added: two owners of one cluster are found here. */
errcode_t e4l_places_check(const struct e4l_places *m);
void e4l_places_free(struct e4l_places *m);

errcode_t e4l_places_skip(struct e4l_places *m, ext2_ino_t ino, enum e4l_plan_skip why,
			 uint64_t extents, uint64_t blocks);

/* How many blocks of @len clusters from @start on are written. */
uint64_t e4l_places_written(const uint64_t *unwritten, uint32_t ratio,
			   uint32_t start, uint32_t len);

#endif
