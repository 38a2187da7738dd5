/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * space: the free space that a plan may use.  Runs are sorted by place and by
 * size, so that every operation takes logarithmic time.  The unit is the
 * caller's; plans use clusters.
 */
#ifndef E4L_SPACE_H
#define E4L_SPACE_H

#include <e4layout/free_space.h>
#include "sorted.h"

struct e4l_space;

/* A run of units.  Free runs are maximal: no two of them touch. */
struct e4l_run {
	uint64_t start;
	uint64_t len;
};

/* Functions that allocate memory return NULL or ENOMEM if there is none. */
struct e4l_space *e4l_space_new(void);
/*
 * Starts counting runs, and the free units in runs of at least @unit units: see
 * e4l_space_in_long() and e4l_space_runs().  Must be called while nothing is
 * free.
 */
errcode_t e4l_space_count(struct e4l_space *s, uint64_t unit);
/* NULL is allowed. */
void e4l_space_free(struct e4l_space *s);

/*
 * Makes a run free immediately.  E4L_ET_BAD_ARGUMENT: part of the run is free
 * already, and nothing has changed.
 */
errcode_t e4l_space_add(struct e4l_space *s, uint64_t start, uint64_t len);

/*
 * Makes the whole clusters in a run of blocks free immediately.  Errors: as
 * e4l_space_add().
 */
errcode_t e4l_space_add_run(struct e4l_space *s,
			    const struct e4l_block_run *run,
			    uint32_t cluster_blocks);

/* Takes a run, all of which is free. */
errcode_t e4l_space_take(struct e4l_space *s, uint64_t start, uint64_t len);

/*
 * Gives back a run.  The run becomes free with e4l_space_commit(), when the
 * transaction that frees the run is durable.
 */
errcode_t e4l_space_give(struct e4l_space *s, uint64_t start, uint64_t len);
errcode_t e4l_space_commit(struct e4l_space *s);

/*
 * Give a run temporarily, and undo that.  Only e4l_space_in_long() and
 * e4l_space_runs() see the change.
 */
errcode_t e4l_space_try_give(struct e4l_space *s, uint64_t start, uint64_t len);
errcode_t e4l_space_untry_give(struct e4l_space *s, uint64_t start,
			       uint64_t len);

/* The units in long runs after the next e4l_space_commit(). */
uint64_t e4l_space_in_long(const struct e4l_space *s);
/*
 * Adds a run to @runs, a list for e4l_space_in_long_with().  Errors: as
 * e4l_space_add().
 */
errcode_t e4l_space_list_given(struct e4l_sorted *runs, uint64_t start,
			       uint64_t len);
/*
 * Like e4l_space_in_long(), with @runs given as well.  E4L_ET_BAD_ARGUMENT:
 * part of @runs is free already.
 */
errcode_t e4l_space_in_long_with(const struct e4l_space *s,
				 struct e4l_sorted *runs, uint64_t *ret);
/* The number of free runs after the next e4l_space_commit(). */
uint64_t e4l_space_runs(const struct e4l_space *s);

/* Free space after the next e4l_space_commit(). */
struct e4l_outlook {
	/* see e4l_space_runs() and e4l_space_in_long() */
	uint64_t runs, in_long;
	uint64_t longest;		/* length of the longest run */
};
struct e4l_outlook e4l_space_outlook(const struct e4l_space *s);

/*
 * Finds @len free units: the shortest of the first 32 fitting runs that begin
 * in @near; without any, the closest to @near of the 32 shortest fitting runs;
 * with @near NULL, the shortest fitting run.  False: no run is long enough.
 */
bool e4l_space_fit(const struct e4l_space *s, uint64_t len,
		   const struct e4l_run *near, uint64_t *start);

/* The length of the longest run, or 0; *@start is its start. */
uint64_t e4l_space_largest(const struct e4l_space *s, uint64_t *start);
/* The length of the longest run that is shorter than @len, or 0. */
uint64_t e4l_space_largest_below(const struct e4l_space *s, uint64_t len,
				 uint64_t *start);
/*
 * Whether the @most longest runs have at least @len units together; with
 * @below, of the runs shorter than @below.
 */
bool e4l_space_holds(const struct e4l_space *s, uint64_t below, uint64_t most,
		     uint64_t len);

/* The number of free units. */
uint64_t e4l_space_sum(const struct e4l_space *s);

/*
 * Lists at most @max runs that begin at or behind @at, by place.  Returns their
 * number.
 */
size_t e4l_space_list(const struct e4l_space *s, uint64_t at,
		      struct e4l_run *runs, size_t max);

/* The number of consecutive free units behind @at, and before @at. */
uint64_t e4l_space_after(const struct e4l_space *s, uint64_t at);
uint64_t e4l_space_before(const struct e4l_space *s, uint64_t at);

#endif
