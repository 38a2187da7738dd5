/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * candidates: which files a repack may change, and how; why it skips the others.
 * Gets the pieces of a scan, and knows no planner.
 */
#ifndef E4L_CANDIDATES_H
#define E4L_CANDIDATES_H

#include "e4layout/apply/run.h"

/* What may be done to a file. */
#define E4L_MAY_PACK	0x01	/* merge its extents, pack its tree */
#define E4L_MAY_ZERO	0x02	/* zero short unwritten extents */
#define E4L_MAY_MOVE	0x04	/* put its fragments together */
#define E4L_MAY_AWAY	0x08	/* move it out of the way of others */
#define E4L_MAY_ASK	0x10	/* e4l_candidates_may_move() before that */

/*
 * What the memory for one file is divided by: the extents, the tree, the steps
 * that move them, and what these free.
 */
#define E4L_CANDIDATE_EXTENT_BYTES 60

struct e4l_waiting;

struct e4l_candidates {
	struct e4l *e;
	struct e4l_repack_run *run;
	/*
	 * Takes the file at hand, with all its extents, which is done when this
	 * returns; @allowed (E4L_MAY_*) may be 0.
	 */
	errcode_t (*offer)(const struct e4l_candidates *c,
			   const struct e4l_piece *p, unsigned int allowed,
			   void *priv);
	void *priv;
	struct e4l_layout layout;	/* of selected files: sums so far */
	bool damaged;			/* something was stepped over */
	/* all of the inode at hand; the scan's, or own */
	const struct e4l_extent *extents;
	size_t n_extents, max_extents;
	const struct e4l_tree_block *tree;
	size_t n_tree, max_tree;
	struct e4l_extent *own_extents;
	struct e4l_tree_block *own_tree;
	bool too_large;			/* it has more than these */
	const struct e4l_file_score *score;
	enum e4l_skip why;		/* it is skipped */
	bool asked;			/* it is no swap file */
	/* inodes that may be swap files: they are read together */
	struct e4l_waiting **waiting;
	size_t n_waiting, waiting_bytes;
	char *scratch;			/* E4L_GATHER_BYTES */
};

errcode_t e4l_candidates_begin(struct e4l_candidates *c, struct e4l *e,
			       struct e4l_repack_run *run);
void e4l_candidates_end(struct e4l_candidates *c);

/* Keeps a piece, as e4l_scan() gives it. */
errcode_t e4l_candidates_gather(struct e4l_candidates *c,
				const struct e4l_piece *p);

/* The last piece of an inode was kept; @score is of all of them. */
errcode_t e4l_candidates_inode(struct e4l_candidates *c,
			       const struct e4l_piece *last,
			       const struct e4l_file_score *score);

/* All inodes were scanned: offers those that wait, and frees the pieces. */
errcode_t e4l_candidates_finish(struct e4l_candidates *c);

/*
 * For a file with E4L_MAY_ASK that is in the way, which was not read while it was
 * scanned: whether it is no swap file.
 */
bool e4l_candidates_may_move(struct e4l_candidates *c, ext2_ino_t ino,
			     const struct e4l_extent *extents, size_t n);

/* ------------------------------------------------------------- waiting.c */

/* The inode at hand, of which all is known: offers it, or skips it. */
errcode_t e4l_candidates_settle(struct e4l_candidates *c,
				const struct e4l_piece *p);

/* The inode at hand may be a swap file: it is settled once that is known. */
errcode_t e4l_candidates_wait(struct e4l_candidates *c,
			      const struct e4l_piece *p);
errcode_t e4l_candidates_settle_all(struct e4l_candidates *c);
void e4l_candidates_forget_waiting(struct e4l_candidates *c);

#endif
