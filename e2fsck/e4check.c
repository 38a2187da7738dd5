/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e4check: checks an ext4 filesystem, and changes nothing. */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "e4layout/base/io_stats.h"
#include "e4layout/base/shell_word.h"
#include "support/interrupt.h"
#include "support/say.h"
#include "e4check.h"

#define DEFAULT_FINDINGS	1000
#define MAX_FINDINGS		1000000
#define MAX_THREADS		64

#define AT(member) offsetof(struct e4check, member)
static const struct args_option options[] = {
	{ .name = "layout-only", .kind = ARGS_FLAG, .offset = AT(layout_only),
	  .help = "report layout problems only" },
	{ .name = "no-layout", .kind = ARGS_FLAG, .offset = AT(no_layout),
	  .help = "report errors and warnings only" },
	{ .name = "max-findings", .kind = ARGS_COUNT,
	  .offset = AT(max_findings), .value = "N", .max = MAX_FINDINGS,
	  .help = "show the N most severe findings (default: 1000)" },
	{ .name = "threads", .kind = ARGS_COUNT,
	  .offset = AT(threads), .value = "N", .min = 1, .max = MAX_THREADS,
	  .help = "use N threads (default: one per processor)" },
	{ .letter = 'n', .kind = ARGS_FLAG, .offset = AT(fsck_n),
	  .help = "ignored: e4check never writes" },
	{ .letter = 'f', .kind = ARGS_FLAG, .offset = AT(fsck_f),
	  .help = "ignored: e4check always checks everything" },
	{ .letter = 'C', .kind = ARGS_TEXT, .offset = AT(fsck_fd),
	  .value = "FD", .help = "0: same as --progress=always" },
	{ .letter = 'p', .kind = ARGS_FLAG, .offset = AT(fsck_fixes),
	  .help = "not supported: use e2fsck -p" },
	{ .letter = 'y', .kind = ARGS_FLAG, .offset = AT(fsck_fixes),
	  .help = "not supported: use e2fsck -fy" },
};
static const struct args_tool tool = {
	.operands = "TARGET...",
	.purpose = "Check an ext4 filesystem and report layout problems.",
	.options = options,
	.n_options = sizeof(options) / sizeof(*options),
	.min_operands = 1, .max_operands = -1,
};

static void on_progress(const char *doing, uint64_t done, uint64_t all,
			void *priv)
{
	struct e4check *check = priv;
	struct e4l_io_stats io;

	if (doing != check->doing) {
		progress_end(&check->progress);
		progress_start(&check->progress, &check->args, doing);
		check->doing = doing;
	}
	e4l_get_io_stats(check->e, &io);
	progress_update(&check->progress, done, all, io.bytes);
}

/* Loads the paths of the inodes in the findings that are printed. */
static errcode_t load_names(struct e4check *check)
{
	struct findings *f = &check->found;
	ext2_ino_t *wanted = calloc(f->n + 1, sizeof(*wanted));
	errcode_t err = wanted ? 0 : ENOMEM;
	size_t i, n = 0;

	for (i = 0; wanted && i < f->n; i++)
		if (f->v[i].ino &&
		    f->v[i].ino <= check->target.fs->super->s_inodes_count)
			wanted[n++] = f->v[i].ino;
	if (n)
		err = e4l_names_load(check->e, wanted, n, &check->names);
	free(wanted);
	return err;
}

static errcode_t run_check(struct e4check *check)
{
	const struct e4l_check_options opt = {
		.flags = (check->no_layout ? E4L_CHECK_NO_LAYOUT : 0) |
			 (check->layout_only ? E4L_CHECK_LAYOUT_ONLY : 0) |
			 (check->target.mount_point ? E4L_CHECK_MOUNTED : 0),
		.journal = check->target.journal,
		.progress = on_progress, .priv = check,
	};
	struct interrupt in = { .active = false };
	errcode_t err = target_new_context(&check->target, &check->e);

	if (!err && check->threads)
		err = e4l_set_threads(check->e, check->threads);
	if (!err)
		err = interrupt_start(&in, check->e);
	if (!err)
		err = e4l_check_run(check->e, &opt, &check->found);
	progress_end(&check->progress);
	e4l_findings_sort(&check->found);
	/*
	 * If the paths cannot be read, the check does not fail: the report
	 * shows inode numbers instead of paths.
	 */
	if (!err)
		check->nameless = load_names(check);
	interrupt_stop(&in);
	return err;
}

