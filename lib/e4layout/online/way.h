/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * way: the methods "move" and "join", which improve the layout of a file that
 * other programs use.
 *
 * Move and join do not change the content of a file, even if a kill or a power
 * failure interrupts them.
 *
 * Move lets the kernel swap blocks.  The kernel locks the pages, copies the
 * content, and writes the new blocks before it commits the transaction that
 * refers to the new blocks.  If the new blocks cannot be written, the blocks
 * are swapped back.
 *
 * Join lets the kernel zero unwritten runs with EXT4_IOC_JOIN_EXTENTS (see
 * kernel/README.md).  In user space, no method to zero unwritten runs is safe.
 * A write lease delays the open(2) of another program for at most 45 s.  If
 * this process or the filesystem is frozen for a longer time, direct writes of
 * the other program conflict with unfinished writes of this process.  Dirty
 * pages (made with MADV_POPULATE_WRITE) would cause a similar conflict.  The
 * lock of the inode would prevent the conflict, but only the kernel can take
 * this lock.
 */
#ifndef E4L_WAY_H
#define E4L_WAY_H

#include <e4layout/repack.h>
#include "donor.h"
#include "behind.h"
#include "e4layout/read/zero_runs.h"

/* The state of a run, which the methods "move" and "join" share. */
struct e4l_ways {
	const struct e4l_repack_limits *limits;
	const struct e4l_repack_callbacks *cb;
	bool (*pace)(uint64_t bytes, void *priv);
	struct e4l_repack_result *result;
	struct e4l_donor donor;
	struct e4l_behind behind;
	bool journal;			/* the filesystem has a journal */
	bool broken; /* the device cannot write moved data to the new blocks */
	/*
	 * for progress(), in blocks: size of the finished files, moved blocks
	 * of the current file, and size of all files
	 */
	uint64_t done_blocks, moved_blocks, all_blocks;
};

/*
 * Records for progress() that the current file, of @blocks blocks, is finished.
 */
void e4l_ways_file_done(struct e4l_ways *w, uint64_t blocks);

/* Returns whether the run has ended. */
static inline bool e4l_ways_ended(const struct e4l_ways *w)
{
	return w->broken || w->result->stopped;
}

/*
 * Counts @blocks written blocks, reports the progress, and waits as long as
 * pace() requests.  If free space becomes short during the wait, gives blocks
 * of the donor back.  After the wait, calls stop().  Returns whether the run
 * has ended.
 */
bool e4l_ways_stop(struct e4l_ways *w, uint64_t blocks);

/*
 * Moves *@len contiguous blocks of the file, from logical block @lblk on, to
 * the donor's blocks from physical block @pblk on (see e4l_donor_fits()).  Sets
 * *@len to the number of blocks that were not moved.  Returns E4L_SKIP_NONE if
 * all blocks were moved or the run has ended, and otherwise the reason.
 */
enum e4l_skip e4l_way_move(struct e4l_ways *w, struct e4l_open_file *f,
			   uint64_t lblk, uint64_t *len, uint64_t pblk);

/*
 * Joins the unwritten @runs of the file, which are in logical order, with
 * adjacent extents.  Sets *@left to the number of extents that could still be
 * saved by the runs that were not joined.  Returns E4L_SKIP_NONE if all runs
 * were joined or the run has ended, and otherwise the reason.
 */
enum e4l_skip e4l_way_join(struct e4l_ways *w, struct e4l_open_file *f,
			 const struct e4l_zero_run *runs, size_t n,
			 uint64_t *left);

/*
 * Returns whether the kernel supports EXT4_IOC_JOIN_EXTENTS.  @root_fd is a
 * descriptor of the root directory.
 */
bool e4l_way_joins(int root_fd);

#endif
