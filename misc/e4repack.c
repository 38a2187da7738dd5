/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e4repack: repairs the layout of an ext4 filesystem, mounted or not. */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "support/verify.h"
#include "support/heap.h"
#include "support/say.h"
#include "support/undo_guard.h"
#include "e4repack.h"

#define MAX_BYTES		(1ULL << 62)

/* From this on a block of memory is mapped by itself. */
#define LARGE_BYTES		(1 << 20)

#define DEFAULT_MEM		{ .parts = UNITS_WHOLE / 4 }

/* Their flags are in e4repack_part.c. */
const char *const e4repack_only_words[] = {
	"merge", "zeroout", "move", "dirs", "index", "inodes", "room", "free",
	NULL
};
static const char *const move_words[] = { "immutable", "swap", NULL };
static const char *const zeroout_words[] = { "off", NULL };

#define AT(member) offsetof(struct e4repack, member)
static const struct args_option options[] = {
	{ .name = "dry-run", .letter = 'n', .kind = ARGS_FLAG,
	  .offset = AT(dry_run), .help = "print the plan and what it costs, "
					 "change nothing" },
	{ .name = "only", .kind = ARGS_SET, .offset = AT(only),
	  .value = "WORD,...", .choices = e4repack_only_words,
	  .help = "only merge,zeroout,move,dirs,index,inodes,room,free" },
	{ .name = "all", .kind = ARGS_FLAG, .offset = AT(all),
	  .help = "all of these, in the order that copies least" },
	{ .name = "free-run", .kind = ARGS_SIZE, .offset = AT(free_run),
	  .value = "SIZE", .min = 1, .max = MAX_BYTES,
	  .help = "with free or --all: one free run of SIZE will do" },
	{ .name = "zeroout", .kind = ARGS_SIZE, .offset = AT(zeroout_bytes),
	  .value = "SIZE", .max = MAX_BYTES, .choices = zeroout_words,
	  .help = "zero unwritten runs up to SIZE, or off" },
	{ .name = "zeroout-budget", .kind = ARGS_SHARE,
	  .offset = AT(zeroout_budget), .value = "SIZE", .max = MAX_BYTES,
	  .help = "zero no more than SIZE (or N% of TARGET) in all" },
	{ .name = "max-bytes", .kind = ARGS_SHARE, .offset = AT(max_copy),
	  .value = "SIZE", .max = MAX_BYTES,
	  .help = "copy no more than SIZE (or N% of TARGET) in all" },
	{ .name = "max-time", .kind = ARGS_COUNT, .offset = AT(max_seconds),
	  .value = "SECONDS", .min = 1, .max = UINT32_MAX,
	  .help = "stop after that time" },
	{ .name = "rate", .kind = ARGS_SIZE, .offset = AT(rate),
	  .value = "SIZE", .min = 1, .max = MAX_BYTES,
	  .help = "mounted: copy at most SIZE a second" },
	{ .name = "idle", .kind = ARGS_FLAG, .offset = AT(idle),
	  .help = "mounted: give way to others" },
	{ .name = "min-excess", .kind = ARGS_COUNT, .offset = AT(min_excess),
	  .value = "N", .max = UINT32_MAX,
	  .help = "leave files with fewer extents to save" },
	{ .name = "mem", .kind = ARGS_SHARE, .offset = AT(mem),
	  .value = "SIZE", .max = MAX_BYTES,
	  .help = "keep extents in SIZE (or N%) of memory" },
	{ .name = "exclude", .kind = ARGS_TEXTS, .offset = AT(exclude),
	  .value = "PATH", .help = "leave that file or subtree (repeatable)" },
	{ .name = "move", .kind = ARGS_SET, .offset = AT(move),
	  .value = "WORD,...", .choices = move_words,
	  .help = "repair immutable files, swap files as well" },
	{ .name = "renumber-anyway", .kind = ARGS_FLAG,
	  .offset = AT(renumber_anyway),
	  .help = "renumber what overlay filesystems know as well" },
	{ .name = "discard", .kind = ARGS_FLAG, .offset = AT(discard),
	  .help = "give what the run has freed back to the device" },
	{ .name = "map", .kind = ARGS_FLAG, .offset = AT(map),
	  .help = "show what the blocks are in, before and after" },
	{ .name = "undo-file", .letter = 'z', .kind = ARGS_TEXT,
	  .offset = AT(undo.file), .value = "FILE",
	  .help = "save what is overwritten for e2undo(8)" },
	{ .name = "no-undo", .kind = ARGS_FLAG, .offset = AT(undo.none),
	  .help = "work without journal and undo file" },
	{ .name = "verify", .kind = ARGS_FLAG, .offset = AT(verify),
	  .help = "check the filesystem afterwards, as e4check(8) does" },
};
static const struct args_tool tool = {
	.operands = "TARGET [PATH...]",
	.purpose = "Repair the layout of an ext4 filesystem, or of the files "
		   "and subtrees PATH of\nit; while it is mounted, when TARGET "
		   "is a directory in it.",
	.options = options,
	.n_options = sizeof(options) / sizeof(*options),
	.min_operands = 1, .max_operands = -1,
};

