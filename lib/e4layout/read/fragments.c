/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "e4layout/format/format.h"
#include "fragments.h"

errcode_t e4l_fragments_add(struct e4l_fragments *list, uint64_t lc,
			    uint64_t pc, uint64_t n)
{
	struct e4l_fragment *last = list->n ? &list->v[list->n - 1] : NULL;
	errcode_t err;

	if (last && last->lc + last->n == lc && last->pc + last->n == pc) {
		last->n += n;
		return 0;
	}
	err = e4l_grow(&list->v, list->n, sizeof(*list->v));
	if (!err)
		list->v[list->n++] = (struct e4l_fragment) { pc, lc, n };
	return err;
}

errcode_t e4l_check_clusters(const struct e4l_extent *ex, size_t n,
			     uint32_t ratio)
{
	unsigned int bits = e4l_cluster_bits(ratio);
	size_t i;

	for (i = 0; i < n; i++)
		if ((ex[i].lblk ^ ex[i].pblk) & (ratio - 1) ||
		    e4l_end_cluster(&ex[i], bits) > UINT32_MAX ||
		    (i && e4l_first_cluster(&ex[i], bits) <
			  e4l_end_cluster(&ex[i - 1], bits) &&
		     e4l_away(&ex[i], bits) != e4l_away(&ex[i - 1], bits)))
			return E4L_ET_BAD_ARGUMENT;
	return 0;
}

struct e4l_walk e4l_walk_list(const struct e4l_fragments *list)
{
	return (struct e4l_walk) { .v = list->v, .end = list->v + list->n };
}

struct e4l_walk e4l_walk_extents(const struct e4l_extent *ex, size_t n,
				 uint32_t ratio)
{
	return (struct e4l_walk) {
		.ex = ex, .n = n, .bits = e4l_cluster_bits(ratio),
	};
}

bool e4l_next_fragment(struct e4l_walk *walk, struct e4l_fragment *v)
{
	const struct e4l_extent *first = walk->ex;
	uint64_t lc;

	if (walk->v != walk->end) {
		*v = *walk->v++;
		return true;
	}
	if (!walk->n)
		return false;
	do {
		walk->ex++;
		walk->n--;
	} while (walk->n &&
		 e4l_goes_on(walk->ex - 1, walk->ex, walk->bits));
	lc = e4l_first_cluster(first, walk->bits);
	*v = (struct e4l_fragment) {
		.pc = lc + e4l_away(first, walk->bits), .lc = lc,
		.n = e4l_end_cluster(walk->ex - 1, walk->bits) - lc,
	};
	return true;
}

errcode_t e4l_each_shift(struct e4l_walk old,
			 const struct e4l_fragments *new,
			 errcode_t (*fn)(const struct e4l_shift *, void *),
			 void *priv)
{
	const struct e4l_fragment *is = new->v;
	struct e4l_fragment was = { 0 };
	/*
	 * @o: number of clusters of the old fragment @was that were already
	 * passed to fn(); @w: the number for the new fragment *@is
	 */
	uint64_t o = 0, w = 0;
	struct e4l_shift s;
	errcode_t err = 0;

	while (is < new->v + new->n && !err) {
		if (o == was.n) {
			if (!e4l_next_fragment(&old, &was))
				break;
			o = 0;
		}
		s = (struct e4l_shift) {
			.lc = was.lc + o, .from = was.pc + o,
			.to = is->pc + w, .n = was.n - o,
		};
		if (s.n > is->n - w)
			s.n = is->n - w;
		err = fn(&s, priv);
		o += s.n;
		w += s.n;
		if (w == is->n) {
			is++;
			w = 0;
		}
	}
	return err;
}
