/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens targets by the names that users give.  e4l_open() refuses unsafe
 * targets; this file prints the refusals, and adds advice that only a tool can
 * give.
 */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "e4layout/base/shell_word.h"
#include "e4layout/open/opened.h"
#include "e4layout/open/refusals.h"
#include "locate.h"
#include "say.h"
#include "target_internal.h"
#include "undo_guard.h"

/* ----------------------------------------------------------------- messages */

static void say_undo_error(const struct target *t)
{
	const char *why = say_why(undo_guard_failed());
	const char *undo = t->undo->file;

	if (undo_guard_changed())
		say("%s: cannot write the undo file %s: %s; the run was "
		    "stopped: to undo the changes already made, run e2undo %s "
		    "%s, and then e2fsck -fy %s", t->name, undo, why,
		    undo_guard_word(), t->e2fs_words, t->e2fs_words);
	else
		say("%s: cannot write the undo file %s: %s: nothing was "
		    "changed: %s", t->name, undo, why,
		    say_is_limited(undo_guard_failed()) ?
		    "remove the limit, and run the command again" :
		    "give an undo file on a disk with more free space");
}

/*
 * Remedies that the library cannot recommend, because they are options of the
 * tools.
 */
static const struct advice {
	errcode_t err;
	const char *text;
} advice[] = {
	{ E4L_ET_NO_JOURNAL, ": give an undo file (-z FILE), or --no-undo" },
	{ E4L_ET_UNDO_JOURNAL, ": run the command without -z: the journal "
			       "protects the change" },
};

static const char *advice_on(errcode_t err)
{
	size_t i;

	for (i = 0; i < sizeof(advice) / sizeof(*advice); i++)
		if (advice[i].err == err)
			return advice[i].text;
	return "";
}

void target_tell(const char *sentence, errcode_t err, void *priv)
{
	const struct target *t = priv;
	bool inside = err == E4L_ET_MOUNTED && t->subtree;

	if ((err == EXT2_ET_BAD_MAGIC || err == EXT2_ET_SHORT_READ) &&
	    target_say_what_it_is(t, err))
		return;
	/*
	 * No advice about the MMP block is needed, because e2undo also restores
	 * the MMP block.
	 */
	if (err == E4L_ET_MMP_KEPT && undo_guard_changed())
		return;
	if (err != E4L_ET_MMP_KEPT && undo_guard_failed())
		say_undo_error(t);
	else if (err == EACCES && (t->is_dir || t->subtree))
		say("%s: cannot open the device %s: %s: run the command as "
		    "root",
		    t->name, t->device, error_message(err));
	else if (t->e && (err == ENOSPC || err == EXT2_ET_SHORT_WRITE ||
			  say_is_limited(err)))
		say_write_error(t->name, t->device, "cannot close", err);
	else
		say("%s: %s%s%s", t->name,
		    inside ? "in the filesystem " : "", sentence,
		    advice_on(err));
}

/* --------------------------------------------------------------------- open */

/*
 * Sets t->device_word and t->e2fs_words, the names for shell commands.  Returns
 * false after printing an error.
 */
static bool name_for_shell(struct target *t)
{
	t->device_word = e4l_shell_word(t->device);
	t->e2fs_words = e4l_shell_filesystem(t->device, t->offset_bytes);
	if (t->device_word && t->e2fs_words)
		return true;
	say_error(t->name, "cannot open", ENOMEM);
	return false;
}

static void free_names(struct target *t)
{
	free(t->device);
	free(t->device_word);
	free(t->e2fs_words);
	free(t->subtree);
}

bool target_locate(struct target *t, const char *name, uint64_t partition)
{
	*t = (struct target) { .name = name };
	if (locate(t, partition))
		return true;
	target_free(t);
	return false;
}

bool target_look(struct target *t)
{
	const struct e4l_teller teller = { target_tell, t };

	if (!name_for_shell(t) ||
	    e4l_hold_new(t->device, t->offset_bytes, t->end_bytes, &teller,
			 &t->hold))
		return false;
	t->mount_point = e4l_hold_mount_point(t->hold);
	t->e2fs_name = t->hold->e2fs_name;
	return true;
}

void target_free(struct target *t)
{
	if (!t->e)
		e4l_hold_free(t->hold);
	free_names(t);
}