/* --------------------------------------------------------------------- work */

/* What is said at once to who wants the writing to end. */
static void answer_signals(void *priv)
{
	struct e4repack *r = priv;
	struct ext2_super_block *sb = r->target.fs->super;
	const char *name = r->target.name, *device = r->target.e2fs_name;
	char mmp[120] = "";

	if (ext2fs_has_feature_mmp(sb))
		snprintf(mmp, sizeof(mmp), "tune2fs -f -E clear_mmp %s, and ",
			 device);
	snprintf(r->first, sizeof(r->first), "%s: finishing this transaction; "
		 "a second signal ends at once", name);
	if (r->undo.file)
		snprintf(r->second, sizeof(r->second), "%s: ended in a "
			 "transaction: see SAFETY in e4repack(8) for what to "
			 "do with %s", name, r->undo.file);
	else
		snprintf(r->second, sizeof(r->second), "%s: ended in a "
			 "transaction, which is done or not: run %se2fsck -p "
			 "%s", name, mmp, device);
	interrupt_say(&r->interrupt, r->first, r->second);
}

/* Damage, or what looks like it where a mounted filesystem goes on changing. */
static bool is_damage(errcode_t err)
{
	return err == E4L_ET_CHANGED || say_is_damage(err);
}

static void say_before(const struct e4repack *r, const char *whose,
		       uint64_t done, uint64_t planned, const char *what)
{
	say("%s: %s%llu of %llu %s before: run e2fsck -f %s, and then e4repack "
	    "again", r->target.name, whose, (unsigned long long)done,
	    (unsigned long long)planned, what, r->target.e2fs_name);
}

static void say_failure(const struct e4repack *r, errcode_t err)
{
	const char *name = r->target.name;
	char what[160];

	if (err == E4L_ET_INTERRUPTED)
		say("%s: stopped before there was a plan: nothing was changed",
		    name);
	else if (r->online && err == EROFS)
		say("%s: is mounted read-only on %s: repair it unmounted", name,
		    r->target.mount_point);
	else if (is_damage(err) && r->target.mount_point)
		say("%s: %s: %s: it is mounted, and was changed meanwhile, or "
		    "is damaged", name, e4l_detail_text(r->e, what,
							sizeof(what)),
		    error_message(err));
	else if (is_damage(err) && !r->result.transactions)
		say("%s: %s: %s: run e2fsck -f %s", name,
		    e4l_detail_text(r->e, what, sizeof(what)),
		    error_message(err), r->target.e2fs_name);
	else
		say_e4l(name, r->e, err);
	if (r->online && r->result.files_done)
		say("%s: %llu of %llu files were repaired before", name,
		    (unsigned long long)r->result.files_done,
		    (unsigned long long)r->result.files_planned);
	if (r->result.transactions)
		say_before(r, "", r->result.files_done,
			   r->result.files_planned, "files were repaired");
	if (r->inodes.transactions)
		say_before(r, "the inodes of ", r->inodes.dirs_done,
			   r->inodes.dirs_planned, "directories were moved");
	if (r->parts_done && r->sum.transactions)
		say("%s: %u parts were done before: run e2fsck -f %s, and "
		    "then e4repack again", r->target.name, r->parts_done,
		    r->target.e2fs_name);
}

/* What was repaired stays so without a map of it. */
static void map_after(struct e4repack *r)
{
	errcode_t err = e4repack_map(r, false, &r->after);

	if (!err)
		return;
	block_map_free(r->after);
	r->after = NULL;
	if (err == E4L_ET_INTERRUPTED)
		return;
	r->failed = true;
	say_e4l(r->target.name, r->e, err);
}

/* What was done stays done: who reads JSON is told, too. */
static void report_failed(struct e4repack *r)
{
	if (!r->args.json || !r->sum.transactions)
		return;
	r->part_failed = true;
	e4repack_end_part(r);
	e4repack_print_json(r);
}

/*
 * Checks what is at rest, plans, and repairs unless it is a dry run.  What is
 * mounted changes while it is read.
 */
