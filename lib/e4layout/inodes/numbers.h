/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * numbers: finds inodes that must keep their numbers ("bound" inodes), and the
 * reasons.  The following inodes are bound:
 *
 *  - inodes named by the superblock or the format: the root, quota files, ...;
 *  - all inodes, if the filesystem has the feature stable_inodes;
 *  - encrypted files whose policy derives the IV from the inode number
 *    (FSCRYPT_POLICY_FLAG_IV_INO_LBLK_64 and _32) or is unknown.  Other
 *    policies use a nonce per file, also for the hashes of casefolded names;
 *  - files with a security.evm that is not portable, because the signature
 *    covers the inode number;
 *  - files referenced by a trusted.overlay.* (or user.overlay.*) file handle;
 *  - files that an EA inode names as its only owner (created by Lustre).
 *
 * Files with security.ima or fs-verity are not bound, because only their
 * content is hashed.
 */
#ifndef E4L_NUMBERS_H
#define E4L_NUMBERS_H

#include <e4layout/repack.h>
#include "e4layout/base/internal.h"

struct e4l_numbers;

/*
 * Begins to collect the inodes that must keep their numbers.  If @anyway is
 * true, inodes in overlayfs file handles may get new numbers.
 */
errcode_t e4l_numbers_new(struct e4l *e, bool anyway, struct e4l_numbers **ret);
/* Frees @n; NULL is allowed. */
void e4l_numbers_free(struct e4l_numbers *n);

/*
 * Records whether the inode of @piece must keep its number.  @piece must be the
 * first piece of the inode.  May read attribute blocks.  Errors: ENOMEM,
 * E4L_ET_DAMAGED, and read errors.
 */
errcode_t e4l_numbers_piece(struct e4l_numbers *n,
			    const struct e4l_piece *piece);

/* Records that inode @ino must keep its number, for the reason @why. */
errcode_t e4l_numbers_bind(struct e4l_numbers *n, ext2_ino_t ino,
			   enum e4l_skip why);

/*
 * Ends the collection.  Call once, after all calls of e4l_numbers_piece() and
 * e4l_numbers_bind().  Errors: as e4l_numbers_piece().
 */
errcode_t e4l_numbers_finish(struct e4l_numbers *n);

/*
 * Returns the reason why inode @ino must keep its number.  If the inode may get
 * a new number, returns E4L_SKIP_NONE.  Call after e4l_numbers_finish().
 */
enum e4l_skip e4l_numbers_why(const struct e4l_numbers *n, ext2_ino_t ino);

#endif
