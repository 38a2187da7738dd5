/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e4repack: improves the layout of a mounted or unmounted ext4 filesystem. */
#include "config.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "support/heap.h"
#include "support/say.h"
#include "support/undo_guard.h"
#include "support/verify.h"
#include "e4repack.h"

#define MAX_BYTES		(1ULL << 62)

/*
 * Minimum size of a block that malloc() maps separately, so that free() returns
 * the block to the kernel.
 */
#define LARGE_BYTES		(1 << 20)

#define DEFAULT_MEM		{ .parts = UNITS_WHOLE / 4 }

/* Memory, in bytes, that a plan may use in addition to --mem. */
#define MEM_ANYWAY		(32u << 20)

const char *const e4repack_only_words[] = {
	"files", "trees", "directories", "free", "inodes", NULL
};
const unsigned int e4repack_only_flags[] = {
	E4L_REPACK_FILES, E4L_REPACK_TREES, E4L_REPACK_DIRS, E4L_REPACK_FREE,
	E4L_REPACK_INODES,
};
static const char *const move_words[] = { "immutable", "swap", NULL };
static const unsigned int move_flags[] = {
	E4L_REPACK_MOVE_IMMUTABLE, E4L_REPACK_MOVE_SWAP,
};
static const char *const zeroout_words[] = { "off", NULL };
static const char *const shrink_words[] = { "smallest", NULL };

