/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judge [OPTION...]: runs a tool with these options for many images in one
 * process, which is fast enough for the whole corpus and for sanitizers.  Reads
 * the names of the images from standard input, one per line.  Each name
 * replaces "{}" in the options, or follows the options.  After the tool's
 * output, prints a line "exit CODE", with " written" if the image was written
 * to.
 */
#include "config.h"
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define IMAGE_SECONDS	60
#define LONG_AGO	1

/*
 * With --wrap=main, the program starts in __wrap_main(), and the tool's main()
 * is called __real_main().
 */
int __wrap_main(int argc, char **argv);
int __real_main(int argc, char **argv);

/* Disables the waits of multiple mount protection. */
unsigned int sleep(unsigned int seconds)
{
	return 0;
}

/*
 * Returns @arg with @image in place of "{}"; the caller frees the text.  If
 * @arg does not contain "{}", returns NULL.
 */
static char *put_in(const char *arg, const char *image)
{
	const char *at = strstr(arg, "{}");
	char *text = NULL;

	if (at && asprintf(&text, "%.*s%s%s", (int)(at - arg), arg, image,
			   at + 2) < 0)
		abort();
	return text;
}

/* Sets an old modification time, which a write changes. */
static void make_old(const char *image)
{
	const struct timespec old[2] = {
		{ .tv_sec = LONG_AGO }, { .tv_sec = LONG_AGO },
	};

	if (utimensat(AT_FDCWD, image, old, 0))
		perror(image);
}

static bool is_new(const char *image)
{
	struct stat st;

	return stat(image, &st) || st.st_mtim.tv_sec != LONG_AGO;
}

static int judge(int argc, char **argv, char *image)
{
	char **args = calloc(argc + 2, sizeof(*args));
	char **made = calloc(argc, sizeof(*made));
	bool named = false;
	int i, code;

	if (!args || !made)
		abort();
	for (i = 0; i < argc; i++) {
		made[i] = put_in(argv[i], image);
		args[i] = made[i] ? made[i] : argv[i];
		named |= made[i] != NULL;
	}
	if (!named)
		args[argc] = image;
	optind = 0;	/* restarts getopt(3) */
	code = __real_main(argc + !named, args);
	for (i = 0; i < argc; i++)
		free(made[i]);
	free(made);
	free(args);
	return code;
}

int __wrap_main(int argc, char **argv)
{
	char image[PATH_MAX];
	int code;

	while (fgets(image, sizeof(image), stdin)) {
		image[strcspn(image, "\n")] = '\0';
		make_old(image);
		alarm(IMAGE_SECONDS);
		code = judge(argc, argv, image);
		alarm(0);
		printf("exit %d%s\n", code, is_new(image) ? " written" : "");
		fflush(stdout);
	}
	return 0;
}
