/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * way: how a file that is in use can get better.
 *
 * Whatever ends a way, also a kill or a power cut, the file has all its bytes:
 * nothing here writes any.  Move has the kernel swap blocks, which locks the
 * pages, copies what is in them, and pins the new blocks to the transaction
 * that refers to them.  Where they cannot be written to, it is swapped back.
 *
 * Join has the kernel zero unwritten runs, if it knows how to (see
 * kernel/README.md).  No other way for them is safe from here: under a write
 * lease whoever opens the file waits only for so long (45 s), and what freezes
 * this process or the filesystem for longer lets their direct writes meet ours
 * in flight, whether we write zeroes or only make pages dirty
 * (MADV_POPULATE_WRITE).  That takes the inode's lock, which only the kernel
 * has.
 */
#ifndef E4L_WAY_H
#define E4L_WAY_H

#include <e4layout/repack.h>
#include "donor.h"
#include "behind.h"
#include "e4layout/plan/zero.h"

/* What all files of a run share. */
struct e4l_ways {
	const struct e4l_repack_limits *limits;
	const struct e4l_repack_callbacks *cb;
	bool (*pace)(uint64_t bytes, void *priv);
	struct e4l_repack_result *result;
	struct e4l_donor donor;
	struct e4l_behind behind;
	bool journal;			/* of the filesystem */
	bool broken;			/* the device does not take it */
	/* for progress(): of files that are done, of the one at hand, of all */
	uint64_t done_blocks, moved_blocks, all_blocks;
};

/* The file at hand, of @blocks, is done. */
void e4l_ways_file_done(struct e4l_ways *w, uint64_t blocks);

/* Whether nothing more is to be done. */
static inline bool e4l_ways_ended(const struct e4l_ways *w)
{
	return w->broken || w->result->stopped;
}

/*
 * The same, after it has asked whether to stop.  Shows progress and waits first, as long as it is said to
 * after @blocks were written; the donor does not outlast the reserve meanwhile.
 */
bool e4l_ways_stop(struct e4l_ways *w, uint64_t blocks);

/*
 * Moves *@len blocks of the file from @lblk on, which are contiguous in it, to
 * @pblk and behind it, which the donor has (e4l_donor_fits()).  Returns why that
 * could not be done, or E4L_SKIP_NONE; also if the run was stopped.  *@len is how
 * many are left.
 */
enum e4l_skip e4l_way_move(struct e4l_ways *w, struct e4l_open_file *f,
			   uint64_t lblk, uint64_t *len, uint64_t pblk);

/*
 * Joins @runs of the file, in logical order, which become written; those that
 * stay would save *@left extents.
 */
enum e4l_skip e4l_way_join(struct e4l_ways *w, struct e4l_open_file *f,
			 const struct e4l_zero_run *runs, size_t n,
			 uint64_t *left);

/* Whether the kernel knows how to; asked on the root directory. */
bool e4l_way_joins(int root_fd);

#endif
