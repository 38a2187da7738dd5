/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * runs: contiguous blocks of one state, which can take several extents.  No
 * I/O.
 */
#ifndef E4L_RUNS_H
#define E4L_RUNS_H

#include <e4layout/extents.h>

/* Blocks of one state that are contiguous in the file and on disk. */
struct e4l_state_run {
	uint64_t lblk, len;
	blk64_t pblk;
	bool unwritten;
};

/*
 * Sets *@run to the run that begins with ex[*i], and advances *i.  Returns
 * false and sets the length to 0 after the last extent.
 */
bool e4l_next_state_run(const struct e4l_extent *ex, size_t n, size_t *i,
			struct e4l_state_run *run);

/* Whether @b begins where @a ends, in the file and on disk. */
static inline bool e4l_runs_touch(const struct e4l_state_run *a,
				  const struct e4l_state_run *b)
{
	return a->len && b->len && a->lblk + a->len == b->lblk &&
	       a->pblk + a->len == b->pblk;
}

/*
 * Divides a run into as few extents as possible and returns their number.  @out
 * may be NULL.
 */
size_t e4l_cut_run(const struct e4l_state_run *run, struct e4l_extent *out);

/*
 * Packs @n extents into as few extents as possible and returns their number.
 * @out may be NULL or @ex.
 */
size_t e4l_pack(const struct e4l_extent *ex, size_t n, struct e4l_extent *out);

/* Whether the extents are in order, do not overlap, and are not too long. */
bool e4l_well_formed(const struct e4l_extent *ex, size_t n);

/*
 * Returns the number of fragments.  Unless @largest is NULL, *@largest is the
 * number of blocks in the largest fragment.
 */
uint64_t e4l_count_fragments(const struct e4l_extent *ex, size_t n,
			     uint64_t *largest);

#endif
