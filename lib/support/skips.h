/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * skips: prints the files, directories and inodes that a repack has skipped, as
 * text and JSON.
 */
#ifndef SUPPORT_SKIPS_H
#define SUPPORT_SKIPS_H

#include <jansson.h>
#include <stdio.h>
#include <e4layout/e4layout.h>

/* A reason for skipping files: its name in JSON, and its text. */
struct skip_text {
	const char *code, *text;
	/* the option that would include the file; NULL: no such option */
	const char *option;
};
extern const struct skip_text skip_texts[E4L_SKIP_REASONS];

/* Name of each enum e4l_skip_kind in JSON: "file", "directory", "inodes". */
extern const char *const skip_kinds[E4L_SKIP_KINDS];

/*
 * Prints "Skipped: 6 files (334 extents): why" for each reason, the largest
 * possible saving first.
 */
void skips_print(FILE *out, const struct e4l_repack_result *result);

/*
 * Returns an array with an object for each reason, the largest possible saving
 * first.  If there is no memory, returns NULL.
 */
json_t *skips_array(const struct e4l_repack_result *result);

#endif
