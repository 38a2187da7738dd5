/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * verify: checks a filesystem before and after a tool writes to the filesystem.
 */
#ifndef SUPPORT_VERIFY_H
#define SUPPORT_VERIFY_H

#include <stdbool.h>
#include <stdint.h>
#include "support/args.h"
#include "support/interrupt.h"
#include "support/target.h"
#include "e4layout/check/check.h"

/*
 * Checks the open filesystem of @t and @e, but not its layout, for a tool that
 * is about to change it.  Writes nothing.  Shows progress as @args request; a
 * signal that @in receives ends the check.  Adds the findings to @found and
 * sorts @found.  If the filesystem cannot be checked, prints why and returns
 * false.
 */
bool verify_findings(const struct target *t, struct e4l *e,
		     const struct args_common *args, struct interrupt *in,
		     struct findings *found);

/*
 * Checks like verify_findings().  If the filesystem has errors, also prints the
 * first error and the number of other errors, and returns false.
 */
bool verify_before(const struct target *t, struct e4l *e,
		   const struct args_common *args, struct interrupt *in);

/*
 * Checks the filesystem on the device or image @name or, if @partition is not
 * 0, in this partition of @name.  The filesystem must not be open.  If the
 * filesystem has errors or cannot be checked, prints the reason and returns
 * false.
 */
bool verify(const char *name, uint64_t partition);

#endif
