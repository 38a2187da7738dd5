/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "progress.h"
#include "text.h"
#include "units.h"

#define BAR_WIDTH 24
#define REDRAW_SECONDS 0.1	/* on a terminal */
#define LINE_SECONDS 1.0	/* elsewhere */

static double seconds_since(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - then->tv_sec + (now.tv_nsec - then->tv_nsec) / 1e9;
}

const char *progress_text(const char *doing, uint64_t done, uint64_t total,
			  uint64_t bytes, double seconds,
			  char buf[PROGRESS_LEN])
{
	double part = total ? (double)done / total : 1;
	char bar[BAR_WIDTH + 1], rate[UNITS_LEN], left[UNITS_LEN] = "--:--";
	uint64_t eta;

	if (part > 1)
		part = 1;
	if (done) {
		eta = seconds * (1 - part) / part + 0.5;
		snprintf(left, sizeof(left), "%llu:%02u",
			 (unsigned long long)eta / 60,
			 (unsigned int)(eta % 60));
	}
	units_size(seconds > 0 ? bytes / seconds : 0, rate);
	snprintf(buf, PROGRESS_LEN, "%.16s [%-*s] %3.0f %%  %.10s/s  %.9s left",
		 doing, BAR_WIDTH, text_bar(part, 1, BAR_WIDTH, bar),
		 100 * part, rate, left);
	return buf;
}

void progress_start(struct progress *p, const struct args_common *args,
		    const char *doing)
{
	*p = (struct progress) { .terminal = isatty(STDERR_FILENO) };
	if (!args->quiet && (args->progress == PROGRESS_ALWAYS ||
			     (args->progress == PROGRESS_AUTO && p->terminal)))
		p->doing = doing;
	clock_gettime(CLOCK_MONOTONIC, &p->start);
	p->last = p->start;
}

void progress_update(struct progress *p, uint64_t done, uint64_t total,
		     uint64_t bytes)
{
	double pause = p->terminal ? REDRAW_SECONDS : LINE_SECONDS;
	char buf[PROGRESS_LEN];

	/* the last step always shows, so that short work leaves a trace */
	if (!p->doing || (done < total && seconds_since(&p->last) < pause))
		return;
	progress_text(p->doing, done, total, bytes, seconds_since(&p->start),
		      buf);
	fprintf(stderr, p->terminal ? "\r%-79s" : "%s\n", buf);
	clock_gettime(CLOCK_MONOTONIC, &p->last);
	p->shown = true;
}

void progress_end(struct progress *p)
{
	if (p->shown && p->terminal)
		fputs("\r\033[K", stderr);	/* and a "^C" behind it */
	p->doing = NULL;
	p->shown = false;
}
