/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* regroup: moves inodes close to the other inodes of their directory. */
#ifndef E4L_REGROUP_H
#define E4L_REGROUP_H

#include "e4layout/apply/run.h"

struct e4l_regroup_result {
	uint64_t dirs_planned, dirs_done;
	uint64_t inodes_planned, inodes_done;
	/*
	 * Numbers of inode-table blocks that the selected directories need:
	 * before the run (@blocks_before), after the run (@blocks_after), and
	 * the fewest possible (@blocks_ideal).  struct e4l_dir_locality
	 * describes how blocks are counted.  With @dry, @blocks_after is the
	 * number after the planned moves.
	 */
	uint64_t blocks_before, blocks_after, blocks_ideal;
	uint64_t planned_blocks_after;
	uint64_t transactions;
	bool stopped;	/* stop() has ended the run; another run can continue */
	/*
	 * number of the call of enough() that returned true; 0: no call
	 * returned true
	 */
	uint64_t ended_at;
};

/*
 * Moves inodes so that each directory's inodes lie in few inode-table blocks,
 * in transactions of the filesystem's own journal, under the conditions of
 * e4l_repack().  Inodes get new numbers; names, contents, times, generations
 * and all other attributes stay unchanged.  Inodes that must keep their numbers
 * (numbers.h) are not moved.  A directory's inodes are moved only if at most as
 * many inodes move as fit into the saved blocks.  Afterwards, no directory
 * needs more blocks than before.
 *
 * If too few inodes are free, directories exchange inodes, which needs at least
 * one free inode.  An exchange also moves at most as many inodes as fit into
 * the saved blocks.  Files with several names are not exchanged.  If stop()
 * ends an exchange, some directories may need more blocks until another run
 * continues.
 *
 * To plan the moves of a simulated run again, set @end_at to result->ended_at
 * of the simulated run; otherwise, to 0.  @dry, @quiet and errors: as
 * e4l_compact_dirs().
 */
errcode_t e4l_regroup_inodes(struct e4l *e, struct e4l_repack_run *run,
			     bool dry, bool quiet, uint64_t end_at,
			     struct e4l_regroup_result *result);

/*
 * Moves all inodes above @limit to free inodes from s_first_ino to @limit.  If
 * possible, an inode moves to the group of its directory.  The moves are in
 * transactions of the filesystem's own journal.  As for e4l_regroup_inodes(),
 * only the inode numbers change.  @result->inodes_done counts the moved inodes.
 *
 * Errors: E4L_ET_SHRINK_NUMBER: an inode must keep its number (numbers.h); the
 * detail has the inode; ENOSPC: too few inodes are free; errors of
 * e4l_regroup_inodes().
 */
errcode_t e4l_evict_inodes(struct e4l *e, struct e4l_repack_run *run,
			   ext2_ino_t limit,
			   struct e4l_regroup_result *result);

#endif
