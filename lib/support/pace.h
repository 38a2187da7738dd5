/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pace: how long to wait so that no more than so much is written a second. */
#ifndef SUPPORT_PACE_H
#define SUPPORT_PACE_H

#include <stdint.h>

struct pace {
	double free_at;		/* when what was written has had its time */
};

/*
 * @bytes have just been written, at the time @now in seconds: how many seconds
 * to wait, none if that is not positive.  Time in which nothing was written is
 * not made up for by more than half a second.
 */
double pace_wait(struct pace *p, uint64_t bytes, uint64_t bytes_per_second,
		 double now);

#endif
