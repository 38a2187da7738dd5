/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "pace.h"

/* maximum idle time that reduces the wait of later writes, in seconds */
#define MADE_UP_FOR 0.5

double pace_wait(struct pace *p, uint64_t bytes, uint64_t bytes_per_second,
		 double now)
{
	if (p->free_at < now - MADE_UP_FOR)
		p->free_at = now - MADE_UP_FOR;
	p->free_at += (double)bytes / (double)bytes_per_second;
	return p->free_at - now;
}