static bool work(struct e4repack *r)
{
	bool said = false;
	errcode_t err;

	r->e = r->target.e;
	r->repairing = (struct repairing) {
		.e = r->e, .args = &r->args, .interrupt = &r->interrupt,
		.progress = &r->progress, .start = r->start,
		.max_seconds = r->max_seconds,
		.writes = r->online ? NULL : answer_signals, .priv = r,
	};
	if (!r->target.mount_point &&
	    !verify_before(&r->target, r->e, &r->args, &r->interrupt))
		return false;
	err = target_only(&r->target, r->e, r->paths, r->n_paths,
			  &r->only_inodes, &said);
	if (!err)
		err = target_subtree(&r->target, r->e, r->exclude.v,
				     r->exclude.n, &r->exclude_inodes, &said);
	if (!err)
		err = e4repack_map(r, true, &r->before);
	if (!err)
		err = r->all ? e4repack_all(r) : e4repack_part(r);
	if (!err && !r->all)
		e4repack_end_part(r);
	if (!err && !r->dry_run && !r->online)
		map_after(r);
	if (err && !said && !undo_guard_failed())
		say_failure(r, err);
	if (err && r->all)
		report_failed(r);
	return !err;
}

static void say_memory(const struct e4repack *r)
{
	char most[UNITS_LEN], limit[UNITS_LEN], gone[UNITS_LEN], n[UNITS_LEN];
	struct e4l_es_stats stats;

	e4l_es_get_stats(r->cache, &stats);
	say("%s: extents in at most %s of %s of memory, %s forgotten, "
	    "%s files read again", r->target.name,
	    units_size(stats.max_bytes, most),
	    units_size(stats.limit_bytes, limit),
	    units_count(stats.reclaimed, gone),
	    units_count(r->result.files_reread, n));
}

/* Which limit has stopped it, if it was not a signal. */
static const char *by_what(const struct e4repack *r)
{
	return repairing_seconds(&r->repairing) >= r->max_seconds ?
	       " by --max-time" : "";
}

static void say_stopped(const struct e4repack *r, uint64_t done,
			uint64_t planned, const char *of)
{
	say("%s: stopped%s after %llu of %llu %s: another run goes on",
	    r->target.name, by_what(r), (unsigned long long)done,
	    (unsigned long long)planned, of);
}

/*
 * What the device has not taken back: all is repaired nevertheless.  That it
 * cannot is no failure.
 */
static void say_discarded(struct e4repack *r)
{
	errcode_t err = r->result.discarded.err ? r->result.discarded.err :
						  r->dirs.discarded.err;

	if (err == EXT2_ET_UNIMPLEMENTED)
		say("%s: discards nothing: what was freed keeps its place on "
		    "the device", r->target.name);
	else if (err)
		say("%s: cannot discard: %s: all that is reported was done, "
		    "but what was freed keeps its place on the device",
		    r->target.name, error_message(err));
	r->failed |= err && err != EXT2_ET_UNIMPLEMENTED;
}

static void say_stops(const struct e4repack *r)
{
	if (r->result.stopped && r->online && !r->result.files_planned)
		say("%s: stopped%s before there was a plan: nothing was changed",
		    r->target.name, by_what(r));
	else if (r->result.stopped)
		say_stopped(r, r->result.files_done, r->result.files_planned,
			    "files");
	if (r->dirs.stopped)
		say_stopped(r, r->dirs.dirs_done, r->dirs.dirs_planned,
			    "directories");
	if (r->inodes.stopped)
		say_stopped(r, r->inodes.dirs_done, r->inodes.dirs_planned,
			    "directories' inodes");
}

/* What the process lacked, if that is what failed, or NULL. */
static const char *lacking(errcode_t failure)
{
	return failure == ENOMEM ? "more memory" :
	       failure == EMFILE ? "more open files (ulimit -n)" :
	       failure == ENFILE ? "more open files (fs.file-max)" : NULL;
}

/* Others were repaired, or were looked at. */
static void say_failed_files(struct e4repack *r)
{
	unsigned long long failed = r->result.files_failed;
	unsigned long long planned = r->result.files_planned;
	errcode_t failure = (errcode_t)r->result.failure;

	if (!failed)
		return;
	r->failed = true;
	if (lacking(failure))
		say("%s: %s: %llu of %llu files could not be repaired: run it "
		    "again with %s", r->target.name, error_message(failure),
		    failed, planned, lacking(failure));
	else
		say("%s: %s: %llu of %llu files could not be repaired: see "
		    "what the kernel says (dmesg), and run e2fsck -f %s while "
		    "nothing is mounted", r->target.name,
		    error_message(failure), failed, planned,
		    r->target.e2fs_name);
}

/* What the report says of what was done, or planned. */
static void add_up(struct e4repack *r)
{
	const struct e4l_compact_result *dirs = &r->dirs;

	r->sum.bytes_copied += e4repack_copy_bytes(r);
	r->sum.bytes_zeroed += e4repack_zero_bytes(r);
	r->sum.bytes_discarded += e4repack_discarded_bytes(r);
	r->sum.extents_saved += r->result.extents_before -
				r->result.extents_after;
	if (!(r->only & ONLY_MAPS))	/* else they are among these */
		r->sum.extents_saved += dirs->done_old_maps.extents -
					dirs->done_maps.extents;
}

