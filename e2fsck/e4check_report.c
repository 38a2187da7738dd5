/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the findings, as text or as JSON Lines (one JSON object per line). */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support/fixes.h"
#include "support/json.h"
#include "support/say.h"
#include "support/text.h"
#include "support/units.h"
#include "e4check.h"


/* -------------------------------------------------------------------- text */

static void print_place(const struct e4check *check,
			const struct finding *what)
{
	const char *path = e4check_path(check, what);

	if (what->ino)
		printf(", inode %u", what->ino);
	if (path) {
		fputs(" (", stdout);
		text_puts(stdout, path);
		putchar(')');
	}
	if (what->has_group)
		printf(", group %u", what->group);
	if (what->blk)
		printf(", block %llu", (unsigned long long)what->blk);
}

static void print_finding(const struct e4check *check,
			  const struct finding *what)
{
	const struct finding_info *info = &e4l_finding_table[what->id];
	char text[FINDING_TEXT_LEN];

	printf("%s: %s", e4l_severity_names[info->severity], info->code);
	print_place(check, what);
	printf(": %s\n", e4l_finding_text(what, text, sizeof(text)));
}

/*
 * Returns the command that fixes @id.  If no command fixes @id, returns NULL.
 * If the filesystem must first be mounted, unmounted or given a valid
 * superblock, also returns NULL.
 */
static const char *fix_of(const struct e4check *check, enum finding_id id)
{
	bool later = check->target.mount_point ||
		     check->found.count[F_JOURNAL_FAST] ||
		     check->found.count[F_SUPER_FIELD];

	return later ? NULL : fix_command(e4l_finding_table[id].fix);
}

static void print_command(const struct e4check *check, const char *what,
			  const char *command)
{
	printf("%s: %s ", what, command);
	text_puts(stdout, check->target.e2fs_words);
	putchar('\n');
}

/* Prints the commands that fix the findings, each command once. */
static void print_fixes(const struct e4check *check)
{
	const char *said[FINDING_IDS], *all = "e4repack";
	size_t n = 0, parts = 0, i, j;

	for (i = 0; i < FINDING_IDS; i++) {
		const char *fix = fix_of(check, i);

		if (!check->found.count[i] || !fix)
			continue;
		for (j = 0; j < n && strcmp(said[j], fix); j++)
			;
		if (j < n)
			continue;
		said[n++] = fix;
		parts += !strncmp(fix, "e4repack", strlen("e4repack"));
		if (fix == fix_command(E4L_FIX_REPACK_INODES))
			all = "e4repack --inodes";
		print_command(check, "to fix", fix);
	}
	if (parts > 1)
		print_command(check, "to run all of these repacks at once",
			      all);
	if (check->target.mount_point && check->found.severity[E4L_SEVERITY_ERROR])
		puts("unmount the filesystem and run e4check again");
}

static void print_summary(const struct e4check *check)
{
	const uint64_t *n = check->found.severity;
	char errors[2 * UNITS_LEN], warnings[2 * UNITS_LEN];
	char layout[2 * UNITS_LEN];

	text_puts(stdout, check->target.name);
	printf(": ");
	if (!check->layout_only)
		printf("%s, %s, ", units_things(n[E4L_SEVERITY_ERROR], "error",
						"errors", errors),
		       units_things(n[E4L_SEVERITY_WARNING], "warning", "warnings",
				    warnings));
	puts(units_things(n[E4L_SEVERITY_LAYOUT], "layout problem",
			  "layout problems", layout));
}

bool e4check_print_text(const struct e4check *check)
{
	const struct findings *f = &check->found;
	size_t i;

	for (i = 0; i < f->n; i++)
		print_finding(check, &f->v[i]);
	if (!check->args.quiet) {
		print_fixes(check);
		print_summary(check);
	}
	return true;
}

/* -------------------------------------------------------------------- JSON */

static json_t *finding_object(const struct e4check *check,
			      const struct finding *what)
{
	const struct finding_info *info = &e4l_finding_table[what->id];
	const char *path = e4check_path(check, what);
	char text[FINDING_TEXT_LEN];

	return json_pack("{s:s, s:o, s:s, s:s, s:o, s:o, s:o, s:o, s:s, s:o, s:o}",
			 "schema", "e4check/1",
			 "target", json_name(check->target.name),
			 "code", info->code,
			 "severity", e4l_severity_names[info->severity],
			 "inode", json_number_or_null(what->ino, what->ino),
			 "path", path ? json_name(path) : json_null(),
			 "block", json_number_or_null(what->blk, what->blk),
			 "group", json_number_or_null(what->has_group,
						      what->group),
			 "text", e4l_finding_text(what, text, sizeof(text)),
			 "peer", json_text_or_null(info->peer),
			 "fix", json_text_or_null(fix_of(check, what->id)));
}

bool e4check_print_json(const struct e4check *check)
{
	const struct findings *f = &check->found;
	size_t i;

	for (i = 0; i < f->n; i++)
		if (!json_write_line(finding_object(check, &f->v[i])))
			return false;
	return true;
}
