/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "progress.h"
#include "text.h"
#include "units.h"

#define BAR_WIDTH 24		/* maximum columns of the bar */
#define MIN_BAR_WIDTH 5		/* a bar of fewer columns is not drawn */
#define PART_LEN 64
#define RATE_SECONDS 0.5	/* no rate is shown before this time */
/* minimum interval between updates on a terminal */
#define REDRAW_SECONDS 0.1
/* minimum interval between lines if stderr is not a terminal */
#define LINE_SECONDS 1.0
/* longest remaining time in seconds that is shown */
#define MOST_LEFT 1e9

static double seconds_since(const struct timespec *then)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec - then->tv_sec + (now.tv_nsec - then->tv_nsec) / 1e9;
}

/* If @line and @part together fit into @width, appends @part to @line. */
static void add(char line[PROGRESS_LEN], const char *part, unsigned int width)
{
	if (strlen(line) + strlen(part) <= width)
		strcat(line, part);
}

/*
 * Writes a text like " 12 MiB/s" to @buf.  If it is too early for a useful
 * rate, writes an empty text.
 */
static void rate_text(uint64_t bytes, double seconds, char buf[PART_LEN])
{
	char rate[UNITS_LEN];

	*buf = '\0';
	if (seconds >= RATE_SECONDS)
		snprintf(buf, PART_LEN, "  %s/s",
			 units_size(bytes / seconds, rate));
}

static void left_text(double part, double seconds, char buf[PART_LEN])
{
	double left = part > 0 ? seconds * (1 - part) / part + 0.5 : MOST_LEFT;

	if (left < MOST_LEFT)
		snprintf(buf, PART_LEN, "  %u:%02u left",
			 (unsigned int)left / 60, (unsigned int)left % 60);
	else
		snprintf(buf, PART_LEN, "  --:-- left");
}

const char *progress_text(const char *doing, uint64_t done, uint64_t total,
			  uint64_t bytes, double seconds, unsigned int width,
			  char buf[PROGRESS_LEN])
{
	double part = total ? (double)done / total : 1;
	char rate[PART_LEN], left[PART_LEN], bar[BAR_WIDTH + 1];
	char rest[PROGRESS_LEN];
	unsigned int room;

	if (width >= PROGRESS_LEN)
		width = PROGRESS_LEN - 1;
	part = part > 1 ? 1 : part;
	snprintf(buf, PROGRESS_LEN, "%.*s", (int)width, doing);
	snprintf(rest, sizeof(rest), " %3.0f %%", 100 * part);
	room = width - strlen(buf);
	left_text(part, seconds, left);
	rate_text(bytes, seconds, rate);
	if (strlen(rest) + strlen(rate) + strlen(left) <= room)
		strcat(rest, rate);
	add(rest, left, room);
	room = room > strlen(rest) + 3 ? room - strlen(rest) - 3 : 0;
	room = room > BAR_WIDTH ? BAR_WIDTH : room;
	if (room >= MIN_BAR_WIDTH)
		sprintf(buf + strlen(buf), " [%-*s]", (int)room,
			text_bar(part, 1, room, bar));
	add(buf, rest, width);
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

	/*
	 * 100 % is shown without waiting for @pause, so that a short task also
	 * shows its progress once.  Updates after 100 % are ignored.
	 */
	if (!p->doing || p->complete ||
	    (done < total && seconds_since(&p->last) < pause))
		return;
	p->complete = done >= total;
	/*
	 * The last column stays empty, so that the cursor does not move to the
	 * next line.
	 */
	progress_text(p->doing, done, total, bytes, seconds_since(&p->start),
		      text_width(STDERR_FILENO) - 1, buf);
	fprintf(stderr, p->terminal ? "\r%s\033[K" : "%s\n", buf);
	clock_gettime(CLOCK_MONOTONIC, &p->last);
	p->shown = true;
}

void progress_end(struct progress *p)
{
	if (p->shown && p->terminal)
		/* also clears a "^C" after the bar */
		fputs("\r\033[K", stderr);
	p->doing = NULL;
	p->shown = false;
}
