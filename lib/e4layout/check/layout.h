/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* layout: findings about the layout of a sound filesystem. */
#ifndef E4L_CHECK_LAYOUT_H
#define E4L_CHECK_LAYOUT_H

#include "check_internal.h"
#include "e4layout/read/tally.h"

/*
 * Initializes @t, which collects directory blocks in pass 2 and reports layout
 * problems of directories.
 */
errcode_t e4l_layout_tally(struct check *ck, struct e4l_tally *t);

/*
 * Checks the layout of a file after its last piece.  All pieces must have been
 * added to @scorer.
 */
void e4l_layout_judge_file(struct check *ck, const struct e4l_piece *last,
			   struct e4l_scorer *scorer);

/* Checks the tunables that are stored in the filesystem. */
void e4l_layout_judge_tunables(struct check *ck);

#endif
