/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* quota: updates quota files in transactions. */
#ifndef E4L_JOURNAL_QUOTA_H
#define E4L_JOURNAL_QUOTA_H

#include "e4layout/format/quota.h"
#include "journal.h"

/*
 * The quota files of a filesystem, and the locations of entries that were read.
 */
struct e4l_quota;

/*
 * Reads the headers of the quota files.  If the filesystem has no quotas, sets
 * *@ret to NULL and returns 0.
 */
errcode_t e4l_quota_new(struct e4l *e, struct e4l_quota **ret);
/* Frees @q, which may be NULL. */
void e4l_quota_free(struct e4l_quota *q);

/*
 * Checks that the usage of the owners of @inode can change by @bytes, which may
 * be negative.  Call e4l_quota_check() before any write, once for each later
 * call of e4l_quota_charge().  @inode has s_inode_size bytes in host byte
 * order.  @q may be NULL.  Error: E4L_ET_QUOTA (an owner has no entry, or the
 * usage would become negative).
 */
errcode_t e4l_quota_check(struct e4l_quota *q, ext2_ino_t ino,
			  const void *inode, int64_t bytes);

/* Maximum number of blocks that one call of e4l_quota_charge() changes. */
#define QUOTA_TXN_BLOCKS QUOTA_TYPES

/*
 * Adds @bytes, which may be negative, to the usage of the owners of @inode, in
 * the transaction @t.  If @q is NULL, the filesystem has no quotas, and the
 * function does nothing.
 */
errcode_t e4l_quota_charge(struct e4l_quota *q, struct e4l_txn *t,
			   ext2_ino_t ino, const void *inode, int64_t bytes);

#endif
