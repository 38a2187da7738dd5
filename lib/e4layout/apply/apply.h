/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * apply: carries out the steps of a plan, in transactions of which many steps
 * share one.  The only code that changes where a file's blocks are.
 */
#ifndef E4L_APPLY_H
#define E4L_APPLY_H

#include "e4layout/journal/quota.h"
#include "step.h"

struct e4l_apply;

/*
 * The filesystem's sizes, and what a transaction of its journal holds.
 * @external: the journal device, or NULL.
 */
struct e4l_geometry e4l_geometry_of(struct e4l *e, io_channel external);

/* What has been done so far, in committed transactions only. */
struct e4l_apply_stats {
	uint64_t steps;
	uint64_t copied_blocks, zeroed_blocks;
	uint64_t transactions;
};

/* All of it is borrowed until e4l_apply_close(). */
struct e4l_apply_options {
	struct e4l_journal *journal;
	struct e4l_quota *quota;	/* or NULL */
	const struct e4l_geometry *geo;	/* that the steps were made for */
	uint64_t part_blocks;			/* and how they were cut */
	/* Hears of blocks that have been copied or zeroed; may be NULL. */
	void (*progress)(uint64_t blocks, void *priv);
	/* As in struct e4l_repack_options, inside transactions only. */
	bool (*stop)(bool inside, void *priv);
	void *priv;
};
errcode_t e4l_apply_open(struct e4l *e, const struct e4l_apply_options *options,
			 struct e4l_apply **ret);

/*
 * Commits the running transaction if @step and @more blocks that it has the
 * journal hold do not fit in, it is of another batch,
 * or there would be much to copy: what was copied in 2 s before, and 256 MiB at
 * most.  E4L_ET_TXN_FULL: it does not fit in a transaction of its own, and
 * nothing has changed.  E4L_ET_INTERRUPTED: stop() had the transaction dropped.
 * After this and any other error e4l_apply_close() is all that is left.
 */
errcode_t e4l_apply_make_room(struct e4l_apply *a,
			      const struct e4l_step *step, uint32_t more);

/*
 * Adds a step, for which room was made, to the running transaction, or begins
 * one.  Errors as "any other"
 * above.
 */
errcode_t e4l_apply_step(struct e4l_apply *a, const struct e4l_step *step);

/* What a directory holds when its blocks are new. */
struct e4l_new_dir {
	char *blocks;		/* by malloc(3) */
	unsigned int n;		/* of them, which are one run on the disk */
	bool indexed;
	bool own;		/* it has them already: the journal holds them */
};

/*
 * As e4l_apply_step(), for a step without moves that gives a directory new
 * blocks, all of which it takes, or keeps if they are its own: @dir is written
 * there, its size follows, and
 * whether it is indexed.  Frees @dir's blocks in any case.
 */
errcode_t e4l_apply_dir(struct e4l_apply *a, const struct e4l_step *step,
			const struct e4l_new_dir *dir);

/*
 * How many clusters more a step leaves its file with.  Data has as many before
 * as after: the difference is the tree's.
 */
int64_t e4l_step_grows(ext2_filsys fs, const struct e4l_step *step);

/* Commits what has been added.  Errors as "any other" above. */
errcode_t e4l_apply_commit(struct e4l_apply *a);

void e4l_apply_stats(const struct e4l_apply *a, struct e4l_apply_stats *stats);

/* Drops what has not been committed and frees @a; NULL is allowed. */
void e4l_apply_close(struct e4l_apply *a);

#endif
