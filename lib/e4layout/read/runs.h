/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* runs: extents of a file, whatever entries they are cut into.  Pure. */
#ifndef E4L_RUNS_H
#define E4L_RUNS_H

#include <e4layout/extents.h>

/* Contiguous and of one state. */
struct e4l_state_run {
	uint64_t lblk, len;
	blk64_t pblk;
	bool unwritten;
};

/*
 * Reads the state run that begins with ex[*i] and moves *i past it.  False, and
 * a length of 0: there is none.
 */
bool e4l_next_state_run(const struct e4l_extent *ex, size_t n, size_t *i,
			struct e4l_state_run *run);

/* Whether @b goes on where @a ends, in the file and on the disk. */
static inline bool e4l_runs_touch(const struct e4l_state_run *a,
				  const struct e4l_state_run *b)
{
	return a->len && b->len && a->lblk + a->len == b->lblk &&
	       a->pblk + a->len == b->pblk;
}

/* Cuts a run into the fewest entries; returns how many.  @out may be NULL. */
size_t e4l_cut_run(const struct e4l_state_run *run, struct e4l_extent *out);

/* The same for @n extents, in place when @out is @ex. */
size_t e4l_pack(const struct e4l_extent *ex, size_t n, struct e4l_extent *out);

/* Whether the extents are in order, and none is longer than an entry may be. */
bool e4l_well_formed(const struct e4l_extent *ex, size_t n);

/* How many fragments there are; the @largest has so many blocks, or NULL. */
uint64_t e4l_count_fragments(const struct e4l_extent *ex, size_t n,
			     uint64_t *largest);

#endif
