/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* metadata: the blocks of metadata that belong to no inode. */
#ifndef E4L_CHECK_METADATA_H
#define E4L_CHECK_METADATA_H

#include "check_internal.h"

/* Runs of blocks, sorted and without overlaps. */
struct extent_list {
	size_t n;
	struct blk_run {
		blk64_t blk, len;
	} *v;
};

/*
 * Lists superblocks, descriptors, bitmaps and inode tables, claims their
 * clusters, and checks overlaps.
 */
errcode_t e4l_metadata_claim(struct check *ck);
void e4l_metadata_free(struct check *ck);

/*
 * Claims the clusters of the @len blocks that begin at @blk.  Does not report
 * clusters that already have an owner.
 */
errcode_t e4l_claim_anyway(struct check *ck, blk64_t blk, blk64_t len);

/* Whether any of the @len blocks that begin at @blk is metadata. */
bool e4l_metadata_meets(const struct check *ck, blk64_t blk, blk64_t len);

/*
 * Sets the bit in @bits of each cluster that contains metadata.  Examines @n
 * clusters, of which the first is @first.
 */
void e4l_metadata_bits(const struct check *ck, uint64_t first, uint32_t n,
		       uint8_t *bits);

#endif