void target_note_age(const struct target *t)
{
	if (t->mount_point && t->subtree)
		say("%s: in the filesystem mounted on %s: the report may lack "
		    "the latest changes", t->name, t->mount_point);
	else if (t->mount_point)
		say("%s: mounted on %s: the report may lack the latest changes",
		    t->name, t->mount_point);
	else if (ext2fs_has_feature_journal_needs_recovery(t->fs->super))
		say("%s: the journal was not replayed: the report may lack the "
		    "latest changes", t->name);
}

static bool open_target(struct target *t, unsigned int flags,
			io_manager manager)
{
	const struct e4l_open_options options = {
		.flags = flags, .offset_bytes = t->offset_bytes,
		.end_bytes = t->end_bytes, .manager = manager,
		.say = target_tell, .priv = t,
	};

	if (!name_for_shell(t) || e4l_open(t->device, &options, &t->e)) {
		target_free(t);
		return false;
	}
	t->fs = e4l_fs(t->e);
	t->hold = e4l_hold_of(t->e);
	t->journal = e4l_journal_of(t->e);
	t->lock_fd = t->hold->lock_fd;
	t->mount_point = e4l_mount_point(t->e);
	t->e2fs_name = t->hold->e2fs_name;
	return true;
}

static bool open_read(struct target *t, bool quiet)
{
	if (!open_target(t, 0, NULL))
		return false;
	if (!quiet)
		target_note_age(t);
	return true;
}

bool target_open_read(struct target *t, const char *name, uint64_t partition,
		      bool quiet)
{
	return target_locate(t, name, partition) && open_read(t, quiet);
}

bool target_open_report(struct target *t, const char *name, uint64_t partition,
			bool quiet)
{
	if (!target_locate(t, name, partition))
		return false;
	t->hint = TARGET_HINT_LAYOUT;
	return open_read(t, quiet);
}

bool target_open_around(struct target *t, const char *name)
{
	*t = (struct target) { .name = name, .end_bytes = UINT64_MAX };
	if (locate_around(t))
		return open_target(t, 0, NULL);
	target_free(t);
	return false;
}

bool target_open_source(struct target *t, const char *name, uint64_t partition)
{
	if (!target_locate(t, name, partition))
		return false;
	t->hint = TARGET_HINT_ARCHIVE;
	return open_target(t, E4L_OPEN_ALONE, NULL);
}

/* ------------------------------------------------------------------- change */

static errcode_t still_ours(void *priv)
{
	return e4l_still_ours(priv);
}

/*
 * @err is the result of creating the undo file @file.  If @err is 0, returns
 * true.  Otherwise, prints the error and returns false.
 */
static bool has_undo(const char *file, errcode_t err)
{
	if (err == EEXIST)
		say("%s: the file exists: give another name for the undo file",
		    file);
	else if (err)
		say_error(file, "cannot create the undo file", err);
	return !err;
}

/*
 * Opens the located target for a change or, with E4L_OPEN_PLAN, to plan a
 * change.  On failure, prints an error, frees @t and returns false.
 */
static bool open_change(struct target *t, unsigned int flags,
			const struct target_undo *undo)
{
	bool plan = flags & E4L_OPEN_PLAN;
	const char *file = undo->file;

	flags |= E4L_OPEN_WRITE | (file ? E4L_OPEN_UNDO : 0) |
		 (undo->none ? E4L_OPEN_UNPROTECTED : 0);
	t->undo = undo;
	if (file && !has_undo(file, plan ? undo_guard_try(file) :
			      undo_guard_setup(file, unix_io_manager))) {
		target_free(t);
		return false;
	}
	return open_target(t, flags, file && !plan ? undo_io_manager : NULL);
}

bool target_open_change(struct target *t, const char *name, uint64_t partition,
			const struct target_undo *undo)
{
	if (!target_locate(t, name, partition) || !open_change(t, 0, undo))
		return false;
	undo_guard_look(still_ours, t->e);
	return true;
}

bool target_open_plan(struct target *t, const char *name, uint64_t partition,
		      const struct target_undo *undo, bool quiet)
{
	if (!target_locate(t, name, partition))
		return false;
	if (!t->is_dir && !t->subtree)
		return open_change(t, E4L_OPEN_PLAN, undo);
	if (!open_target(t, 0, NULL))
		return false;
	if (!target_has_no_errors(t)) {
		target_close(t);
		return false;
	}
	if (!quiet)
		target_note_age(t);
	return true;
}

bool target_has_no_errors(const struct target *t)
{
	return !e4l_refuse_errors(t->fs, t->hold);
}

