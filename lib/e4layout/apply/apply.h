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
	struct e4l_quota *quota;	/* NULL: no quotas */
	const struct e4l_geometry *geo;	/* geometry of the plan */
	uint64_t part_blocks;	/* size of a part: see TXN_PARTS */
	/* Called after @blocks blocks were copied or zeroed; may be NULL. */
	void (*progress)(uint64_t blocks, void *priv);
	/*
	 * Returns true to drop the running transaction.  @inside is always
	 * true.  May be NULL.
	 */
	bool (*stop)(bool inside, void *priv);
	void *priv;
};
errcode_t e4l_apply_open(struct e4l *e, const struct e4l_apply_options *options,
			 struct e4l_apply **ret);

/*
 * Commits the running transaction if it has no space for @step and for @more
 * journaled blocks that are not part of @step.  Errors: E4L_ET_TXN_FULL: an
 * empty transaction has no space for @step; nothing has changed.
 * E4L_ET_INTERRUPTED: stop() returned true, and the transaction is dropped.
 * After any error except E4L_ET_TXN_FULL, only e4l_apply_close() may be called.
 */
errcode_t e4l_apply_make_room(struct e4l_apply *a,
			      const struct e4l_step *step, uint32_t more);

/*
 * Whether no other metadata depend on the content of @inode: a regular file, and
 * no EA inode.  On an overlay, such content is neither copied nor zeroed.
 */
static inline bool e4l_apply_is_opaque(const struct ext2_inode_large *inode)
{
	return LINUX_S_ISREG(inode->i_mode) &&
	       !(inode->i_flags & EXT4_EA_INODE_FL);
}

/*
 * Adds @step to the running transaction, or to a new transaction.  The caller
 * must call e4l_apply_make_room() for @step first.  After an error, only
 * e4l_apply_close() may be called.
 */
errcode_t e4l_apply_step(struct e4l_apply *a, const struct e4l_step *step);

/* A directory's new content. */
struct e4l_new_dir {
	char *blocks;		/* allocated by malloc(3) */
	unsigned int n;		/* number of blocks, contiguous on the disk */
	bool indexed;
	bool own;		/* the directory keeps its blocks on the disk */
};

/*
 * Like e4l_apply_step(), for a step without moves that replaces the content of
 * a directory by dir->blocks and sets the size and the index flag.  If dir->own
 * is true, the new content is journaled in the blocks of the directory.  If
 * dir->own is false, the new content is written to the blocks that the step
 * takes.  Frees dir->blocks, also after an error.
 */
errcode_t e4l_apply_dir(struct e4l_apply *a, const struct e4l_step *step,
			const struct e4l_new_dir *dir);

/*
 * Returns the number of clusters that @step adds to its file.  A negative
 * result is the number of clusters that @step removes.
 */
int64_t e4l_step_grows(ext2_filsys fs, const struct e4l_step *step);

/*
 * Commits the running transaction.  After an error, only e4l_apply_close() may
 * be called.
 */
errcode_t e4l_apply_commit(struct e4l_apply *a);

void e4l_apply_stats(const struct e4l_apply *a, struct e4l_apply_stats *stats);

/* Drops uncommitted steps and frees @a; NULL is allowed. */
void e4l_apply_close(struct e4l_apply *a);

#endif