#define AT(member) offsetof(struct e4repack, member)
static const struct args_option options[] = {
	{ .name = "dry-run", .letter = 'n', .kind = ARGS_FLAG,
	  .offset = AT(dry_run), .help = "print the plan and its cost, change "
					 "nothing" },
	{ .name = "inodes", .kind = ARGS_FLAG, .offset = AT(inodes),
	  .help = "also regroup inodes (new inode numbers)" },
	{ .name = "only", .kind = ARGS_SET, .offset = AT(only),
	  .value = "WORD,...", .choices = e4repack_only_words,
	  .help = "repack only these parts: files,trees,directories,\n"
		  "free,inodes" },
	{ .name = "all", .kind = ARGS_FLAG, .offset = AT(all),
	  .help = "also regroup inodes, like --inodes" },
	{ .name = "no-move", .kind = ARGS_FLAG, .offset = AT(no_move),
	  .help = "copy no data: improve extent trees only" },
	{ .name = "free-run", .kind = ARGS_SIZE, .offset = AT(free_run),
	  .value = "SIZE", .min = 1, .max = MAX_BYTES,
	  .help = "consolidate free space into extents of up to SIZE" },
	{ .name = "zeroout", .kind = ARGS_SIZE, .offset = AT(zeroout_bytes),
	  .value = "SIZE", .max = MAX_BYTES, .choices = zeroout_words,
	  .help = "zero unwritten extents up to SIZE (off: none)" },
	{ .name = "zeroout-budget", .kind = ARGS_SHARE,
	  .offset = AT(zeroout_budget), .value = "SIZE", .max = MAX_BYTES,
	  .help = "zero at most SIZE (or N% of TARGET) in total" },
	{ .name = "max-bytes", .kind = ARGS_SHARE, .offset = AT(max_copy),
	  .value = "SIZE", .max = MAX_BYTES,
	  .help = "copy at most SIZE (or N% of TARGET) in total" },
	{ .name = "max-time", .kind = ARGS_COUNT, .offset = AT(max_seconds),
	  .value = "SECONDS", .min = 1, .max = UINT32_MAX,
	  .help = "stop after SECONDS" },
	{ .name = "rate", .kind = ARGS_SIZE, .offset = AT(rate),
	  .value = "SIZE", .min = 1, .max = MAX_BYTES,
	  .help = "copy at most SIZE per second (mounted only)" },
	{ .name = "idle", .kind = ARGS_FLAG, .offset = AT(idle),
	  .help = "yield to other programs (mounted only)" },
	{ .name = "min-excess", .kind = ARGS_COUNT, .offset = AT(min_excess),
	  .value = "N", .max = UINT32_MAX,
	  .help = "skip files with fewer than N excess extents + splits" },
	{ .name = "mem", .kind = ARGS_SHARE, .offset = AT(mem),
	  .value = "SIZE", .max = MAX_BYTES,
	  .help = "limit memory to SIZE (or N% of RAM), plus 32M" },
	{ .name = "exclude", .kind = ARGS_TEXTS, .offset = AT(exclude),
	  .value = "PATH", .help = "skip the file or subtree PATH (repeatable)" },
	{ .name = "move", .kind = ARGS_SET, .offset = AT(move),
	  .value = "WORD,...", .choices = move_words,
	  .help = "also move these files: immutable, swap" },
	{ .name = "renumber-anyway", .kind = ARGS_FLAG,
	  .offset = AT(renumber_anyway),
	  .help = "also renumber inodes referenced by overlayfs" },
	{ .name = "discard", .kind = ARGS_FLAG, .offset = AT(discard),
	  .help = "discard free blocks that the run wrote or freed" },
	{ .name = "shrink", .kind = ARGS_SIZE, .offset = AT(shrink_bytes),
	  .value = "SIZE", .implied = "smallest", .choices = shrink_words,
	  .min = 1, .max = MAX_BYTES,
	  .help = "reduce the filesystem to SIZE (default: smallest)" },
	{ .name = "free", .kind = ARGS_SIZE, .offset = AT(free_bytes),
	  .value = "SIZE", .max = MAX_BYTES,
	  .help = "with --shrink: leave SIZE of free space" },
	{ .name = "journal", .kind = ARGS_SIZE, .offset = AT(journal_bytes),
	  .value = "SIZE", .min = 1, .max = MAX_BYTES,
	  .help = "with --shrink: reduce the journal to SIZE" },
	{ .name = "map", .kind = ARGS_FLAG, .offset = AT(map),
	  .help = "draw the block groups before and after" },
	{ .name = "undo-file", .letter = 'z', .kind = ARGS_TEXT,
	  .offset = AT(undo.file), .value = "FILE",
	  .help = "save overwritten blocks for e2undo(8)" },
	{ .name = "no-undo", .kind = ARGS_FLAG, .offset = AT(undo.none),
	  .help = "allow changes without a journal or an undo file" },
	{ .name = "verify", .kind = ARGS_FLAG, .offset = AT(verify),
	  .help = "check the filesystem after the repack" },
};
static const struct args_tool tool = {
	.operands = "TARGET [PATH...]",
	.purpose = "Defragment the files of an ext4 filesystem and "
		   "consolidate its free space, or\ndefragment the files and "
		   "subtrees PATH.  If TARGET is a directory or a file\n"
		   "other than an image, repack its mounted filesystem.",
	.options = options,
	.n_options = sizeof(options) / sizeof(*options),
	.min_operands = 1, .max_operands = -1,
};

/* ------------------------------------------------ callbacks of e4l_repack() */

static bool should_stop(bool inside, void *priv)
{
	(void)inside;
	return repacking_stop(&((struct e4repack *)priv)->repacking);
}

static bool is_enough(void *priv)
{
	return repacking_enough(&((struct e4repack *)priv)->repacking);
}

static void on_progress(bool writing, uint64_t done, uint64_t total,
			void *priv)
{
	repacking_progress(&((struct e4repack *)priv)->repacking, writing,
			   done, total);
}

static void on_planned(const struct e4l_repack_result *result, void *priv)
{
	struct e4repack *r = priv;

	r->planned = true;
	r->planned_blocks = result->shrink.new_blocks;
	if (r->dry_run)
		return;
	progress_end(&r->progress);
	if (!r->args.json && !r->args.quiet)
		e4repack_print_planned(r, result);
	repacking_writes(&r->repacking);
}

