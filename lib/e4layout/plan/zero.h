/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* zero: which unwritten runs to zero: the fewest extents that a budget buys. */
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

/* Those of file @file among @n runs that are in the order of their files. */
const struct e4l_zero_run *e4l_zero_of_file(const struct e4l_zero_run *runs,
					    size_t n, size_t file,
					    size_t *n_file);

/*
 * Makes those of @ex written that are chosen in the @n @runs of the file, and adds
 * them to *@zero; what would save nothing where it is stays.  ENOMEM.
 */
errcode_t e4l_zero_apply(struct e4l_extent *ex, size_t n_ex,
			 const struct e4l_zero_run *runs, size_t n,
			 struct e4l_block_run **zero, size_t *n_zero);

#endif
