/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* work: the common state of planning and execution on a mounted filesystem. */
#ifndef E4L_ONLINE_WORK_H
#define E4L_ONLINE_WORK_H

#include <e4layout/dirs.h>
#include <e4layout/online.h>
#include "e4layout/plan/plan.h"
#include "e4layout/repack/candidates.h"
#include "program.h"
#include "way.h"

struct e4l_candidate {
	ext2_ino_t ino; /* first member: the key of e4l_u32_cmp() */
	uint32_t generation;
	/* extents that moving and joining could still save */
	uint32_t moves, joins;
	uint32_t left;			/* unfinished moves of the plan */
	/* results of the scan */
	uint32_t extents, fragments, runs, tree_blocks;
	bool opened;			/* the run has opened the file */
	bool done;
	bool told;			/* a reason has been reported */
	bool failed;			/* a move or join has failed */
	bool later;	/* finish_later() will move the file */
};

struct e4l_online {
	struct e4l *e;
	struct e4l_repack_run run;
	struct e4l_candidates candidates;
	struct e4l_scorer scorer;	/* scores the current inode */
	struct e4l_programs programs;
	ext2fs_inode_bitmap executable;	/* files with an execute permission */
	unsigned char *block;		/* buffer for one block */
	struct e4l_candidate *v;	/* sorted by inode number */
	size_t n;
	uint64_t excess;		/* excess fragments of all files */
	uint64_t excess_blocks;	/* blocks of the files with excess fragments */
	struct e4l_plan *plan;
	uint64_t *claimed;		/* bitmap of blocks of planned files */
	uint32_t n_claimed;		/* number of bits in claimed */
	struct e4l_names *names;
	int root_fd;			/* locked, unless other_run is true */
	uid_t uid;			/* user ID of the process */
	bool other_run;			/* another run has locked root_fd */
	struct e4l_ways ways;
	bool joins;			/* the kernel can join extents */
};

/*
 * Sets *@runs to the unwritten runs that may be zeroed, and *@gain to the
 * number of extents that zeroing these runs would save.  The caller frees
 * *@runs.
 */
errcode_t e4l_online_runs(const struct e4l_online *o, uint64_t size,
			  const struct e4l_extent *ex, size_t n_ex,
			  struct e4l_zero_run **runs, size_t *n, uint64_t *gain);

/* The callback may_move() in struct e4l_plan_options of an online plan. */
bool e4l_online_may_move(ext2_ino_t ino, const struct e4l_extent *ex, size_t n,
			 void *priv);

/* --------------------------------------------------------------- planning.c */

/* Makes an empty plan, to which files are added.  Errors: ENOMEM. */
errcode_t e4l_online_begin_plan(struct e4l_online *o);

/*
 * Reserves free space and makes the plan.  If no file can be improved, does
 * nothing.
 */
errcode_t e4l_online_plan(struct e4l_online *o);
/*
 * Gives the reserved blocks back and reserves free space again.  Returns false
 * if no space can be reserved.
 */
bool e4l_online_reserve_again(struct e4l_online *o);

/* ------------------------------------------------------------------ carry.c */

/* Looks up the paths of the files with excess fragments. */
errcode_t e4l_online_learn_excess(struct e4l_online *o);

/*
 * If @why is not E4L_SKIP_NONE, reports @why as the reason why the run does not
 * save @extents extents of the file.
 */
void e4l_online_skip(struct e4l_online *o, struct e4l_candidate *c,
		     enum e4l_skip why, uint64_t extents);

/*
 * The callback failed() in struct e4l_behind.  If the file was counted as done,
 * corrects the count.
 */
void e4l_online_failed(ext2_ino_t ino, bool put_back, void *priv);

/*
 * Called if the run moves nothing, for the reason @why.  Reports @why for each
 * file with excess fragments.  If a file cannot be opened or mapped, reports
 * the reason for this failure instead.  Errors: ENOMEM, and errors of reading
 * directories.
 */
errcode_t e4l_online_skip_all(struct e4l_online *o, enum e4l_skip why);

/*
 * Carries out the plan, if a plan was made, and joins extents.  Errors: ENOMEM,
 * and errors of reading directories.
 */
errcode_t e4l_online_carry_out(struct e4l_online *o);

#endif
