/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e4frag: reports the layout of an ext4 filesystem, and changes nothing. */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "e4layout/base/io_stats.h"
#include "e4layout/base/stat.h"
#include "e4layout/format/tree_size.h"
#include "support/heap.h"
#include "support/interrupt.h"
#include "support/say.h"
#include "e4frag.h"

#define DEFAULT_TOP	10

#define FILES_BYTES	(256 << 10) /* size of the output buffer for --files */
#define MAX_TOP		1000000

/*
 * Minimum size of a block that malloc() maps separately, so that free() returns
 * the block to the kernel.
 */
#define LARGE_BYTES	(128 << 10)

/*
 * Maximum number of damaged structures that a report lists.  All damaged
 * structures are counted.
 */
#define DAMAGED_IN_TEXT	10
#define DAMAGED_IN_JSON	1000

const char *const e4frag_sorts[] = {
	[E4L_SORT_EXCESS] = "excess",
	[E4L_SORT_EXTENTS] = "extents",
	[E4L_SORT_FRAGMENTS] = "fragments",
	[E4L_SORT_SIZE] = "size",
	NULL
};

enum { FILES_JSON, FILES_TABLE, FILES_NONE };
static const char *const files_forms[] = { "json", "table", NULL };

#define TOP_NOT_GIVEN UINT64_MAX

#define AT(member) offsetof(struct e4frag, member)
static const struct args_option options[] = {
	{ .name = "files", .kind = ARGS_CHOICE, .offset = AT(files_form),
	  .value = "FORM", .implied = "json", .choices = files_forms,
	  .help = "list files: FORM is json (default) or table" },
	{ .name = "prometheus", .kind = ARGS_TEXT, .offset = AT(prometheus),
	  .value = "FILE", .implied = "-",
	  .help = "print only metrics for Prometheus" },
	{ .name = "dirs", .kind = ARGS_FLAG, .offset = AT(by_dir),
	  .help = "show the worst subtrees" },
	{ .name = "html", .kind = ARGS_TEXT, .offset = AT(html),
	  .value = "FILE", .help = "write an HTML page with a block map" },
	{ .name = "compare", .kind = ARGS_TEXT, .offset = AT(compare),
	  .value = "OLD.json",
	  .help = "with --html: compare with an earlier --json report" },
	{ .name = "map", .kind = ARGS_FLAG, .offset = AT(map),
	  .help = "draw the block map" },
	{ .name = "groups", .kind = ARGS_FLAG, .offset = AT(groups),
	  .help = "show a row for each block group" },
	{ .name = "top", .kind = ARGS_COUNT, .offset = AT(top),
	  .value = "N", .max = MAX_TOP,
	  .help = "show the N worst files (default: 10)" },
	{ .name = "sort", .kind = ARGS_CHOICE, .offset = AT(sort),
	  .value = "WORD", .choices = e4frag_sorts,
	  .help = "sort by excess, extents, fragments or size" },
	{ .name = "min-extents", .kind = ARGS_COUNT, .offset = AT(min_extents),
	  .value = "N", .max = UINT32_MAX,
	  .help = "list only files with N extents or more" },
};
static const struct args_tool tool = {
	.operands = "TARGET [PATH...]",
	.purpose = "Report the layout of an ext4 filesystem, or of its files "
		   "and subtrees PATH.",
	.options = options,
	.n_options = sizeof(options) / sizeof(*options),
	.min_operands = 1, .max_operands = -1,
};

/* ---------------------------------------------------- callbacks of the scan */

static void on_progress(dgrp_t group, dgrp_t groups, void *priv)
{
	struct e4frag *frag = priv;
	struct e4l_io_stats io;

	frag->groups_done = group;
	frag->groups_all = groups;
	e4l_get_io_stats(frag->e, &io);
	progress_update(&frag->progress, group, groups, io.bytes);
}

static errcode_t on_file(const struct e4l_file *file, void *priv)
{
	struct e4frag *frag = priv;

	if (e4frag_print_file(&frag->line, file))
		return 0;
	frag->failure_said = true;
	return EIO;
}

/*
 * Returns whether a report is made.  With --files, a list of files is printed
 * instead.
 */
static bool has_report(const struct e4frag *frag)
{
	if (frag->files || frag->table)
		return false;
	return frag->args.json || frag->prometheus || frag->html ||
	       !frag->args.quiet;
}

/*
 * Returns the number of tree blocks that zeroing could save.  After zeroing, a
 * file can consist of one extent for each logical run.
 */
static uint64_t spare_tree(const struct e4frag *frag,
			   const struct e4l_file_score *score)
{
	uint64_t least = e4l_ideal_tree_blocks(score->logical_runs,
					       frag->target.fs->blocksize);

	return score->tree_blocks > least ? score->tree_blocks - least : 0;
}

/*
 * Counts what a repack could improve in a file.  Block-mapped files are never
 * repacked.
 */