static void on_skipped(const struct e4l_skipped *s, void *priv)
{
	struct e4repack *r = priv;

	if (s->why == E4L_SKIP_LOST)
		say("%s: inode %u: the file is damaged: restore the file from a "
		    "backup", r->target.name, s->ino);
	if (!r->args.json)
		return;
	if (e4l_grow(&r->skipped, r->n_skipped, sizeof(*r->skipped)))
		r->no_memory = true;
	else
		r->skipped[r->n_skipped++] = *s;
}

/*
 * Converts the budget @share to whole blocks, rounded down.  If the budget was
 * not given, returns E4L_NO_LIMIT.
 */
static uint64_t budget(const struct e4repack *r,
		       const struct units_share *share)
{
	uint64_t bs = r->target.fs->blocksize;
	uint64_t all = ext2fs_blocks_count(r->target.fs->super) * bs;

	return share->bytes == NOT_GIVEN ? E4L_NO_LIMIT :
					   units_share_of(share, all) / bs;
}

static uint64_t mem_bytes(const struct e4repack *r)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	uint64_t all = pages > 0 && size > 0 ? (uint64_t)pages * size :
					       UINT64_MAX;

	return units_share_of(&r->mem, all) + MEM_ANYWAY;
}

static uint32_t zero_extent_blocks(const struct e4repack *r)
{
	uint64_t blocks = r->zeroout_bytes / r->target.fs->blocksize;

	return r->zeroout_bytes == NOT_GIVEN ? E4L_ZERO_AS_SET :
	       blocks < E4L_ZERO_AS_SET ? blocks : E4L_ZERO_AS_SET - 1;
}

static errcode_t repack(struct e4repack *r)
{
	const uint64_t bs = r->target.fs->blocksize;
	const struct e4l_repack_what what = {
		.flags = r->flags | (r->target.mount_point && !r->online ?
				     E4L_REPACK_CHANGING : 0),
		.min_excess = r->min_excess,
		.only = r->only_inodes, .exclude = r->exclude_inodes,
		.free_run_blocks = r->free_run / bs + !!(r->free_run % bs),
		.shrink_blocks = e4repack_shrink_blocks(r),
		.shrink_free_blocks = r->free_bytes == NOT_GIVEN ? 0 :
				      r->free_bytes / bs +
				      !!(r->free_bytes % bs),
		.shrink_journal_blocks = r->journal_bytes == NOT_GIVEN ? 0 :
					 r->journal_bytes / bs +
					 !!(r->journal_bytes % bs),
	};
	const struct e4l_repack_limits limits = {
		.copy_blocks = budget(r, &r->max_copy),
		.zero_blocks = budget(r, &r->zeroout_budget),
		.zero_extent_blocks = zero_extent_blocks(r),
		.mem_bytes = mem_bytes(r),
	};
	const struct e4l_repack_callbacks callbacks = {
		.skipped = on_skipped, .planned = on_planned,
		.progress = on_progress, .stop = should_stop,
		.enough = is_enough, .priv = r,
	};
	errcode_t err;

	progress_start(&r->progress, &r->args, "planning");
	err = r->online ? e4repack_online(r, &what, &limits, &callbacks) :
	      e4l_repack(r->e, &what, &limits, &callbacks, &r->result);
	progress_end(&r->progress);
	return !err && r->no_memory ? ENOMEM : err;
}

/* --------------------------------------------------- check, plan and repack */

/*
 * Returns a message for a signal that ends the run immediately.  If there is no
 * memory, returns NULL.  A mounted filesystem needs no repair, because the
 * kernel keeps the filesystem consistent.  On a mounted filesystem, e2fsck
 * would refuse to run, and e2undo would destroy the filesystem.
 */
