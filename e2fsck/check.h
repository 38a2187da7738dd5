/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The check itself: reads a filesystem and tells what is wrong with it. */
#ifndef E4CHECK_CHECK_H
#define E4CHECK_CHECK_H

#include <e4layout/e4layout.h>
#include "findings.h"

struct check_options {
	bool no_layout;		/* findings of severity layout are not wanted */
	bool layout_only;	/* nor any others */
	bool mounted;		/* it is in use, and looks like that */
	io_channel journal;	/* of an external journal's device, or NULL */
	/* As e4l_scan_ops.progress, with what is being done. */
	void (*progress)(const char *doing, uint64_t done, uint64_t all,
			 void *priv);
	void *priv;
};

/*
 * Checks the filesystem of @e and adds what is found to @found, which stays
 * unsorted.  Reads only.  Errors are failures of the check itself (ENOMEM,
 * E4L_ET_INTERRUPTED), not findings.
 */
errcode_t check_run(struct e4l *e, const struct check_options *options,
		    struct findings *found);

#endif
