/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The check, for programs that write a filesystem: before, and after. */
#ifndef SUPPORT_VERIFY_H
#define SUPPORT_VERIFY_H

#include <stdbool.h>
#include <stdint.h>
#include "support/args.h"
#include "support/interrupt.h"
#include "support/target.h"
#include "e4layout/check/check.h"

/*
 * Checks the filesystem of @t and @e, which the caller has open, but for its
 * layout, before anything is done with it.  Reads only.  Shows its progress as
 * @args say; a signal that @in hears ends it.  What is found is added to @found,
 * which is sorted then.  False after saying why it cannot be checked.
 */
bool verify_findings(const struct target *t, struct e4l *e,
		     const struct args_common *args, struct interrupt *in,
		     struct findings *found);

/*
 * The same, before anything is written to it.  False after saying why nothing
 * may be written: the first error and how many more there are, or why it cannot
 * be checked.
 */
bool verify_before(const struct target *t, struct e4l *e,
		   const struct args_common *args, struct interrupt *in);

/*
 * Checks the filesystem on @name, or in its partition (0: it is no disk), which
 * nobody has open.  False after saying what is wrong with it, or why it cannot be
 * checked.
 */
bool verify(const char *name, uint64_t partition);

#endif
