/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sorted: a sorted set of pairs of integers, for millions of pairs: a pair that
 * hardly differs from the previous pair takes two bytes.  Every operation takes
 * logarithmic time.  Does no I/O.
 */
#ifndef E4L_SORTED_H
#define E4L_SORTED_H

#include "e4layout/base/internal.h"

/* Pairs are ordered by key, then by value. */
struct e4l_pair {
	uint64_t key, value;
};

struct e4l_sorted;

/*
 * @knows_most: e4l_sorted_first_of() and e4l_sorted_most() may be called.
 * NULL: no memory.
 */
struct e4l_sorted *e4l_sorted_new(bool knows_most);
/* NULL is allowed. */
void e4l_sorted_free(struct e4l_sorted *s);

/* Adds a pair that is not in the set.  ENOMEM: nothing has changed. */
errcode_t e4l_sorted_add(struct e4l_sorted *s, struct e4l_pair p);
/* Removes a pair that is in the set. */
void e4l_sorted_remove(struct e4l_sorted *s, struct e4l_pair p);

/*
 * *@ret: for e4l_sorted_last(), the last pair that is not after @p; for
 * e4l_sorted_first(), the first pair that is not before @p.  False: there is
 * none.
 */
bool e4l_sorted_last(struct e4l_sorted *s, struct e4l_pair p,
		     struct e4l_pair *ret);
bool e4l_sorted_first(struct e4l_sorted *s, struct e4l_pair p,
		      struct e4l_pair *ret);
/* The first pair not before @p whose value is at least @least; false: none. */
bool e4l_sorted_first_of(struct e4l_sorted *s, struct e4l_pair p,
			 uint64_t least, struct e4l_pair *ret);
/* The largest value in the set, or 0. */
uint64_t e4l_sorted_most(const struct e4l_sorted *s);

#endif
