/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* quota: changes of quota files in transactions. */
#ifndef E4L_JOURNAL_QUOTA_H
#define E4L_JOURNAL_QUOTA_H

#include "e4layout/format/quota.h"
#include "journal.h"

/* Where entries are, as far as it has been asked for. */
struct e4l_quota;

/* *@ret is NULL when the filesystem counts nothing. */
errcode_t e4l_quota_new(struct e4l *e, struct e4l_quota **ret);
/* NULL is allowed. */
void e4l_quota_free(struct e4l_quota *q);

/*
 * Before anything is written: makes sure that what @inode (of the filesystem's
 * inode size, host order) is counted in can be told that it uses @bytes less or
 * more.  Once for each change to come.  E4L_ET_QUOTA: it cannot.  @q may be
 * NULL here and below.
 */
errcode_t e4l_quota_check(struct e4l_quota *q, ext2_ino_t ino,
			  const void *inode, int64_t bytes);

/* The most blocks that e4l_quota_charge() changes. */
#define QUOTA_TXN_BLOCKS QUOTA_TYPES

/* Counts it, in the transaction. */
errcode_t e4l_quota_charge(struct e4l_quota *q, struct e4l_txn *t,
			   ext2_ino_t ino, const void *inode, int64_t bytes);

#endif
