/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * failure: distinguishes errors of the kernel that mean a failure (of the
 * device or the filesystem) from refusals.
 */
#ifndef E4L_FAILURE_H
#define E4L_FAILURE_H

#include <e4layout/repack.h>

/* Returns the reason for an errno that means a failure, else E4L_SKIP_NONE. */
enum e4l_skip e4l_failure_skip(int error);

/* The reason for an errno; a list ends with @error 0, for all other values. */
struct e4l_reason {
	int error;		/* 0: all other values */
	enum e4l_skip why;
};

/*
 * Returns e4l_failure_skip(@error) if @error means a failure; otherwise, the
 * reason in the list @reasons.
 */
enum e4l_skip e4l_reason_skip(int error, const struct e4l_reason *reasons);

/* Returns the errno for which e4l_failure_skip() returns @why; 0: no errno. */
int e4l_failure_errno(enum e4l_skip why);

#endif
