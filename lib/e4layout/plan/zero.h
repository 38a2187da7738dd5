/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* zero: which unwritten runs to zero: the fewest extents that a budget buys. */
#ifndef E4L_ZERO_H
#define E4L_ZERO_H

#include <e4layout/extents.h>

/* An unwritten run that may be zeroed. */
struct e4l_zero_run {
	size_t file;
	uint32_t lblk;
	uint32_t len;
	uint8_t gain;			/* extents: 1 or 2 */
	bool before, behind;		/* where its neighbours are */
	bool chosen;
	bool banned;			/* it was found to save nothing */
};

/*
 * Appends the unwritten runs of @ex of up to @max_blocks that end before @eof_blk
 * and save extents if they are zeroed, in logical order, as of @file.
 */
errcode_t e4l_find_zero_runs(const struct e4l_extent *ex, size_t n_ex,
			     uint32_t max_blocks, uint64_t eof_blk,
			     size_t file, struct e4l_zero_run **runs,
			     size_t *n);

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
