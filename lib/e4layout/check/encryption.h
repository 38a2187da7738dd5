/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Encryption contexts: who is encrypted by which policy. */
#ifndef E4L_CHECK_ENCRYPTION_H
#define E4L_CHECK_ENCRYPTION_H

#include "check_internal.h"

/* By which policy the encrypted @inode is: a number for the next two. */
uint32_t e4l_encryption_policy(struct check *ck,
			       const struct ext2_inode_large *inode);

/* Judges and notes the policy of an encrypted inode, in inode order. */
errcode_t e4l_encryption_note(struct check *ck, ext2_ino_t ino,
			      uint32_t policy);

/* Is the context in the inode's attribute block, if at all? */
bool e4l_encryption_in_block(uint32_t policy);

/* Is there a context among the attributes from @first to @end? */
bool e4l_encryption_in_list(const char *first, const char *end);

/* May @ino be in the encrypted directory @dir?  From any thread. */
bool e4l_encryption_agrees(const struct check *ck, ext2_ino_t dir,
			   ext2_ino_t ino);

void e4l_encryption_free(struct check *ck);

#endif
