/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * plan, repack, room, free, merge, zeroout, compact, regroup: repairs of all or of
 * some; undo.
 */
#include "config.h"
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/json_layout.h"
#include "support/repairing.h"
#include "support/say.h"
#include "support/undo_guard.h"
#include "support/units.h"
#include "change.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct repair {
	struct shell *s;
	unsigned int flags;
	uint64_t zeroout_bytes;
	struct e4l_repack_result result;
	struct e4l_compact_result dirs;
	struct e4l_regroup_result inodes;
	struct repairing repairing;
};

static bool should_stop(bool inside, void *priv)
{
	return repairing_stop(&((struct repair *)priv)->repairing);
}

static void on_progress(bool writing, uint64_t done, uint64_t total,
			void *priv)
{
	repairing_progress(&((struct repair *)priv)->repairing, writing, done,
			   total);
}

#define RESULT(key) { #key, offsetof(struct e4l_repack_result, key) }
static const struct json_member members[] = {
	RESULT(files_planned), RESULT(files_done), RESULT(files_skipped),
	RESULT(extents_before), RESULT(extents_after),
	RESULT(fragments_before), RESULT(fragments_after),
	RESULT(tree_blocks_before), RESULT(tree_blocks_after),
	RESULT(planned_copy_blocks), RESULT(planned_zero_blocks),
	RESULT(copied_blocks), RESULT(zeroed_blocks), RESULT(transactions),
};

static bool show_result(const struct repair *r, bool dry)
{
	json_t *object = json_members(&r->result, members, COUNT(members));

	object = json_checked(object, json_object_set_new(object, "stopped",
					json_boolean(r->result.stopped)));
	if (r->flags & E4L_PLAN_ROOM)
		object = json_checked(object, json_object_set_new(object,
				"room", json_room(&r->result,
						  r->s->target.fs->blocksize)));
	if (r->flags & E4L_PLAN_FREE)
		object = json_checked(object, json_object_set_new(object,
				"free", json_free_runs(&r->result,
						r->s->target.fs->blocksize)));
	return dry ? shell_show(r->s, object) : shell_report(r->s, object);
}

static void begin(struct repair *r)
{
	r->repairing = (struct repairing) {
		.e = r->s->e, .args = &r->s->args,
		.interrupt = &r->s->interrupt, .progress = &r->s->progress,
		.max_seconds = UINT64_MAX,
	};
	progress_start(&r->s->progress, &r->s->args, "scanning");
}

static errcode_t run(struct repair *r, ext2fs_inode_bitmap only, bool dry)
{
	struct e4l_repack_options opt = {
		.flags = r->flags, .dry_run = dry,
		.zeroout_max_blocks = repairing_blocks(r->s->e,
						       r->zeroout_bytes),
		.zeroout_budget_blocks = E4L_NO_LIMIT,
		.copy_budget_blocks = E4L_NO_LIMIT,
		.only = only, .cache = r->s->cache,
		.progress = on_progress, .stop = should_stop, .priv = r,
	};
	errcode_t err;

	begin(r);
	err = e4l_repack(r->s->e, &opt, &r->result);
	progress_end(&r->s->progress);
	return err;
}

static bool find_zeroout(struct repair *r)
{
	errcode_t err = repairing_zeroout(r->s->e, &r->zeroout_bytes);

	return err ? shell_fails_e4l(r->s, "cannot read the tunables", err) :
		     true;
}

static bool repair(struct repair *r, const char *path)
{
	bool dry = !strcmp(r->s->request, "plan"), ok;
	ext2fs_inode_bitmap only = NULL;
	errcode_t err;

	if (path && !file_subtree(r->s, path, &only))
		return false;
	err = run(r, only, dry);
	if (only)
		ext2fs_free_inode_bitmap(only);
	ok = err ? shell_fails_e4l(r->s, "cannot repair", err) : true;
	/* an end before the first transaction has changed nothing */
	if (!dry && (!err || r->repairing.writing || r->result.transactions))
		ok = shell_changed(r->s, ok);
	return ok && show_result(r, dry);
}

static bool start(struct shell *s, unsigned int flags, const char *path)
{
	struct repair r = { .s = s, .flags = flags };

	return find_zeroout(&r) && repair(&r, path);
}

bool do_plan(struct shell *s, int argc, const char *const *argv)
{
	return start(s, REPAIRING_ALL, argv[1]);
}

bool do_repack(struct shell *s, int argc, const char *const *argv)
{
	return start(s, REPAIRING_ALL, argv[1]);
}

bool do_room(struct shell *s, int argc, const char *const *argv)
{
	return start(s, REPAIRING_ALL | E4L_PLAN_ROOM, argv[1]);
}

bool do_free(struct shell *s, int argc, const char *const *argv)
{
	return start(s, E4L_PLAN_FREE, argv[1]);
}

bool do_merge(struct shell *s, int argc, const char *const *argv)
{
	return start(s, E4L_PLAN_MERGE, argv[1]);
}

