/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a filesystem's superblock says against reading or changing it.  Each of
 * these refuses with a sentence; 0: nothing is against it.
 */
#ifndef E4L_REFUSALS_H
#define E4L_REFUSALS_H

#include "hold.h"

/* Cannot even be read: E4L_ET_UNKNOWN_FEATURE, _IS_JOURNAL, _TRUNCATED. */
errcode_t e4l_refuse_to_read(ext2_filsys fs, const struct e4l_hold *h);

/* Has a feature that does not hinder reading, but is not known. */
errcode_t e4l_refuse_unknown(ext2_filsys fs, const struct e4l_hold *h);

/*
 * Must not be changed as @flags (E4L_OPEN_*) say.  Errors: those of the two
 * above, E4L_ET_AT_OFFSET, _NO_JOURNAL, _UNDO_JOURNAL, _JOURNAL_RECOVERY,
 * _NOT_CLEAN, _BLOCK_SHARED, EXT2_ET_MMP_FSCK_ON, EXT2_ET_RO_FILSYS.
 */
errcode_t e4l_refuse_to_change(ext2_filsys fs, const struct e4l_hold *h,
			       unsigned int flags);

/* Reports @err of multiple mount protection with the remedy. Returns @err. */
errcode_t e4l_tell_mmp(const struct e4l_hold *h, errcode_t err);

/*
 * Whether somebody uses @fs, which was opened without that, by multiple mount
 * protection, as opening it to write finds; but writes nothing.  Waits for as
 * long as that if it is not said to be free.  Errors: EXT2_ET_MMP_*, and those of
 * reading.
 */
errcode_t e4l_mmp_look(ext2_filsys fs);

/* Whether the journal is on another device. */
bool e4l_has_external_journal(const struct ext2_super_block *sb);

/*
 * Refuses a filesystem in which the kernel or e2fsck has recorded errors, as
 * e4l_refuse_to_change() does: for changes of a mounted filesystem.
 */
errcode_t e4l_refuse_errors(ext2_filsys fs, const struct e4l_hold *h);

#endif
