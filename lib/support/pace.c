/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "pace.h"

/* Maximum idle time, in seconds, that is credited to later writes. */
#define MADE_UP_FOR 0.5

double pace_wait(struct pace *p, uint64_t bytes, uint64_t bytes_per_second,
		 double now)
{
	if (p->free_at < now - MADE_UP_FOR)
		p->free_at = now - MADE_UP_FOR;
	p->free_at += (double)bytes / (double)bytes_per_second;
	return p->free_at - now;
}
