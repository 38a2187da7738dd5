/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report, for people and as the object e4repack/1 (doc/schema). */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support/json.h"
#include "support/json_layout.h"
#include "support/map_text.h"
#include "support/text.h"
#include "support/undo_guard.h"
#include "support/units.h"
#include "e4repack.h"

/* Numbers as text; what they return lives as long as the caller's block. */
#define NUM(n) units_count(n, (char[UNITS_LEN]){ 0 })
#define THINGS(n, one, many) \
	units_things(n, one, many, (char[2 * UNITS_LEN]){ 0 })
#define SIZE(n) units_size(n, (char[UNITS_LEN]){ 0 })

/* --------------------------------------------------------------------- text */

/* Whether some files are only moved out of the way. */
static bool moves_away(const struct e4l_repack_result *result)
{
	return result->room_runs || result->zones;
}

/* The words of r->only. */
static void print_only(const struct e4repack *r)
{
	const char *comma = "";
	unsigned int i;

	for (i = 0; e4repack_only_words[i]; i++)
		if (r->only >> i & 1) {
			printf("%s%s", comma, e4repack_only_words[i]);
			comma = ",";
		}
}

static void print_heading(const struct e4repack *r)
{
	if (!r->all)
		return;
	printf("%sPart %u: --only=", r->parts_done ? "\n" : "",
	       r->parts_done + 1);
	print_only(r);
	putchar('\n');
}

static bool has_plan(const struct e4repack *r)
{
	return r->result.files_planned || r->dirs.dirs_planned ||
	       r->inodes.dirs_planned;
}

/* To leave something alone. */
static bool has_reasons(const struct e4repack *r)
{
	return r->n_skipped || r->dir_reasons.n || r->inode_reasons.n;
}

static void print_head(const struct e4repack *r)
{
	const struct e4l_repack_result *result = &r->result;

	text_puts(stdout, r->target.name);
	fputs(": ", stdout);
	if (!has_plan(r))
		printf("%s\n", e4repack_is_stopped(r) ?
		       "stopped before there was a plan" : has_reasons(r) ?
		       "nothing can be done as things are" :
		       "there is nothing to repair");
	else if (r->dry_run)
		printf("the plan; nothing was changed\n");
	else if (r->online)
		printf("%s of %s repaired while mounted, %.1f s\n",
		       NUM(result->files_done),
		       THINGS(result->files_planned, "file", "files"),
		       r->seconds);
	else if (!result->files_planned && !r->dirs.dirs_planned)
		printf("%s of %s regrouped in %s, %.1f s\n",
		       NUM(r->inodes.dirs_done),
		       THINGS(r->inodes.dirs_planned, "directory",
			      "directories"),
		       THINGS(r->inodes.transactions, "transaction",
			      "transactions"), r->seconds);
	else if (!result->files_planned)
		printf("%s of %s built anew in %s, %.1f s\n",
		       NUM(r->dirs.dirs_done),
		       THINGS(r->dirs.dirs_planned, "directory", "directories"),
		       THINGS(r->dirs.transactions, "transaction",
			      "transactions"), r->seconds);
	else
		printf("%s of %s %s in %s, %.1f s\n", NUM(result->files_done),
		       THINGS(result->files_planned, "file", "files"),
		       moves_away(result) ? "changed" : "repaired",
		       THINGS(result->transactions, "transaction",
			      "transactions"), r->seconds);
}

static void print_change(const char *label, uint64_t before, uint64_t after)
{
	printf("%-15s %13s %13s\n", label, NUM(before), NUM(after));
}

static void print_changes(const struct e4repack *r)
{
	const struct e4l_repack_result *result = &r->result;

	printf("\n%-15s %13s %13s\n", "", r->dry_run ? "now" : "before",
	       r->dry_run ? "then" : "after");
	print_change("Extents", result->extents_before, result->extents_after);
	print_change("Fragments", result->fragments_before,
		     result->fragments_after);
	print_change("Tree blocks", result->tree_blocks_before,
		     result->tree_blocks_after);
}

