/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who uses how much, as found and as the quota files say. */
#ifndef E4L_CHECK_USAGE_H
#define E4L_CHECK_USAGE_H

#include "check_internal.h"

struct quota;

/* Charges the owner of @inode with @clusters and @inodes. */
errcode_t e4l_usage_charge(struct check *ck, ext2_ino_t ino,
			   const struct ext2_inode_large *inode,
			   uint64_t clusters, uint64_t inodes);
void e4l_usage_free(struct check *ck);

#endif
