/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * forecast: which files could be better, and the plan for them.  What
 * e4l_repack() shares with whoever only wants to know; see <e4layout/repack.h>.
 */
#ifndef E4L_FORECAST_H
#define E4L_FORECAST_H

#include <e4layout/repack.h>
#include "e4layout/base/internal.h"

struct e4l_forecast {
	struct e4l *e;
	const struct e4l_repack_options *opt;
	struct e4l_repack_result *result;
	struct e4l_plan_options plan_opt;
	struct e4l_plan *plan;
	bool damaged;			/* something was stepped over */
	/* all of the inode at hand; the scan's, or own */
	const struct e4l_extent *extents;
	size_t n_extents, max_extents;
	const struct e4l_tree_block *tree;
	size_t n_tree, max_tree;
	struct e4l_extent *own_extents;
	struct e4l_tree_block *own_tree;
	bool too_large;			/* it has more than these: file_bytes */
	const struct e4l_file_score *score;
	const char *why;		/* it is left alone, or NULL */
	/* inodes that may be swap files: they are asked about together */
	struct e4l_waiting **waiting;
	size_t n_waiting, waiting_bytes;
	char *scratch;			/* E4L_GATHER_BYTES */
	ext2_ino_t again;	/* that was read again last */
	/* Takes the file at hand in the planner's place; may be NULL. */
	errcode_t (*offer)(const struct e4l_forecast *f,
			   const struct e4l_piece *p, unsigned int allowed,
			   void *priv);
	void *offer_priv;
};

/* The two halves of e4l_forecast_piece(): the second is for the last piece. */
errcode_t e4l_forecast_gather(struct e4l_forecast *f,
			      const struct e4l_piece *p);
errcode_t e4l_forecast_end(struct e4l_forecast *f, const struct e4l_piece *last,
			   const struct e4l_file_score *score);

/* The inode at hand, of which all is known: plans it, or says why not. */
errcode_t e4l_forecast_end_inode(struct e4l_forecast *f,
				 const struct e4l_piece *p);

/* The inode at hand may be a swap file: it ends once that is known. */
errcode_t e4l_forecast_wait(struct e4l_forecast *f, const struct e4l_piece *p);
/* All inodes have been scanned: ends those that wait. */
errcode_t e4l_forecast_end_all(struct e4l_forecast *f);
void e4l_forecast_forget_waiting(struct e4l_forecast *f);

/* A file is left alone that could have @extents less; 0: it is not. */
void e4l_forecast_skip(struct e4l_forecast *f, ext2_ino_t ino, const char *why,
		       uint64_t extents);

/* The totals when the first @n @steps are done. */
void e4l_forecast_total(struct e4l_forecast *f,
			const struct e4l_step *steps, size_t n);

/* How many files the @n @steps are about.  Errors: ENOMEM. */
errcode_t e4l_forecast_files(const struct e4l_step *steps, size_t n,
			     uint64_t *files);

#endif