static void count_improvable(struct e4frag *frag,
			     const struct e4l_piece *piece,
			     const struct e4l_file_score *score)
{
	if (piece->map == E4L_MAP_INDIRECT ||
	    !e4l_is_file(frag->target.fs, piece->ino))
		return;
	frag->improvable.files += e4l_score_can_be_better(score) ||
				  score->fragments > score->logical_runs;
	frag->improvable.fragments += score->fragments - score->logical_runs;
	frag->improvable.tree_blocks += spare_tree(frag, score);
}

static errcode_t on_piece(const struct e4l_piece *piece,
			  const struct e4l_file_score *score, void *priv)
{
	struct e4frag *frag = priv;

	look_piece(&frag->look, piece, score);
	if (frag->dirs)
		dirs_piece(frag->dirs, piece, score);
	if (score)
		count_improvable(frag, piece, score);
	return 0;
}

static errcode_t on_free_run(const struct e4l_block_run *run, void *priv)
{
	struct e4frag *frag = priv;

	look_free_run(&frag->look, run);
	return 0;
}

static errcode_t on_locality(const struct e4l_dir_locality *dir, void *priv)
{
	struct e4frag *frag = priv;

	look_locality(&frag->look, dir);
	if (dir->spare_blocks) {
		frag->sparse.count++;
		frag->sparse.blocks += dir->blocks;
		frag->sparse.spare_blocks += dir->spare_blocks;
	} else {
		frag->linear += dir->wants_index;
	}
	if (dir->spread) {
		frag->spread.count++;
		frag->spread.itable_blocks += dir->itable_blocks;
		frag->spread.spare_blocks += dir->itable_blocks -
					     dir->itable_blocks_ideal;
	}
	return 0;
}

/* ---------------------------------------------------------------- the model */

static errcode_t build_model(struct e4frag *frag)
{
	struct e4l_model_options opt = {
		.flags = (frag->groups ? E4L_MODEL_GROUPS : 0) |
			 (frag->files ? E4L_MODEL_FILE_PATHS : 0),
		.only = frag->only,
		.top = frag->files ? 0 : frag->top,
		.sort = frag->sort,
		.min_extents = frag->min_extents,
		.max_damaged = frag->args.json ? DAMAGED_IN_JSON :
						 DAMAGED_IN_TEXT,
		.file = frag->files ? on_file : NULL,
		.progress = on_progress,
		.priv = frag,
		.piece = on_piece, .free_run = on_free_run,
		.locality = on_locality, .sees = frag,
	};
	errcode_t err;

	progress_start(&frag->progress, &frag->args, "scanning");
	err = look_begin(&frag->look, frag->target.fs,
			 frag->map || frag->html);
	if (!err && frag->by_dir && has_report(frag))
		err = dirs_new(frag->e, frag->only, &frag->dirs);
	if (!err)
		err = e4l_model_build(frag->e, &opt, &frag->model);
	if (!err)
		look_end(&frag->look);
	if (!err && frag->dirs)
		err = dirs_finish(frag->dirs, frag->sort, frag->top);
	progress_end(&frag->progress);
	return err;
}

/*
 * Returns the number of worst files to print.  With --sort=excess, counts only
 * files that have excess extents.
 */
static size_t count_worst(const struct e4frag *frag)
{
	size_t n = frag->model.n_worst;

	while (frag->sort == E4L_SORT_EXCESS && n &&
	       !e4frag_excess(&frag->model.worst[n - 1].score))
		n--;
	return n;
}

static void say_failure(const struct e4frag *frag, errcode_t err)
{
	if (err == E4L_ET_INTERRUPTED)
		say("%s: interrupted after %u of %u block groups",
		    frag->target.name, frag->groups_done, frag->groups_all);
	else if (!frag->failure_said)
		target_say_e4l(&frag->target, frag->e, err);
}

/*
 * Reads the filesystem for all requested reports.  Returns false after printing
 * an error.
 */
static bool analyse(struct e4frag *frag)
{
	struct interrupt in = { .active = false };
	errcode_t err;

	frag->groups_all = frag->target.fs->group_desc_count;
	frag->e = frag->target.e;
	err = interrupt_start(&in, frag->e);
	if (!err)
		err = target_only(&frag->target, frag->e, frag->paths,
				  frag->n_paths, &frag->only,
				  &frag->failure_said);
	if (!err)
		err = build_model(frag);
	interrupt_stop(&in);
	if (err)
		say_failure(frag, err);
	frag->n_worst = count_worst(frag);
	return !err;
}

/* ------------------------------------------------------------------- report */

static bool has_told(const struct e4frag *frag, bool ok)
{
	if (!ok)
		say_error(frag->target.name, "cannot determine all paths",
					     ENOMEM);
	return ok;
}

