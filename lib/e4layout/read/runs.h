/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * runs: contiguous blocks of a file that are all written or all unwritten.  A
 * long run has several extents.  Does no I/O.
 */
#ifndef E4L_RUNS_H
#define E4L_RUNS_H

#include <e4layout/extents.h>

/*
 * Blocks that are contiguous in the file and on disk, and are all written or
 * all unwritten.
 */
struct e4l_state_run {
	uint64_t lblk, len;
	blk64_t pblk;
	bool unwritten;
};

/*
 * Sets *@run to the run that begins with ex[*i], and *i to the index after the
 * last extent of the run.  If *i is @n, returns false and sets run->len to 0.
 */
bool e4l_next_state_run(const struct e4l_extent *ex, size_t n, size_t *i,
			struct e4l_state_run *run);

/* Returns whether @b begins where @a ends, in the file and on disk. */
static inline bool e4l_runs_touch(const struct e4l_state_run *a,
				  const struct e4l_state_run *b)
{
	return a->len && b->len && a->lblk + a->len == b->lblk &&
	       a->pblk + a->len == b->pblk;
}

/*
 * Divides a run into as few extents as possible and returns the number of
 * extents.  If @out is not NULL, writes the extents to @out.
 */
size_t e4l_cut_run(const struct e4l_state_run *run, struct e4l_extent *out);

/*
 * Merges @n extents into as few extents as possible and returns the number of
 * merged extents.  If @out is not NULL, writes the merged extents to @out,
 * which may be @ex.
 */
size_t e4l_pack(const struct e4l_extent *ex, size_t n, struct e4l_extent *out);

/*
 * Returns whether the extents are in logical order, do not overlap, and have
 * valid lengths.
 */
bool e4l_well_formed(const struct e4l_extent *ex, size_t n);

/*
 * Returns the number of fragments of the @n extents.  If @largest is not NULL,
 * sets *@largest to the number of blocks in the largest fragment.
 */
uint64_t e4l_count_fragments(const struct e4l_extent *ex, size_t n,
			     uint64_t *largest);

/* Returns the number of fragments minus the number of logical runs. */
uint64_t e4l_count_excess(const struct e4l_extent *ex, size_t n);

#endif
