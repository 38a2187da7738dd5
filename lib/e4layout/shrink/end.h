/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * end: moves metadata below the new end of a filesystem, and changes the size.
 */
#ifndef E4L_SHRINK_END_H
#define E4L_SHRINK_END_H

#include "size.h"

/*
 * Checks whether the filesystem can be shrunk to @size, and writes nothing.
 * Errors: E4L_ET_BAD_ARGUMENT (@size is not smaller), E4L_ET_UNKNOWN_FEATURE,
 * E4L_ET_TXN_FULL (the journal is too small for the metadata of the new size),
 * errors of e4l_journal_probe().
 */
errcode_t e4l_shrink_probe(struct e4l *e, io_channel external,
			   const struct e4l_size *size);

/*
 * Moves metadata across the new end, with a transaction for each move.  Bitmaps
 * and inode tables of kept groups, and the double indirect block of the resize
 * inode, move to free blocks below the end.  Bitmaps and inode tables of
 * removed groups move to free blocks above the end, if there are enough.  Then
 * updates the backups of the group descriptors, and computes *@size again.  May
 * be called again.  Errors: ENOSPC (no free extent below the end has the
 * size->move_longest blocks that the longest inode table or bitmap needs), and
 * errors of the journal.
 */
errcode_t e4l_shrink_prepare(struct e4l *e, io_channel external,
			     struct e4l_size *size);

/*
 * Changes the size of the filesystem, in a journal session of its own.  Above
 * the new end, there must be no blocks of files (E4L_ET_BLOCK_IN_USE), no
 * inodes (E4L_ET_NO_INODES), and no bitmaps and inode tables of kept groups
 * (E4L_ET_BAD_ARGUMENT).  On return, e->fs has the new size, unless an error
 * occurred before the first write.  Does not truncate the device.
 */
errcode_t e4l_shrink_end(struct e4l *e, io_channel external,
			 const struct e4l_size *size);

#endif
