/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that target.c and target_check.c share. */
#ifndef SUPPORT_TARGET_INTERNAL_H
#define SUPPORT_TARGET_INTERNAL_H

#include "e4layout/open/hold.h"
#include "target.h"

/*
 * Initializes @t for the target @name.  If @partition is not 0, the target is
 * that partition of @name.  On failure, prints an error and returns false; the
 * caller must not free @t.
 */
bool target_locate(struct target *t, const char *name, uint64_t partition);

/*
 * Determines which programs use the target.  Returns false after printing why
 * the target cannot be used; @t must be freed in either case.
 */
bool target_look(struct target *t);

/*
 * Describes a target that contains no filesystem, or is too short for one.
 * @err is the error of opening the target.  If nothing was printed, returns
 * false; the caller must then print the library's message.
 */
bool target_say_what_it_is(const struct target *t, errcode_t err);

/* Prints a note if the report can lack the latest changes. */
void target_note_age(const struct target *t);

/*
 * Prints the library's @sentence about the target @priv as a message of the
 * tool.
 */
void target_tell(const char *sentence, errcode_t err, void *priv);

/* Frees a target that is not open. */
void target_free(struct target *t);

/* Closes a target opened by target_open_check(). The names in @t stay valid. */
errcode_t target_close_check(struct target *t);

#endif
