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

/* All but the last is the caller's, and borrowed. */
struct repacking {
	struct e4l *e;
	const struct args_common *args;
	struct interrupt *interrupt;
	struct progress *progress;
	struct timespec start;
	double max_seconds;		/* after it; HUGE_VAL: no limit */
	/* Called before anything is written, with priv; may be NULL. */
	void (*writes)(void *priv);
	void *priv;
	bool writing;
};

/* Seconds since r->start. */
double repacking_seconds(const struct repacking *r);

/* For e4l_repack_callbacks.stop: there was a signal, or time is over. */
bool repacking_stop(const struct repacking *r);

/* For e4l_repack_callbacks.enough: half of the time that there was is over. */
bool repacking_enough(const struct repacking *r);

/* The planning is over: from now on progress is that of writing. */
void repacking_writes(struct repacking *r);

/*
 * For e4l_repack_callbacks.progress.  A scan can be interrupted anywhere.  Once
 * anything is written, only stop() ends the work: at its end the last of the
 * scan must not be interrupted, lest the writing be.
 */
void repacking_progress(struct repacking *r, bool writing, uint64_t done,
			uint64_t total);

#endif
