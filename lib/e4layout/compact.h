/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* compact: directories that are built anew, in fewer blocks. */
#ifndef E4LAYOUT_COMPACT_H
#define E4LAYOUT_COMPACT_H

#include <e4layout/repack.h>

#ifdef __cplusplus
extern "C" {
#endif

struct e4l_compact_options {
	bool dry_run;		/* plan only: nothing is written */
	bool move_immutable;	/* immutable directories as well */
	uint64_t write_budget_blocks;	/* E4L_NO_LIMIT: none */
	/* A directory that takes more memory than this is left alone. */
	uint64_t mem_bytes;
	/* Only these inodes, and not those; NULL: all, none.  Borrowed. */
	ext2fs_inode_bitmap only, exclude;
	/* The journal device's channel, see <e4layout/journal.h>. */
	io_channel journal;
	/*
	 * A directory that could have @blocks less (0: nobody knows) is left
	 * alone; @why is static text.  NULL is allowed, as for the next two.
	 */
	void (*skipped)(ext2_ino_t ino, const char *why, uint64_t blocks,
			void *priv);
	/* @done of @total groups scanned, or blocks written. */
	void (*progress)(bool writing, uint64_t done, uint64_t total,
			 void *priv);
	/*
	 * Asked between directories: true ends the work after the transaction;
	 * E4L_ET_INTERRUPTED while there is no plan yet.
	 */
	bool (*stop)(bool inside, void *priv);
	void *priv;
	bool discard;		/* as in struct e4l_repack_options */
	uint64_t most_free_runs, longest_kept_blocks;	/* likewise */
	uint64_t reserved[5];
};

/* How large the maps of some directories are. */
struct e4l_map_size {
	uint64_t extents, fragments, tree_blocks;
};

struct e4l_compact_result {
	uint64_t dirs_planned, dirs_done;
	uint64_t dirs_skipped;		/* calls of skipped() */
	uint64_t indexes_planned;	/* of linear directories */
	/* Of those planned and of those done: blocks they had, and have. */
	uint64_t planned_old_blocks, planned_blocks;
	uint64_t done_old_blocks, done_blocks;
	struct e4l_map_size done_old_maps, done_maps;
	uint64_t transactions;
	uint64_t longest_free_blocks;	/* a run, when the plan is done */
	bool stopped;		/* by stop(): another run goes on */
	struct e4l_discarded discarded;
	uint64_t planned_given_blocks;	/* to free space */
	/* Of directories that are left since no free run is long enough: the
	 * shortest run that one lacks, and the longest of these; or 0. */
	uint64_t least_lacking_blocks, most_lacking_blocks;
	uint64_t reserved[3];
};

/*
 * Builds directories anew, in transactions of the filesystem's own journal, as
 * e4l_repack() and under its conditions: those whose leaves are less than half
 * full, in fewer blocks; and, where the filesystem has dir_index, those that
 * have no index but more than one block of entries.  Leaves are filled to 80 %.
 * lost+found stays as it is.  Entries, times and everything else that a
 * directory has stay; the order in which readdir(3) gives its entries may not.
 * Unless this is a dry run, the filesystem is checked first, see e4l_check().
 * Errors: as e4l_repack(); E4L_ET_DAMAGED: that check found errors, or a
 * directory's block is not what it should be.
 */
errcode_t e4l_compact_dirs(struct e4l *e,
			   const struct e4l_compact_options *options,
			   struct e4l_compact_result *result);

#ifdef __cplusplus
}
#endif
#endif
