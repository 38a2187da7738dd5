/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* compact: rebuilds directories in fewer blocks. */
#ifndef E4L_COMPACT_H
#define E4L_COMPACT_H

#include "e4layout/apply/run.h"
#include "e4layout/journal/change.h"

/* Sums of the map sizes of several directories. */
struct e4l_map_size {
	uint64_t extents, fragments, tree_blocks;
	uint64_t fragmented;		/* directories with several fragments */
};

struct e4l_compact_result {
	uint64_t dirs_planned, dirs_done;
	uint64_t indexes_planned; /* linear directories that get an index */
	uint64_t planned_blocks; /* new blocks of all planned directories */
	/* totals before and after the finished rebuilds */
	uint64_t done_old_blocks, done_blocks;
	struct e4l_map_size done_old_maps, done_maps;
	uint64_t transactions;
	bool stopped;	/* stop() returned true; a later run continues */
	struct e4l_discarded discarded;
	/* blocks that the planned rebuilds free */
	uint64_t planned_given_blocks;
};

/*
 * Rebuilds directories in transactions of the filesystem's own journal:
 * directories whose leaves are less than half full, in fewer blocks, and, if
 * the filesystem has dir_index, directories without an index that have more
 * than one block of entries.  Leaves are filled to 80 %.  The directory
 * lost+found is not changed.  Entries, times and all other attributes stay the
 * same, but readdir(3) may return the entries in another order.  At most 1/32
 * of the largest free extent is used.
 *
 * @dry: plan only.  @quiet: do not report skipped directories, nor the progress
 * of the scan.  Errors: as e4l_repack(); E4L_ET_DAMAGED: a directory block is
 * damaged.  The caller has checked the filesystem: no block may have two
 * owners.
 */
errcode_t e4l_compact_dirs(struct e4l *e, struct e4l_repack_run *run, bool dry,
			   bool quiet, struct e4l_compact_result *result);

#endif
