/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * numbers: which inodes must keep their numbers, and why.  What is bound to one:
 *
 *  - what the superblock or the format names: the root, quota files, ...;
 *  - everything, where the filesystem has stable_inodes;
 *  - encrypted files whose policy makes the number a part of the encryption
 *    (FSCRYPT_POLICY_FLAG_IV_INO_LBLK_64 and _32), or is not known.  Other
 *    policies take a nonce of each file's own, and so do the hashes of names
 *    that are casefolded;
 *  - files with a security.evm that is not portable: the number is signed;
 *  - files that a trusted.overlay.* (or user.overlay.*) handle leads to;
 *  - files that an attribute's inode names as its only owner (as Lustre made
 *    them).
 *
 * Not bound: the hashes of security.ima and of fs-verity are of the content.
 */
#ifndef E4L_NUMBERS_H
#define E4L_NUMBERS_H

#include <e4layout/repack.h>
#include "e4layout/base/internal.h"

struct e4l_numbers;

/* @anyway: what overlay filesystems know by number is not bound. */
errcode_t e4l_numbers_new(struct e4l *e, bool anyway, struct e4l_numbers **ret);
/* NULL is allowed. */
void e4l_numbers_free(struct e4l_numbers *n);

/*
 * Looks at an inode, in its first piece; may read blocks of attributes.  Errors:
 * ENOMEM, E4L_ET_DAMAGED, and those of reading.
 */
errcode_t e4l_numbers_piece(struct e4l_numbers *n,
			    const struct e4l_piece *piece);

/* Binds one more, for that reason. */
errcode_t e4l_numbers_bind(struct e4l_numbers *n, ext2_ino_t ino,
			   enum e4l_skip why);

/* After all of these, once.  Errors: as e4l_numbers_piece(). */
errcode_t e4l_numbers_finish(struct e4l_numbers *n);

/* Then: why an inode must keep its number, or E4L_SKIP_NONE. */
enum e4l_skip e4l_numbers_why(const struct e4l_numbers *n, ext2_ino_t ino);

#endif
