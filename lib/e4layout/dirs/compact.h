/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* compact: rebuilds directories with fewer blocks, or with an index. */
#ifndef E4L_COMPACT_H
#define E4L_COMPACT_H

#include "e4layout/apply/run.h"
#include "e4layout/journal/change.h"

/*
 * Numbers of extents, fragments and tree blocks of several directories
 * together.
 */
struct e4l_map_size {
	uint64_t extents, fragments, tree_blocks;
	uint64_t fragmented; /* number of directories with several fragments */
};

struct e4l_compact_result {
	uint64_t dirs_planned, dirs_done;
	/* number of directories that get their first index */
	uint64_t indexes_planned;
	/* number of blocks of the planned directories after the rebuilds */
	uint64_t planned_blocks;
	/*
	 * sums over all rebuilt directories, before the rebuild (done_old_*)
	 * and after the rebuild
	 */
	uint64_t done_old_blocks, done_blocks;
	struct e4l_map_size done_old_maps, done_maps;
	uint64_t transactions;
	/*
	 * the caller's stop() has ended the run; another run can rebuild the
	 * other directories
	 */
	bool stopped;
	struct e4l_discarded discarded;
	/* number of blocks that the planned rebuilds free */
	uint64_t planned_given_blocks;
};

/*
 * Rebuilds directories in transactions of the filesystem's own journal.  A
 * directory whose leaves are less than half full gets fewer blocks.  On a
 * filesystem with dir_index, a directory whose entries do not fit into one
 * block gets an index.  Leaves are filled to 80 %.  The directory lost+found is
 * not changed.
 *
 * Entries, times and all other attributes stay unchanged, but the order of
 * entries in readdir(3) can change.  The rebuilds shorten the largest free
 * extent by at most 1/32.
 *
 * @dry: plan only.  @quiet: do not report skipped directories or the progress
 * of the scan.  Errors: as e4l_repack(); E4L_ET_DAMAGED: a directory block is
 * damaged.  The caller must have checked that no block has two owners.
 */
errcode_t e4l_compact_dirs(struct e4l *e, struct e4l_repack_run *run, bool dry,
			   bool quiet, struct e4l_compact_result *result);

#endif
