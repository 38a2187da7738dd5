/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "repacking.h"
#include "e4layout/base/io_stats.h"

double repacking_seconds(const struct repacking *r)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - r->start.tv_sec +
	       (now.tv_nsec - r->start.tv_nsec) / 1e9;
}

bool repacking_stop(const struct repacking *r)
{
	return interrupt_heard(r->interrupt) ||
	       repacking_seconds(r) >= r->max_seconds;
}

bool repacking_enough(const struct repacking *r)
{
	return repacking_seconds(r) >= r->max_seconds / 2;
}

void repacking_writes(struct repacking *r)
{
	if (r->writing)
		return;
	if (r->writes)
		r->writes(r->priv);
	progress_end(r->progress);
	progress_start(r->progress, r->args, "repacking");
	r->writing = true;
}

void repacking_progress(struct repacking *r, bool writing, uint64_t done,
			uint64_t total)
{
	struct e4l_io_stats io;

	if (writing)
		repacking_writes(r);
	e4l_get_io_stats(r->e, &io);
	progress_update(r->progress, done, total,
			writing ? done * e4l_fs(r->e)->blocksize : io.bytes);
	if (!writing && done < total && repacking_stop(r))
		e4l_interrupt(r->e);
}
