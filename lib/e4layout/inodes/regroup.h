/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* regroup: inodes that move to where their directories' other ones are. */
#ifndef E4L_REGROUP_H
#define E4L_REGROUP_H

#include "e4layout/apply/run.h"

struct e4l_regroup_result {
	uint64_t dirs_planned, dirs_done;
	uint64_t inodes_planned, inodes_done;
	/*
	 * Blocks of inode tables that directories need, as struct
	 * e4l_dir_locality counts them, of all that were asked for: before,
	 * after what was done (or planned, with dry_run), and the fewest.
	 */
	uint64_t blocks_before, blocks_after, blocks_ideal;
	uint64_t planned_blocks_after;
	uint64_t transactions;
	bool stopped;		/* by stop(): another run continues */
	uint64_t ended_at;	/* enough() was true at this call; 0: never */
};

/*
 * Moves inodes so that what a directory holds lies in few blocks of the inode
 * tables, in transactions of the filesystem's own journal, as e4l_repack() and
 * under its conditions.  Inodes get new numbers; names, contents, times,
 * generations and everything else stay.  A directory is regrouped when that
 * saves a block for every block of inodes that move at most; no directory needs
 * more blocks after than before.  What is bound to its number stays.
 * Where too few inodes are free for that, inodes of all directories change places,
 * by way of what is free, which must be one at least; by the same measure,
 * and files with several names stay.  When stop() ends that in the middle, some
 * directories may need more blocks until another run goes on.
 *
 * @end_at: 0, or ->ended_at of a run that was simulated, so that the same is
 * planned again.  @dry, @quiet and errors: as e4l_compact_dirs().
 */
errcode_t e4l_regroup_inodes(struct e4l *e, struct e4l_repack_run *run,
			     bool dry, bool quiet, uint64_t end_at,
			     struct e4l_regroup_result *result);

#endif
