/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What opening a target in different ways has in common. */
#ifndef SUPPORT_TARGET_INTERNAL_H
#define SUPPORT_TARGET_INTERNAL_H

#include "e4layout/open/hold.h"
#include "target.h"

/* From the name to the device; false, with nothing to free: it says why. */
bool target_locate(struct target *t, const char *name, uint64_t partition);

/* Who uses it?  False after saying why it can be nothing; still to be freed. */
bool target_look(struct target *t);

/* Says that what is read may be older than what is there. */
void target_note_age(const struct target *t);

/* Puts the library's @sentence about @priv, a target, into the tools' words. */
void target_tell(const char *sentence, errcode_t err, void *priv);

/* Frees @t, which is not open. */
void target_free(struct target *t);

/* Closes what target_open_check() opened; the names stay. */
errcode_t target_close_check(struct target *t);

#endif
