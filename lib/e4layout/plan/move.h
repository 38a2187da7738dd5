/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* move: how a file is moved, if at all; e4l_plan_make() has the promises. */
#ifndef E4L_MOVE_H
#define E4L_MOVE_H

#include "split.h"

struct e4l_mover {
	struct e4l_moving m;		/* but for m.n_old and m.new */
	blk64_t goal;
	uint64_t long_run;		/* clusters that make one; 0: none is */
	uint64_t in_long;		/* clusters to stay free in those */
	bool only_short;		/* shorter ones alone are tried */
	enum e4l_left_why why;		/* it was not moved; stays if partial */
	bool too_large;			/* no transactions hold it */
	struct e4l_outlook before;	/* e4l_move_file()'s */
	uint32_t lacks;			/* clusters in one run, or 0 */
};

/*
 * Makes the steps that move what can be joined to one fragment or, if @partial,
 * to fewer.  None: there is nothing to gain.
 */
errcode_t e4l_move_file(const struct e4l_disk *disk, struct e4l_mover *mover,
			bool partial, struct e4l_steps *steps);

/*
 * Makes the steps that move a file from where it is to m.new, where the caller
 * has taken what it needs, whatever that gains.  None: no transactions hold it,
 * and the caller has what was taken.
 */
errcode_t e4l_move_to(const struct e4l_disk *disk, struct e4l_mover *mover,
		      struct e4l_steps *steps);

#endif
