/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations that e4check's main file and report writer share. */
#ifndef E4CHECK_H
#define E4CHECK_H

#include <e4layout/e4layout.h>
#include "e4layout/check/check.h"
#include "support/args.h"
#include "support/progress.h"
#include "support/target.h"

/* Exit statuses of fsck(8). */
enum {
	FSCK_CLEAN = 0,
	FSCK_ERRORS = 4,	/* errors were found and left uncorrected */
	FSCK_FAILED = 8,
	FSCK_USAGE = 16,
	FSCK_CANCELED = 32,
};

struct e4check {
	/* Values of the options. */
	struct args_common args;	/* must be first: see support/args.h */
	bool layout_only, no_layout;
	bool fsck_n, fsck_f, fsck_fixes;	/* options of fsck(8) */
	const char *fsck_fd;
	uint64_t max_findings, threads;
	/* State of the run. */
	struct target target;
	struct e4l *e;
	struct progress progress;
	const char *doing;
	/* Results of the run. */
	struct findings found;
	/* paths of the inodes with findings; NULL: unknown */
	struct e4l_names *names;
	/* error of determining @names; 0: no error */
	errcode_t nameless;
};

/* Prints the findings. Returns false after printing an error. */
bool e4check_print_text(const struct e4check *check);
bool e4check_print_json(const struct e4check *check);

/*
 * Returns the path of the inode of @what.  If the path is unknown, returns
 * NULL.
 */
static inline const char *e4check_path(const struct e4check *check,
				       const struct finding *what)
{
	return check->names && what->ino ?
	       e4l_names_path(check->names, what->ino) : NULL;
}

#endif