static void print_cost(const struct e4repack *r)
{
	bool away = moves_away(&r->result);

	printf("\n%-15s %13s   can be better%s\n", "Files",
	       NUM(r->result.files_planned), away ? ", or move away" : "");
	printf("%-15s %13s   of data, to put fragments together%s\n",
	       r->dry_run ? "To copy" : "Copied",
	       SIZE(e4repack_copy_bytes(r)), away ? ", or away" : "");
	printf("%-15s %13s   %s\n", r->dry_run ? "To zero" : "Zeroed",
	       SIZE(e4repack_zero_bytes(r)),
	       "of unwritten space, to join extents");
}

/* As planned: what makes room, and what for. */
static void print_room(const struct e4repack *r)
{
	const struct e4l_repack_result *result = &r->result;

	if (result->room_runs && !result->stopped)
		printf("%-15s %13s   of these files, to make room: %s of what "
		       "is copied saves %s\n", r->dry_run ? "To move away" :
		       "Moved away", NUM(result->room_files),
		       SIZE(e4repack_bytes(r, result->room_blocks)),
		       THINGS(result->room_fragments, "fragment", "fragments"));
}

static uint64_t longest_bytes(const struct e4repack *r)
{
	return e4repack_bytes(r, r->result.stopped ?
			      r->result.stopped_longest_blocks :
			      r->result.longest_free_blocks);
}

/* As planned: what is moved for long free runs. */
static void print_zones(const struct e4repack *r)
{
	const struct e4l_repack_result *result = &r->result;

	if (!result->zones)
		return;
	if (!result->stopped)
		printf("%-15s %13s   of these files, for long free runs: %s of "
		       "what is copied\n", r->dry_run ? "To move away" :
		       "Moved away", NUM(result->zone_files),
		       SIZE(e4repack_bytes(r, result->zone_blocks)));
	printf("%-15s %13s   %s, %s before; the longest %s, %s before\n",
	       "Free runs", NUM(result->stopped ? result->stopped_free_runs :
				result->free_runs_after),
	       r->dry_run ? "then" : "after",
	       NUM(result->free_runs_before),
	       SIZE(longest_bytes(r)),
	       SIZE(e4repack_bytes(r, result->longest_free_before_blocks)));
}

/*
 * How long free runs are, and how long they would have to be: @least for the first
 * of what fits into none, @most for the last.
 */
static void print_longest(const struct e4repack *r, uint64_t least,
			  uint64_t most)
{
	printf("The longest free run %s %s", r->dry_run ? "would have" : "has",
	       SIZE(longest_bytes(r)));
	if (least)
		printf("; what fits into none needs %s",
		       SIZE(e4repack_bytes(r, least)));
	if (most > least)
		printf(" to %s", SIZE(e4repack_bytes(r, most)));
	puts(least ? " in one run" : "");
}

static void print_skipped(const struct e4repack *r)
{
	if (r->n_skipped)
		putchar('\n');
	reasons_print(stdout, &r->reasons, "file", "files", "extent");
	if (r->n_skipped && r->online) {
		printf("What is in use, another run may repair; the rest: "
		       "umount ");
		text_puts(stdout, r->target.mount_point);
		printf("; e4repack ");
		text_puts(stdout, r->target.e2fs_name);
		putchar('\n');
	} else if (r->n_skipped)
		print_longest(r, r->result.least_lacking_blocks,
			      r->result.most_lacking_blocks);
	if (r->result.no_room_extents)
		printf("Moving others out of the way could save up to %s: "
		       "--only=move,room\n",
		       THINGS(r->result.no_room_extents, "extent", "extents"));
}

