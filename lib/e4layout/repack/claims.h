/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * claims: who owns which block, to make sure before anything is written that
 * no block has two owners and none that has one is thought to be free.
 */
#ifndef E4L_CLAIMS_H
#define E4L_CLAIMS_H

#include <e4layout/extents.h>
#include <e4layout/scan.h>
#include "e4layout/base/internal.h"

struct e4l_claims;

/*
 * Begins with what belongs to the filesystem itself (own_blocks.h).
 */
errcode_t e4l_claims_new(struct e4l *e, struct e4l_claims **ret);
void e4l_claims_free(struct e4l_claims *c);

/*
 * An inode claims what its map uses.  Blocks of one inode may share a cluster
 * where its extents do; tree blocks never do.  E4L_ET_BLOCK_SHARED, with the
 * detail set: a cluster has an owner already.
 */
errcode_t e4l_claims_file(struct e4l_claims *c, ext2_ino_t ino,
			  const struct e4l_extent *extents, size_t n,
			  const struct e4l_tree_block *tree, size_t n_tree);

/* An extended attribute block, which several inodes may share. */
errcode_t e4l_claims_xattr(struct e4l_claims *c, ext2_ino_t ino, blk64_t blk);

/*
 * After the last inode: E4L_ET_BLOCK_SHARED when an attribute block is also
 * something else.
 */
errcode_t e4l_claims_check(struct e4l_claims *c);

/*
 * After that, for each run of blocks that the bitmaps say is free:
 * E4L_ET_BLOCK_NOT_IN_USE when a cluster of it is claimed.
 */
errcode_t e4l_claims_free_run(const struct e4l_claims *c,
			      const struct e4l_block_run *run);

#endif
