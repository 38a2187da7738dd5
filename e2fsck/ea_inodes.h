/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inodes that hold the values of attributes. */
#ifndef E4CHECK_EA_INODES_H
#define E4CHECK_EA_INODES_H

#include "check_internal.h"

/* Is the value that @u names one of Lustre's, of which i_blocks knows nothing? */
bool ea_inode_is_lustre(struct check *ck, const struct ea_use *u);

/* Judges every use of such an inode. */
errcode_t ea_inodes_prepare(struct check *ck);

/*
 * Judges how many uses @ino, which has @names in directories, says that it has.
 * False: it has none.
 */
bool ea_inode_judge(struct check *ck, ext2_ino_t ino, unsigned int names);

#endif
