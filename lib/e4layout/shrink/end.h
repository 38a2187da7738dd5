/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* end: moves metadata below a new end of the filesystem, and the end itself. */
#ifndef E4L_SHRINK_END_H
#define E4L_SHRINK_END_H

#include "size.h"

/*
 * Returns an error if the end cannot be moved at all.  Writes nothing.
 * E4L_ET_TXN_FULL: the journal is too small for the metadata of the new size.
 */
errcode_t e4l_shrink_probe(struct e4l *e, io_channel external,
			   const struct e4l_size *size);

/*
 * Moves the tables of kept groups, and the double indirect block of the resize
 * inode, from above the end to free blocks below it, and tables of removed
 * groups from below the end to free blocks above it if there are any.  Each
 * move is a transaction.  Then updates the backups of the group descriptors,
 * and describes the size again.  May be repeated.  ENOSPC: a table of a kept
 * group needs size->move_longest contiguous free blocks below the end.
 */
errcode_t e4l_shrink_prepare(struct e4l *e, io_channel external,
			     struct e4l_size *size);

/*
 * Moves the end, in a session of its own.  Above the new end, there must be no
 * blocks of files (E4L_ET_BLOCK_IN_USE), no inodes (E4L_ET_NO_INODES) and no
 * tables of kept groups (E4L_ET_BAD_ARGUMENT).  Afterwards, e->fs has the new
 * size, unless an error occurred before the first write.  Does not truncate the
 * device.
 */
errcode_t e4l_shrink_end(struct e4l *e, io_channel external,
			 const struct e4l_size *size);

#endif
