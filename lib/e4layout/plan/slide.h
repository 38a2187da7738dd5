/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * slide: the longest free run goes on over its neighbours, and takes in the holes
 * between them; e4l_plan_make() has the promises.
 */
#ifndef E4L_SLIDE_H
#define E4L_SLIDE_H

#include "clear.h"

/*
 * After e4l_clear_make(), with the same arguments.  Nothing is done where that
 * has an aim.
 */
errcode_t e4l_slide_make(struct e4l_clear *c, struct e4l_draft *d,
			 uint64_t *budget);

#endif
