/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * apply: carries out the steps of a plan.  Many steps share one transaction.
 * No other offline code changes where a file's blocks are.
 */
#ifndef E4L_APPLY_H
#define E4L_APPLY_H

#include "e4layout/journal/quota.h"
#include "step.h"

struct e4l_apply;

/*
 * The filesystem's geometry, with the capacity of a journal transaction.
 * @external: the journal device, or NULL.
 */
struct e4l_geometry e4l_geometry_of(struct e4l *e, io_channel external);

/* Counts of committed transactions only. */
struct e4l_apply_stats {
	uint64_t steps;
	uint64_t copied_blocks, zeroed_blocks;
	uint64_t transactions;
};

/* All pointers are borrowed until e4l_apply_close(). */
struct e4l_apply_options {
	struct e4l_journal *journal;
	struct e4l_quota *quota;	/* or NULL */
	const struct e4l_geometry *geo;	/* geometry of the plan */
	uint64_t part_blocks;			/* size limit of the steps */
	/*
	 * Called after @blocks more blocks were copied or zeroed; may be NULL.
	 */
	void (*progress)(uint64_t blocks, void *priv);
	/*
	 * Like stop() of struct e4l_repack_options, with @inside always true.
	 */
	bool (*stop)(bool inside, void *priv);
	void *priv;
};
errcode_t e4l_apply_open(struct e4l *e, const struct e4l_apply_options *options,
			 struct e4l_apply **ret);

/*
 * Commits the running transaction if it does not hold @step and @more blocks
 * (see struct e4l_packer).  E4L_ET_TXN_FULL: no transaction holds the step, and
 * nothing has changed.  E4L_ET_INTERRUPTED: stop() had the transaction dropped.
 * After any error except E4L_ET_TXN_FULL, only e4l_apply_close() may be called.
 */
errcode_t e4l_apply_make_room(struct e4l_apply *a,
			      const struct e4l_step *step, uint32_t more);

/*
 * Adds @step to the running transaction, or begins one.  Call
 * e4l_apply_make_room() for @step first.  After an error, only
 * e4l_apply_close() may be called.
 */
errcode_t e4l_apply_step(struct e4l_apply *a, const struct e4l_step *step);

/* A directory's new content. */
struct e4l_new_dir {
	char *blocks;		/* allocated by malloc(3) */
	unsigned int n;		/* number of blocks, contiguous on the disk */
	bool indexed;
	bool own;		/* journal @blocks in the directory's own blocks */
};

/*
 * Like e4l_apply_step(), for a step without moves that gives a directory new
 * blocks: all blocks that the step takes or, with own set in @dir, blocks that
 * the directory keeps.  Writes the content of @dir and sets the directory's
 * size and index flag.  Frees @dir's blocks in any case.
 */
errcode_t e4l_apply_dir(struct e4l_apply *a, const struct e4l_step *step,
			const struct e4l_new_dir *dir);

/*
 * By how many clusters a step changes its file's allocation.  Only the tree can
 * grow or shrink: the number of data clusters does not change.
 */
int64_t e4l_step_grows(ext2_filsys fs, const struct e4l_step *step);

/*
 * Commits the running transaction.  After an error, only e4l_apply_close() may
 * be called.
 */
errcode_t e4l_apply_commit(struct e4l_apply *a);

void e4l_apply_stats(const struct e4l_apply *a, struct e4l_apply_stats *stats);

/* Drops the steps that are not committed and frees @a; NULL is allowed. */
void e4l_apply_close(struct e4l_apply *a);

#endif
