/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dir_space: free space while directories get new places. */
#ifndef E4L_DIR_SPACE_H
#define E4L_DIR_SPACE_H

#include "e4layout/apply/step.h"
#include "space.h"

struct e4l_disk {
	const struct e4l_geometry *geo;
	struct e4l_space *space;
	/* Free space stays in as many extents at most (0: any), and one as long: */
	uint64_t most_runs;
	uint64_t least_longest;
};

/*
 * Whether free space, which was like @before, may be as it is once @step, of which
 * what it takes is taken, gives what it gives: within the bounds, or no further from
 * them than before.
 */
errcode_t e4l_disk_allows(const struct e4l_disk *disk,
			  const struct e4l_outlook *before,
			  const struct e4l_step *step, bool *allowed);

/* Gives the free space what @step gives. */
errcode_t e4l_disk_give(const struct e4l_disk *disk,
			const struct e4l_step *step);

#endif
