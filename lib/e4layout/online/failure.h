/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* failure: which of the kernel's errors are no refusals: something is broken. */
#ifndef E4L_FAILURE_H
#define E4L_FAILURE_H

#include <e4layout/repack.h>

/* What failed where an errno says so, or E4L_SKIP_NONE. */
enum e4l_skip e4l_failure_skip(int error);

/* What an errno means for a file. */
struct e4l_reason {
	int error;		/* 0: all others; the last of a list */
	enum e4l_skip why;
};

/* e4l_failure_skip(@error), or what @reasons has for it. */
enum e4l_skip e4l_reason_skip(int error, const struct e4l_reason *reasons);

/* The errno for which e4l_failure_skip() returns @why, or 0. */
int e4l_failure_errno(enum e4l_skip why);

#endif
