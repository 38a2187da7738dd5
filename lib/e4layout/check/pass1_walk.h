/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * pass1_walk: visits the extents of each file, in the order of inodes and of
 * logical blocks.  Claims blocks, checks sizes, and collects directories.
 */
#ifndef E4L_CHECK_PASS1_WALK_H
#define E4L_CHECK_PASS1_WALK_H

#include "check_internal.h"

struct file_walk;

errcode_t e4l_walk_new(struct check *ck, struct file_walk **ret);
errcode_t e4l_walk_piece(struct file_walk *w, const struct e4l_piece *piece);
void e4l_walk_free(struct file_walk *w);

/*
 * Claims the @n clusters that begin at @first for @ino.  @blk is the first
 * block of @ino in these clusters.  Unless the filesystem has the shared_blocks
 * feature, reports clusters that already have an owner.
 */
errcode_t e4l_claim_clusters(struct check *ck, ext2_ino_t ino, blk64_t blk,
			     uint64_t first, uint64_t n);

#endif