static void print_dirs(const struct e4repack *r)
{
	const struct e4l_compact_result *d = &r->dirs;

	if (d->dirs_planned || r->dir_reasons.n)
		putchar('\n');
	if (d->dirs_planned && r->dry_run)
		printf("%-15s %13s   to build anew: %s now, %s then\n",
		       "Directories", NUM(d->dirs_planned),
		       THINGS(d->planned_old_blocks, "block", "blocks"),
		       NUM(d->planned_blocks));
	else if (d->dirs_planned)
		printf("%-15s %13s   of %s built anew: %s before, %s after\n",
		       "Directories", NUM(d->dirs_done), NUM(d->dirs_planned),
		       THINGS(d->done_old_blocks, "block", "blocks"),
		       NUM(d->done_blocks));
	reasons_print(stdout, &r->dir_reasons, "directory", "directories",
		      "block");
	if (d->least_lacking_blocks)
		print_longest(r, d->least_lacking_blocks,
			      d->most_lacking_blocks);
}

static void print_inodes(const struct e4repack *r)
{
	const struct e4l_regroup_result *i = &r->inodes;

	if (i->dirs_planned || r->inode_reasons.n)
		putchar('\n');
	if (i->dirs_planned) {
		printf("%-15s %13s   blocks for %s, %s %s, at best %s\n",
		       "Inode tables", NUM(i->blocks_before),
		       "what directories hold", NUM(i->blocks_after),
		       r->dry_run ? "then" : "now", NUM(i->blocks_ideal));
		printf("%-15s %13s   of %s, with new numbers\n",
		       r->dry_run ? "Inodes to move" : "Inodes moved",
		       NUM(r->dry_run ? i->inodes_planned : i->inodes_done),
		       THINGS(r->dry_run ? i->dirs_planned : i->dirs_done,
			      "directory", "directories"));
	}
	reasons_print(stdout, &r->inode_reasons, "directory", "directories",
		      "inode table block");
}

static void print_discarded(const struct e4repack *r)
{
	uint64_t bytes = e4repack_discarded_bytes(r);

	if (bytes)
		printf("\n%-15s %13s   of blocks that this run has freed\n",
		       "Discarded", SIZE(bytes));
	bytes = r->dry_run ? e4repack_bytes_to_discard(r) : 0;
	if (bytes)
		printf("\n%-15s %13s   at most, of blocks that this frees\n",
		       "To discard", SIZE(bytes));
}

static void print_map(const struct e4repack *r, const char *title,
		      const struct block_map *map)
{
	if (!map)
		return;
	putchar('\n');
	map_print(stdout, title, map, r->target.fs->blocksize);
}

/* Of --all, of what comes once more only what is new is told. */
static bool is_news(const struct e4repack *r)
{
	return r->parts_done < E4REPACK_PARTS || has_plan(r) || has_reasons(r) ||
	       e4repack_is_stopped(r);
}

void e4repack_print_part(const struct e4repack *r)
{
	if (!is_news(r))
		return;
	print_heading(r);
	print_head(r);
	if (r->result.files_planned) {
		print_changes(r);
		print_cost(r);
		print_room(r);
		print_zones(r);
	}
	print_skipped(r);
	print_dirs(r);
	print_inodes(r);
	print_discarded(r);
}

static void print_sum(const struct e4repack *r)
{
	const struct e4repack_sum *sum = &r->sum;

	putchar('\n');
	if (r->dry_run)
		printf("Each part is planned for the filesystem as it is now; "
		       "later parts will find what\nearlier ones leave, and all "
		       "come in turns until none finds anything to do, %u at "
		       "most.\nA run holds back what would leave free space in "
		       "more runs, or shorter ones.\n", E4REPACK_TURNS);
	else
		printf("In all: %s copied, %s zeroed, %s saved in %s, %.1f s\n",
		       SIZE(sum->bytes_copied), SIZE(sum->bytes_zeroed),
		       THINGS(sum->extents_saved, "extent", "extents"),
		       THINGS(sum->transactions, "transaction",
			      "transactions"),
		       repairing_seconds(&r->repairing));
	if (sum->free_runs_counted)
		printf("Free space is in %s, and was in %s before\n",
		       THINGS(sum->free_runs_after, "run", "runs"),
		       NUM(sum->free_runs_before));
}