static char *end_message(const struct e4repack *r)
{
	const char *name = r->target.name, *device = r->target.e2fs_words;
	bool mmp = ext2fs_has_feature_mmp(r->target.fs->super);
	char *text;
	int n;

	if (r->online)
		n = asprintf(&text, "%s: the run ended at once: the mounted "
			     "filesystem is consistent; run e4repack again to "
			     "continue", name);
	else if (r->undo.file)
		n = asprintf(&text, "%s: the run ended inside a transaction: "
			     "run e2undo %s %s, and then e2fsck -fy %s (see "
			     "UNDO in e4repack(8))", name, undo_guard_word(),
			     device, device);
	else
		n = asprintf(&text, "%s: the run ended inside a transaction: "
			     "run %s%s%se2fsck %s %s", name,
			     mmp ? "tune2fs -f -E clear_mmp " : "",
			     mmp ? device : "", mmp ? ", and " : "",
			     e4repack_shrinks(r) ? "-f" : "-p", device);
	return n < 0 ? NULL : text;
}

/*
 * Sets the messages that are printed if a signal arrives after writing has
 * begun.
 */
static void answer_signals(void *priv)
{
	struct e4repack *r = priv;

	if (asprintf(&r->first, "%s: finishing the %s; a second signal ends "
		     "the run at once", r->target.name,
		     r->online ? "current step" : "transaction") < 0)
		r->first = NULL;
	r->second = end_message(r);
	interrupt_say(&r->interrupt, r->first, r->second);
}

static void say_why_failed(const struct e4repack *r, errcode_t err)
{
	const char *name = r->target.name;

	if (err == E4L_ET_INTERRUPTED)
		say("%s: interrupted during planning; nothing was changed",
		    name);
	else if (r->online && err == EROFS)
		say("%s: mounted read-only on %s: unmount the filesystem first",
		    name, r->target.mount_point);
	else if (r->result.done.transactions)
		say_e4l(name, r->e, err);
	else
		target_say_e4l(&r->target, r->e, err);
}

static void say_failure(const struct e4repack *r, errcode_t err)
{
	unsigned long long n = r->result.done.transactions;

	if (!e4repack_shrinks(r) || !e4repack_say_shrink_failure(r, err))
		say_why_failed(r, err);
	if (r->online && r->result.files_done)
		say("%s: %llu of %llu files were repacked before the failure",
		    r->target.name, (unsigned long long)r->result.files_done,
		    (unsigned long long)r->result.files_planned);
	if (r->undo.file && undo_guard_changed() && !undo_guard_failed())
		say("%s: to undo the changes made before the failure, run "
		    "e2undo %s %s, and then e2fsck -fy %s", r->target.name,
		    undo_guard_word(), r->target.e2fs_words,
		    r->target.e2fs_words);
	else if (n)
		say("%s: %llu transaction%s committed before the failure: run "
		    "e2fsck -f %s, and then e4repack again", r->target.name, n,
		    n == 1 ? " was" : "s were", r->target.e2fs_words);
	else if (e4repack_shrinks(r) && r->planned && !r->dry_run)
		say("%s: run e2fsck -f %s, and then e4repack again",
		    r->target.name, r->target.e2fs_words);
}

/*
 * Makes the block map after the repack.  A failure does not affect the repack,
 * which is complete.
 */
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

static errcode_t find_inodes(struct e4repack *r, bool *said)
{
	const char **paths = r->paths, **exclude = r->exclude.v;
	size_t n_paths = r->n_paths;
	errcode_t err;

	if (r->target.subtree) {
		*said = !e4repack_resolve(r);
		if (*said)
			return E4L_ET_NO_PATH;
		paths = (const char **)r->inside;
		n_paths++;
		exclude = paths + n_paths;
	}
	err = target_subtree(&r->target, r->e, paths, n_paths,
			     &r->only_inodes, said);
	return err ? err : target_subtree(&r->target, r->e, exclude,
					  r->exclude.n, &r->exclude_inodes,
					  said);
}

/*
 * Checks the filesystem, makes a plan and, unless this is a dry run, repacks.
 * A mounted filesystem is not checked, because it changes while it is read.
 * Returns false after printing an error.
 */
