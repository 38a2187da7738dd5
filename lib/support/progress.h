/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A progress bar on stderr, with rate and time left. */
#ifndef SUPPORT_PROGRESS_H
#define SUPPORT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "args.h"

/* Room for progress_text(). */
#define PROGRESS_LEN 80

struct progress {
	const char *doing;	/* NULL: shows nothing */
	bool terminal;
	bool shown;
	struct timespec start, last;
};

/*
 * Starts a bar for @doing (static text, one word or two).  As @args say:
 * always, never, or on a terminal only; never when they say quiet.  On a
 * terminal the bar stays on its line; elsewhere each step is a line.
 */
void progress_start(struct progress *p, const struct args_common *args,
		    const char *doing);

/* @done of @total are done, and @bytes were read or written so far. */
void progress_update(struct progress *p, uint64_t done, uint64_t total,
		     uint64_t bytes);

/* Takes the bar off the terminal.  Allowed at any time, more than once. */
void progress_end(struct progress *p);

/*
 * The bar itself, in at most @width columns: pure.  @seconds have passed.  What
 * does not fit is left out, the bar first.  Returns @buf.
 */
const char *progress_text(const char *doing, uint64_t done, uint64_t total,
			  uint64_t bytes, double seconds, unsigned int width,
			  char buf[PROGRESS_LEN]);

#endif
