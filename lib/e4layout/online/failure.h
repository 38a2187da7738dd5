/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* failure: which of the kernel's errors are no refusals: something is broken. */
#ifndef E4L_FAILURE_H
#define E4L_FAILURE_H

/* What failed where an errno says so (static text), or NULL. */
const char *e4l_failure_text(int error);

/* What an errno says of a file (static text). */
struct e4l_reason {
	int error;		/* 0: all others; the last of a list */
	const char *text;
};

/* e4l_failure_text(@error), or what @reasons has for it. */
const char *e4l_reason_text(int error, const struct e4l_reason *reasons);

/* The errno of which e4l_failure_text() has given @text, or 0. */
int e4l_failure_errno(const char *text);

#endif
