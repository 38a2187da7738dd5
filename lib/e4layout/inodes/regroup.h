/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* regroup: moves inodes close to the other inodes of their directory. */
#ifndef E4L_REGROUP_H
#define E4L_REGROUP_H

#include "e4layout/apply/run.h"

struct e4l_regroup_result {
	uint64_t dirs_planned, dirs_done;
	uint64_t inodes_planned, inodes_done;
	/*
	 * Sums of the inode-table blocks that the selected directories need, as
	 * struct e4l_dir_locality counts them: before the run, after the run
	 * (with @dry, after the planned moves), and the fewest possible.
	 */
	uint64_t blocks_before, blocks_after, blocks_ideal;
	uint64_t planned_blocks_after;
	uint64_t transactions;
	bool stopped;	/* stop() returned true; a later run continues */
	/* number of the enough() call that returned true; 0: none did */
	uint64_t ended_at;
};

/*
 * Moves inodes so that each directory's inodes lie in few inode-table blocks,
 * in transactions of the filesystem's own journal, under the conditions of
 * e4l_repack().  Inodes get new numbers; names, contents, times, generations
 * and all other attributes stay the same.  A directory is regrouped if the
 * moved inodes fit into the saved blocks; no directory needs more blocks
 * afterwards.  Inodes that are bound to their numbers stay.  If too few inodes
 * are free, inodes of all directories are exchanged through at least one free
 * inode, under the same condition; exchanges do not move files with several
 * names.  If stop() ends an exchange, some directories may need more blocks
 * until another run continues.
 *
 * @end_at: 0, or ->ended_at of a simulated run, which makes this run plan the
 * same moves.  @dry, @quiet and errors: as e4l_compact_dirs().
 */
errcode_t e4l_regroup_inodes(struct e4l *e, struct e4l_repack_run *run,
			     bool dry, bool quiet, uint64_t end_at,
			     struct e4l_regroup_result *result);

#endif
