/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* check: checks a filesystem, for callers that process the findings. */
#ifndef E4L_CHECK_H
#define E4L_CHECK_H

#include <e4layout/check.h>
#include "findings.h"

/*
 * Checks the filesystem of @e and adds its findings to @found, unsorted.  The
 * caller must have refused unknown features, and e4l_check_groups() must have
 * accepted the group descriptors.  options->finding and options->max_findings
 * are ignored.
 *
 * An error ends the check.  E4L_ET_BAD_GEOMETRY: a field of the superblock is
 * out of range, and a finding was added.  Other errors include ENOMEM and
 * E4L_ET_INTERRUPTED.
 */
errcode_t e4l_check_run(struct e4l *e, const struct e4l_check_options *options,
			struct findings *found);

/*
 * Checks the locations of bitmaps and inode tables in the group descriptors.
 * Errors: EXT2_ET_GDESC_*, ENOMEM.
 */
errcode_t e4l_check_groups(ext2_filsys fs);

/*
 * Checks the filesystem of @e before a change.  If the last check through @e
 * was complete and found no errors, does nothing.  @journal is the channel of
 * an external journal's device.  If the journal is not external, or if
 * e4l_open() has opened the device, @journal is NULL.  Errors: errors of
 * e4l_check(), and E4L_ET_DAMAGED if the check has found errors; e4l_detail()
 * then returns the code and the location of the first error.
 */
errcode_t e4l_require_sound(struct e4l *e, io_channel journal);

/*
 * If @err, the result of a change, is not 0, makes the next e4l_require_sound()
 * check the filesystem again.  Returns @err.
 */
errcode_t e4l_sound_after(struct e4l *e, errcode_t err);

#endif
