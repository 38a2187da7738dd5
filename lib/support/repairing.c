/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "repairing.h"

#define DEFAULT_ZEROOUT_KB 32	/* the kernel's */

double repairing_seconds(const struct repairing *r)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - r->start.tv_sec +
	       (now.tv_nsec - r->start.tv_nsec) / 1e9;
}

bool repairing_stop(const struct repairing *r)
{
	return interrupt_heard(r->interrupt) ||
	       repairing_seconds(r) >= r->max_seconds;
}

bool repairing_enough(const struct repairing *r)
{
	return repairing_seconds(r) >= (r->planned_from + r->max_seconds) / 2;
}

static void begin_writing(struct repairing *r)
{
	if (r->writes)
		r->writes(r->priv);
	progress_end(r->progress);
	progress_start(r->progress, r->args, "repairing");
	r->writing = true;
}

void repairing_progress(struct repairing *r, bool writing, uint64_t done,
			uint64_t total)
{
	struct e4l_io_stats io;

	if (writing && !r->writing)
		begin_writing(r);
	e4l_get_io_stats(r->e, &io);
	progress_update(r->progress, done, total,
			writing ? done * e4l_fs(r->e)->blocksize : io.bytes);
	if (!writing && done < total && repairing_stop(r))
		e4l_interrupt(r->e);
}

errcode_t repairing_zeroout(struct e4l *e, uint64_t *bytes)
{
	uint32_t kb = DEFAULT_ZEROOUT_KB;
	errcode_t err = e4l_tunables_get(e, "extent_max_zeroout_kb", &kb);

	*bytes = (uint64_t)kb * 1024;
	return err;
}

uint32_t repairing_blocks(const struct e4l *e, uint64_t bytes)
{
	uint64_t blocks = bytes / e4l_fs(e)->blocksize;

	return blocks < UINT32_MAX ? blocks : UINT32_MAX;
}
