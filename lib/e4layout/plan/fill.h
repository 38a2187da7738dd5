/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fill: holes are filled with what lies beside longer free runs, which become
 * longer for it; e4l_plan_make() has the promises.
 */
#ifndef E4L_FILL_H
#define E4L_FILL_H

#include "clear.h"

/*
 * After e4l_clear_make(), with the same arguments.  Nothing is done where that
 * has an aim.
 */
errcode_t e4l_fill_make(struct e4l_clear *c, struct e4l_draft *d,
			uint64_t *budget);

#endif
