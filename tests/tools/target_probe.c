/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * target_probe read|write|plan TARGET: opens TARGET as a tool does for a report
 * (read), a change (write) or a dry run (plan).  Prints the device of TARGET.
 * Waits for the end of standard input, and closes TARGET.
 */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "support/say.h"
#include "support/target.h"

int main(int argc, char **argv)
{
	const struct target_undo undo = { .none = true };
	struct target t;
	bool ok;

	if (argc != 3)
		return STATUS_USAGE;
	if (!strcmp(argv[1], "write"))
		ok = target_open_change(&t, argv[2], 0, &undo);
	else if (!strcmp(argv[1], "plan"))
		ok = target_open_plan(&t, argv[2], 0, &undo, false);
	else
		ok = target_open_read(&t, argv[2], 0, false);
	if (!ok)
		return STATUS_FAILED;
	printf("device %s\n", t.device);
	if (t.mount_point)
		printf("mounted %s\n", t.mount_point);
	fflush(stdout);
	while (getchar() != EOF)
		;
	return target_close(&t) ? STATUS_DONE : STATUS_FAILED;
}
