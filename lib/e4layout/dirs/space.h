/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * space: the free space that a plan may use.  Free extents are sorted by place
 * and by size, so that every operation takes logarithmic time.  The unit is the
 * caller's; plans use clusters.
 */
#ifndef E4L_SPACE_H
#define E4L_SPACE_H

#include <e4layout/free_space.h>
#include "sorted.h"

struct e4l_space;

/* A run of units.  Two free extents of a space are never adjacent. */
struct e4l_run {
	uint64_t start;
	uint64_t len;
};

/* Functions that allocate memory return NULL or ENOMEM if memory is short. */
struct e4l_space *e4l_space_new(void);
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
 * e4l_space_give() marks a used run as given: e4l_space_outlook() counts the
 * run as free, but it cannot be taken.  e4l_space_take_back() reverts this.
 * Errors: as e4l_space_add().
 */
errcode_t e4l_space_give(struct e4l_space *s, uint64_t start, uint64_t len);
errcode_t e4l_space_take_back(struct e4l_space *s, uint64_t start,
			      uint64_t len);

/* Free space if all given runs were free. */
struct e4l_outlook {
	uint64_t runs;
	uint64_t longest;		/* length of the largest free extent */
};
struct e4l_outlook e4l_space_outlook(const struct e4l_space *s);

/*
 * Finds @len free units: the shortest of the first 32 fitting free extents that
 * begin in @near.  If none begins there, the one closest to @near of the 32
 * shortest fitting free extents.  If @near is NULL, the shortest fitting free
 * extent.  Returns false if no free extent is long enough.
 */
bool e4l_space_fit(const struct e4l_space *s, uint64_t len,
		   const struct e4l_run *near, uint64_t *start);

/* The length of the largest free extent, or 0; *@start is its first unit. */
uint64_t e4l_space_largest(const struct e4l_space *s, uint64_t *start);
/* The number of consecutive free units from @at on, and directly before @at. */
uint64_t e4l_space_after(const struct e4l_space *s, uint64_t at);
uint64_t e4l_space_before(const struct e4l_space *s, uint64_t at);

#endif
