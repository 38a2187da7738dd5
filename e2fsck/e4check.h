/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What e4check's main file and its report writers share. */
#ifndef E4CHECK_H
#define E4CHECK_H

#include <e4layout/e4layout.h>
#include "e4layout/check/check.h"
#include "support/args.h"
#include "support/progress.h"
#include "support/target.h"

/* Exit codes, as fsck(8) has them. */
enum {
	FSCK_CLEAN = 0,
	FSCK_ERRORS = 4,	/* found, and left as they are */
	FSCK_FAILED = 8,
	FSCK_USAGE = 16,
	FSCK_CANCELED = 32,
};

struct e4check {
	/* what was asked for */
	struct args_common args;	/* must be first: see support/args.h */
	bool layout_only, no_layout;
	bool fsck_n, fsck_f, fsck_fixes;	/* as fsck(8) passes them */
	const char *fsck_fd;
	uint64_t max_findings, threads;
	/* the work */
	struct target target;
	struct e4l *e;
	struct progress progress;
	const char *doing;
	/* the result */
	struct findings found;
	struct e4l_names *names;	/* of the inodes found; or NULL */
	errcode_t nameless;		/* why there are none, or 0 */
};

/* Prints what was found; false after saying what failed. */
bool e4check_print_text(const struct e4check *check);
bool e4check_print_json(const struct e4check *check);

/* The path of the inode that @what is about; NULL: unknown. */
static inline const char *e4check_path(const struct e4check *check,
				       const struct finding *what)
{
	return check->names && what->ino ?
	       e4l_names_path(check->names, what->ino) : NULL;
}

#endif
