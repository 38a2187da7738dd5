/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* pass2_block: checks the entries of a directory block or inline directory. */
#ifndef E4L_CHECK_PASS2_BLOCK_H
#define E4L_CHECK_PASS2_BLOCK_H

#include "check_internal.h"

/* The working memory of one thread, which checks one block at a time. */
struct dir_judge {
	struct check *ck;
	/* hash table of the block's names, to find duplicates */
	struct name_slot {
		/* @offset: offset of the entry, plus 1; 0: the slot is free */
		uint32_t hash, offset;
	} *slots;
	uint32_t n_slots;
};

errcode_t e4l_dir_judge_init(struct dir_judge *j, struct check *ck);
void e4l_dir_judge_release(struct dir_judge *j);

/* Checks logical block @lblk of @dir.  @block has the content as on disk. */
void e4l_dir_judge_block(struct dir_judge *j, struct dir *dir, blk64_t blk,
			 uint32_t lblk, const void *block);

/* Checks the inline directory @dir.  @inode is in host byte order. */
void e4l_dir_judge_inline(struct dir_judge *j, struct dir *dir,
			  const struct ext2_inode_large *inode);

#endif
