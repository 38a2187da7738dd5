/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The check for callers that use the findings themselves. */
#ifndef E4L_CHECK_H
#define E4L_CHECK_H

#include <e4layout/check.h>
#include "findings.h"

/*
 * Checks the filesystem of @e and adds what it finds to @found, unsorted.
 * e4l_check_groups() must have accepted the group descriptors, and the caller
 * must have refused unknown features.  options->finding and max_findings are not
 * used.  Errors are failures of the check itself: ENOMEM, E4L_ET_INTERRUPTED.
 */
errcode_t e4l_check_run(struct e4l *e, const struct e4l_check_options *options,
			struct findings *found);

/*
 * Whether the group descriptors put bitmaps and inode tables where they can be.
 * Errors: EXT2_ET_GDESC_*, ENOMEM.
 */
errcode_t e4l_check_groups(ext2_filsys fs);

/*
 * For functions that are about to change the filesystem of @e: checks it, unless
 * the last check through @e found no errors.  @journal is the channel of an
 * external journal's device; NULL: see struct e4l_check_options.
 * E4L_ET_DAMAGED: the check found errors; the detail of @e names the code and
 * the place of the first.  Otherwise those of e4l_check().
 */
errcode_t e4l_require_sound(struct e4l *e, io_channel journal);

#endif
