/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* ea_inodes: inodes that hold the values of extended attributes. */
#ifndef E4L_CHECK_EA_INODES_H
#define E4L_CHECK_EA_INODES_H

#include "check_internal.h"

/*
 * Whether Lustre created the EA inode of @u.  Lustre does not count the
 * clusters of EA inodes in i_blocks of u->ino.
 */
bool e4l_ea_inode_is_lustre(struct check *ck, const struct ea_use *u);

/* Sorts ck->eas, and checks all uses of EA inodes. */
errcode_t e4l_ea_inodes_prepare(struct check *ck);

/*
 * Checks the reference count of the EA inode @ino and the number of its
 * directory entries, @names.  If no attribute uses @ino, or if @ino cannot be
 * read, checks nothing and returns false.
 */
bool e4l_ea_inode_judge(struct check *ck, ext2_ino_t ino, unsigned int names);

#endif
