/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The text report (a table of the layout, the cost, the skipped files, and
 * further options), and the notes on standard error.
 */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include "support/map_text.h"
#include "support/say.h"
#include "support/skips.h"
#include "support/text.h"
#include "support/undo_guard.h"
#include "support/units.h"
#include "e4repack.h"

/*
 * Numbers as text.  The buffers exist until the end of the block that contains
 * the call.
 */
#define NUM(n) units_count(n, (char[UNITS_LEN]){ 0 })
#define THINGS(n, one, many) \
	units_things(n, one, many, (char[2 * UNITS_LEN]){ 0 })
#define SIZE(n) units_size(n, (char[UNITS_LEN]){ 0 })
#define PERCENT(part, whole) units_percent(part, whole, (char[UNITS_LEN]){ 0 })

/* ------------------------------------------------------------------- summary */

static bool is_skipping(const struct e4repack *r)
{
	unsigned int kind, why;

	for (kind = 0; kind < E4L_SKIP_KINDS; kind++)
		for (why = 0; why < E4L_SKIP_REASONS; why++)
			if (r->result.skips[kind][why].count)
				return true;
	return false;
}

static bool has_plan(const struct e4repack *r)
{
	return r->planned || (r->online && r->result.files_planned);
}

static void print_head(const struct e4repack *r)
{
	text_puts(stdout, r->target.name);
	if (!has_plan(r))
		printf(": %s\n", r->result.stopped ?
		       "stopped during planning; nothing was changed" :
		       is_skipping(r) ?
		       "no repack is possible with the free space and options "
		       "available" : !e4repack_shrinks(r) ? "nothing to do" :
		       r->shrink_bytes ? "not larger than the requested size; "
		       "nothing was changed" : "already as small as possible");
	else if (r->dry_run)
		printf(": planned; nothing was changed\n");
	else
		printf(": %s%s in %.1f s\n", r->result.stopped ?
		       "partly repacked" : "repacked",
		       r->online ? " while mounted" : "", r->seconds);
}

void e4repack_print_planned(const struct e4repack *r,
			    const struct e4l_repack_result *result)
{
	const struct e4l_repack_cost *cost = &result->planned;

	text_puts(stdout, r->target.name);
	printf(": will copy %s and zero %s",
	       SIZE(e4repack_bytes(r, cost->copied_blocks)),
	       SIZE(e4repack_bytes(r, cost->zeroed_blocks)));
	if (cost->dir_blocks)
		printf(", write %s of directory blocks",
		       SIZE(e4repack_bytes(r, cost->dir_blocks)));
	if (cost->inodes)
		printf(", renumber %s",
		       THINGS(cost->inodes, "inode", "inodes"));
	if (e4repack_shrinks(r))
		printf(", and shrink to %s",
		       SIZE(e4repack_bytes(r, result->shrink.new_blocks)));
	putchar('\n');
	fflush(stdout);
}

/* --------------------------------------------------------------------- table */

#define LAYOUT(member) offsetof(struct e4l_layout, member)
static const struct row {
	const char *label;
	size_t offset;
	/* the number counts blocks, and is printed as a size */
	bool blocks;
	bool offline;	/* the number is not known for a mounted target */
} rows[] = {
	{ .label = "Files fragmented", .offset = LAYOUT(fragmented_files) },
	{ .label = "Extents", .offset = LAYOUT(extents) },
	{ .label = "Excess fragments", .offset = LAYOUT(excess_fragments) },
	{ .label = "Tree blocks", .offset = LAYOUT(tree_blocks) },
	{ .label = "Directory blocks", .offset = LAYOUT(dir_blocks) },
	{ .label = "Inode-table blocks", .offset = LAYOUT(itable_blocks),
	  .offline = true },
	{ .label = "Free extents", .offset = LAYOUT(free_extents) },
	{ .label = "Largest free extent", .offset = LAYOUT(largest_free_blocks),
	  .blocks = true },
};

