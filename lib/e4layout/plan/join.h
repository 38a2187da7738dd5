/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * join: where fragments come together: see e4l_plan_make() for the promise.
 * Pure, but for the free space that it takes.
 */
#ifndef E4L_JOIN_H
#define E4L_JOIN_H

#include "fragments.h"
#include "space.h"

/* Where a file may go. */
struct e4l_where {
	struct e4l_space *space;
	struct e4l_run near;
	uint64_t below;			/* only shorter runs, the tightest; 0 */
};

/*
 * Finds places for the fragments of logical runs that have several, whole ones
 * or, if @partial, in fewer fragments; takes what they need.  @new, which is
 * empty, covers the same clusters as @old then.
 */
errcode_t e4l_join(const struct e4l_where *where, struct e4l_walk old,
		   bool partial, struct e4l_fragments *new);
/* Makes free again what fragments that are to move from @old to @new took. */
errcode_t e4l_unjoin(struct e4l_space *space, struct e4l_walk old,
		     const struct e4l_fragments *new);

#endif