static bool work(struct e4repack *r)
{
	bool said = false;
	errcode_t err;

	r->e = r->target.e;
	r->repacking.e = r->e;
	if (!r->target.mount_point &&
	    !verify_before(&r->target, r->e, &r->args, &r->interrupt))
		return false;
	err = find_inodes(r, &said);
	if (!err)
		err = e4repack_map(r, true, &r->before);
	if (!err)
		err = repack(r);
	r->seconds = repacking_seconds(&r->repacking);
	if (!err && !r->dry_run)
		map_after(r);
	if (err && !said && !undo_guard_failed())
		say_failure(r, err);
	return !err;
}

/* ------------------------------------------------------------------- report */

static bool report(struct e4repack *r)
{
	e4repack_say_result(r);
	if (r->args.verbose)
		say_reads(r->target.name, r->e);
	if (r->args.json)
		return e4repack_print_json(r);
	if (!r->args.quiet)
		e4repack_print(r);
	return true;
}

/*
 * Handles a failed run.  With --json, prints the report if transactions were
 * committed before the failure, or if the sizes of --shrink are known.
 */
static void report_failed(struct e4repack *r)
{
	bool sizes = e4repack_shrinks(r) &&
		     (r->planned || r->result.shrink.smallest_blocks);

	r->failed = true;
	if (r->args.json && (r->result.done.transactions || sizes))
		e4repack_print_json(r);
}

/* ------------------------------------------------------- the run on a target */

/*
 * Opens the mounted filesystem that contains the file @name, to make a plan.
 * Returns false after printing an error.
 */
static bool open_plan_around(struct e4repack *r, const char *name)
{
	if (!target_open_around(&r->target, name))
		return false;
	if (target_has_no_errors(&r->target))
		return true;
	target_close(&r->target);
	return false;
}

static bool open_plan(struct e4repack *r, const char *name)
{
	if (!r->args.partition && target_is_file(name)) {
		if (!open_plan_around(r, name))
			return false;
	} else if (!target_open_plan(&r->target, name, r->args.partition,
				     &r->undo, r->args.quiet)) {
		return false;
	}
	if (r->target.mount_point && !r->args.quiet)
		say("%s: this plan is for a repack of the unmounted filesystem",
		    name);
	return true;
}

static bool open_target(struct e4repack *r, const char *name)
{
	r->online = !r->dry_run && e4repack_is_mounted(r, name);
	if (r->online)
		return e4repack_open_online(r, name);
	if (r->dry_run)
		return open_plan(r, name);
	return target_open_change(&r->target, name, r->args.partition,
				  &r->undo);
}

static void release(struct e4repack *r)
{
	if (r->only_inodes)
		ext2fs_free_inode_bitmap(r->only_inodes);
	if (r->exclude_inodes)
		ext2fs_free_inode_bitmap(r->exclude_inodes);
	e4repack_free_resolved(r);
	free(r->skipped);
	block_map_free(r->before);
	block_map_free(r->after);
}

static int run(struct e4repack *r, const char *name)
{
	bool ok;

	if (!open_target(r, name))
		return STATUS_FAILED;
	ok = !e4repack_shrink_refuses(r, name) && work(r);
	if (ok)
		e4repack_truncate(r);
	if (ok)
		ok = report(r);
	else
		report_failed(r);
	release(r);
	ok &= !r->failed;
	ok &= target_close(&r->target);
	if (ok && r->verify && !r->dry_run && !r->online)
		ok = verify(name, r->args.partition);
	return ok ? STATUS_DONE : STATUS_FAILED;
}

static unsigned int flags_of(unsigned int bits, const unsigned int *flags)
{
	unsigned int sum = 0, i;

	for (i = 0; bits >> i; i++)
		if (bits >> i & 1)
			sum |= flags[i];
	return sum;
}

