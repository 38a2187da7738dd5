/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Defines the main() of a unit test program, which runs one suite. */
#ifndef E4L_UNIT_H
#define E4L_UNIT_H

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Checks @condition like ck_assert(), for tests with millions of checks.
 * ck_assert() is slow, because it writes its position to a file even on
 * success.
 */
#define CHECK(condition) do {					\
	if (!(condition))					\
		ck_abort_msg("failed: %s", #condition);		\
} while (0)

/* Whether e2fsck and e4check find no errors in the filesystem at @path. */
static inline bool is_sound(const char *path)
{
	char cmd[400];

	snprintf(cmd, sizeof(cmd), "{ e2fsck -fn %s && "
		 "${top_builddir:-.}/e2fsck/e4check -q --no-layout %s; } >&2",
		 path, path);
	return !system(cmd);
}

/* Runs @suite; writes the results as TAP to CK_TAP_LOG_FILE_NAME. */
static inline int unit_main(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
