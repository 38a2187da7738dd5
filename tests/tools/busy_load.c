/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For LD_PRELOAD: getloadavg() reports a high load average at first, and a load
 * average of 0 from the 31st call on.
 */
#include <stdlib.h>

int getloadavg(double load[], int n)
{
	static int calls;
	int i;

	for (i = 0; i < n; i++)
		load[i] = calls < 30 ? 4096.25 : 0;
	calls++;
	return n;
}
