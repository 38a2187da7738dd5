/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * repacking: handles progress, signals and time limits while a tool runs
 * e4l_repack().
 */
#ifndef SUPPORT_REPACKING_H
#define SUPPORT_REPACKING_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <e4layout/e4layout.h>
#include "args.h"
#include "interrupt.h"
#include "progress.h"

/* The caller sets all members except @writing.  All pointers are borrowed. */
struct repacking {
	struct e4l *e;
	const struct args_common *args;
	struct interrupt *interrupt;
	struct progress *progress;
	struct timespec start;
	double max_seconds;		/* HUGE_VAL for no limit */
	/* Called with @priv before anything is written; may be NULL. */
	void (*writes)(void *priv);
	void *priv;
	bool writing;
};

/* Returns the seconds that have passed since r->start. */
double repacking_seconds(const struct repacking *r);

/*
 * Implements e4l_repack_callbacks.stop: returns whether a signal has arrived or
 * the time limit is reached.
 */
bool repacking_stop(const struct repacking *r);

/*
 * Implements e4l_repack_callbacks.enough: returns whether half of the time
 * limit has passed.
 */
bool repacking_enough(const struct repacking *r);

/*
 * Call this function when planning ends and writing begins.  The progress bar
 * then begins again at 0, and shows the written blocks.
 */
void repacking_writes(struct repacking *r);

/*
 * Implements e4l_repack_callbacks.progress.  If a signal has arrived or the
 * time limit is reached, interrupts an unfinished scan.  After the scan, an
 * interrupt would end the writing that follows.  While e4l_repack() writes,
 * only e4l_repack_callbacks.stop ends its work.
 */
void repacking_progress(struct repacking *r, bool writing, uint64_t done,
			uint64_t total);

#endif
