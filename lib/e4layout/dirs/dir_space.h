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
	 * highest allowed number of free extents (0: no limit), and lowest
	 * allowed length of the largest free extent
	 */
	uint64_t most_runs;
	uint64_t least_longest;
};

/*
 * *@allowed: the free space after @step is within the limits of @disk, or is no
 * worse than @before.  @disk->space must lack the runs that @step takes, and
 * must not yet have the runs that @step frees.
 */
errcode_t e4l_disk_allows(const struct e4l_disk *disk,
			  const struct e4l_outlook *before,
			  const struct e4l_step *step, bool *allowed);

/* Counts the runs that @step frees as free in e4l_space_outlook(). */
errcode_t e4l_disk_give(const struct e4l_disk *disk,
			const struct e4l_step *step);

#endif