void e4repack_print_end(const struct e4repack *r)
{
	if (r->all)
		print_sum(r);
	print_map(r, r->dry_run ? "Now" : "Before", r->before);
	print_map(r, "After", r->after);
	if (r->undo.file && undo_guard_changed())
		printf("\nTo undo: e2undo %s %s\n", r->undo.file,
		       r->target.device);
}

/* --------------------------------------------------------------------- JSON */

#define RESULT(key) { #key, offsetof(struct e4l_repack_result, key) }
static const struct json_member members[] = {
	RESULT(files_planned), RESULT(files_done),
	RESULT(extents_before), RESULT(extents_after),
	RESULT(fragments_before), RESULT(fragments_after),
	RESULT(tree_blocks_before), RESULT(tree_blocks_after),
	RESULT(no_room_extents), RESULT(transactions),
};

static json_t *skipped_array(const struct e4repack *r)
{
	json_t *array = json_array();
	int failed = 0;
	size_t i;

	for (i = 0; i < r->n_skipped; i++)
		failed |= json_array_append_new(array,
				json_pack("{s:I, s:s, s:I}", "inode",
					  (json_int_t)r->skipped[i].ino,
					  "why",
					  r->reasons.v[r->skipped[i].reason].why,
					  "extents",
					  (json_int_t)r->skipped[i].extents));
	return json_checked(array, failed);
}

static json_t *planned_object(const struct e4repack *r)
{
	const struct e4l_repack_result *result = &r->result;

	return json_pack("{s:I, s:I, s:I, s:I, s:o, s:o}",
			 "files", (json_int_t)result->files_planned,
			 "bytes_to_copy", (json_int_t)
			 e4repack_bytes(r, result->planned_copy_blocks),
			 "bytes_to_zero", (json_int_t)
			 e4repack_bytes(r, result->planned_zero_blocks),
			 "bytes_to_discard", (json_int_t)
			 e4repack_bytes_to_discard(r),
			 "room", json_room(result, r->target.fs->blocksize),
			 "free", json_free_runs(result,
						r->target.fs->blocksize));
}

#define DIRS(key, member) { key, offsetof(struct e4l_compact_result, member) }
static const struct json_member dirs_members[] = {
	DIRS("planned", dirs_planned), DIRS("done", dirs_done),
	DIRS("indexes_planned", indexes_planned),
	DIRS("planned_blocks_before", planned_old_blocks),
	DIRS("planned_blocks_after", planned_blocks),
	DIRS("blocks_before", done_old_blocks),
	DIRS("blocks_after", done_blocks),
	DIRS("transactions", transactions),
	DIRS("least_lacking_blocks", least_lacking_blocks),
	DIRS("most_lacking_blocks", most_lacking_blocks),
};

static json_t *dirs_object(const struct e4repack *r)
{
	json_t *object = json_members(&r->dirs, dirs_members,
				      sizeof(dirs_members) /
				      sizeof(*dirs_members));

	return json_checked(object, json_object_set_new(object, "left_alone",
				reasons_array(&r->dir_reasons, "directories",
					      "blocks")));
}

#define INODES(key, member) \
	{ key, offsetof(struct e4l_regroup_result, member) }
static const struct json_member inodes_members[] = {
	INODES("planned", inodes_planned), INODES("done", inodes_done),
	INODES("directories_planned", dirs_planned),
	INODES("directories_done", dirs_done),
	INODES("itable_blocks_before", blocks_before),
	INODES("itable_blocks_after", blocks_after),
	INODES("itable_blocks_ideal", blocks_ideal),
	INODES("planned_itable_blocks_after", planned_blocks_after),
	INODES("transactions", transactions),
};

static json_t *inodes_object(const struct e4repack *r)
{
	json_t *object = json_members(&r->inodes, inodes_members,
				      sizeof(inodes_members) /
				      sizeof(*inodes_members));

	return json_checked(object, json_object_set_new(object, "left_alone",
				reasons_array(&r->inode_reasons, "directories",
					      "itable_blocks")));
}

