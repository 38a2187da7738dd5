/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* weigh: what could be gained from a file, and at what cost.  Pure. */
#ifndef E4L_WEIGH_H
#define E4L_WEIGH_H

#include <e4layout/extents.h>

/* What may be done to a file. */
struct e4l_rules {
	unsigned int allowed;		/* E4L_PLAN_* */
	uint32_t cluster_blocks;
	uint32_t zeroout_max_blocks;	/* E4L_UNWRITTEN_MAX_BLOCKS at most */
	uint64_t eof_blk;
};

struct e4l_weight {
	size_t n_ex;
	size_t n_packed;		/* the fewest that hold the same */
	size_t n_zero;			/* runs that may be zeroed */
	uint64_t fragments, largest;	/* how many; blocks of the largest */
	/* if it may be moved: */
	uint64_t excess;		/* fragments that may be saved */
	uint64_t cost;			/* written blocks that may be copied */
	uint64_t longest;		/* run to place, in clusters */
};

/*
 * Weighs a file with @n extents.  Errors: ENOMEM, E4L_ET_BAD_ARGUMENT (it may
 * be moved, but is not aligned with clusters; the rest is known).
 */
errcode_t e4l_weigh(const struct e4l_rules *rules, const struct e4l_extent *ex,
		    size_t n, struct e4l_weight *ret);

/* An unwritten run that may be zeroed. */
struct e4l_zero_run {
	size_t file;
	uint32_t lblk;
	uint32_t len;
	uint8_t gain;			/* extents: 1 or 2 */
	bool before, behind;		/* where its neighbours are */
	bool chosen;
	bool banned;			/* it was found to save nothing */
};

/*
 * Counts the runs that may be zeroed and, unless @runs is NULL, appends them,
 * in logical order, as of @file.
 */
errcode_t e4l_find_zero_runs(const struct e4l_rules *rules,
			     const struct e4l_extent *ex, size_t n_ex,
			     size_t file, struct e4l_zero_run **runs,
			     size_t *n);

#endif
