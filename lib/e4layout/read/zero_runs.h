/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* zero_runs: unwritten runs of a file that save extents if zeroed.  No I/O. */
#ifndef E4L_ZERO_RUNS_H
#define E4L_ZERO_RUNS_H

#include <e4layout/extents.h>

/* An unwritten run that may be zeroed. */
struct e4l_zero_run {
	size_t file;
	uint32_t lblk;
	uint32_t len;
	uint8_t gain;			/* extents saved: 1 or 2 */
	bool before, behind;		/* there are adjacent extents before and after */
	bool chosen;
};

/*
 * Appends the unwritten runs of @ex with at most @max_blocks blocks that end
 * before @eof_blk and whose zeroing saves extents, in logical order, as runs of
 * @file.
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
 * Marks the extents @ex as written that are in chosen runs of the file, and
 * adds them to *@zero, unless zeroing saves no extent at their current places.
 * Errors: ENOMEM.
 */
errcode_t e4l_zero_apply(struct e4l_extent *ex, size_t n_ex,
			 const struct e4l_zero_run *runs, size_t n,
			 struct e4l_block_run **zero, size_t *n_zero);

#endif
