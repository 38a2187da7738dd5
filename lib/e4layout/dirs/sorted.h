/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sorted: pairs of numbers in order, in two bytes each where they are near each
 * other: there can be millions.  Every question takes a time logarithmic in their
 * number.  Pure.
 */
#ifndef E4L_SORTED_H
#define E4L_SORTED_H

#include "e4layout/base/internal.h"

/* By key, and then by value. */
struct e4l_pair {
	uint64_t key, value;
};

struct e4l_sorted;

/* @knows_most: the last two questions may be asked.  NULL: no memory. */
struct e4l_sorted *e4l_sorted_new(bool knows_most);
/* NULL is allowed. */
void e4l_sorted_free(struct e4l_sorted *s);

/* Adds a pair that is not there.  ENOMEM: nothing has changed. */
errcode_t e4l_sorted_add(struct e4l_sorted *s, struct e4l_pair p);
/* Removes a pair that is there. */
void e4l_sorted_remove(struct e4l_sorted *s, struct e4l_pair p);

/* The last pair that is not behind @p, or the first not before it; false: none. */
bool e4l_sorted_last(struct e4l_sorted *s, struct e4l_pair p,
		     struct e4l_pair *ret);
bool e4l_sorted_first(struct e4l_sorted *s, struct e4l_pair p,
		      struct e4l_pair *ret);
/* The first not before @p whose value is @least or more. */
bool e4l_sorted_first_of(struct e4l_sorted *s, struct e4l_pair p,
			 uint64_t least, struct e4l_pair *ret);
/* The largest value, or 0. */
uint64_t e4l_sorted_most(const struct e4l_sorted *s);

#endif
