/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One block of a directory, or an inline one: its entries. */
#ifndef E4L_CHECK_PASS2_BLOCK_H
#define E4L_CHECK_PASS2_BLOCK_H

#include "check_internal.h"

/* Room for one thread's work on one block. */
struct dir_judge {
	struct check *ck;
	/* the names of the block, by their hash, to find one that is twice */
	struct name_slot {
		uint32_t hash, offset;	/* 0: free; offset + 1 */
	} *slots;
	uint32_t n_slots;
};

errcode_t e4l_dir_judge_init(struct dir_judge *j, struct check *ck);
void e4l_dir_judge_release(struct dir_judge *j);

/* @block is block @lblk of @dir as on disk. */
void e4l_dir_judge_block(struct dir_judge *j, struct dir *dir, blk64_t blk,
			 uint32_t lblk, const void *block);

/* @inode is the inode of an inline directory, in host order. */
void e4l_dir_judge_inline(struct dir_judge *j, struct dir *dir,
			  const struct ext2_inode_large *inode);

#endif
