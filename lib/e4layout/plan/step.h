/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * step: how a step is made: what moves or is zeroed, and where its tree is.
 * Only e4l_step_put_tree() takes of the free space; what its fragments take is
 * taken before.
 */
#ifndef E4L_STEP_H
#define E4L_STEP_H

#include <e4layout/plan.h>
#include "fragments.h"
#include "space.h"
#include "weigh.h"

/* What steps are made for. */
struct e4l_disk {
	const struct e4l_geometry *geo;
	struct e4l_space *space;
	bool trees_stay;		/* but where they must move */
	/* Free space stays in as many runs at most (0: any), and one as long: */
	uint64_t most_runs;
	uint64_t least_longest;
};

/*
 * Whether free space may become as it is @now: within these bounds, or no further
 * from them than it was @before.
 */
bool e4l_disk_allows(const struct e4l_disk *disk,
		     const struct e4l_outlook *before,
		     const struct e4l_outlook *now);

/* How many blocks it gives. */
uint64_t e4l_step_gives(const struct e4l_step *step);

/* How much memory it takes, twice for itself, as when steps are put in order. */
uint64_t e4l_step_bytes(const struct e4l_step *step);

/* Frees what a step holds. */
void e4l_step_free(struct e4l_step *step);

/*
 * What @ex are once their clusters in @new are there, and others stay: the
 * step's extents, and how much is copied.
 */
errcode_t e4l_step_map(const struct e4l_geometry *geo,
		       const struct e4l_extent *ex, size_t n,
		       const struct e4l_fragments *new, struct e4l_step *step);
/*
 * Makes the step's moves, take and give for the same, but for the tree, packed;
 * @old is where the clusters in @new are.
 */
errcode_t e4l_step_move(const struct e4l_geometry *geo,
			const struct e4l_extent *ex, size_t n,
			struct e4l_walk old,
			const struct e4l_fragments *new, struct e4l_step *step);
/* Makes those of @ex written that are chosen in @runs, and lists them. */
errcode_t e4l_step_zero(const struct e4l_geometry *geo, struct e4l_extent *ex,
			size_t n_ex, const struct e4l_zero_run *runs, size_t n,
			struct e4l_step *step);

/*
 * Decides where the tree of @step is going to be, now that it is in @tree, and the
 * file then begins at @data; and what is given back of it.  False: there is no
 * room for it.
 */
errcode_t e4l_step_put_tree(const struct e4l_disk *disk, const blk64_t *tree,
			    size_t n, blk64_t data, struct e4l_step *step,
			    bool *placed);
/* Takes that back, and frees what the step holds. */
errcode_t e4l_step_drop(const struct e4l_disk *disk, struct e4l_step *step);

/*
 * Gives all that @step gives, for questions alone, by e4l_space_try_give(), or
 * takes that back, by the other.
 */
errcode_t e4l_step_try(const struct e4l_disk *disk, const struct e4l_step *step,
		       errcode_t (*change)(struct e4l_space *s, uint64_t start,
					   uint64_t len));
/*
 * Whether free space, which was like @before, may be as it is if @n steps, whose
 * trees are placed, are added.
 */
errcode_t e4l_steps_allowed(const struct e4l_disk *disk,
			    const struct e4l_outlook *before,
			    const struct e4l_step *steps, size_t n,
			    bool *allowed);

/* Gives the free space what @step gives, from the @first'th run on. */
errcode_t e4l_step_give(const struct e4l_disk *disk,
			const struct e4l_step *step, size_t first);
/* Does without the tree blocks that @step, which has given, no longer needs. */
errcode_t e4l_step_shrink_tree(const struct e4l_disk *disk,
			       struct e4l_step *step);

#endif
