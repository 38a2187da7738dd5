/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reports of tune4fs: a table, lines of changes, or JSON. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "e4layout/tunables/tunables.h"
#include "support/json.h"
#include "support/say.h"
#include "support/text.h"
#include "tune4fs.h"

/* ---------------------------------------------------------------- skipped */

static const struct {
	const char *word;	/* name of the reason in JSON */
	bool failed;
} skips[] = {
	[SKIP_UNKNOWN] = { "unknown", false },
	[SKIP_RANGE] = { "out-of-range", true },
	[SKIP_PATCH] = { "needs-patched-kernel", false },
	[SKIP_KERNEL] = { "needs-newer-kernel", false },
	[SKIP_READ_ONLY] = { "read-only", false },
	[SKIP_OPTION] = { "mount-option", false },
	[SKIP_REFUSED] = { "refused", true },
};

/* Returns the reason as text, which is in @buf or static. */
static const char *skip_text(const struct skipped *s, char *buf, size_t size)
{
	const struct e4l_tunable_info *info = s->tunable->info;
	char range[160];

	switch (s->why) {
	case SKIP_UNKNOWN:
		return "stored, but unknown to this version of tune4fs";
	case SKIP_RANGE:
		snprintf(buf, size, "stored, but not applied: out of range (expected %s)",
			 e4l_tunable_range(info, range, sizeof(range)));
		return buf;
	case SKIP_PATCH:
		return "needs a kernel with e4layout's patches";
	case SKIP_KERNEL:
		snprintf(buf, size, "needs Linux %s or newer", info->since);
		return buf;
	case SKIP_READ_ONLY:
		return "read-only in this kernel";
	case SKIP_OPTION:
		return "not applied: overridden by a mount option";
	case SKIP_REFUSED:
		snprintf(buf, size, "the kernel refused the value: %s",
			 strerror(s->error));
		return buf;
	}
	return "";
}

static void say_skipped(const struct report *r)
{
	const struct skipped *s;
	char buf[240];
	size_t i;

	for (i = 0; i < r->n_skipped; i++) {
		s = &r->skipped[i];
		if (!r->cfg->args.quiet || skips[s->why].failed)
			say("%s: %s=%s: %s", r->keeper->name, s->tunable->name,
			    s->tunable->value, skip_text(s, buf, sizeof(buf)));
	}
}

bool report_failed(const struct report *r)
{
	size_t i;

	for (i = 0; i < r->n_skipped; i++)
		if (skips[r->skipped[i].why].failed)
			return true;
	return false;
}

/* ------------------------------------------------------------------- rows */

/*
 * A row of the table of --list: a known tunable, or a stored tunable with an
 * unknown name.
 */
struct row {
	const struct e4l_tunable_info *info;
	const struct e4l_tunable *kept;
	bool runs;
	uint32_t running;
};

struct rows {
	size_t n;
	struct row row[REPORT_MAX];
};

static void add_row(const struct report *r, struct rows *rows,
		    const struct e4l_tunable_info *info,
		    const struct e4l_tunable *kept)
{
	struct row *row = &rows->row[rows->n++];

	*row = (struct row) { .info = info, .kept = kept };
	row->runs = info && !keeper_running(r->keeper, info, &row->running);
}

/*
 * Fills @rows with one row per known tunable, in the order of
 * e4l_tunable_at(), and then one row per stored tunable with an unknown name.
 */
static void collect_rows(const struct report *r, struct rows *rows)
{
	const struct e4l_tunables *t = r->tunables;
	const struct e4l_tunable_info *info;
	size_t i;

	rows->n = 0;
	for (i = 0; (info = e4l_tunable_at(i)); i++)
		add_row(r, rows, info, e4l_tunables_find(t, info->name));
	for (i = 0; i < e4l_tunables_count(t); i++)
		if (!e4l_tunables_at(t, i)->info)
			add_row(r, rows, NULL, e4l_tunables_at(t, i));
}

/*
 * Maximum length of a printed value.  Longer values are cut; only tunables with
 * an unknown name can have longer values.
 */
#define VALUE_WIDTH 16

static const struct table_column columns[] = {
	{ .title = "name", .left = true }, { .title = "stored" },
	{ .title = "running" }, { .title = "default" },
	{ .title = "unit", .left = true }, { .title = "meaning", .left = true },
};

static const char *row_cell(size_t i, unsigned int column,
			    char buf[TABLE_CELL], const void *priv)
{
	const struct row *row = &((const struct rows *)priv)->row[i];
	const struct e4l_tunable_info *info = row->info;

	switch (column) {
	case 0:
		return info ? info->name : row->kept->name;
	case 1:
		if (!row->kept || strlen(row->kept->value) <= VALUE_WIDTH)
			return row->kept ? row->kept->value : "-";
		snprintf(buf, TABLE_CELL, "%.*s...", VALUE_WIDTH - 3,
			 row->kept->value);
		return buf;
	case 2:
		if (!row->runs)
			return "-";
		snprintf(buf, TABLE_CELL, "%u", row->running);
		return buf;
	case 3:
		if (!info || info->default_number == E4L_TUNABLE_AUTO)
			return info ? "auto" : "-";
		snprintf(buf, TABLE_CELL, "%lld",
			 (long long)info->default_number);
		return buf;
	case 4:
		return info && *info->unit ? info->unit : "-";
	default:
		return info ? info->meaning : "unknown to this version of tune4fs";
	}
}