/* The words of r->only. */
static json_t *only_array(const struct e4repack *r)
{
	json_t *array = json_array();
	int failed = 0;
	unsigned int i;

	for (i = 0; e4repack_only_words[i]; i++)
		if (r->only >> i & 1)
			failed |= json_array_append_new(array,
					json_string(e4repack_only_words[i]));
	return json_checked(array, failed);
}

static json_t *part_object(const struct e4repack *r)
{
	const struct e4l_repack_result *result = &r->result;
	json_t *object = json_pack("{s:s, s:o, s:o, s:b, s:b, s:b, s:o, s:o, "
				   "s:I, s:I, s:I}",
				   "schema", "e4repack/1",
				   "target", json_name(r->target.name),
				   "only", only_array(r),
				   "dry_run", r->dry_run,
				   "online", r->online,
				   "stopped", e4repack_is_stopped(r),
				   "planned", planned_object(r),
				   "left_alone",
				   reasons_array(&r->reasons, "files",
						 "extents"),
				   "longest_free_bytes", (json_int_t)
				   longest_bytes(r),
				   "least_lacking_bytes", (json_int_t)
				   e4repack_bytes(r, result->least_lacking_blocks),
				   "most_lacking_bytes", (json_int_t)
				   e4repack_bytes(r, result->most_lacking_blocks));
	json_t *rest = json_members(&r->result, members,
				    sizeof(members) / sizeof(*members));
	int failed = json_object_update(object, rest);

	json_decref(rest);
	failed |= json_object_set_new(object, "directories", dirs_object(r)) |
		  json_object_set_new(object, "inodes", inodes_object(r)) |
		  json_object_set_new(object, "files_skipped",
				      skipped_array(r)) |
		  json_object_set_new(object, "bytes_copied",
				      json_integer(e4repack_copy_bytes(r))) |
		  json_object_set_new(object, "bytes_zeroed",
				      json_integer(e4repack_zero_bytes(r))) |
		  json_object_set_new(object, "bytes_discarded",
				json_integer(e4repack_discarded_bytes(r))) |
		  json_object_set_new(object, "seconds",
				      json_real(r->seconds));
	return json_checked(object, failed);
}

void e4repack_keep_object(struct e4repack *r)
{
	int failed = json_array_append_new(r->parts, part_object(r));

	r->parts = json_checked(r->parts, failed);
}

#define SUM(key) { #key, offsetof(struct e4repack_sum, key) }
static const struct json_member sum_members[] = {
	SUM(bytes_copied), SUM(bytes_zeroed), SUM(bytes_discarded),
	SUM(extents_saved), SUM(transactions),
	/* the last two only when all was done */
	SUM(free_runs_before), SUM(free_runs_after),
};

/* What parts are planned to do for today's filesystem has no true sum. */
static json_t *sum_object(const struct e4repack *r)
{
	return r->dry_run ? json_object() :
			    json_members(&r->sum, sum_members,
					 sizeof(sum_members) /
					 sizeof(*sum_members) -
					 (r->sum.free_runs_counted ? 0 : 2));
}

static json_t *all_object(const struct e4repack *r)
{
	json_t *object = json_pack("{s:s, s:o, s:b, s:b, s:b, s:O, s:f}",
				   "schema", "e4repack-all/1",
				   "target", json_name(r->target.name),
				   "dry_run", r->dry_run,
				   "stopped", !r->part_failed &&
				   !r->all_done,
				   "failed", r->part_failed,
				   "parts", r->parts, "seconds",
				   repairing_seconds(&r->repairing));
	json_t *sum = sum_object(r);
	int failed = json_object_update(object, sum);

	json_decref(sum);
	return json_checked(object, failed);
}

bool e4repack_print_json(const struct e4repack *r)
{
	return json_write(r->all ? all_object(r) :
			  json_incref(json_array_get(r->parts, 0)));
}
