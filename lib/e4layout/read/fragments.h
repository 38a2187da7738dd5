/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* fragments: old and new physical clusters of a file.  Does no I/O. */
#ifndef E4L_FRAGMENTS_H
#define E4L_FRAGMENTS_H

#include <e4layout/extents.h>

/*
 * A fragment of a file: @n clusters that are contiguous in the file, from
 * logical cluster @lc on, and on the disk, from physical cluster @pc on.  @lc +
 * @n is at most UINT32_MAX.
 */
struct e4l_fragment {
	uint64_t pc;
	uint32_t lc, n;
};

/* A list of fragments in logical order. */
struct e4l_fragments {
	struct e4l_fragment *v;
	size_t n;
};

/*
 * Adds a fragment of @n clusters, from logical cluster @lc and physical cluster
 * @pc on, to the end of @list.  If the clusters are contiguous with the last
 * fragment, extends the last fragment instead.
 */
errcode_t e4l_fragments_add(struct e4l_fragments *list, uint64_t lc,
			    uint64_t pc, uint64_t n);

/*
 * Returns the binary logarithm of @ratio, the number of blocks in a cluster.
 * Callers shift block numbers by the result instead of dividing them by @ratio.
 */
static inline unsigned int e4l_cluster_bits(uint32_t ratio)
{
	return __builtin_ctz(ratio);
}

/*
 * Return the first logical cluster of an extent, and the first logical cluster
 * after the extent.
 */
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

/*
 * Returns the first physical cluster of an extent minus its first logical
 * cluster (modulo 2^64).
 */
static inline uint64_t e4l_away(const struct e4l_extent *ex, unsigned int bits)
{
	return (ex->pblk >> bits) - (ex->lblk >> bits);
}

/*
 * Returns whether the extent @b belongs to the fragment of @a.  @b must be the
 * next extent of the file after @a.  @bits is the result of e4l_cluster_bits().
 */
static inline bool e4l_goes_on(const struct e4l_extent *a,
			       const struct e4l_extent *b, unsigned int bits)
{
	return e4l_first_cluster(b, bits) <= e4l_end_cluster(a, bits) &&
	       e4l_away(a, bits) == e4l_away(b, bits);
}

/*
 * Tests whether the extents of a file are aligned to clusters of @ratio blocks.
 * @ratio must be a power of two.  Error: E4L_ET_BAD_ARGUMENT (not aligned, or
 * cluster numbers beyond UINT32_MAX).
 */
errcode_t e4l_check_clusters(const struct e4l_extent *ex, size_t n,
			     uint32_t ratio);

/*
 * A walk over the fragments of a file.  The fragments are in a list, or are
 * computed from extents that e4l_check_clusters() accepts.  A walk over extents
 * needs no memory for a list of fragments.
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
 * A move of @n clusters of a file, which begin at logical cluster @lc, from
 * physical cluster @from to physical cluster @to.  If @from is equal to @to,
 * the clusters do not move.
 */
struct e4l_shift {
	uint64_t lc, from, to, n;
};

/*
 * Pairs the remaining clusters of the walk @old with the clusters of @new, in
 * logical order, until @old or @new ends.  Calls @fn for each run of pairs that
 * is contiguous in @old and in @new.
 */
errcode_t e4l_each_shift(struct e4l_walk old,
			 const struct e4l_fragments *new,
			 errcode_t (*fn)(const struct e4l_shift *, void *),
			 void *priv);

#endif
