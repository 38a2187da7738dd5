/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fit: free extents by length, to find the tightest fit. */
#ifndef E4L_FIT_H
#define E4L_FIT_H

#include <et/com_err.h>
#include "map.h"

/*
 * Each length below E4L_FIT_EXACT has its own list; longer extents share a list
 * if their lengths differ by less than 3 %.
 */
#define E4L_FIT_EXACT	65536u
#define E4L_FIT_LISTS	(E4L_FIT_EXACT + 16 * 32)

/* Must be zeroed before e4l_fit_begin(); freed by e4l_fit_free(). */
struct e4l_fit {
	uint32_t *head;			/* the first extent of each list, or E4L_NONE */
	uint64_t *any;			/* bitmap of the lists that are not empty */
	uint64_t *any_word;		/* bitmap of the words of @any that are not 0 */
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
 * Takes @len clusters from the shortest free extent that is long enough.
 * Returns the first cluster, or E4L_NONE if no free extent is long enough.
 */
uint32_t e4l_fit_take(struct e4l_fit *fit, uint32_t len);

/*
 * Like e4l_fit_take(), but sets *@start to the first cluster, which is a
 * multiple of @align, or to E4L_NONE.  Errors: ENOMEM.
 */
errcode_t e4l_fit_take_aligned(struct e4l_fit *fit, uint32_t len,
			       uint32_t align, uint32_t *start);

void e4l_fit_free(struct e4l_fit *fit);

#endif
