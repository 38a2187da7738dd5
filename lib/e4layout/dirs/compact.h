/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* compact: directories that are built anew, in fewer blocks. */
#ifndef E4L_COMPACT_H
#define E4L_COMPACT_H

#include "e4layout/apply/run.h"
#include "e4layout/journal/change.h"

/* How large the maps of some directories are. */
struct e4l_map_size {
	uint64_t extents, fragments, tree_blocks;
	uint64_t fragmented;		/* directories */
};

struct e4l_compact_result {
	uint64_t dirs_planned, dirs_done;
	uint64_t indexes_planned;	/* of linear directories */
	/* Of those planned and of those done: blocks they had, and have. */
	uint64_t planned_old_blocks, planned_blocks;
	uint64_t done_old_blocks, done_blocks;
	struct e4l_map_size done_old_maps, done_maps;
	uint64_t transactions;
	bool stopped;		/* by stop(): another run goes on */
	struct e4l_discarded discarded;
	uint64_t planned_given_blocks;	/* to free space */
};

/*
 * Builds directories anew, in transactions of the filesystem's own journal:
 * those whose leaves are less than half
 * full, in fewer blocks; and, where the filesystem has dir_index, those that
 * have no index but more than one block of entries.  Leaves are filled to 80 %.
 * lost+found stays as it is.  Entries, times and everything else that a
 * directory has stay; the order in which readdir(3) gives its entries may not.
 * The largest free extent does not become smaller.
 *
 * Plans and carries it out; with @dry, only plans.  @quiet: nothing is reported
 * about skipped directories, nor about progress while it plans.
 * Errors: as e4l_repack(); E4L_ET_DAMAGED: a directory's block is not what it
 * should be.  Every block must be known to have one owner: the caller has
 * checked the filesystem.
 */
errcode_t e4l_compact_dirs(struct e4l *e, struct e4l_repack_run *run, bool dry,
			   bool quiet, struct e4l_compact_result *result);

#endif
