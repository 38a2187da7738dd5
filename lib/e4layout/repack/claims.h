/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * claims: records which clusters have an owner.  Before any write, checks that
 * no block has two owners and that no owned block is marked as free.
 */
#ifndef E4L_CLAIMS_H
#define E4L_CLAIMS_H

#include <e4layout/extents.h>
#include <e4layout/scan.h>
#include "e4layout/base/internal.h"

struct e4l_claims;

/*
 * Creates a record of clusters with owners.  The filesystem's own metadata
 * (own_blocks.h) is already claimed.
 */
errcode_t e4l_claims_new(struct e4l *e, struct e4l_claims **ret);
void e4l_claims_free(struct e4l_claims *c);

/*
 * Claims the blocks of an inode's map.  Extents of one inode may share a
 * cluster; tree blocks must not.  Errors, with the detail set:
 * E4L_ET_BLOCK_SHARED (a cluster is already claimed), E4L_ET_BLOCK_RANGE (a
 * cluster is outside the filesystem); ENOMEM.
 */
errcode_t e4l_claims_file(struct e4l_claims *c, ext2_ino_t ino,
			  const struct e4l_extent *extents, size_t n,
			  const struct e4l_tree_block *tree, size_t n_tree);

/*
 * Records that @ino uses the extended attribute block @blk, which several
 * inodes may share.  e4l_claims_check() claims the block.  If @blk is 0, does
 * nothing.
 */
errcode_t e4l_claims_xattr(struct e4l_claims *c, ext2_ino_t ino, blk64_t blk);

/*
 * Claims the extended attribute blocks.  Call this function after the last
 * inode.  Errors: E4L_ET_BLOCK_SHARED (an attribute block also belongs to an
 * inode's map or to the filesystem's metadata), ENOMEM.
 */
errcode_t e4l_claims_check(struct e4l_claims *c);

/*
 * Checks that no cluster of @run, a run of free blocks in the bitmap, is
 * claimed.  Call this function after e4l_claims_check().  Errors:
 * E4L_ET_BLOCK_NOT_IN_USE (a cluster of @run is claimed).
 */
errcode_t e4l_claims_free_run(const struct e4l_claims *c,
			      const struct e4l_block_run *run);

#endif
