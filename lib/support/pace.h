/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pace: limits a rate of writing by waiting. */
#ifndef SUPPORT_PACE_H
#define SUPPORT_PACE_H

#include <stdint.h>

struct pace {
	double free_at;		/* time at which the next write may begin */
};

/*
 * Returns how many seconds to wait after @bytes were written at time @now (in
 * seconds), so that at most @bytes_per_second bytes are written each second; 0
 * or less: do not wait.  Idle time is credited for at most half a second.
 */
double pace_wait(struct pace *p, uint64_t bytes, uint64_t bytes_per_second,
		 double now);

#endif
