/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * failure: distinguishes errors of the kernel that mean a failure (of the
 * device or the filesystem) from refusals.
 */
#ifndef E4L_FAILURE_H
#define E4L_FAILURE_H

#include <e4layout/repack.h>

/*
 * Returns the reason to report for @error if @error means a failure;
 * E4L_SKIP_NONE if it does not.
 */
enum e4l_skip e4l_failure_skip(int error);

/*
 * A row of a list of reasons.  The last row of a list has @error 0 and applies
 * to all errnos without a row.
 */
struct e4l_reason {
	int error;		/* 0 in the last row */
	enum e4l_skip why;
};

/*
 * Returns e4l_failure_skip(@error) if @error means a failure; otherwise, the
 * reason in the list @reasons.
 */
enum e4l_skip e4l_reason_skip(int error, const struct e4l_reason *reasons);

/* Returns the errno for which e4l_failure_skip() returns @why, or 0. */
int e4l_failure_errno(enum e4l_skip why);

#endif
