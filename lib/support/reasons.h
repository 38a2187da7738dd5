/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why files or directories are left alone, and how many for each reason. */
#ifndef SUPPORT_REASONS_H
#define SUPPORT_REASONS_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* Why, how many files or directories, and what these could save. */
struct reason {
	const char *why;		/* static text */
	uint64_t count;
	uint64_t saved;			/* extents, or blocks */
};
#define MAX_REASONS 32
struct reasons {
	struct reason v[MAX_REASONS];
	unsigned int n;
};

/* Adds one more file or directory, and returns the index of @why. */
unsigned int reasons_add(struct reasons *r, const char *why, uint64_t saved);

/*
 * Prints a line for each reason, that which could save most first: @one or @many,
 * for what is counted, and a word for one of what they could save.
 */
void reasons_print(FILE *out, const struct reasons *r, const char *one,
		   const char *many, const char *saved);

/*
 * An array of objects in the same order; keys say what is counted and saved.
 * NULL: no memory.
 */
json_t *reasons_array(const struct reasons *r, const char *count,
		      const char *saved);

#endif
