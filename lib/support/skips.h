/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a repack skips, as texts and in JSON. */
#ifndef SUPPORT_SKIPS_H
#define SUPPORT_SKIPS_H

#include <jansson.h>
#include <stdio.h>
#include <e4layout/e4layout.h>

/* A reason: its name in JSON, and what people read. */
struct skip_text {
	const char *code, *text;
	const char *option;	/* that would change it, or NULL */
};
extern const struct skip_text skip_texts[E4L_SKIP_REASONS];

/* "file", "directory" or "inodes", in JSON. */
extern const char *const skip_kinds[E4L_SKIP_KINDS];

/*
 * Prints "Skipped: 6 files (334 extents): why" for each reason, what could save
 * most first.
 */
void skips_print(FILE *out, const struct e4l_repack_result *result);

/* An array of objects in the same order; NULL: no memory. */
json_t *skips_array(const struct e4l_repack_result *result);

#endif
