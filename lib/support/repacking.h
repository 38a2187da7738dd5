/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Progress, signals and time limits of a tool while e4l_repack() works. */
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
	double max_seconds;		/* HUGE_VAL: no limit */
	/* Called with @priv before anything is written; may be NULL. */
	void (*writes)(void *priv);
	void *priv;
	bool writing;
};

/* Returns the seconds since r->start. */
double repacking_seconds(const struct repacking *r);

/* For e4l_repack_callbacks.stop: a signal has arrived, or the time is over. */
bool repacking_stop(const struct repacking *r);

/* For e4l_repack_callbacks.enough: half of the available time is over. */
bool repacking_enough(const struct repacking *r);

/*
 * To be called when planning is over.  Progress is then shown as progress of
 * writing.
 */
void repacking_writes(struct repacking *r);

/*
 * For e4l_repack_callbacks.progress.  A scan can be interrupted at any point.
 * Once writing begins, only stop() ends the work: the end of the last scan must
 * not be interrupted, because that would interrupt the writing too.
 */
void repacking_progress(struct repacking *r, bool writing, uint64_t done,
			uint64_t total);

#endif
