/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pass2_htree: checks the indexes of directories. */
#ifndef E4L_CHECK_PASS2_HTREE_H
#define E4L_CHECK_PASS2_HTREE_H

#include "check_internal.h"

enum dx_type { DX_UNSEEN, DX_LEAF, DX_NODE, DX_ROOT };

/* Checks the root info of an index.  @block is the first block of @dir. */
void e4l_htree_judge_root(struct check *ck, struct dir *dir, blk64_t blk,
			  const void *block);

/*
 * Whether @block is an index block.  @block must not be the first block of the
 * directory.
 */
bool e4l_htree_is_node(struct check *ck, const void *block);

/*
 * Checks the entries of an index block, and records the hash ranges of the
 * blocks to which the entries refer.  May be called by any thread.
 */
void e4l_htree_judge_node(struct check *ck, struct dir *dir, blk64_t blk,
			  uint32_t lblk, const void *block);

/* Compares the hashes in the blocks of @dir with the ranges in its index. */
void e4l_htree_compare(struct check *ck, struct dir *dir);

#endif
