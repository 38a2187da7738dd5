/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dir_space: free space while directories are rebuilt. */
#ifndef E4L_DIR_SPACE_H
#define E4L_DIR_SPACE_H

#include "e4layout/apply/step.h"
#include "space.h"

struct e4l_disk {
	const struct e4l_geometry *geo;
	struct e4l_space *space;
	/*
	 * limits on the number of free extents (0: none) and on the longest
	 * free extent
	 */
	uint64_t most_runs;
	uint64_t least_longest;
};

/*
 * Whether free space may be as it is after @step, whose taken runs are already
 * taken and whose given runs are not yet free: the result is within the limits
 * of @disk, or no further from the limits than @before.
 */
errcode_t e4l_disk_allows(const struct e4l_disk *disk,
			  const struct e4l_outlook *before,
			  const struct e4l_step *step, bool *allowed);

/* Gives the runs that @step gives to free space. */
errcode_t e4l_disk_give(const struct e4l_disk *disk,
			const struct e4l_step *step);

#endif
