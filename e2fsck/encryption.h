/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encryption contexts: who is encrypted by which policy. */
#ifndef E4CHECK_ENCRYPTION_H
#define E4CHECK_ENCRYPTION_H

#include "checkP.h"

/* Judges and notes the policy of an encrypted inode, in inode order. */
errcode_t encryption_note(struct check *ck, ext2_ino_t ino,
			  const struct ext2_inode_large *inode);

/* Has the encrypted @inode its context in its attribute block, if at all? */
bool encryption_in_block(struct check *ck,
			 const struct ext2_inode_large *inode);

/* Is there a context among the attributes from @first to @end? */
bool encryption_in_list(const char *first, const char *end);

/* May @ino be in the encrypted directory @dir?  From any thread. */
bool encryption_agrees(const struct check *ck, ext2_ino_t dir, ext2_ino_t ino);

void encryption_free(struct check *ck);

#endif
