/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reasons not to read or change a filesystem, from its superblock.  Each
 * function refuses with a message, or returns 0.
 */
#ifndef E4L_REFUSALS_H
#define E4L_REFUSALS_H

#include "hold.h"

/* Not readable: E4L_ET_UNKNOWN_FEATURE, _IS_JOURNAL, _TRUNCATED. */
errcode_t e4l_refuse_to_read(ext2_filsys fs, const struct e4l_hold *h);

/* Has an unknown feature that allows reading. */
errcode_t e4l_refuse_unknown(ext2_filsys fs, const struct e4l_hold *h);

/*
 * Must not be changed in the way of @flags (E4L_OPEN_*).  Errors: errors of
 * e4l_refuse_to_read() and e4l_refuse_unknown(), E4L_ET_AT_OFFSET, _NO_JOURNAL,
 * _UNDO_JOURNAL, _JOURNAL_RECOVERY, _NOT_CLEAN, _BLOCK_SHARED,
 * EXT2_ET_MMP_FSCK_ON, EXT2_ET_RO_FILSYS.
 */
errcode_t e4l_refuse_to_change(ext2_filsys fs, const struct e4l_hold *h,
			       unsigned int flags);

/* Reports @err of multiple mount protection with the remedy.  Returns @err. */
errcode_t e4l_tell_mmp(const struct e4l_hold *h, errcode_t err);

/*
 * Whether another host uses @fs, which was opened without multiple mount
 * protection: tests like an open for writing, but writes nothing.  Waits for an
 * update of the MMP block unless it is marked as free.  Errors: EXT2_ET_MMP_*,
 * and errors of reading.
 */
errcode_t e4l_mmp_look(ext2_filsys fs);

/* Whether the journal is external. */
bool e4l_has_external_journal(const struct ext2_super_block *sb);

/*
 * Refuses a filesystem with recorded errors, like e4l_refuse_to_change(): for
 * changes of a mounted filesystem.
 */
errcode_t e4l_refuse_errors(ext2_filsys fs, const struct e4l_hold *h);

#endif
