/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge [OPTION...]: e4check with these options, in one process for many
 * images, so that sanitizers have time for them.  Their names come from
 * standard input, one a line; after what e4check says of each goes a line
 * "exit CODE".
 */
#include "config.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IMAGE_SECONDS	60
#undef main		/* e4check's has another name here */

int e4check_main(int argc, char **argv);

int main(int argc, char **argv)
{
	char **args = calloc(argc + 2, sizeof(*args)), image[PATH_MAX];

	if (!args)
		return 1;
	memcpy(args, argv, argc * sizeof(*args));
	args[argc] = image;
	while (fgets(image, sizeof(image), stdin)) {
		image[strcspn(image, "\n")] = '\0';
		alarm(IMAGE_SECONDS);
		printf("exit %d\n", e4check_main(argc + 1, args));
		alarm(0);
		fflush(stdout);
	}
	free(args);
	return 0;
}
