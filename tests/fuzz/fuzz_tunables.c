/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: parsing any bytes is safe.  If a set of tunables is accepted,
 * parsing the text of the set results in an equal set.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <e4layout/e4layout.h>
#include "e4layout/tunables/tunables.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_entries(const struct e4l_tunables *t)
{
	const struct e4l_tunable *v, *prev = NULL;
	size_t i;

	for (i = 0; i < e4l_tunables_count(t); i++, prev = v) {
		v = e4l_tunables_at(t, i);
		must(e4l_tunables_find(t, v->name) == v);
		must(!prev || strcmp(prev->name, v->name) < 0);
		must(!v->valid || v->info);
		must(!strchr(v->name, '/') && *v->value);
	}
}

/*
 * Applies the input, as a list of changes, to @t, which was parsed from the
 * input.
 */
static void check_change(struct e4l_tunables *t, const uint8_t *data,
			 size_t size)
{
	char *spec = strndup((const char *)data, size);
	char text[E4L_TUNABLES_MAX + 1];
	const char *where = NULL;
	errcode_t err;

	must(spec != NULL);
	err = e4l_tunables_change(t, spec, true, &where);
	must(!err || (where >= spec && where <= spec + strlen(spec)));
	must(e4l_tunables_text(t, text) <= E4L_TUNABLES_MAX);
	check_entries(t);
	free(spec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[E4L_TUNABLES_MAX + 1], again[E4L_TUNABLES_MAX + 1];
	struct e4l_tunables *t, *u;
	size_t len;

	if (e4l_tunables_parse(data, size, &t)) {
		must(!t);
		return 0;
	}
	check_entries(t);
	len = e4l_tunables_text(t, text);
	must(len <= size);
	must(!e4l_tunables_parse(text, len, &u));
	must(e4l_tunables_text(u, again) == len && !strcmp(text, again));
	check_change(u, data, size);
	e4l_tunables_free(t);
	e4l_tunables_free(u);
	return 0;
}
