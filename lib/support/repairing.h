/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a tool shows and hears while e4l_repack() works, and its defaults. */
#ifndef SUPPORT_REPAIRING_H
#define SUPPORT_REPAIRING_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <e4layout/e4layout.h>
#include "args.h"
#include "interrupt.h"
#include "progress.h"

/* What is done unless somebody asks for less. */
#define REPAIRING_ALL (E4L_PLAN_MERGE | E4L_PLAN_ZEROOUT | E4L_PLAN_MOVE | \
		       E4L_REPACK_DIRS)

/* All but the last is the caller's, and borrowed. */
struct repairing {
	struct e4l *e;
	const struct args_common *args;
	struct interrupt *interrupt;
	struct progress *progress;
	struct timespec start;
	uint64_t max_seconds;		/* after it; UINT64_MAX: no limit */
	double planned_from;		/* seconds after it, when planning began */
	/* Called before anything is written, with priv; may be NULL. */
	void (*writes)(void *priv);
	void *priv;
	bool writing;
};

/* Seconds since r->start. */
double repairing_seconds(const struct repairing *r);

/* For e4l_repack_options.stop: there was a signal, or time is over. */
bool repairing_stop(const struct repairing *r);

/* For e4l_repack_options.enough: half of the time that there was is over. */
bool repairing_enough(const struct repairing *r);

/*
 * For e4l_repack_options.progress.  A scan can be interrupted anywhere.  Once
 * anything is written, only stop() ends the work: at its end the last of the
 * scan must not be interrupted, lest the writing be.
 */
void repairing_progress(struct repairing *r, bool writing, uint64_t done,
			uint64_t total);

/*
 * The longest unwritten run that is zeroed: as the filesystem says, or the
 * kernel's default.  Errors: those of e4l_tunables_get().
 */
errcode_t repairing_zeroout(struct e4l *e, uint64_t *bytes);

/* The same in blocks, as e4l_repack() takes it. */
uint32_t repairing_blocks(const struct e4l *e, uint64_t bytes);

#endif
