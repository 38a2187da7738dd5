/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* own: the clusters of the filesystem's own blocks, as sorted runs. */
#ifndef E4L_SHRINK_OWN_H
#define E4L_SHRINK_OWN_H

#include "e4layout/base/internal.h"
#include "e4layout/format/own_blocks.h"

/*
 * Runs of whole clusters, in disk order.  No run is adjacent to the next run.
 */
struct e4l_own {
	struct e4l_own_run *v;
	size_t n;
};

/*
 * Appends the own blocks of the groups [@first, @end) of @fs, rounded to
 * clusters.  The caller then calls e4l_own_sort(), which sorts and joins the
 * runs.
 */
errcode_t e4l_own_add(ext2_filsys fs, dgrp_t first, dgrp_t end,
		      struct e4l_own *own);
void e4l_own_sort(struct e4l_own *own);

/* Removes all blocks from block @end on.  @own must be sorted. */
void e4l_own_cut(struct e4l_own *own, blk64_t end);

blk64_t e4l_own_count(const struct e4l_own *own);

/*
 * Appends the blocks of @a that are not in @b to @diff.  @a and @b must be
 * sorted.
 */
errcode_t e4l_own_minus(const struct e4l_own *a, const struct e4l_own *b,
			struct e4l_own *diff);

/* Whether one of the blocks [@blk, @blk + @len) is in @own, which is sorted. */
bool e4l_own_meets(const struct e4l_own *own, blk64_t blk, blk64_t len);

/* Frees the array, and empties @own. */
void e4l_own_free(struct e4l_own *own);

#endif
