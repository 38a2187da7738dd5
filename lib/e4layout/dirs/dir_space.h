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
	 * Limits for the free space after a rebuild.  @most_runs: highest
	 * number of free extents; 0: no limit.  @least_longest: lowest length
	 * of the largest free extent, in clusters.
	 */
	uint64_t most_runs;
	uint64_t least_longest;
};

/*
 * Compares the free space after @step with the limits of @disk, and sets
 * *@allowed to true if each limit is met.  If a value violates a limit of
 * @disk, but is no worse than in @before, the limit also counts as met.
 * @disk->space must contain neither the runs that @step takes nor the runs that
 * @step frees.
 */
errcode_t e4l_disk_allows(const struct e4l_disk *disk,
			  const struct e4l_outlook *before,
			  const struct e4l_step *step, bool *allowed);

/*
 * Marks the runs that @step frees with e4l_space_give(), so that
 * e4l_space_outlook() treats the runs as free space.
 */
errcode_t e4l_disk_give(const struct e4l_disk *disk,
			const struct e4l_step *step);

#endif
