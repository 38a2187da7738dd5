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
/*
 * Those of a file, in clusters of @ratio blocks.  Errors: ENOMEM,
 * E4L_ET_BAD_ARGUMENT (not aligned with clusters, or of more than ext4 allows).
 */
errcode_t e4l_fragments_of(const struct e4l_extent *ex, size_t n,
			   uint32_t ratio, struct e4l_fragments *ret);
/* How many from @v on are one logical run; its length. */
size_t e4l_logical_run(const struct e4l_fragment *v, size_t n, uint64_t *len);

/* Clusters that are contiguous before and after, perhaps at the same place. */
struct e4l_shift {
	uint64_t lc, from, to, n;
};

/* Walks two lists of fragments that cover the same clusters. */
errcode_t e4l_each_shift(const struct e4l_fragments *old,
			 const struct e4l_fragments *new,
			 errcode_t (*fn)(const struct e4l_shift *, void *),
			 void *priv);

#endif
