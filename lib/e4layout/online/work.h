/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* work: the state that planning.c, carry.c and online.c share. */
#ifndef E4L_ONLINE_WORK_H
#define E4L_ONLINE_WORK_H

#include <e4layout/dirs.h>
#include <e4layout/online.h>
#include "e4layout/plan/plan.h"
#include "e4layout/repack/candidates.h"
#include "program.h"
#include "way.h"

struct e4l_candidate {
	ext2_ino_t ino; /* must be first, for e4l_u32_cmp() */
	uint32_t generation;
	/*
	 * number of extents that moves (@moves) and joins (@joins) could still
	 * save
	 */
	uint32_t moves, joins;
	uint32_t left; /* number of planned moves that are not finished */
	/* layout of the file at the time of the scan; @runs: logical runs */
	uint32_t extents, fragments, runs, tree_blocks;
	bool opened;			/* the run has opened the file */
	bool done;
	bool told; /* a reason to skip the file has been reported */
	bool failed;			/* a move or join has failed */
	bool later;	/* finish_later() will move the file */
};

struct e4l_online {
	struct e4l *e;
	struct e4l_repack_run run;
	struct e4l_candidates candidates;
	/* scores the inode that the scan has reached */
	struct e4l_scorer scorer;
	struct e4l_programs programs;
	/* marks files with an execute permission */
	ext2fs_inode_bitmap executable;
	unsigned char *block;		/* buffer for one block */
	/* the files to improve, sorted by inode number */
	struct e4l_candidate *v;
	size_t n;
	uint64_t excess; /* sum of the excess fragments of all files */
	/* number of blocks of all files with excess fragments */
	uint64_t excess_blocks;
	struct e4l_plan *plan;
	/* one bit per block: the block belongs to a file of the plan */
	uint64_t *claimed;
	uint32_t n_claimed;		/* number of bits in @claimed */
	struct e4l_names *names;
	/* descriptor of the root directory, locked unless other_run is true */
	int root_fd;
	uid_t uid;			/* user ID of the process */
	bool other_run;			/* another run has locked root_fd */
	struct e4l_ways ways;
	bool joins; /* the kernel supports EXT4_IOC_JOIN_EXTENTS */
};

/*
 * Sets *@runs to the unwritten runs of a file that may be zeroed.  Sets *@gain
 * to the number of extents that zeroing the runs would save.  The caller frees
 * *@runs.
 */
errcode_t e4l_online_runs(const struct e4l_online *o, uint64_t size,
			  const struct e4l_extent *ex, size_t n_ex,
			  struct e4l_zero_run **runs, size_t *n, uint64_t *gain);

/* Implements may_move() of struct e4l_plan_options for a mounted filesystem. */
bool e4l_online_may_move(ext2_ino_t ino, const struct e4l_extent *ex, size_t n,
			 void *priv);

/* --------------------------------------------------------------- planning.c */

/* Creates a plan that has no files and no free space yet.  Errors: ENOMEM. */
errcode_t e4l_online_begin_plan(struct e4l_online *o);

/*
 * Reserves free space and makes the plan.  If no file can be improved, and free
 * space is not to be consolidated, does nothing.  If no space can be reserved,
 * reports all fragmented files as skipped.
 */
errcode_t e4l_online_plan(struct e4l_online *o);
/*
 * Gives the reserved blocks back and reserves free space again.  If no space
 * can be reserved, returns false.
 */
bool e4l_online_reserve_again(struct e4l_online *o);

/* ------------------------------------------------------------------ carry.c */

/* Looks up the paths of the files with excess fragments. */
errcode_t e4l_online_learn_excess(struct e4l_online *o);

/*
 * If @why is not E4L_SKIP_NONE, reports that the run does not save @extents
 * extents of the file, for the reason @why.
 */
void e4l_online_skip(struct e4l_online *o, struct e4l_candidate *c,
		     enum e4l_skip why, uint64_t extents);

/*
 * Reports that the data of a moved part of file @ino could not be written.
 * Implements failed() of struct e4l_behind.  @put_back is true if the part has
 * its old physical blocks again.  If the file was counted as done, corrects the
 * count.
 */
void e4l_online_failed(ext2_ino_t ino, bool put_back, void *priv);

/*
 * Reports the reason @why for each file with excess fragments.  Call this
 * function if the run moves nothing.  If a file cannot be opened or mapped,
 * reports the reason for this failure instead of @why.  Errors: ENOMEM, and
 * errors of reading directories.
 */
errcode_t e4l_online_skip_all(struct e4l_online *o, enum e4l_skip why);

/*
 * Carries out the moves of the plan, and then joins extents.  The plan may be
 * empty.  Errors: ENOMEM, and errors of reading directories.
 */
errcode_t e4l_online_carry_out(struct e4l_online *o);

#endif