static void print_table(const struct report *r, const struct rows *rows)
{
	const struct e4l_tunable *v;
	char range[160];
	size_t i;

	table_print(stdout, columns, sizeof(columns) / sizeof(*columns),
		    rows->n, row_cell, rows);
	for (i = 0; i < rows->n; i++) {
		v = rows->row[i].kept;
		if (v && v->info && !v->valid)
			say("%s: %s=%s: out of range: expected %s",
			    r->keeper->name, v->name, v->value,
			    e4l_tunable_range(v->info, range, sizeof(range)));
	}
}

static void print_changes(const struct report *r)
{
	const struct change *c;
	size_t i;

	for (i = 0; i < r->n_changes; i++) {
		c = &r->changes[i];
		if (r->cfg->apply_all)
			printf("%s: ", r->keeper->name);
		printf("%s: %s -> %s\n", c->name, c->from ? c->from : "not set",
		       c->to ? c->to : "not set");
	}
	if (!r->n_changes && !r->cfg->apply_all)
		puts("nothing to change");
}

/* ------------------------------------------------------------------- JSON */

static json_t *info_json(const struct e4l_tunable_info *info)
{
	const bool power = info->type == E4L_TUNABLE_POWER_OF_TWO;

	return json_pack("{s:o, s:s, s:I, s:I, s:s, s:o, s:b, s:s}",
			 "default", json_number_or_null(info->default_number !=
				E4L_TUNABLE_AUTO, info->default_number),
			 "type", power ? "zero-or-power-of-two" : "number",
			 "min", (json_int_t)info->min,
			 "max", (json_int_t)info->max,
			 "unit", info->unit,
			 "since", json_text_or_null(info->since),
			 "needs_patched_kernel", !info->since,
			 "meaning", info->meaning);
}

static json_t *row_json(const struct row *row)
{
	const struct e4l_tunable *kept = row->kept;
	json_t *object;

	object = json_pack("{s:s, s:b, s:o, s:o, s:o}",
			   "name", row->info ? row->info->name : kept->name,
			   "known", row->info != NULL,
			   "stored",
			   json_text_or_null(kept ? kept->value : NULL),
			   "persistent",
			   json_number_or_null(kept && kept->valid,
					       kept ? kept->number : 0),
			   "running",
			   json_number_or_null(row->runs, row->running));
	if (!row->info)
		return object;
	return json_checked(object, json_object_update_new(object,
						info_json(row->info)));
}

static json_t *rows_json(const struct rows *rows)
{
	json_t *list = json_array();
	int failed = 0;
	size_t i;

	for (i = 0; i < rows->n; i++)
		failed |= json_array_append_new(list, row_json(&rows->row[i]));
	return json_checked(list, failed);
}

static json_t *changes_json(const struct report *r)
{
	json_t *list = json_array();
	const struct change *c;
	int failed = 0;

	for (c = r->changes; c < r->changes + r->n_changes; c++)
		failed |= json_array_append_new(list,
			json_pack("{s:s, s:s, s:o, s:o}", "name", c->name,
				  "where", r->running ? "kernel" : "filesystem",
				  "from", json_text_or_null(c->from),
				  "to", json_text_or_null(c->to)));
	return json_checked(list, failed);
}

static json_t *skipped_json(const struct report *r)
{
	json_t *list = json_array();
	const struct skipped *s;
	int failed = 0;

	for (s = r->skipped; s < r->skipped + r->n_skipped; s++)
		failed |= json_array_append_new(list,
			json_pack("{s:s, s:s, s:s}", "name", s->tunable->name,
				  "stored", s->tunable->value,
				  "why", skips[s->why].word));
	return json_checked(list, failed);
}

static bool print_json(const struct report *r, const struct rows *rows)
{
	char text[E4L_TUNABLES_MAX + 1];
	json_t *object;

	object = json_pack("{s:s, s:o, s:o, s:b, s:I, s:o, s:o, s:o}",
			   "schema", "tune4fs/1",
			   "target", json_name(r->keeper->name),
			   "mount_point", r->keeper->mount_point ?
				json_name(r->keeper->mount_point) : json_null(),
			   "dry_run", r->cfg->dry_run,
			   "attribute_bytes", (json_int_t)
				e4l_tunables_text(r->tunables, text),
			   "changes", changes_json(r),
			   "not_applied", skipped_json(r),
			   "tunables", rows_json(rows));
	return r->cfg->apply_all ? json_write_line(object) :
				   json_write(object);
}

bool report_print(const struct report *r)
{
	struct rows rows;

	say_skipped(r);
	collect_rows(r, &rows);
	if (r->cfg->args.json)
		return print_json(r, &rows);
	if (r->cfg->list)
		print_table(r, &rows);
	else if (!r->cfg->args.quiet)
		print_changes(r);
	return true;
}
