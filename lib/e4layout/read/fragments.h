/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fragments: a file's clusters, where they are and where they go.  Pure. */
#ifndef E4L_FRAGMENTS_H
#define E4L_FRAGMENTS_H

#include <e4layout/extents.h>

/*
 * Clusters that are contiguous in the file (@lc) and on the disk (@pc); @lc + @n
 * is UINT32_MAX at most.
 */
struct e4l_fragment {
	uint64_t pc;
	uint32_t lc, n;
};

/* In logical order. */
struct e4l_fragments {
	struct e4l_fragment *v;
	size_t n;
};

/* Appends one, or makes the last one longer. */
errcode_t e4l_fragments_add(struct e4l_fragments *list, uint64_t lc,
			    uint64_t pc, uint64_t n);

/* A cluster has 1 << this many blocks: walks divide by that all the time. */
static inline unsigned int e4l_cluster_bits(uint32_t ratio)
{
	return __builtin_ctz(ratio);
}

/* The clusters of an extent. */
static inline uint64_t e4l_first_cluster(const struct e4l_extent *ex,
					 unsigned int bits)
{
	return ex->lblk >> bits;
}

static inline uint64_t e4l_end_cluster(const struct e4l_extent *ex,
				       unsigned int bits)
{
	return ((ex->lblk + (uint64_t)ex->len - 1) >> bits) + 1;
}

/* How far they are on the disk from their place in the file. */
static inline uint64_t e4l_away(const struct e4l_extent *ex, unsigned int bits)
{
	return (ex->pblk >> bits) - (ex->lblk >> bits);
}

/* Whether @b, the next, is of the same fragment. */
static inline bool e4l_goes_on(const struct e4l_extent *a,
			       const struct e4l_extent *b, unsigned int bits)
{
	return e4l_first_cluster(b, bits) <= e4l_end_cluster(a, bits) &&
	       e4l_away(a, bits) == e4l_away(b, bits);
}

/*
 * Whether the extents of a file can be counted in clusters of @ratio blocks, a
 * power of two.
 * Error: E4L_ET_BAD_ARGUMENT (not aligned with them, or more than ext4 allows).
 */
errcode_t e4l_check_clusters(const struct e4l_extent *ex, size_t n,
			     uint32_t ratio);

/*
 * What is to come of a list of fragments, or of those of extents for which
 * e4l_check_clusters() is 0: a file with millions of them has no list.
 */
struct e4l_walk {
	const struct e4l_fragment *v, *end;
	const struct e4l_extent *ex;
	size_t n;
	unsigned int bits;
};
struct e4l_walk e4l_walk_list(const struct e4l_fragments *list);
struct e4l_walk e4l_walk_extents(const struct e4l_extent *ex, size_t n,
				 uint32_t ratio);
bool e4l_next_fragment(struct e4l_walk *walk, struct e4l_fragment *v);

/* Clusters that are contiguous before and after, perhaps at the same place. */
struct e4l_shift {
	uint64_t lc, from, to, n;
};

/* Hands out those of fragments, from the next @old on, that are to be @new. */
errcode_t e4l_each_shift(struct e4l_walk old,
			 const struct e4l_fragments *new,
			 errcode_t (*fn)(const struct e4l_shift *, void *),
			 void *priv);

#endif