static uint64_t value_of(const struct e4l_layout *l, const struct row *row)
{
	return *(const uint64_t *)((const char *)l + row->offset);
}

static const char *cell(const struct e4repack *r, const struct row *row,
			const struct e4l_layout *l, char buf[UNITS_LEN])
{
	uint64_t n = value_of(l, row);

	return row->blocks ? units_size(e4repack_bytes(r, n), buf) :
			     units_count(n, buf);
}

static void print_table(const struct e4repack *r)
{
	const struct e4l_layout *before = &r->result.before;
	const struct e4l_layout *after = &r->result.after;
	char a[UNITS_LEN], b[UNITS_LEN];
	const struct row *row;

	printf("\n%-22s %13s %13s\n", "", r->dry_run ? "now" : "before",
	       r->dry_run ? "planned" : "after");
	for (row = rows; row < rows + sizeof(rows) / sizeof(*rows); row++)
		if (!row->offline || !r->online)
			printf("%-22s %13s %13s\n", row->label,
			       cell(r, row, before, a),
			       cell(r, row, after, b));
	printf("%-22s %13s %13s\n", "Free extents >= 1 MiB",
	       PERCENT(before->large_free_blocks, before->free_blocks),
	       PERCENT(after->large_free_blocks, after->free_blocks));
	e4repack_print_new_size(r);
}

/* ---------------------------------------------------------------------- cost */

/*
 * Prints one line of the cost, such as "LABEL 1.2 GiB".  The label is @planned
 * in a dry run, and @done in another run.
 */
static void print_cost_line(const struct e4repack *r, const char *done,
			    const char *planned, const char *value)
{
	printf("%-22s %13s\n", r->dry_run ? planned : done, value);
}

static void print_cost(const struct e4repack *r)
{
	const struct e4l_repack_cost *cost = e4repack_cost(r);

	putchar('\n');
	print_cost_line(r, "Copied", "To copy",
			SIZE(e4repack_bytes(r, cost->copied_blocks)));
	print_cost_line(r, "Zeroed", "To zero",
			SIZE(e4repack_bytes(r, cost->zeroed_blocks)));
	if (r->result.planned.dir_blocks)
		print_cost_line(r, "Directories rebuilt",
				"Directories to rebuild",
				NUM(r->dry_run ? r->result.dirs_planned :
						 r->result.dirs_done));
	if (r->result.planned.inodes)
		print_cost_line(r, "Inodes renumbered", "Inodes to renumber",
				NUM(cost->inodes));
	if (cost->discarded_blocks)
		print_cost_line(r, "Discarded", "To discard at most",
				SIZE(e4repack_bytes(r,
						    cost->discarded_blocks)));
	if (!r->online && !r->dry_run)
		print_cost_line(r, "Transactions", "", NUM(cost->transactions));
}

/* ------------------------------------------------------------------- advice */

static void print_lacking(const struct e4repack *r)
{
	const struct e4l_repack_result *result = &r->result;

	if (!result->least_lacking_blocks)
		return;
	printf("Largest free extent: %s; skipped files need %s",
	       SIZE(e4repack_bytes(r, result->after.largest_free_blocks)),
	       SIZE(e4repack_bytes(r, result->least_lacking_blocks)));
	if (result->most_lacking_blocks > result->least_lacking_blocks)
		printf(" to %s",
		       SIZE(e4repack_bytes(r, result->most_lacking_blocks)));
	putchar('\n');
}

static void print_skipped(const struct e4repack *r)
{
	if (!is_skipping(r))
		return;
	putchar('\n');
	skips_print(stdout, &r->result);
	print_lacking(r);
}

static void print_more(const struct e4repack *r)
{
	const struct e4l_layout *l = &r->result.after;
	uint64_t spare = l->itable_blocks - l->itable_blocks_ideal;

	if (r->online || r->flags & (E4L_REPACK_INODES | E4L_REPACK_NO_MOVE) ||
	    l->itable_blocks <= l->itable_blocks_ideal)
		return;
	printf("\nWith --inodes: up to %s (of %s)\n",
	       THINGS(spare, "fewer inode-table block", "fewer inode-table blocks"),
	       NUM(l->itable_blocks));
}