static int verdict(const struct e4check *check, errcode_t err)
{
	const struct findings *f = &check->found;

	if (err == E4L_ET_INTERRUPTED) {
		say("%s: interrupted: the check is incomplete; nothing was "
		    "changed", check->target.name);
		return FSCK_CANCELED;
	}
	if (err && !f->count[F_SUPER_FIELD]) {
		target_say_e4l(&check->target, check->e, err);
		return FSCK_FAILED;
	}
	if (!(check->args.json ? e4check_print_json(check) :
				 e4check_print_text(check)))
		return FSCK_FAILED;
	if (check->args.verbose)
		say_reads(check->target.name, check->e);
	if (check->nameless)
		say_error(check->target.name, "cannot determine paths",
			  check->nameless);
	return (f->severity[E4L_SEVERITY_ERROR] ? FSCK_ERRORS : FSCK_CLEAN) |
	       (err || f->count[F_JOURNAL_ABSENT] || check->nameless ?
		FSCK_FAILED : 0);
}

/*
 * Adds findings for the damage that was found when the filesystem was opened.
 */
static void note_doubt(struct e4check *check, const struct target_doubt *doubt)
{
	struct finding at = { .blk = doubt->backup };

	if (doubt->super)
		e4l_findings_add(&check->found, F_SUPER_DOUBTFUL, at);
	if (doubt->groups)
		e4l_findings_add(&check->found, F_GROUPS_DOUBTFUL, at);
}

static int run(struct e4check *check, const char *name)
{
	int status;
	struct target_doubt doubt;

	if (!target_open_check(&check->target, name, check->args.partition,
			       check->args.quiet, &doubt))
		return FSCK_FAILED;
	if (check->target.subtree && !check->args.quiet)
		say("%s: checking the whole filesystem", name);
	e4l_findings_init(&check->found, check->max_findings);
	if (!check->layout_only)
		note_doubt(check, &doubt);
	status = verdict(check, run_check(check));
	e4l_names_free(check->names);
	e4l_findings_free(&check->found);
	e4l_free(check->e);
	if (!target_close(&check->target))
		status |= FSCK_FAILED;
	return status;
}

/*
 * Checks the targets one after the other.  The exit status is the bitwise OR of
 * the results, as for fsck.
 */
static int run_all(const struct e4check *wanted, char **names)
{
	struct e4check check;
	int status = FSCK_CLEAN;

	for (; *names && !(status & FSCK_CANCELED); names++) {
		check = *wanted;
		status |= run(&check, *names);
	}
	return status;
}

static int refuse_fixes(const char *name)
{
	char *word = access(name, F_OK) ? e4l_shell_word(name) :
					  e4l_shell_filesystem(name, 0);

	say("-p and -y are not supported: to repair the filesystem, run "
	    "e2fsck -p or e2fsck -fy %s", word ? word : name);
	free(word);
	return FSCK_USAGE;
}

int main(int argc, char **argv)
{
	struct e4check check = { .max_findings = DEFAULT_FINDINGS };
	int first, status;

	initialize_ext2_error_table();
	first = args_parse(&tool, argc, argv, &check, &status);
	if (first < 0)
		return status == STATUS_USAGE ? FSCK_USAGE :
		       status == STATUS_FAILED ? FSCK_FAILED : status;
	if (check.fsck_fixes)
		return refuse_fixes(argv[first]);
	if (check.fsck_fd && !strcmp(check.fsck_fd, "0"))
		check.args.progress = PROGRESS_ALWAYS;
	if (check.layout_only && check.no_layout) {
		say("--layout-only and --no-layout cannot be given together");
		return FSCK_USAGE;
	}
	status = run_all(&check, argv + first);
	return say_done(STATUS_DONE) ? FSCK_FAILED : status;
}