bool do_zeroout(struct shell *s, int argc, const char *const *argv)
{
	struct repair r = {
		.s = s, .flags = E4L_PLAN_ZEROOUT | E4L_PLAN_MERGE,
	};

	if (argc == 2)
		return find_zeroout(&r) && repair(&r, argv[1]);
	if (units_parse_size(argv[2], &r.zeroout_bytes))
		return repair(&r, argv[1]);
	say("zeroout: %s: is not a size such as 256K", argv[2]);
	return false;
}

/* --------------------------------------------------------- compact, regroup */

#define DIRS(key) { #key, offsetof(struct e4l_compact_result, key) }
static const struct json_member dirs_members[] = {
	DIRS(dirs_planned), DIRS(dirs_done), DIRS(dirs_skipped),
	DIRS(indexes_planned), DIRS(done_old_blocks), DIRS(done_blocks),
	DIRS(transactions),
};

#define INODES(key) { #key, offsetof(struct e4l_regroup_result, key) }
static const struct json_member inodes_members[] = {
	INODES(inodes_planned), INODES(inodes_done), INODES(dirs_planned),
	INODES(dirs_done), INODES(dirs_skipped), INODES(blocks_before),
	INODES(blocks_after), INODES(blocks_ideal), INODES(transactions),
};

static void on_dir_left(ext2_ino_t ino, const char *why, uint64_t blocks,
			void *priv)
{
	const struct repair *r = priv;

	say("%s: directory <%u> stays as it is: %s", r->s->request, ino, why);
}

static uint64_t mem_bytes(const struct repair *r)
{
	struct e4l_es_stats stats;

	e4l_es_get_stats(r->s->cache, &stats);
	return stats.limit_bytes;
}

static errcode_t compact(struct repair *r, ext2fs_inode_bitmap only)
{
	struct e4l_compact_options opt = {
		.write_budget_blocks = E4L_NO_LIMIT, .only = only,
		.mem_bytes = mem_bytes(r),
		.skipped = on_dir_left, .progress = on_progress,
		.stop = should_stop, .priv = r,
	};

	return e4l_compact_dirs(r->s->e, &opt, &r->dirs);
}

static errcode_t regroup(struct repair *r, ext2fs_inode_bitmap only)
{
	struct e4l_regroup_options opt = {
		.only = only, .mem_bytes = mem_bytes(r),
		.skipped = on_dir_left, .progress = on_progress,
		.stop = should_stop, .priv = r,
	};

	return e4l_regroup_inodes(r->s->e, &opt, &r->inodes);
}

/* A repair of directories: what does it, and what that leaves in *r. */
struct dirs_repair {
	errcode_t (*run)(struct repair *r, ext2fs_inode_bitmap only);
	const char *fails;
	const struct json_member *members;
	size_t n_members;
	const void *result;
	const uint64_t *transactions;
	const bool *stopped;
};

static bool show_dirs(const struct repair *r, const struct dirs_repair *how)
{
	json_t *object = json_members(how->result, how->members,
				      how->n_members);

	return shell_report(r->s, json_checked(object,
			json_object_set_new(object, "stopped",
					    json_boolean(*how->stopped))));
}

static bool repair_dirs(struct repair *r, const struct dirs_repair *how,
			const char *path)
{
	ext2fs_inode_bitmap only = NULL;
	errcode_t err;
	bool ok;

	if (path && !file_subtree(r->s, path, &only))
		return false;
	begin(r);
	err = how->run(r, only);
	progress_end(&r->s->progress);
	if (only)
		ext2fs_free_inode_bitmap(only);
	ok = err ? shell_fails_e4l(r->s, how->fails, err) : true;
	if (!err || r->repairing.writing || *how->transactions)
		ok = shell_changed(r->s, ok);
	return ok && show_dirs(r, how);
}

bool do_compact(struct shell *s, int argc, const char *const *argv)
{
	struct repair r = { .s = s };
	const struct dirs_repair how = {
		.run = compact, .fails = "cannot compact",
		.members = dirs_members, .n_members = COUNT(dirs_members),
		.result = &r.dirs, .transactions = &r.dirs.transactions,
		.stopped = &r.dirs.stopped,
	};

	return repair_dirs(&r, &how, argv[1]);
}

bool do_regroup(struct shell *s, int argc, const char *const *argv)
{
	struct repair r = { .s = s };
	const struct dirs_repair how = {
		.run = regroup, .fails = "cannot regroup",
		.members = inodes_members, .n_members = COUNT(inodes_members),
		.result = &r.inodes, .transactions = &r.inodes.transactions,
		.stopped = &r.inodes.stopped,
	};

	return repair_dirs(&r, &how, argv[1]);
}

/* --------------------------------------------------------------------- undo */

static bool run_e2undo(struct shell *s, const char *device)
{
	char built_in[] = E2UNDO, *program = program_path(built_in);
	char *argv[] = { program, (char *)s->undo.file, (char *)device, NULL };
	int status, err;
	pid_t pid;

	fflush(stdout);
	err = posix_spawnp(&pid, program, NULL, NULL, argv, environ);
	if (err) {
		say_error(program, "cannot start", err);
		return false;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return true;
	say("%s %s %s failed: run it again with -f, unless something has "
	    "mounted or checked the filesystem since", program, s->undo.file,
	    device);
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
