/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * space: the free space that a plan may use.  Free extents are sorted by start
 * and by length, so that every operation takes logarithmic time.  The caller
 * chooses the unit; plans use clusters.
 */
#ifndef E4L_SPACE_H
#define E4L_SPACE_H

#include <e4layout/free_space.h>
#include "sorted.h"

struct e4l_space;

/*
 * A run of units (for example clusters): a free or used extent.  A struct
 * e4l_space merges adjacent free extents.
 */
struct e4l_run {
	uint64_t start;
	uint64_t len;
};

/*
 * Creates an empty space.  If memory is short, e4l_space_new() returns NULL,
 * and the functions below that return an errcode_t return ENOMEM.
 */
struct e4l_space *e4l_space_new(void);
/* Frees @s; NULL is allowed. */
void e4l_space_free(struct e4l_space *s);

/*
 * Adds a run of free units, which can be taken immediately.  If part of the run
 * is already free, returns E4L_ET_BAD_ARGUMENT and changes nothing.
 */
errcode_t e4l_space_add(struct e4l_space *s, uint64_t start, uint64_t len);

/*
 * Adds a run of free blocks to a space whose unit is the cluster.  Clusters
 * that lie only partly in the run are ignored.  Errors: as e4l_space_add().
 */
errcode_t e4l_space_add_run(struct e4l_space *s,
			    const struct e4l_block_run *run,
			    uint32_t cluster_blocks);

/*
 * Removes a run from the free space.  The caller ensures that all units of the
 * run are free.
 */
errcode_t e4l_space_take(struct e4l_space *s, uint64_t start, uint64_t len);

/*
 * e4l_space_give() marks a used run as free for e4l_space_outlook() only: other
 * functions treat the run as used.  e4l_space_take_back() reverts
 * e4l_space_give().  Errors: as e4l_space_add().
 */
errcode_t e4l_space_give(struct e4l_space *s, uint64_t start, uint64_t len);
errcode_t e4l_space_take_back(struct e4l_space *s, uint64_t start,
			      uint64_t len);

/* The free extents, as if all runs marked with e4l_space_give() were free. */
struct e4l_outlook {
	uint64_t runs;
	uint64_t longest; /* length of the largest free extent, in units */
};
struct e4l_outlook e4l_space_outlook(const struct e4l_space *s);

/*
 * Finds a free extent of at least @len units and sets *@start to the first unit
 * of the extent.  If no free extent is long enough, returns false.
 *
 * If @near is NULL, chooses the shortest free extent.  If @near is not NULL,
 * compares the first 32 free extents that begin in @near, and chooses the
 * shortest extent.  If no free extent begins in @near, compares the 32 shortest
 * free extents, and chooses the extent that begins closest to the start of
 * @near.  Free extents of fewer than @len units are ignored.
 */
bool e4l_space_fit(const struct e4l_space *s, uint64_t len,
		   const struct e4l_run *near, uint64_t *start);

/*
 * Returns the length of the largest free extent and sets *@start to the first
 * unit of the extent.  If no unit is free, returns 0 and does not set *@start.
 */
uint64_t e4l_space_largest(const struct e4l_space *s, uint64_t *start);
/*
 * e4l_space_after() returns the number of consecutive free units from @at on.
 * e4l_space_before() returns the number of consecutive free units directly
 * before @at.
 */
uint64_t e4l_space_after(const struct e4l_space *s, uint64_t at);
uint64_t e4l_space_before(const struct e4l_space *s, uint64_t at);

#endif
