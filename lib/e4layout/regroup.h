/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* regroup: inodes that move to where their directories' other ones are. */
#ifndef E4LAYOUT_REGROUP_H
#define E4LAYOUT_REGROUP_H

#include <e4layout/journal.h>

#ifdef __cplusplus
extern "C" {
#endif

struct e4l_regroup_options {
	bool dry_run;		/* plan only: nothing is written */
	/*
	 * Also files that an overlay filesystem knows by their numbers: where
	 * it is not mounted, and goes without the index.
	 */
	bool renumber_anyway;
	/* Of the plan, and of where hard links are. */
	uint64_t mem_bytes;
	/* Only these inodes, and not those; NULL: all, none.  Borrowed. */
	ext2fs_inode_bitmap only, exclude;
	/* The journal device's channel, see <e4layout/journal.h>. */
	io_channel journal;
	/*
	 * Directory @ino could need @blocks less of the inode tables, and is
	 * left as it is, or so far; @why is static text.  NULL is allowed, as
	 * for the next two.
	 */
	void (*skipped)(ext2_ino_t ino, const char *why, uint64_t blocks,
			void *priv);
	/* @done of @total groups scanned, or inodes moved. */
	void (*progress)(bool writing, uint64_t done, uint64_t total,
			 void *priv);
	/*
	 * Asked between directories: true ends the work after the transaction;
	 * E4L_ET_INTERRUPTED while there is no plan yet.
	 */
	bool (*stop)(bool inside, void *priv);
	/*
	 * Asked while the plan is made, unless nothing is in it yet: true, and
	 * what is in it is done; other directories are left.  NULL is allowed.
	 */
	bool (*enough)(void *priv);
	void *priv;
	uint64_t reserved[7];
};

struct e4l_regroup_result {
	uint64_t dirs_planned, dirs_done;
	uint64_t dirs_skipped;		/* calls of skipped() */
	uint64_t inodes_planned, inodes_done;
	/*
	 * Blocks of inode tables that directories need, as struct
	 * e4l_dir_locality counts them, of all that were asked for: before,
	 * after what was done (or planned, with dry_run), and the fewest.
	 */
	uint64_t blocks_before, blocks_after, blocks_ideal;
	uint64_t planned_blocks_after;
	uint64_t transactions;
	bool stopped;		/* by stop(): another run goes on */
	uint64_t reserved[7];
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
 * Errors: as e4l_compact_dirs().
 */
errcode_t e4l_regroup_inodes(struct e4l *e,
			     const struct e4l_regroup_options *options,
			     struct e4l_regroup_result *result);

#ifdef __cplusplus
}
#endif
#endif
