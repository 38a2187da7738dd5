/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fit: free extents by length, from which the tightest fit is taken. */
#ifndef E4L_FIT_H
#define E4L_FIT_H

#include <et/com_err.h>
#include "e4layout/base/map.h"

/*
 * Lengths below this have a list each; longer ones share a list with those
 * that differ by less than 3 %.
 */
#define E4L_FIT_EXACT	65536u
#define E4L_FIT_LISTS	(E4L_FIT_EXACT + 16 * 32)

/* Zeroed when it begins; freed by e4l_fit_free(). */
struct e4l_fit {
	uint32_t *head;			/* of each list; E4L_NONE */
	uint64_t *any;			/* which lists are not empty */
	uint64_t *any_word;		/* and which words of that */
	struct e4l_span *run;
	uint32_t *next;
	uint32_t n;
	size_t max;
};

/* Fills @fit with all clear runs of @map.  ENOMEM. */
errcode_t e4l_fit_begin(struct e4l_fit *fit, const uint64_t *map,
			uint32_t clusters);

/* Takes @len clusters from the tightest free extent; E4L_NONE: none holds it. */
uint32_t e4l_fit_take(struct e4l_fit *fit, uint32_t len);

/* The same, from a multiple of @align on; what is left goes back.  ENOMEM. */
errcode_t e4l_fit_take_aligned(struct e4l_fit *fit, uint32_t len,
			       uint32_t align, uint32_t *start);

/* How long the longest is, if less than 3 % too short is good enough. */
uint32_t e4l_fit_longest(const struct e4l_fit *fit);

void e4l_fit_free(struct e4l_fit *fit);

#endif
