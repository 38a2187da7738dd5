/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* usage: counts the blocks and inodes of each user, group and project. */
#ifndef E4L_CHECK_USAGE_H
#define E4L_CHECK_USAGE_H

#include "check_internal.h"

struct quota;

/*
 * Adds @clusters and @inodes to the usage of the owners of @inode.  Ignores
 * inodes that quotas do not count, such as reserved inodes and EA inodes.
 */
errcode_t e4l_usage_charge(struct check *ck, ext2_ino_t ino,
			   const struct ext2_inode_large *inode,
			   uint64_t clusters, uint64_t inodes);
void e4l_usage_free(struct check *ck);

#endif
