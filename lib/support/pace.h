/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pace: limits the rate of writes. */
#ifndef SUPPORT_PACE_H
#define SUPPORT_PACE_H

#include <stdint.h>

struct pace {
	/* time in seconds at which the next write may begin */
	double free_at;
};

/*
 * Call this function at time @now (in seconds), after writing @bytes.  Returns
 * the number of seconds to wait before the next write, to write at most
 * @bytes_per_second bytes each second.  If the result is 0 or less, do not
 * wait.  After an idle time, as many bytes as the rate permits in half a second
 * need no wait.
 */
double pace_wait(struct pace *p, uint64_t bytes, uint64_t bytes_per_second,
		 double now);

#endif
