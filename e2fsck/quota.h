/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who uses how much, as found and as the quota files say. */
#ifndef E4CHECK_QUOTA_H
#define E4CHECK_QUOTA_H

#include "check_internal.h"

struct quota;

/* Charges the owner of @inode with @clusters and @inodes. */
errcode_t quota_charge(struct check *ck, ext2_ino_t ino,
		       const struct ext2_inode_large *inode,
		       uint64_t clusters, uint64_t inodes);
void quota_free(struct check *ck);

#endif
