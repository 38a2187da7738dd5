/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is sound and could lie better. */
#ifndef E4CHECK_LAYOUT_H
#define E4CHECK_LAYOUT_H

#include "check_internal.h"

/* Before and after pass 1: what directories hold. */
errcode_t layout_begin(struct check *ck);
errcode_t layout_end(struct check *ck);

/* Each piece of pass 1. */
errcode_t layout_piece(struct check *ck, const struct e4l_piece *piece);

/* After the last piece of a file, which @scorer has seen all of. */
void layout_judge_file(struct check *ck, const struct e4l_piece *last,
		       struct e4l_scorer *scorer);

/* Judges what tune4fs keeps with the filesystem. */
void layout_judge_tunables(struct check *ck);

#endif
