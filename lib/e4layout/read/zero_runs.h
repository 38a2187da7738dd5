/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * zero_runs: unwritten runs of a file that become one extent with their
 * neighbors if they are zeroed.  No I/O.
 */
#ifndef E4L_ZERO_RUNS_H
#define E4L_ZERO_RUNS_H

#include <e4layout/extents.h>

/* An unwritten run that may be zeroed. */
struct e4l_zero_run {
	size_t file;
	uint32_t lblk;
	uint32_t len;
	uint8_t gain;			/* extents saved: 1 or 2 */
	/* whether the run touches the extent before it, the extent after it */
	bool before, behind;
	bool chosen;			/* to be zeroed */
};

/*
 * Appends the unwritten runs of @ex whose zeroing saves extents to *@runs, in
 * logical order, as runs of @file.  Runs of more than @max_blocks blocks, and
 * runs that extend beyond @eof_blk, are left out.
 */
errcode_t e4l_find_zero_runs(const struct e4l_extent *ex, size_t n_ex,
			     uint32_t max_blocks, uint64_t eof_blk,
			     size_t file, struct e4l_zero_run **runs,
			     size_t *n);

/* Returns the runs of @file among @n runs that are sorted by file. */
const struct e4l_zero_run *e4l_zero_of_file(const struct e4l_zero_run *runs,
					    size_t n, size_t file,
					    size_t *n_file);

/*
 * Marks the extents of each chosen run as written, and adds the blocks of the
 * run to *@zero.  A run that has no adjacent extent in @ex is skipped, because
 * zeroing it would save no extent.  Errors: ENOMEM.
 */
errcode_t e4l_zero_apply(struct e4l_extent *ex, size_t n_ex,
			 const struct e4l_zero_run *runs, size_t n,
			 struct e4l_block_run **zero, size_t *n_zero);

#endif
