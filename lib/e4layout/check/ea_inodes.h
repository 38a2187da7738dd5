/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Inodes that hold the values of attributes. */
#ifndef E4L_CHECK_EA_INODES_H
#define E4L_CHECK_EA_INODES_H

#include "check_internal.h"

/* Is the value that @u names one of Lustre's, of which i_blocks knows nothing? */
bool e4l_ea_inode_is_lustre(struct check *ck, const struct ea_use *u);

/* Judges every use of such an inode. */
errcode_t e4l_ea_inodes_prepare(struct check *ck);

/*
 * Judges how many uses @ino, which has @names in directories, says that it has.
 * False: it has none.
 */
bool e4l_ea_inode_judge(struct check *ck, ext2_ino_t ino, unsigned int names);

#endif
