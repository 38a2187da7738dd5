/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "way.h"

static bool is_stopped(struct e4l_ways *w)
{
	if (w->cb->stop && w->cb->stop(false, w->cb->priv))
		w->result->stopped = true;
	return e4l_ways_ended(w);
}

static void show(const struct e4l_ways *w)
{
	uint64_t done = w->done_blocks + w->moved_blocks;

	if (w->cb->progress)
		w->cb->progress(true, done < w->all_blocks ? done :
				w->all_blocks, w->all_blocks, w->cb->priv);
}

void e4l_ways_file_done(struct e4l_ways *w, uint64_t blocks)
{
	w->done_blocks += blocks;
	w->moved_blocks = 0;
	show(w);
}

bool e4l_ways_stop(struct e4l_ways *w, uint64_t blocks)
{
	uint64_t bytes = blocks * w->donor.blocksize;

	w->moved_blocks += blocks;
	show(w);
	if (w->pace && bytes) {
		e4l_behind_finish(&w->behind);
		for (; w->pace(bytes, w->cb->priv) && !is_stopped(w); bytes = 0) {
			e4l_donor_has_room(&w->donor);
			show(w);
		}
	}
	return is_stopped(w);
}
