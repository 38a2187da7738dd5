/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * sorted: a sorted set of pairs of integers.  Millions of pairs need little
 * memory: a pair with small differences from the previous pair takes two bytes.
 * Every operation takes logarithmic time.  Does no I/O.
 */
#ifndef E4L_SORTED_H
#define E4L_SORTED_H

#include "e4layout/base/internal.h"

/* Pairs are ordered by key.  Pairs with equal keys are ordered by value. */
struct e4l_pair {
	uint64_t key, value;
};

struct e4l_sorted;

/*
 * Creates an empty set.  If memory runs out, returns NULL.  If @knows_most is
 * false, the caller must not call e4l_sorted_most(), and must pass 0 as the
 * minimum value (least) to e4l_sorted_first_of().
 */
struct e4l_sorted *e4l_sorted_new(bool knows_most);
/* Frees @s; NULL is allowed. */
void e4l_sorted_free(struct e4l_sorted *s);

/*
 * Adds a pair, which must not be in the set.  After ENOMEM, the set is
 * unchanged.
 */
errcode_t e4l_sorted_add(struct e4l_sorted *s, struct e4l_pair p);
/* Removes a pair, which must be in the set. */
void e4l_sorted_remove(struct e4l_sorted *s, struct e4l_pair p);

/*
 * e4l_sorted_last() sets *@ret to the last pair that is not after @p.
 * e4l_sorted_first() sets *@ret to the first pair that is not before @p.  If no
 * such pair exists, the functions return false.
 */
bool e4l_sorted_last(struct e4l_sorted *s, struct e4l_pair p,
		     struct e4l_pair *ret);
bool e4l_sorted_first(struct e4l_sorted *s, struct e4l_pair p,
		      struct e4l_pair *ret);
/*
 * Sets *@ret to the first pair that is not before @p and that has a value of at
 * least @least.  If no such pair exists, returns false.
 */
bool e4l_sorted_first_of(struct e4l_sorted *s, struct e4l_pair p,
			 uint64_t least, struct e4l_pair *ret);
/* Returns the largest value in the set, or 0 if the set is empty. */
uint64_t e4l_sorted_most(const struct e4l_sorted *s);

#endif
