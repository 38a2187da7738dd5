/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that target.c and target_check.c share. */
#ifndef SUPPORT_TARGET_INTERNAL_H
#define SUPPORT_TARGET_INTERNAL_H

#include "e4layout/open/hold.h"
#include "target.h"

/*
 * Sets @t by @name.  Returns false, with nothing to free, after printing an
 * error.
 */
bool target_locate(struct target *t, const char *name, uint64_t partition);

/*
 * Determines the users of the target.  Returns false after printing why the
 * target cannot be used; @t must be freed in either case.
 */
bool target_look(struct target *t);

/*
 * Describes a target that is not a filesystem, or is too short for one: opening
 * failed with @err.  Returns false if there is nothing to add to the library's
 * message.
 */
bool target_say_what_it_is(const struct target *t, errcode_t err);

/* Prints a note if the report can lack the latest changes. */
void target_note_age(const struct target *t);

/*
 * Prints the library's @sentence about the target @priv in the form of the
 * tools' messages.
 */
void target_tell(const char *sentence, errcode_t err, void *priv);

/* Frees a target that is not open. */
void target_free(struct target *t);

/* Closes a target opened by target_open_check(); its names stay valid. */
errcode_t target_close_check(struct target *t);

#endif
