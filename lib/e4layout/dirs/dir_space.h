/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dir_space: tests whether a planned rebuild of a directory would fragment free
 * space too much.
 */
#ifndef E4L_DIR_SPACE_H
#define E4L_DIR_SPACE_H

#include "e4layout/apply/step.h"
#include "space.h"

struct e4l_disk {
	const struct e4l_geometry *geo;
	struct e4l_space *space;
	/*
	 * @most_runs: highest allowed number of free extents; 0: no limit.
	 * @least_longest: lowest allowed length of the largest free extent, in
	 * clusters.
	 */
	uint64_t most_runs;
	uint64_t least_longest;
};

/*
 * Sets *@allowed to whether the free space after @step meets each limit of
 * @disk.  If @step makes a value no worse than in @before, the limit of that
 * value also counts as met.  @disk->space must contain neither the runs that
 * @step takes nor the runs that @step frees.
 */
errcode_t e4l_disk_allows(const struct e4l_disk *disk,
			  const struct e4l_outlook *before,
			  const struct e4l_step *step, bool *allowed);

/* Counts the runs that @step frees as free in e4l_space_outlook(). */
errcode_t e4l_disk_give(const struct e4l_disk *disk,
			const struct e4l_step *step);

#endif
