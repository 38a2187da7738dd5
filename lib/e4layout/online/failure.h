/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * failure: distinguishes failures of the device or the filesystem from refusals
 * of the kernel.
 */
#ifndef E4L_FAILURE_H
#define E4L_FAILURE_H

#include <e4layout/repack.h>

/*
 * Returns the reason to report for the errno @error, or E4L_SKIP_NONE if @error
 * is not a failure of the device or the filesystem.
 */
enum e4l_skip e4l_failure_skip(int error);

/*
 * A row of a list that maps errnos to reasons.  The last row of a list has
 * @error 0, and applies to all errnos without a row of their own.
 */
struct e4l_reason {
	int error;		/* errno; 0 in the last row */
	enum e4l_skip why;
};

/*
 * If @error is a failure of the device or the filesystem, returns
 * e4l_failure_skip(@error).  If @error is a refusal, returns the reason for
 * @error in the list @reasons.
 */
enum e4l_skip e4l_reason_skip(int error, const struct e4l_reason *reasons);

/*
 * Returns the errno for which e4l_failure_skip() returns @why.  If there is no
 * such errno, returns 0.
 */
int e4l_failure_errno(enum e4l_skip why);

#endif
