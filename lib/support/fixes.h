/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands that fix the findings of a check. */
#ifndef SUPPORT_FIXES_H
#define SUPPORT_FIXES_H

#include <e4layout/check.h>

/*
 * Returns the command for @fix, without the device or image, which the caller
 * must append.  If no command fixes the finding, returns NULL.
 */
const char *fix_command(enum e4l_fix fix);

#endif
