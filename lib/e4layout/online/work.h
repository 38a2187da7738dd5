/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* work: what planning and execution of a run on a mounted filesystem share. */
#ifndef E4L_ONLINE_WORK_H
#define E4L_ONLINE_WORK_H

#include <e4layout/dirs.h>
#include <e4layout/online.h>
#include "e4layout/plan/plan.h"
#include "e4layout/repack/candidates.h"
#include "program.h"
#include "way.h"

struct e4l_candidate {
	ext2_ino_t ino;			/* first: see e4l_u32_cmp() */
	uint32_t generation;
	uint32_t moves, joins;		/* extents that either could still save */
	uint32_t left;			/* moves of the plan that are not done */
	/* when it was found */
	uint32_t extents, fragments, runs, tree_blocks;
	bool opened;			/* by this run */
	bool done;
	bool told;			/* why it was not moved */
	bool failed;			/* something did with it */
	bool later;			/* a target was not free */
};

struct e4l_online {
	struct e4l *e;
	struct e4l_repack_run run;
	struct e4l_candidates candidates;
	struct e4l_scorer scorer;	/* of the inode at hand */
	struct e4l_programs programs;
	ext2fs_inode_bitmap executable;	/* files with an execute permission */
	unsigned char *block;		/* scratch */
	struct e4l_candidate *v;	/* by number */
	size_t n;
	uint64_t excess;		/* of all of them */
	uint64_t excess_blocks;		/* of the files that have it */
	struct e4l_plan *plan;
	uint64_t *claimed;		/* map of blocks of files in the plan */
	uint32_t n_claimed;		/* bits of it */
	struct e4l_names *names;
	int root_fd;			/* locked, unless @other_run */
	bool other_run;			/* repacks the same filesystem */
	struct e4l_ways ways;
	bool joins;			/* the kernel joins extents */
};

/* Unwritten runs that may be zeroed; *@runs is to be freed; *@gain: extents. */
errcode_t e4l_online_runs(const struct e4l_online *o, uint64_t size,
			  const struct e4l_extent *ex, size_t n_ex,
			  struct e4l_zero_run **runs, size_t *n, uint64_t *gain);

/* How many fragments these extents have beyond one for each logical run. */
uint64_t e4l_online_excess(const struct e4l_extent *ex, size_t n);

/* See struct e4l_plan_options: asked for files that are in the way. */
bool e4l_online_may_move(ext2_ino_t ino, const struct e4l_extent *ex, size_t n,
			 void *priv);

/* --------------------------------------------------------------- planning.c */

/* Makes an empty plan, to which files are added.  ENOMEM. */
errcode_t e4l_online_begin_plan(struct e4l_online *o);

/* Reserves free space and makes the plan, unless there is nothing to do. */
errcode_t e4l_online_plan(struct e4l_online *o);

/* ------------------------------------------------------------------ carry.c */

/* Learns where the files with excess extents are. */
errcode_t e4l_online_learn_excess(struct e4l_online *o);

/* Reports why @extents of a file stay, unless @why is E4L_SKIP_NONE. */
void e4l_online_skip(struct e4l_online *o, struct e4l_candidate *c,
		     enum e4l_skip why, uint64_t extents);

/* See struct e4l_behind; the file may count as done. */
void e4l_online_failed(ext2_ino_t ino, bool put_back, void *priv);

/*
 * Nothing moves, because @why: reports it for each file, or why the file could not
 * be moved in any case.  ENOMEM, and those of reading directories.
 */
errcode_t e4l_online_skip_all(struct e4l_online *o, enum e4l_skip why);

/* Carries the plan out, if there is one, and joins extents.  ENOMEM. */
errcode_t e4l_online_carry_out(struct e4l_online *o);

#endif
