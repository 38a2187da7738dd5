/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "reasons.h"
#include "units.h"

/* The index of @why; reasons beyond the table share the last. */
static unsigned int find(struct reasons *r, const char *why)
{
	unsigned int i;

	for (i = 0; i < r->n; i++)
		if (!strcmp(r->v[i].why, why))
			return i;
	if (i == MAX_REASONS)
		return i - 1;
	r->v[r->n++].why = why;
	return i;
}

unsigned int reasons_add(struct reasons *r, const char *why, uint64_t saved)
{
	unsigned int i = find(r, why);

	r->v[i].count++;
	r->v[i].saved += saved;
	return i;
}

static int most_first(const void *va, const void *vb)
{
	const struct reason *a = *(const struct reason *const *)va;
	const struct reason *b = *(const struct reason *const *)vb;

	if (a->saved != b->saved)
		return a->saved < b->saved ? 1 : -1;
	return strcmp(a->why, b->why);
}

/* Whatever order they were met in. */
static void in_order(const struct reasons *r, const struct reason **v)
{
	unsigned int i;

	for (i = 0; i < r->n; i++)
		v[i] = &r->v[i];
	qsort(v, r->n, sizeof(*v), most_first);
}

void reasons_print(FILE *out, const struct reasons *r, const char *one,
		   const char *many, const char *saved)
{
	char count[2 * UNITS_LEN], save[UNITS_LEN];
	const struct reason *v[MAX_REASONS];
	unsigned int i;

	in_order(r, v);
	for (i = 0; i < r->n; i++)
		fprintf(out, "Left alone: %s, %s %s%s: %s\n",
			units_things(v[i]->count, one, many, count),
			units_count(v[i]->saved, save), saved,
			v[i]->saved == 1 ? "" : "s", v[i]->why);
}

json_t *reasons_array(const struct reasons *r, const char *count,
		      const char *saved)
{
	json_t *array = json_array();
	const struct reason *v[MAX_REASONS];
	unsigned int i;
	int failed = 0;

	in_order(r, v);
	for (i = 0; i < r->n; i++)
		failed |= json_array_append_new(array,
				json_pack("{s:s, s:I, s:I}",
					  "why", v[i]->why, count,
					  (json_int_t)v[i]->count, saved,
					  (json_int_t)v[i]->saved));
	return json_checked(array, failed);
}
