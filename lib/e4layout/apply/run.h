/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* run: the state that all phases of a repack share. */
#ifndef E4L_REPACK_RUN_H
#define E4L_REPACK_RUN_H

#include <e4layout/repack.h>
#include "e4layout/base/internal.h"
#include "e4layout/plan/plan.h"

struct e4l_repack_run {
	struct e4l_repack_what what;
	/*
	 * e4l_run_begin() replaces the value E4L_ZERO_AS_SET by the stored
	 * tunable extent_max_zeroout_kb, converted to blocks
	 */
	struct e4l_repack_limits limits;
	struct e4l_repack_callbacks cb;
	struct e4l_repack_result *result;
	/*
	 * for progress() during planning: number of scans, and number of scans
	 * that are finished
	 */
	unsigned int scans, scans_done;
	/*
	 * for progress() during writing: number of blocks and inodes written so
	 * far, and total number to write
	 */
	uint64_t written, to_write;
};

static inline bool e4l_run_has(const struct e4l_repack_run *run,
			       unsigned int flag)
{
	return run->what.flags & flag;
}

/*
 * Returns the channel of the external journal's device.  If the journal is not
 * external, or if @e is an overlay, returns NULL.
 */
static inline io_channel e4l_run_journal(const struct e4l_repack_run *run,
					 const struct e4l *e)
{
	return e->over ? NULL : run->what.journal;
}

/*
 * Returns whether the user has selected inode @ino.  If what.only is NULL, all
 * inodes are selected.
 */
static inline bool e4l_run_selects(const struct e4l_repack_run *run,
				   ext2_ino_t ino)
{
	return !run->what.only ||
	       ext2fs_test_inode_bitmap2(run->what.only, ino);
}

/*
 * Fills *@run from the caller's arguments.  Errors: E4L_ET_OPTION, and errors
 * of reading the filesystem's tunables.
 */
errcode_t e4l_run_begin(struct e4l *e, const struct e4l_repack_what *what,
			const struct e4l_repack_limits *limits,
			const struct e4l_repack_callbacks *callbacks,
			struct e4l_repack_result *result,
			struct e4l_repack_run *run);

/*
 * Counts a skipped object of kind @kind, and calls the callback skipped().
 * Does nothing if @why is E4L_SKIP_NONE, or if @kind is E4L_SKIP_FILE and
 * @saved is 0.
 */
void e4l_run_skip(struct e4l_repack_run *run, enum e4l_skip_kind kind,
		  ext2_ino_t ino, enum e4l_skip why, uint64_t saved);

/*
 * Records that a skipped file or directory needs a free extent of @blocks
 * blocks.  Does nothing if @blocks is 0.
 */
void e4l_run_lacks(struct e4l_repack_run *run, uint64_t blocks);
/* Reports the files that the plan @p skips, with the reasons. */
void e4l_run_skip_left(struct e4l_repack_run *run, const struct e4l_plan *p);

/*
 * Calls the callback stop() and returns its result: true ends the run.  If the
 * callback is NULL, returns false.  @inside is true if a transaction is being
 * written.  Any thread may call e4l_run_stop().
 */
bool e4l_run_stop(struct e4l_repack_run *run, bool inside);

/*
 * Reports that a scan during planning has reached group @group of @groups
 * groups.
 */
void e4l_run_scanned(struct e4l_repack_run *run, dgrp_t group, dgrp_t groups);

/* Reports that @amount more blocks or inodes were written. */
void e4l_run_wrote(struct e4l_repack_run *run, uint64_t amount);

#endif