void e4repack_end_part(struct e4repack *r)
{
	r->seconds = repairing_seconds(&r->repairing) -
		     r->repairing.planned_from;
	add_up(r);
	say_discarded(r);
	say_failed_files(r);
	if (r->args.verbose && r->cache)
		say_memory(r);
	say_stops(r);
	if (r->args.json)
		e4repack_keep_object(r);
	else if (!r->args.quiet)
		e4repack_print_part(r);
}

static bool report(const struct e4repack *r)
{
	if (r->args.verbose)
		say_reads(r->target.name, r->e);
	if (r->turns_over)
		say("%s: stopped after %u turns, the most that a run takes: "
		    "another run goes on", r->target.name, E4REPACK_TURNS);
	else if (r->all && !r->all_done)
		say("%s: stopped after %u parts: another run goes on",
		    r->target.name, r->parts_done);
	if (r->args.json)
		return e4repack_print_json(r);
	if (!r->args.quiet)
		e4repack_print_end(r);
	return true;
}

/* A directory in a filesystem is not all of it. */
static bool is_whole(struct e4repack *r)
{
	if (!r->all || !r->target.subtree)
		return true;
	say("%s: is a directory, and --all is for whole filesystems: name %s",
	    r->target.name, r->target.mount_point);
	target_close(&r->target);
	return false;
}

static bool open_plan(struct e4repack *r, const char *name)
{
	if (!target_open_plan(&r->target, name, r->args.partition, &r->undo,
			      r->args.quiet) || !is_whole(r))
		return false;
	if (r->target.mount_point && !r->args.quiet)
		say("%s: the plan is that of a repair while nothing is mounted",
		    name);
	return true;
}

static bool open_target(struct e4repack *r, const char *name)
{
	r->online = !r->dry_run && e4repack_is_online(name);
	if (r->online)
		return e4repack_open_online(r, name);
	if (r->dry_run)
		return open_plan(r, name);
	return target_open_change(&r->target, name, r->args.partition,
				  &r->undo);
}

static int run(struct e4repack *r, const char *name)
{
	bool ok;

	if (!open_target(r, name))
		return STATUS_FAILED;
	r->parts = json_array();
	ok = work(r) && report(r);
	if (r->only_inodes)
		ext2fs_free_inode_bitmap(r->only_inodes);
	if (r->exclude_inodes)
		ext2fs_free_inode_bitmap(r->exclude_inodes);
	e4repack_forget(r);
	json_decref(r->parts);
	block_map_free(r->before);
	block_map_free(r->after);
	ok &= !r->failed;
	ok &= target_close(&r->target);
	if (ok && r->verify && !r->dry_run && !r->online)
		ok = verify(name, r->args.partition);
	return ok ? STATUS_DONE : STATUS_FAILED;
}

/* What cannot be asked for together. */
static bool check_usage(const struct e4repack *r, int *status)
{
	if (r->discard && r->undo.file)
		say("--discard and --undo-file cannot be given together: what "
		    "is discarded cannot be brought back");
	else if (r->all && r->only)
		say("--all and --only cannot be given together");
	else if (r->all && r->n_paths)
		say("--all is for whole filesystems: leave it or the paths "
		    "away");
	else if (r->free_run && !r->all && !(r->only & ONLY_FREE))
		say("--free-run=SIZE is for --only=free and --all");
	else if (r->renumber_anyway && !r->all && !(r->only & ONLY_INODES))
		say("--renumber-anyway is for --only=inodes and --all");
	else if (r->map && r->args.json)
		say("--map is for people: e4frag --json --map has it as JSON");
	else
		return true;
	*status = STATUS_USAGE;
	return false;
}

int main(int argc, char **argv)
{
	struct e4repack r = {
		.zeroout_bytes = NOT_GIVEN,
		.zeroout_budget.bytes = NOT_GIVEN, .max_copy.bytes = NOT_GIVEN,
		.max_seconds = NOT_GIVEN, .rate = NOT_GIVEN, .mem = DEFAULT_MEM,
	};
	int first, status;
	errcode_t err;

	heap_set_large(LARGE_BYTES);
	first = args_parse(&tool, argc, argv, &r, &status);
	r.paths = (const char **)argv + first + 1;
	r.n_paths = argc - first - 1;
	if (first >= 0 && check_usage(&r, &status)) {
		if (!r.only)
			r.only = ONLY_DEFAULT;
		clock_gettime(CLOCK_MONOTONIC, &r.start);
		err = interrupt_start(&r.interrupt, NULL);
		if (err)
			say_error(argv[first], "cannot start", err);
		status = err ? STATUS_FAILED : run(&r, argv[first]);
		interrupt_stop(&r.interrupt);
		status = say_done(status);
	}
	free(r.exclude.v);
	return status;
}
