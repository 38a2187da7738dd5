/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * plug: holes that nothing fits into take the ends of files that have lost
 * fragments: for each there is one free run less, and one fragment more.
 */
#ifndef E4L_PLUG_H
#define E4L_PLUG_H

#include "clear.h"

/* Whether free space is in no more runs than @aim, the longest no shorter. */
bool e4l_plug_is_enough(const struct e4l_space *space,
			const struct e4l_outlook *aim);

/*
 * Until that is so, or nothing comes of it.  No file has more fragments for it
 * than it had before the plan.  Pays from *@budget, in blocks.
 */
errcode_t e4l_plug_make(struct e4l_clear *c, struct e4l_draft *d,
			const struct e4l_outlook *aim, uint64_t *budget);

#endif
