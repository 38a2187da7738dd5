/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks before and after changes, for tools that write to a filesystem. */
#ifndef SUPPORT_VERIFY_H
#define SUPPORT_VERIFY_H

#include <stdbool.h>
#include <stdint.h>
#include "support/args.h"
#include "support/interrupt.h"
#include "support/target.h"
#include "e4layout/check/check.h"

/*
 * Checks the open filesystem of @t and @e, without its layout, for a tool that
 * is about to change it.  Reads only.  Shows progress as @args request; a
 * signal that @in receives ends the check.  Adds the findings to @found and
 * sorts it.  Returns false after printing why the filesystem cannot be checked.
 */
bool verify_findings(const struct target *t, struct e4l *e,
		     const struct args_common *args, struct interrupt *in,
		     struct findings *found);

/*
 * As verify_findings(), but also returns false if there are errors, after
 * printing the first error and the number of other errors.
 */
bool verify_before(const struct target *t, struct e4l *e,
		   const struct args_common *args, struct interrupt *in);

/*
 * Checks the filesystem on @name, or in its partition @partition (0: no
 * partition), which must not be open.  Returns false after printing the errors,
 * or why the filesystem cannot be checked.
 */
bool verify(const char *name, uint64_t partition);

#endif
