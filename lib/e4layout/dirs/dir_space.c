/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "dir_space.h"

/* Calls @change for each run of blocks that @step frees. */
static errcode_t each_given(const struct e4l_disk *disk,
			    const struct e4l_step *step,
			    errcode_t (*change)(struct e4l_space *s,
						uint64_t start, uint64_t len))
{
	uint64_t ratio = disk->geo->cluster_blocks;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < step->n_give && !err; i++)
		err = change(disk->space, step->give[i].pblk / ratio,
			     step->give[i].len / ratio);
	return err;
}

errcode_t e4l_disk_allows(const struct e4l_disk *disk,
			  const struct e4l_outlook *before,
			  const struct e4l_step *step, bool *allowed)
{
	struct e4l_outlook now;
	errcode_t err;

	*allowed = true;
	if (!disk->most_runs && !disk->least_longest)
		return 0;
	err = each_given(disk, step, e4l_space_give);
	now = e4l_space_outlook(disk->space);
	if (!err)
		err = each_given(disk, step, e4l_space_take_back);
	*allowed = !err && (!disk->most_runs || now.runs <= disk->most_runs ||
			    now.runs <= before->runs) &&
		   (now.longest >= disk->least_longest ||
		    now.longest >= before->longest);
	return err;
}

errcode_t e4l_disk_give(const struct e4l_disk *disk,
			const struct e4l_step *step)
{
	return each_given(disk, step, e4l_space_give);
}
