/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The request "tunables" shows or changes the tunables of the filesystem.  The
 * request "findings" checks the filesystem.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/check/check.h"
#include "support/say.h"
#include "change.h"

/* Number of findings to list; all findings are counted. */
#define MAX_FINDINGS 1000

/* ----------------------------------------------------------------- tunables */

static json_t *tunables_array(const struct e4l_tunables *t)
{
	json_t *rows = json_array();
	const struct e4l_tunable *x;
	int failed = 0;
	size_t i;

	for (i = 0; i < e4l_tunables_count(t); i++) {
		x = e4l_tunables_at(t, i);
		failed |= json_array_append_new(rows,
			json_pack("{s:s, s:s, s:b, s:s}", "name", x->name,
				  "value", x->value, "valid", x->valid,
				  "meaning", x->info ? x->info->meaning :
						       "unknown to this version"));
	}
	return json_checked(rows, failed);
}

static bool set_tunables(struct shell *s, struct e4l_tunables *t,
			 const char *list)
{
	const char *where = NULL;
	errcode_t err = e4l_tunables_change(t, list, false, &where);

	if (err && where)
		say_tunable(s->name, where, err);
	else if (err)
		shell_fails(s, list, err);
	if (err)
		return false;
	err = e4l_tunables_write(s->e, NULL, t);
	if (err)
		shell_fails_e4l(s, "cannot store the tunables", err);
	return shell_changed(s, !err);
}

bool do_tunables(struct shell *s, int argc, const char *const *argv)
{
	struct e4l_tunables *t;
	errcode_t err;
	json_t *object;
	bool ok;

	if (argc == 2 && !shell_may_change(s))
		return false;
	err = e4l_tunables_read(s->e, &t);
	if (err)
		return shell_fails_e4l(s, "cannot read the tunables", err);
	ok = argc == 1 || set_tunables(s, t, argv[1]);
	object = json_pack("{s:I, s:o}", "count",
			   (json_int_t)e4l_tunables_count(t), "tunables",
			   tunables_array(t));
	e4l_tunables_free(t);
	if (ok)
		return argc == 1 ? shell_show(s, object) :
				   shell_report(s, object);
	json_decref(object);
	return false;
}

/* ----------------------------------------------------------------- findings */

static json_t *findings_array(const struct findings *f)
{
	json_t *rows = json_array();
	char text[160];
	int failed = 0;
	size_t i;

	for (i = 0; i < f->n; i++) {
		const struct finding *x = &f->v[i];
		const struct finding_info *info = &e4l_finding_table[x->id];

		failed |= json_array_append_new(rows,
			json_pack("{s:s, s:s, s:o, s:o, s:o, s:s}",
				  "severity", e4l_severity_names[info->severity],
				  "code", info->code,
				  "inode", json_number_or_null(x->ino, x->ino),
				  "block", json_number_or_null(x->blk, x->blk),
				  "group", json_number_or_null(x->has_group,
							  x->group),
				  "text", e4l_finding_text(x, text,
						       sizeof(text))));
	}
	return json_checked(rows, failed);
}

/*
 * A new pointer @doing means that a new pass begins: each pass has its own
 * static text.
 */
static void on_progress(const char *doing, uint64_t done, uint64_t all,
			void *priv)
{
	struct shell *s = priv;

	if (s->progress.doing != doing) {
		progress_end(&s->progress);
		progress_start(&s->progress, &s->args, doing);
	}
	shell_progress(s, done, all);
}

bool do_findings(struct shell *s, int argc, const char *const *argv)
{
	const struct e4l_check_options opt = {
		.journal = s->target.journal,
		.progress = on_progress, .priv = s,
	};
	struct findings found;
	errcode_t err;
	bool ok;

	e4l_findings_init(&found, MAX_FINDINGS);
	err = e4l_check_run(s->e, &opt, &found);
	progress_end(&s->progress);
	e4l_findings_sort(&found);
	ok = err ? shell_fails_e4l(s, "cannot check", err) :
		   shell_show(s, json_pack("{s:I, s:I, s:I, s:o}", "errors",
			(json_int_t)found.severity[E4L_SEVERITY_ERROR],
			"warnings",
			(json_int_t)found.severity[E4L_SEVERITY_WARNING],
			"layout", (json_int_t)found.severity[E4L_SEVERITY_LAYOUT],
			"findings", findings_array(&found)));
	e4l_findings_free(&found);
	return ok;
}
