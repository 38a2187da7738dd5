/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* zero: which unwritten runs to zero: see e4l_plan_make() for the promise. */
#ifndef E4L_ZERO_H
#define E4L_ZERO_H

#include "weigh.h"

/* Chooses among @runs, but for those that are banned, what @budget buys. */
errcode_t e4l_zero_choose(struct e4l_zero_run *runs, size_t n,
			  uint64_t budget);
/*
 * Bans those of a file's @runs that were chosen and save nothing, because they
 * would make an entry longer than it may be: another choice may be better.
 */
errcode_t e4l_zero_trim(const struct e4l_extent *ex, size_t n_ex,
			struct e4l_zero_run *runs, size_t n, bool *trimmed);

#endif
