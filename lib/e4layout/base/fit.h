/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fit: finds the shortest free extent that is long enough. */
#ifndef E4L_FIT_H
#define E4L_FIT_H

#include <et/com_err.h>
#include "map.h"

/*
 * The free extents are in lists by length.  Each length below E4L_FIT_EXACT
 * clusters has its own list.  For longer extents, there are 32 lists for each
 * power of two, so that the lengths in a list differ by at most 3 %.
 */
#define E4L_FIT_EXACT	65536u
#define E4L_FIT_LISTS	(E4L_FIT_EXACT + 16 * 32)

/*
 * The caller zeroes the struct before the first e4l_fit_begin().
 * e4l_fit_free() frees the members.
 */
struct e4l_fit {
	uint32_t *head; /* first extent of each list, or E4L_NONE */
	uint64_t *any;			/* bitmap of the non-empty lists */
	uint64_t *any_word;	/* bitmap of the nonzero words of @any */
	struct e4l_span *run;
	uint32_t *next;
	uint32_t n;
	size_t max;
};

/*
 * Fills @fit with the free extents of @map, in which a clear bit is a free
 * cluster.  Errors: ENOMEM.
 */
errcode_t e4l_fit_begin(struct e4l_fit *fit, const uint64_t *map,
			uint32_t clusters);

/*
 * Takes @len clusters from the shortest free extent that is long enough.  If
 * @len is E4L_FIT_EXACT or more, another sufficient extent can be a few percent
 * shorter.  Returns the first cluster, or E4L_NONE if no extent was found.
 */
uint32_t e4l_fit_take(struct e4l_fit *fit, uint32_t len);

/*
 * Like e4l_fit_take(), but takes clusters that begin at a multiple of @align.
 * Sets *@start to the first cluster, or to E4L_NONE if no extent was found.
 * Errors: ENOMEM.
 */
errcode_t e4l_fit_take_aligned(struct e4l_fit *fit, uint32_t len,
			       uint32_t align, uint32_t *start);

void e4l_fit_free(struct e4l_fit *fit);

#endif
