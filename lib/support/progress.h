/* SPDX-License-Identifier: GPL-2.0-or-later */
/* progress: shows a progress bar on stderr, with rate and remaining time. */
#ifndef SUPPORT_PROGRESS_H
#define SUPPORT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "args.h"

/* Size of the buffer for progress_text(). */
#define PROGRESS_LEN 80

struct progress {
	const char *doing; /* label of the bar, or NULL if no bar is shown */
	bool terminal;
	bool shown;
	bool complete;		/* 100 % has been shown */
	struct timespec start, last;
};

/*
 * Starts a bar with the label @doing (static text, one or two words).
 * --progress=never and --quiet show no bar; by default, a bar is shown on a
 * terminal only.  On a terminal, each update replaces the bar; elsewhere, each
 * update prints a line.
 */
void progress_start(struct progress *p, const struct args_common *args,
		    const char *doing);

/*
 * Shows that @done of @total units are done.  @bytes is the number of bytes
 * read or written so far.
 */
void progress_update(struct progress *p, uint64_t done, uint64_t total,
		     uint64_t bytes);

/*
 * Removes the bar from the terminal.  Can be called at any time, also
 * repeatedly.
 */
void progress_end(struct progress *p);

/*
 * Writes the bar to @buf, in at most @width columns; @seconds is the elapsed
 * time.  Parts that do not fit are omitted, the bar first.  Returns @buf.
 */
const char *progress_text(const char *doing, uint64_t done, uint64_t total,
			  uint64_t bytes, double seconds, unsigned int width,
			  char buf[PROGRESS_LEN]);

#endif