static bool report(const struct e4frag *frag)
{
	if (frag->model.damaged_count && !frag->args.quiet) {
		if (frag->target.mount_point)
			say("%s: damaged structures were skipped: the mounted "
			    "filesystem was changed during the run, or is "
			    "damaged", frag->target.name);
		else
			say("%s: damaged structures were skipped: "
			    "run e2fsck -fn %s", frag->target.name,
			    frag->target.e2fs_words);
	}
	if (frag->args.verbose)
		say_reads(frag->target.name, frag->e);
	if (frag->html && !e4frag_write_html(frag))
		return false;
	if (frag->files)
		return true;
	if (frag->table)
		return has_told(frag, e4frag_print_worst(stdout, frag));
	if (frag->prometheus)
		return e4frag_print_prometheus(frag);
	if (frag->args.json)
		return e4frag_print_json(frag);
	return frag->args.quiet ||
	       has_told(frag, e4frag_print_text(stdout, frag));
}

/*
 * Refuses --prometheus for a subtree, because the metrics would be mistaken for
 * metrics of the whole filesystem.  Returns false after printing an error.
 */
static bool is_whole(const struct e4frag *frag)
{
	if (!frag->prometheus || (!frag->target.subtree && !frag->n_paths))
		return true;
	say("%s: --prometheus requires a whole filesystem: give %s as TARGET, "
	    "without PATH",
	    frag->target.name, frag->target.mount_point ?
	    frag->target.mount_point : frag->target.device);
	return false;
}

static bool is_same_file(const struct stat *a, const char *path)
{
	struct stat b;

	return path && !e4l_stat(path, &b) && a->st_dev == b.st_dev &&
	       a->st_ino == b.st_ino;
}

/*
 * If @file is an input file or attached to a loop device, prints an error and
 * returns false.  replace_file() checks everything else.
 */
static bool can_replace(const struct e4frag *frag, const char *file)
{
	struct stat st;

	if (!file || e4l_lstat(file, &st) || !S_ISREG(st.st_mode))
		return true;
	if (!is_same_file(&st, frag->target.device) &&
	    !is_same_file(&st, frag->compare))
		return !target_is_attached(file);
	say("%s: the output file is also an input file: give another output "
	    "file", file);
	return false;
}

static int run(struct e4frag *frag, const char *target)
{
	bool ok;

	if (!target_open_report(&frag->target, target, frag->args.partition,
				frag->args.quiet))
		return STATUS_FAILED;
	if (frag->target.subtree && !frag->n_paths && !frag->args.quiet &&
	    !frag->prometheus)
		say("%s: only this subtree is reported; for the whole "
		    "filesystem, give %s",
		    target, frag->target.mount_point ?
		    frag->target.mount_point : frag->target.device);
	ok = is_whole(frag) && can_replace(frag, frag->html) &&
	     can_replace(frag, frag->prometheus) && e4frag_begin_html(frag) &&
	     analyse(frag) && report(frag);
	json_line_free(&frag->line);
	e4l_model_free(&frag->model);
	dirs_free(frag->dirs);
	look_free(&frag->look);
	json_decref(frag->before);
	if (frag->only)
		ext2fs_free_inode_bitmap(frag->only);
	ok &= target_close(&frag->target);
	return ok ? STATUS_DONE : STATUS_FAILED;
}

/*
 * If the given options cannot be combined, or if the file of --prometheus has
 * an invalid name, prints an error and returns false.
 */
static bool are_together(const struct e4frag *frag)
{
	if (frag->table && frag->args.json) {
		say("--files=table and --json cannot be given together: use "
		    "--files=json");
		return false;
	}
	if ((frag->files || frag->table) && (frag->by_dir || frag->map)) {
		say("--files cannot be given together with --dirs or --map");
		return false;
	}
	if (!frag->prometheus || (!frag->files && !frag->table &&
				  !frag->groups && !frag->by_dir &&
				  !frag->map && !frag->args.json))
		return e4frag_can_write_prometheus(frag);
	say("--prometheus cannot be given together with --files, --dirs, "
	    "--map, --groups or --json");
	return false;
}

static bool has_page(const struct e4frag *frag)
{
	if (frag->compare && !frag->html)
		say("--compare requires --html");
	else if (frag->html && (frag->files || frag->table ||
				frag->prometheus))
		say("--html cannot be given together with --files or "
		    "--prometheus");
	else
		return true;
	return false;
}

int main(int argc, char **argv)
{
	struct e4frag frag = {
		.top = TOP_NOT_GIVEN, .files_form = FILES_NONE,
	};
	int first, status;

	heap_set_large(LARGE_BYTES);
	first = args_parse(&tool, argc, argv, &frag, &status);
	if (first < 0)
		return status;
	frag.files = frag.files_form == FILES_JSON;
	frag.table = frag.files_form == FILES_TABLE;
	if (frag.top == TOP_NOT_GIVEN)
		frag.top = frag.table ? MAX_TOP : DEFAULT_TOP;
	if (!are_together(&frag) || !has_page(&frag))
		return say_done(STATUS_USAGE);
	if (frag.files && !isatty(STDOUT_FILENO))
		setvbuf(stdout, NULL, _IOFBF, FILES_BYTES);
	frag.paths = (const char **)argv + first + 1;
	frag.n_paths = argc - first - 1;
	return say_done(run(&frag, argv[first]));
}
