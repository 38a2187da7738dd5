/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * room: where no free run holds what a file needs, others are moved out of its
 * way; e4l_plan_make() has the promises.
 */
#ifndef E4L_ROOM_H
#define E4L_ROOM_H

#include "evict.h"

struct e4l_room {
	struct e4l_movables *movables;
	uint64_t free_runs;		/* there may be so many afterwards */
	/* since e4l_room_begin(), in clusters: */
	uint64_t no_window;		/* none so long is any good; or 0 */
	enum e4l_left_why no_window_why;
	uint64_t found_len;		/* what @found are for, or 0 */
	struct e4l_windows found;
	struct e4l_plan_room made;
};

/* The draft is another than before: what can be moved is looked up anew. */
errcode_t e4l_room_begin(struct e4l_room *r, struct e4l_draft *d);
/*
 * Makes room for the logical runs of the draft's @file that are in several
 * fragments, and moves them there; pays for it from *@budget, in blocks.  Sets
 * why if something is left.
 */
errcode_t e4l_room_make(struct e4l_room *r, struct e4l_draft *d, size_t file,
			uint64_t *budget, bool *made);

#endif