bool target_claim(struct target *t, const char *name, uint64_t offset_bytes)
{
	*t = (struct target) {
		.name = name, .device = strdup(name),
		.offset_bytes = offset_bytes, .end_bytes = UINT64_MAX,
	};
	if (!t->device)
		say_error(name, "cannot open", ENOMEM);
	else if (target_look(t) && !e4l_hold_take(t->hold, true))
		return true;
	target_free(t);
	return false;
}

bool target_is_attached(const char *path)
{
	struct target t = {
		.name = path, .device = strdup(path), .end_bytes = UINT64_MAX,
	};
	bool attached = true;

	if (!t.device)
		say_error(path, "cannot open", ENOMEM);
	else if (target_look(&t))
		attached = t.hold->others.loop || t.hold->others.mount_point;
	if (attached && t.hold)
		say("%s: the image is in use by %s: give another file", path,
		    t.hold->others.loop ? t.hold->others.loop :
					  t.hold->others.mount_point);
	target_free(&t);
	return attached;
}

void target_release(struct target *t)
{
	target_free(t);
}

static errcode_t look_again(const struct target *t)
{
	return t->e ? e4l_still_ours(t->e) : e4l_hold_check(t->hold);
}

bool target_is_used(const struct target *t)
{
	return look_again(t);
}

bool target_is_ours(const struct target *t)
{
	errcode_t err = look_again(t);

	if (err)
		say_error(t->name, "cannot continue", err);
	return !err;
}

/* -------------------------------------------------------------------- paths */

/*
 * If the target was given as a mount point, removes the mount point from the
 * start of @path.
 */
static const char *strip_mount_point(const struct target *t, const char *path)
{
	const char *below = t->is_dir ? path_below(path, t->name) : NULL;

	if (!below && t->is_dir && t->mount_point)
		below = path_below(path, t->mount_point);
	return below ? below : path;
}

errcode_t target_subtree(const struct target *t, struct e4l *e,
			 const char **paths, size_t n,
			 ext2fs_inode_bitmap *ret, bool *said)
{
	size_t bad = n, i;
	errcode_t err;

	*ret = NULL;
	if (!n)
		return 0;
	for (i = 0; i < n; i++) {
		if (!*paths[i]) {
			say("%s: a PATH is empty", t->name);
			*said = true;
			return E4L_ET_NO_PATH;
		}
		paths[i] = strip_mount_point(t, paths[i]);
	}
	err = e4l_subtree(e, paths, n, &bad, ret);
	*said = bad < n && err != E4L_ET_INTERRUPTED;
	if (*said)
		say_error(t->name, paths[bad], err);
	return err;
}

errcode_t target_only(const struct target *t, struct e4l *e,
		      const char **paths, size_t n, ext2fs_inode_bitmap *ret,
		      bool *said)
{
	const char *path = t->subtree;
	size_t bad = 1;

	if (n || !path)
		return target_subtree(t, e, paths, n, ret, said);
	return e4l_subtree(e, &path, 1, &bad, ret);
}

/* ------------------------------------------------------------------ errors */

/*
 * Whether a wrong s_journal_inum can be the cause of @err.  e2fsck does not
 * correct s_journal_inum.
 */
static bool has_wrong_journal(const struct target *t, errcode_t err)
{
	ext2_ino_t ino = t->fs->super->s_journal_inum;

	return err == E4L_ET_JOURNAL_CORRUPT && ino && ino != EXT2_JOURNAL_INO;
}

void target_say_e4l(const struct target *t, const struct e4l *e, errcode_t err)
{
	char what[160];

	/* without the feature needs_recovery, a log with data is damage */
	if (!e || (!say_is_damage(err) && err != E4L_ET_JOURNAL_RECOVERY))
		say_e4l(t->name, e, err);
	else if (t->mount_point)
		say("%s: %s: %s: the mounted filesystem was changed during "
		    "the run, or is damaged", t->name,
		    e4l_detail_text(e, what, sizeof(what)), error_message(err));
	else if (has_wrong_journal(t, err))
		say("%s: %s: %s: run e4check %s, which prints the command to "
		    "run", t->name, e4l_detail_text(e, what, sizeof(what)),
		    error_message(err), t->e2fs_words);
	else
		say("%s: %s: %s: run e2fsck -f %s", t->name,
		    e4l_detail_text(e, what, sizeof(what)), error_message(err),
		    t->e2fs_words);
}

/* ------------------------------------------------------------------- close */

bool target_close(struct target *t)
{
	errcode_t err = t->e ? e4l_close(t->e) : target_close_check(t);

	free_names(t);
	return !err;
}
