/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The requests plan, repack, files, trees, directories, free, inodes and undo.
 */
#include "config.h"
#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "e4layout/base/shell_word.h"
#include "support/json_layout.h"
#include "support/repacking.h"
#include "support/say.h"
#include "support/skips.h"
#include "support/undo_guard.h"
#include "support/units.h"
#include "change.h"

struct repack {
	struct shell *s;
	unsigned int flags;
	struct e4l_repack_limits limits;
	struct e4l_repack_result result;
	struct repacking repacking;
};

static bool should_stop(bool inside, void *priv)
{
	(void)inside;
	return repacking_stop(&((struct repack *)priv)->repacking);
}

static void on_progress(bool writing, uint64_t done, uint64_t total,
			void *priv)
{
	repacking_progress(&((struct repack *)priv)->repacking, writing, done,
			   total);
}

static void on_planned(const struct e4l_repack_result *result, void *priv)
{
	struct repack *r = priv;

	(void)result;
	if (!(r->flags & E4L_REPACK_DRY_RUN))
		repacking_writes(&r->repacking);
}

static void on_skipped(const struct e4l_skipped *s, void *priv)
{
	const struct repack *r = priv;

	if (s->kind != E4L_SKIP_FILE)
		say("%s: directory <%u> is skipped: %s", r->s->request, s->ino,
		    skip_texts[s->why].text);
}

static errcode_t run(struct repack *r, ext2fs_inode_bitmap only)
{
	const struct e4l_repack_what what = { .flags = r->flags, .only = only };
	const struct e4l_repack_callbacks callbacks = {
		.skipped = on_skipped, .planned = on_planned,
		.progress = on_progress, .stop = should_stop, .priv = r,
	};
	struct e4l_es_stats stats;
	errcode_t err;

	e4l_es_get_stats(r->s->cache, &stats);
	r->limits.mem_bytes = stats.limit_bytes;
	r->repacking = (struct repacking) {
		.e = r->s->e, .args = &r->s->args,
		.interrupt = &r->s->interrupt, .progress = &r->s->progress,
		.max_seconds = HUGE_VAL,
	};
	progress_start(&r->s->progress, &r->s->args, "planning");
	err = e4l_repack(r->s->e, &what, &r->limits, &callbacks, &r->result);
	progress_end(&r->s->progress);
	return err;
}

static bool repack(struct repack *r, const char *path)
{
	bool dry = r->flags & E4L_REPACK_DRY_RUN, ok;
	ext2fs_inode_bitmap only = NULL;
	json_t *object;
	errcode_t err;

	if (path && !file_subtree(r->s, path, &only))
		return false;
	err = run(r, only);
	if (only)
		ext2fs_free_inode_bitmap(only);
	ok = err ? shell_fails_e4l(r->s, "cannot repack", err) : true;
	/* A run that ended before its first transaction has changed nothing. */
	if (!dry && (!err || r->repacking.writing))
		ok = shell_changed(r->s, ok);
	if (!ok)
		return false;
	object = json_repack(&r->result, r->s->target.fs->blocksize);
	return dry ? shell_show(r->s, object) : shell_report(r->s, object);
}

static bool start(struct shell *s, unsigned int flags, const char *path)
{
	struct repack r = {
		.s = s, .flags = flags, .limits = E4L_REPACK_NO_LIMITS,
	};

	return repack(&r, path);
}

bool do_plan(struct shell *s, int argc, const char *const *argv)
{
	return start(s, E4L_REPACK_DEFAULT | E4L_REPACK_DRY_RUN, argv[1]);
}

bool do_repack(struct shell *s, int argc, const char *const *argv)
{
	return start(s, E4L_REPACK_DEFAULT, argv[1]);
}

bool do_files(struct shell *s, int argc, const char *const *argv)
{
	return start(s, E4L_REPACK_FILES, argv[1]);
}

bool do_directories(struct shell *s, int argc, const char *const *argv)
{
	return start(s, E4L_REPACK_DIRS, argv[1]);
}

bool do_free(struct shell *s, int argc, const char *const *argv)
{
	return start(s, E4L_REPACK_FREE, NULL);
}

bool do_inodes(struct shell *s, int argc, const char *const *argv)
{
	return start(s, E4L_REPACK_INODES, argv[1]);
}

bool do_trees(struct shell *s, int argc, const char *const *argv)
{
	struct repack r = {
		.s = s, .flags = E4L_REPACK_TREES,
		.limits = E4L_REPACK_NO_LIMITS,
	};
	uint64_t bytes;

	if (argc <= 2)
		return repack(&r, argv[1]);
	if (!units_parse_size(argv[2], &bytes)) {
		say("trees: invalid size '%s' (expected a size such as 256K)",
		    argv[2]);
		return false;
	}
	bytes /= s->target.fs->blocksize;
	r.limits.zero_extent_blocks = bytes < UINT32_MAX ? bytes :
							   UINT32_MAX - 1;
	return repack(&r, argv[1]);
}

/* --------------------------------------------------------------------- undo */

static bool run_e2undo(struct shell *s, const char *device)
{
	char built_in[] = E2UNDO, *program = program_path(built_in);
	char *argv[] = {
		program, "--", (char *)s->undo.file, (char *)device, NULL
	};
	int status, err;
	char *word;
	pid_t pid;

	fflush(stdout);
	err = posix_spawnp(&pid, program, NULL, NULL, argv, environ);
	if (err) {
		say_error(program, "cannot run", err);
		return false;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	word = e4l_shell_filesystem(device, 0);
	say("%s %s %s failed: if the filesystem was neither mounted nor "
	    "checked after the change, run the command again with -f",
	    program, undo_guard_word(), word ? word : device);
	free(word);
	return false;
}

static bool take_back(struct shell *s, void *priv)
{
	if (!run_e2undo(s, priv))
		return false;
	if (!unlink(s->undo.file))
		return true;
	say_error(s->undo.file, "cannot remove", errno);
	return false;
}

bool do_undo(struct shell *s, int argc, const char *const *argv)
{
	char *device;
	bool ok;

	if (!s->undo.file) {
		say("undo: nothing was recorded: start e4debug with -z FILE");
		return false;
	}
	if (!undo_guard_changed()) {
		say("undo: nothing was changed");
		return false;
	}
	device = strdup(s->target.device);
	if (!device)
		return shell_fails(s, s->name, ENOMEM);
	ok = shell_around(s, take_back, device);
	free(device);
	return ok;
}
