/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * refusals: tests the superblock for reasons not to read or change a
 * filesystem.  A function that refuses the filesystem reports a message and
 * returns an error.
 */
#ifndef E4L_REFUSALS_H
#define E4L_REFUSALS_H

#include "hold.h"

/*
 * Refuses a filesystem that the library cannot read.  Errors:
 * E4L_ET_UNKNOWN_FEATURE, E4L_ET_IS_JOURNAL, E4L_ET_TRUNCATED.
 */
errcode_t e4l_refuse_to_read(ext2_filsys fs, const struct e4l_hold *h);

/*
 * Refuses to change a filesystem with an unknown compatible or read-only
 * compatible feature.  Error: E4L_ET_UNKNOWN_FEATURE.
 */
errcode_t e4l_refuse_unknown(ext2_filsys fs, const struct e4l_hold *h);

/*
 * Refuses a filesystem that must not be changed if it is opened with @flags
 * (E4L_OPEN_*).  Errors: those of e4l_refuse_to_read() and
 * e4l_refuse_unknown(); E4L_ET_AT_OFFSET, E4L_ET_NO_JOURNAL,
 * E4L_ET_UNDO_JOURNAL, E4L_ET_JOURNAL_RECOVERY, E4L_ET_NOT_CLEAN,
 * E4L_ET_BLOCK_SHARED, EXT2_ET_MMP_FSCK_ON, EXT2_ET_RO_FILSYS.
 */
errcode_t e4l_refuse_to_change(ext2_filsys fs, const struct e4l_hold *h,
			       unsigned int flags);

/* Reports the error @err (EXT2_ET_MMP_*) and its remedy.  Returns @err. */
errcode_t e4l_tell_mmp(const struct e4l_hold *h, errcode_t err);

/*
 * Tests whether another host uses @fs, which was opened with
 * EXT2_FLAG_SKIP_MMP.  Makes the same tests as ext2fs_mmp_start(), but writes
 * nothing.  Unless the MMP block is marked as clean, waits as long as another
 * host may take to update the block.  Errors: EXT2_ET_MMP_*, and errors of
 * reading.
 */
errcode_t e4l_mmp_look(ext2_filsys fs);

/*
 * Refuses a filesystem with recorded errors (E4L_ET_NOT_CLEAN).  Callers use
 * e4l_refuse_errors() before a change of a mounted filesystem, because
 * e4l_refuse_to_change() refuses normal states of a mounted filesystem.
 */
errcode_t e4l_refuse_errors(ext2_filsys fs, const struct e4l_hold *h);

#endif
