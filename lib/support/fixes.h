/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands that fix what a check finds. */
#ifndef SUPPORT_FIXES_H
#define SUPPORT_FIXES_H

#include <e4layout/check.h>

/* The command, to be followed by its target; NULL: no command fixes it. */
const char *fix_command(enum e4l_fix fix);

#endif
