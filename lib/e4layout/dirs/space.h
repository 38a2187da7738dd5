/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * space: the free space that a plan may use, in memory.  Runs are kept by place
 * and by size, so that every question takes a time logarithmic in their number.
 * The unit is the caller's; plans count in clusters.
 */
#ifndef E4L_SPACE_H
#define E4L_SPACE_H

#include <e4layout/free_space.h>
#include "sorted.h"

struct e4l_space;

/* A run of units.  Runs that are free are maximal. */
struct e4l_run {
	uint64_t start;
	uint64_t len;
};

/* All return NULL or ENOMEM when memory is short. */
struct e4l_space *e4l_space_new(void);
/*
 * Counts runs, and what is free in those of @unit and more, from now on: see
 * e4l_space_in_long() and e4l_space_runs().  Nothing may be free yet.
 */
errcode_t e4l_space_count(struct e4l_space *s, uint64_t unit);
/* NULL is allowed. */
void e4l_space_free(struct e4l_space *s);

/*
 * Makes a run free at once.  E4L_ET_BAD_ARGUMENT: part of it is free already,
 * and nothing has changed.
 */
errcode_t e4l_space_add(struct e4l_space *s, uint64_t start, uint64_t len);

/* The same for what is whole clusters in a run of blocks. */
errcode_t e4l_space_add_run(struct e4l_space *s,
			    const struct e4l_block_run *run,
			    uint32_t cluster_blocks);

/* Takes a run of which all is free. */
errcode_t e4l_space_take(struct e4l_space *s, uint64_t start, uint64_t len);

/*
 * Gives a run back that is free only after e4l_space_commit(): once the
 * transaction that frees it is durable.
 */
errcode_t e4l_space_give(struct e4l_space *s, uint64_t start, uint64_t len);
errcode_t e4l_space_commit(struct e4l_space *s);

/* For these two questions alone: a run is given, or not given after all. */
errcode_t e4l_space_try_give(struct e4l_space *s, uint64_t start, uint64_t len);
errcode_t e4l_space_untry_give(struct e4l_space *s, uint64_t start,
			       uint64_t len);

/* What will be in long runs once all that was given is free. */
uint64_t e4l_space_in_long(const struct e4l_space *s);
/* Adds a run to those that might be given; errors as for e4l_space_add(). */
errcode_t e4l_space_list_given(struct e4l_sorted *runs, uint64_t start,
			       uint64_t len);
/* What would be in long runs if @runs were given as well; the same errors. */
errcode_t e4l_space_in_long_with(const struct e4l_space *s,
				 struct e4l_sorted *runs, uint64_t *ret);
/* How many runs there will be then. */
uint64_t e4l_space_runs(const struct e4l_space *s);

/* Free space once all that was given is free. */
struct e4l_outlook {
	uint64_t runs, in_long;		/* see above */
	uint64_t longest;		/* run */
};
struct e4l_outlook e4l_space_outlook(const struct e4l_space *s);

/*
 * Finds @len units in one run: the tightest of 32 fits that begin in @near or,
 * if none does, the closest to it of the 32 tightest.  False: there is none.
 * Without @near, the tightest of all.
 */
bool e4l_space_fit(const struct e4l_space *s, uint64_t len,
		   const struct e4l_run *near, uint64_t *start);

/* The length of the longest run, 0 if nothing is free; where it is. */
uint64_t e4l_space_largest(const struct e4l_space *s, uint64_t *start);
/* The same of the runs that are shorter than @len. */
uint64_t e4l_space_largest_below(const struct e4l_space *s, uint64_t len,
				 uint64_t *start);
/* Whether @most runs, which are shorter than @below unless that is 0, hold @len. */
bool e4l_space_holds(const struct e4l_space *s, uint64_t below, uint64_t most,
		     uint64_t len);

/* How many units are free in all. */
uint64_t e4l_space_sum(const struct e4l_space *s);

/*
 * The first runs, @max at most, that begin at @at or behind it, by place.
 * Returns how many.
 */
size_t e4l_space_list(const struct e4l_space *s, uint64_t at,
		      struct e4l_run *runs, size_t max);

/* How many units are free from @at on, and right before @at. */
uint64_t e4l_space_after(const struct e4l_space *s, uint64_t at);
uint64_t e4l_space_before(const struct e4l_space *s, uint64_t at);

#endif
