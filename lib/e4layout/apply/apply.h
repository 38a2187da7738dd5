/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * apply: carries out the steps of a plan on an unmounted filesystem.  A
 * transaction can have many steps.
 */
#ifndef E4L_APPLY_H
#define E4L_APPLY_H

#include "e4layout/journal/quota.h"
#include "step.h"

struct e4l_apply;

/*
 * Returns the geometry of @e's filesystem and the capacity of a journal
 * transaction.  @external is the channel of an external journal, see
 * e4l_journal_open().
 */
struct e4l_geometry e4l_geometry_of(struct e4l *e, io_channel external);

/* Statistics of the committed transactions. */
struct e4l_apply_stats {
	uint64_t steps;
	uint64_t copied_blocks, zeroed_blocks;
	uint64_t transactions;
};

/* All pointers are borrowed until e4l_apply_close(). */
struct e4l_apply_options {
	struct e4l_journal *journal;
	struct e4l_quota *quota; /* NULL if the filesystem has no quotas */
	const struct e4l_geometry *geo;	/* geometry that the planner has used */
	/*
	 * in a transaction of more than TXN_PARTS times this number of blocks,
	 * stop() is called whenever this number of blocks was written
	 */
	uint64_t part_blocks;
	/* Called after @blocks blocks were copied or zeroed.  May be NULL. */
	void (*progress)(uint64_t blocks, void *priv);
	/*
	 * Called only within a transaction, so that @inside is always true.  If
	 * stop() returns true, the transaction is dropped.  @stop may be NULL.
	 */
	bool (*stop)(bool inside, void *priv);
	void *priv;
};
errcode_t e4l_apply_open(struct e4l *e, const struct e4l_apply_options *options,
			 struct e4l_apply **ret);

/*
 * If the running transaction has no space for @step and for @more other
 * journaled blocks, commits the transaction.  After any error except
 * E4L_ET_TXN_FULL, only e4l_apply_close() may be called.
 *
 * Errors: E4L_ET_TXN_FULL: an empty transaction has no space for @step; nothing
 * has changed.  E4L_ET_INTERRUPTED: stop() returned true, and the transaction
 * is dropped.
 */
errcode_t e4l_apply_make_room(struct e4l_apply *a,
			      const struct e4l_step *step, uint32_t more);

/*
 * Returns whether @inode is a regular file, and not an EA inode.  No other
 * metadata depend on the content of such a file.  On an overlay, the content is
 * neither copied nor zeroed.
 */
static inline bool e4l_apply_is_opaque(const struct ext2_inode_large *inode)
{
	return LINUX_S_ISREG(inode->i_mode) &&
	       !(inode->i_flags & EXT4_EA_INODE_FL);
}

/*
 * Adds @step to the running transaction.  If no transaction is running, begins
 * one.  The caller must call e4l_apply_make_room() for @step first.  After an
 * error, only e4l_apply_close() may be called.
 */
errcode_t e4l_apply_step(struct e4l_apply *a, const struct e4l_step *step);

/* The new content of a directory. */
struct e4l_new_dir {
	char *blocks; /* content of all blocks, allocated with malloc(3) */
	unsigned int n; /* number of blocks, which are contiguous on the disk */
	bool indexed;
	/* the new content replaces the old content in the same blocks */
	bool own;
};

/*
 * Like e4l_apply_step(), for a step without moves.  Replaces the content of a
 * directory by dir->blocks, and sets the size and the index flag.
 *
 * If dir->own is true, the new content is journaled in the blocks of the
 * directory.  If dir->own is false, the new content is written to the blocks
 * that the step takes.  Frees dir->blocks, even after an error.
 */
errcode_t e4l_apply_dir(struct e4l_apply *a, const struct e4l_step *step,
			const struct e4l_new_dir *dir);

/*
 * Returns the number of clusters that @step adds to its file.  A negative
 * result is the number of clusters that @step removes.
 */
int64_t e4l_step_grows(ext2_filsys fs, const struct e4l_step *step);

/*
 * Commits the running transaction.  If no transaction is running, does nothing.
 * After an error, only e4l_apply_close() may be called.
 */
errcode_t e4l_apply_commit(struct e4l_apply *a);

void e4l_apply_stats(const struct e4l_apply *a, struct e4l_apply_stats *stats);

/* Drops uncommitted steps and frees @a; NULL is allowed. */
void e4l_apply_close(struct e4l_apply *a);

#endif