static void set_flags(struct e4repack *r)
{
	r->flags = flags_of(r->only, e4repack_only_flags) |
		   flags_of(r->move, move_flags);
	if (r->shrink_bytes != NOT_GIVEN)
		r->flags |= E4L_REPACK_SHRINK;
	if (!r->only)
		r->flags |= E4L_REPACK_DEFAULT;
	if (r->inodes || r->all)
		r->flags |= E4L_REPACK_INODES;
	if (r->no_move)
		r->flags |= E4L_REPACK_NO_MOVE;
	if (r->discard)
		r->flags |= E4L_REPACK_DISCARD;
	if (r->dry_run)
		r->flags |= E4L_REPACK_DRY_RUN;
	if (r->renumber_anyway)
		r->flags |= E4L_REPACK_RENUMBER_OVERLAY;
}

/*
 * If the given options cannot be combined, returns a message about the
 * options.  Otherwise, returns NULL.
 */
static const char *contradiction(const struct e4repack *r)
{
	unsigned int flags = r->flags;

	if (r->discard && r->undo.file)
		return "--discard and --undo-file cannot be given together: "
		       "discarded blocks cannot be restored";
	if (r->all && r->only)
		return "--all and --only cannot be given together";
	if (r->no_move && flags & E4L_REPACK_INODES)
		return "--no-move and --inodes cannot be given together";
	if (r->no_move && !(flags & (E4L_REPACK_TREES | E4L_REPACK_DIRS)))
		return "--no-move requires trees or directories in --only";
	if (r->no_move && r->free_run)
		return "--no-move and --free-run cannot be given together";
	if (r->free_run && !(flags & E4L_REPACK_FREE))
		return "--free-run requires the word 'free' in --only";
	if (r->n_paths && r->only && flags & E4L_REPACK_FREE)
		return "--only=free requires a whole filesystem, without PATH";
	if (r->n_paths && r->free_run)
		return "--free-run requires a whole filesystem, without PATH";
	if (r->renumber_anyway && !(flags & E4L_REPACK_INODES))
		return "--renumber-anyway requires --inodes";
	if (e4repack_shrink_contradiction(r))
		return e4repack_shrink_contradiction(r);
	if (r->map && r->args.json)
		return "--map and --json cannot be given together: use e4frag "
		       "--json --map";
	return NULL;
}

static int start(struct e4repack *r, const char *name)
{
	errcode_t err;
	int status;

	r->repacking = (struct repacking) {
		.args = &r->args, .interrupt = &r->interrupt,
		.progress = &r->progress,
		.max_seconds = r->max_seconds == NOT_GIVEN ?
			       HUGE_VAL : (double)r->max_seconds,
		.writes = answer_signals, .priv = r,
	};
	clock_gettime(CLOCK_MONOTONIC, &r->repacking.start);
	err = interrupt_start(&r->interrupt, NULL);
	if (err)
		say_error(name, "cannot start a thread for signals", err);
	status = err ? STATUS_FAILED : run(r, name);
	interrupt_stop(&r->interrupt);
	free(r->first);
	free(r->second);
	return status;
}

int main(int argc, char **argv)
{
	struct e4repack r = {
		.zeroout_bytes = NOT_GIVEN,
		.zeroout_budget.bytes = NOT_GIVEN, .max_copy.bytes = NOT_GIVEN,
		.shrink_bytes = NOT_GIVEN, .free_bytes = NOT_GIVEN,
		.journal_bytes = NOT_GIVEN,
		.max_seconds = NOT_GIVEN, .rate = NOT_GIVEN, .mem = DEFAULT_MEM,
	};
	int first, status;

	heap_set_large(LARGE_BYTES);
	first = args_parse(&tool, argc, argv, &r, &status);
	if (first < 0)
		return status;
	r.paths = (const char **)argv + first + 1;
	r.n_paths = argc - first - 1;
	set_flags(&r);
	if (contradiction(&r)) {
		say("%s", contradiction(&r));
		status = STATUS_USAGE;
	} else {
		status = start(&r, argv[first]);
	}
	free(r.exclude.v);
	return say_done(status);
}
