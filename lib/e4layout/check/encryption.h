/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* encryption: the encryption policy of each encrypted inode. */
#ifndef E4L_CHECK_ENCRYPTION_H
#define E4L_CHECK_ENCRYPTION_H

#include "check_internal.h"

/*
 * Returns a number that identifies @inode's encryption policy, for
 * e4l_encryption_note() and e4l_encryption_in_block().
 */
uint32_t e4l_encryption_policy(struct check *ck,
			       const struct ext2_inode_large *inode);

/*
 * Records @policy of the encrypted inode @ino.  If @policy means that the inode
 * has no valid encryption context, only reports a finding.  Call this function
 * in the order of inode numbers.
 */
errcode_t e4l_encryption_note(struct check *ck, ext2_ino_t ino,
			      uint32_t policy);

/*
 * Whether @policy means that only the attribute block can have the encryption
 * context of the inode.
 */
bool e4l_encryption_in_block(uint32_t policy);

/* Whether an attribute between @first and @end is an encryption context. */
bool e4l_encryption_in_list(const char *first, const char *end);

/*
 * Whether the encryption policy of the directory @dir permits an entry for
 * @ino.  May be called by any thread.
 */
bool e4l_encryption_agrees(const struct check *ck, ext2_ino_t dir,
			   ext2_ino_t ino);

void e4l_encryption_free(struct check *ck);

#endif
