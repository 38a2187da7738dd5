/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * split: a move in several steps, because one transaction is too small or would
 * take too long.  After each but the last the file is half moved, and whole;
 * it has no more fragments and extents than before.
 */
#ifndef E4L_SPLIT_H
#define E4L_SPLIT_H

#include "fragments.h"
#include "step.h"

/* A file, and where its fragments are to be. */
struct e4l_moving {
	const struct e4l_extent *ex;	/* packed; see e4l_check_clusters() */
	size_t n_ex, n_entries;		/* as they are on the disk now */
	const blk64_t *tree;
	size_t n_tree;
	uint64_t n_old;			/* fragments of clusters now */
	struct e4l_fragments new;
	/* blocks to copy: in all, and in one step if that can be */
	uint64_t budget, part;
};

/* Its fragments as they are. */
static inline struct e4l_walk e4l_walk_old(const struct e4l_disk *disk,
					   const struct e4l_moving *m)
{
	return e4l_walk_extents(m->ex, m->n_ex, disk->geo->cluster_blocks);
}

/* Steps of one file, one after the other; who has them owns what they hold. */
struct e4l_steps {
	struct e4l_step *v;
	size_t n;
};

/*
 * Moves a file in several steps, as far as the budget goes, or in none.  What
 * does not move then is free again, unless there are none.
 */
errcode_t e4l_split_move(const struct e4l_disk *disk,
			 const struct e4l_moving *m, struct e4l_steps *steps);

#endif
