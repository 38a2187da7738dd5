/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * zero_runs: finds unwritten runs that can be merged with adjacent extents
 * after zeroing.  Does no I/O.
 */
#ifndef E4L_ZERO_RUNS_H
#define E4L_ZERO_RUNS_H

#include <e4layout/extents.h>

/* An unwritten run that may be zeroed. */
struct e4l_zero_run {
	size_t file;
	uint32_t lblk;
	uint32_t len;
	uint8_t gain;	/* number of extents that zeroing saves: 1 or 2 */
	/*
	 * before: the run is contiguous with the previous extent; behind: the
	 * run is contiguous with the next extent
	 */
	bool before, behind;
	bool chosen;			/* the run will be zeroed */
};

/*
 * Finds the unwritten runs of @ex whose zeroing saves extents.  Appends the
 * runs to *@runs, in logical order, and sets the member file of these runs to
 * @file.  Skips runs of more than @max_blocks blocks, and runs that extend
 * beyond @eof_blk, the first block after the end of the file.
 */
errcode_t e4l_find_zero_runs(const struct e4l_extent *ex, size_t n_ex,
			     uint32_t max_blocks, uint64_t eof_blk,
			     size_t file, struct e4l_zero_run **runs,
			     size_t *n);

/*
 * Returns the first run of @file and sets *@n_file to the number of runs of
 * @file.  The @n runs must be sorted by file.
 */
const struct e4l_zero_run *e4l_zero_of_file(const struct e4l_zero_run *runs,
					    size_t n, size_t file,
					    size_t *n_file);

/*
 * For each chosen run, marks its extents in @ex as written, and adds its blocks
 * to *@zero.  Skips a run without an adjacent extent in @ex, because zeroing
 * the run would not save an extent.  Errors: ENOMEM.
 */
errcode_t e4l_zero_apply(struct e4l_extent *ex, size_t n_ex,
			 const struct e4l_zero_run *runs, size_t n,
			 struct e4l_block_run **zero, size_t *n_zero);

#endif