static void print_map(const struct e4repack *r, const char *title,
		      const struct block_map *map)
{
	if (!map)
		return;
	putchar('\n');
	map_print(stdout, title, map, r->target.fs->blocksize);
}

/* Prints the shell command that undoes the run. */
static void print_undo(const struct e4repack *r)
{
	fputs("\nTo undo: e2undo ", stdout);
	text_puts(stdout, undo_guard_word());
	putchar(' ');
	text_put_word(stdout, r->target.device);
	putchar('\n');
}

void e4repack_print(const struct e4repack *r)
{
	print_head(r);
	if (has_plan(r)) {
		print_table(r);
		print_cost(r);
	}
	e4repack_print_next(r);
	print_skipped(r);
	print_more(r);
	print_map(r, r->dry_run ? "Now" : "Before", r->before);
	print_map(r, "After", r->after);
	if (r->undo.file && undo_guard_changed())
		print_undo(r);
}

/* --------------------------------------------------------- notes on the result */

/*
 * If --max-time stopped the run, returns " by --max-time".  Otherwise, returns
 * an empty string.
 */
static const char *by_what(const struct e4repack *r)
{
	return repacking_seconds(&r->repacking) >= r->repacking.max_seconds ?
	       " by --max-time" : "";
}

/*
 * If discarding failed, prints the error.  A device without support for discard
 * is not a failure of the run.
 */
static void say_discarded(struct e4repack *r)
{
	errcode_t err = r->result.discard_err;

	if (err == EXT2_ET_UNIMPLEMENTED)
		say("%s: the device does not support discard",
		    r->target.name);
	else if (err)
		say("%s: cannot discard: %s: the repack itself is complete",
		    r->target.name, error_message(err));
	r->failed |= err && err != EXT2_ET_UNIMPLEMENTED;
}

static void say_stopped(const struct e4repack *r)
{
	const struct e4l_repack_result *result = &r->result;

	if (!result->stopped)
		return;
	if (r->online && !result->files_planned)
		say("%s: stopped%s during planning; nothing was changed",
		    r->target.name, by_what(r));
	else
		say("%s: stopped%s after %llu of %llu files: run e4repack "
		    "again to continue", r->target.name, by_what(r),
		    (unsigned long long)result->files_done,
		    (unsigned long long)result->files_planned);
}

/*
 * Returns the name of the resource that the process lacked.  If the process
 * lacked no resource, returns NULL.
 */
static const char *lacking(errcode_t failure)
{
	return failure == ENOMEM ? "more memory" :
	       failure == EMFILE ? "more open files (ulimit -n)" :
	       failure == ENFILE ? "more open files (fs.file-max)" : NULL;
}

/* Reports files that could not be repacked. */
static void say_failed_files(struct e4repack *r)
{
	unsigned long long failed = r->result.files_failed;
	unsigned long long planned = r->result.files_planned;
	errcode_t failure = (errcode_t)r->result.failure;

	if (!failed)
		return;
	r->failed = true;
	if (lacking(failure))
		say("%s: %s: %llu of %llu files failed: run e4repack again "
		    "with %s", r->target.name, error_message(failure), failed,
		    planned, lacking(failure));
	else
		say("%s: %s: %llu of %llu files failed: see the kernel's "
		    "messages (dmesg), and run e2fsck -f %s on the unmounted "
		    "filesystem", r->target.name, error_message(failure),
		    failed, planned, r->target.e2fs_words);
}

void e4repack_say_result(struct e4repack *r)
{
	say_discarded(r);
	say_failed_files(r);
	say_stopped(r);
	e4repack_say_larger(r);
	e4repack_say_limit(r);
}
