/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* check: checks a filesystem, for callers that process the findings. */
#ifndef E4L_CHECK_H
#define E4L_CHECK_H

#include <e4layout/check.h>
#include "findings.h"

/*
 * Checks the filesystem of @e and adds its findings to @found, unsorted.
 * e4l_check_groups() must have accepted the group descriptors, and the caller
 * must have refused unknown features.  options->finding and max_findings are
 * ignored.  Errors are failures of the check itself: ENOMEM,
 * E4L_ET_INTERRUPTED.
 */
errcode_t e4l_check_run(struct e4l *e, const struct e4l_check_options *options,
			struct findings *found);

/*
 * Checks the places of bitmaps and inode tables in the group descriptors.
 * Errors: EXT2_ET_GDESC_*, ENOMEM.
 */
errcode_t e4l_check_groups(ext2_filsys fs);

/*
 * Checks the filesystem of @e before a change, unless the last check through @e
 * has found no errors.  @journal is the channel of an external journal's
 * device; NULL: e4l_open() has opened the device, or the journal is not
 * external.  Errors: E4L_ET_DAMAGED: the check has found errors, and
 * e4l_detail() has the code and the place of the first finding; errors of
 * e4l_check().
 */
errcode_t e4l_require_sound(struct e4l *e, io_channel journal);

#endif
