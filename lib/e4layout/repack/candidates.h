/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * candidates: for each file of a scan, determines which changes a repack may
 * make, or reports why the repack skips the file.  This code does not depend on
 * the planner.
 */
#ifndef E4L_CANDIDATES_H
#define E4L_CANDIDATES_H

#include "e4layout/apply/run.h"

/* Allowed changes of a file. */
#define E4L_MAY_PACK	0x01	/* merge the file's extents, pack its tree */
#define E4L_MAY_ZERO	0x02	/* zero short unwritten extents */
#define E4L_MAY_MOVE	0x04	/* defragment the file */
#define E4L_MAY_AWAY	0x08	/* relocate the file to help other files */
#define E4L_MAY_ASK	0x10	/* ask e4l_candidates_may_move() before a move */

/*
 * Bytes of memory that a repack needs per extent of a file: for the extent
 * itself, its share of the tree blocks, the steps that move the extent, and the
 * runs of blocks that these steps free.
 */
#define E4L_CANDIDATE_EXTENT_BYTES 60

struct e4l_waiting;

struct e4l_candidates {
	struct e4l *e;
	struct e4l_repack_run *run;
	/*
	 * Called for each file with an extent map, unless the file is skipped
	 * or damaged.  @p is the last piece of the inode.  @c->extents,
	 * @c->tree and @c->score have the extents, the tree blocks and the
	 * score of the whole inode, and are valid only during the call.
	 * @allowed is a combination of E4L_MAY_*, or 0 if the inode must not be
	 * changed.  An error ends the scan.
	 */
	errcode_t (*offer)(const struct e4l_candidates *c,
			   const struct e4l_piece *p, unsigned int allowed,
			   void *priv);
	void *priv;
	struct e4l_layout layout; /* sums over the selected files so far */
	bool damaged;			/* a damaged structure was skipped */
	/*
	 * All extents and tree blocks of the current inode.  If the inode has
	 * one piece, the arrays belong to the scan.  If the inode has several
	 * pieces, the arrays are @own_extents and @own_tree.  If the inode has
	 * waited in @waiting, the arrays are copies.
	 */
	const struct e4l_extent *extents;
	size_t n_extents, max_extents;
	const struct e4l_tree_block *tree;
	size_t n_tree, max_tree;
	struct e4l_extent *own_extents;
	struct e4l_tree_block *own_tree;
	bool too_large;	/* the inode's extents exceed the memory limit */
	const struct e4l_file_score *score;
	enum e4l_skip why;		/* reason to skip the inode */
	/*
	 * the inode was read to detect a swap file; for a swap file, @why is
	 * set
	 */
	bool asked;
	/* possible swap files, which are read together */
	struct e4l_waiting **waiting;
	size_t n_waiting, waiting_bytes;
	char *scratch;			/* E4L_GATHER_BYTES long */
};

errcode_t e4l_candidates_begin(struct e4l_candidates *c, struct e4l *e,
			       struct e4l_repack_run *run);
void e4l_candidates_end(struct e4l_candidates *c);

/*
 * Adds piece @p of an inode to @c.  Call this function for each piece that the
 * scan reports.
 */
errcode_t e4l_candidates_gather(struct e4l_candidates *c,
				const struct e4l_piece *p);

/*
 * Decides about an inode after its last piece: reports the inode as skipped,
 * calls @c->offer, or adds a possible swap file to @c->waiting.  @score is the
 * score of all pieces.
 */
errcode_t e4l_candidates_inode(struct e4l_candidates *c,
			       const struct e4l_piece *last,
			       const struct e4l_file_score *score);

/*
 * Ends the scan: reads the content of the inodes in @c->waiting, and calls
 * e4l_candidates_settle() for each inode.  Frees @c->own_extents and
 * @c->own_tree.  If a damaged structure was skipped, returns E4L_ET_DAMAGED.
 */
errcode_t e4l_candidates_finish(struct e4l_candidates *c);

/*
 * Whether a file with E4L_MAY_ASK may be relocated.  The scan has not read the
 * file.  Unless the user allows swap files to be moved, reads the file, and
 * returns false if the file is a swap file or cannot be read.
 */
bool e4l_candidates_may_move(struct e4l_candidates *c, ext2_ino_t ino,
			     const struct e4l_extent *extents, size_t n);

/* ------------------------------------------------------------- waiting.c */

/*
 * Ends the selection for the current inode: if @c->why is set, reports the
 * inode as skipped; otherwise calls @c->offer.
 */
errcode_t e4l_candidates_settle(struct e4l_candidates *c,
				const struct e4l_piece *p);

/*
 * Stores the current inode, which may be a swap file, until its content is
 * read.  If the inode's extents need too much memory, reads the content
 * immediately.
 */
errcode_t e4l_candidates_wait(struct e4l_candidates *c,
			      const struct e4l_piece *p);
errcode_t e4l_candidates_settle_all(struct e4l_candidates *c);
void e4l_candidates_forget_waiting(struct e4l_candidates *c);

#endif
