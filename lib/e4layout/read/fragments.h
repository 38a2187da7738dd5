/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fragments: old and new places of a file's clusters.  No I/O. */
#ifndef E4L_FRAGMENTS_H
#define E4L_FRAGMENTS_H

#include <e4layout/extents.h>

/*
 * Clusters that are contiguous in the file (@lc) and on disk (@pc); @lc + @n is
 * at most UINT32_MAX.
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

/*
 * Extends the last fragment if the new one continues it; otherwise, appends the
 * new fragment.
 */
errcode_t e4l_fragments_add(struct e4l_fragments *list, uint64_t lc,
			    uint64_t pc, uint64_t n);

/*
 * Returns the binary logarithm of @ratio, the number of blocks in a cluster, so
 * that walks can shift instead of divide.
 */
static inline unsigned int e4l_cluster_bits(uint32_t ratio)
{
	return __builtin_ctz(ratio);
}

/* The first cluster of an extent, and the first cluster after it. */
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

/* The first physical cluster of an extent minus the first logical cluster. */
static inline uint64_t e4l_away(const struct e4l_extent *ex, unsigned int bits)
{
	return (ex->pblk >> bits) - (ex->lblk >> bits);
}

/* Whether the next extent @b belongs to the same fragment as @a. */
static inline bool e4l_goes_on(const struct e4l_extent *a,
			       const struct e4l_extent *b, unsigned int bits)
{
	return e4l_first_cluster(b, bits) <= e4l_end_cluster(a, bits) &&
	       e4l_away(a, bits) == e4l_away(b, bits);
}

/*
 * Tests whether the extents of a file are aligned to clusters of @ratio blocks,
 * a power of two.  Error: E4L_ET_BAD_ARGUMENT (not aligned, or cluster numbers
 * beyond UINT32_MAX).
 */
errcode_t e4l_check_clusters(const struct e4l_extent *ex, size_t n,
			     uint32_t ratio);

/*
 * The remaining part of a walk over a list of fragments, or over the fragments
 * of extents for which e4l_check_clusters() returns 0.  A walk over extents
 * needs no list, which would be long for a file with millions of fragments.
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

/*
 * Clusters that are contiguous in the file and on disk, both before and after a
 * move; @from can be equal to @to.
 */
struct e4l_shift {
	uint64_t lc, from, to, n;
};

/*
 * Pairs the clusters of @old, from the next fragment on, one by one with the
 * clusters of @new, until one of the two ends.  Calls @fn for each run of pairs
 * that is contiguous in @old and in @new.
 */
errcode_t e4l_each_shift(struct e4l_walk old,
			 const struct e4l_fragments *new,
			 errcode_t (*fn)(const struct e4l_shift *, void *),
			 void *priv);

#endif
