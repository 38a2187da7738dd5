/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include "e4layout/base/io_stats.h"
#include "e4layout/journal/change.h"
#include "support/fixes.h"
#include "support/progress.h"
#include "support/say.h"
#include "verify.h"

#define MAX_SHOWN	20
#define PLACE_LEN	80
#define ADVICE_LEN	(6 * PATH_MAX + 80)

/*
 * Writes ", inode N, group N, block N" to @buf, omitting unknown parts.
 * Returns @buf.
 */
static const char *describe_place(const struct finding *what,
				  char buf[PLACE_LEN])
{
	int n = 0;

	*buf = '\0';
	if (what->ino)
		n += snprintf(buf, PLACE_LEN, ", inode %u", what->ino);
	if (what->has_group)
		n += snprintf(buf + n, PLACE_LEN - n, ", group %u",
			      what->group);
	if (what->blk)
		snprintf(buf + n, PLACE_LEN - n, ", block %llu",
			 (unsigned long long)what->blk);
	return buf;
}

/* ----------------------------------------------------- before the tool runs */

struct watch {
	struct e4l *e;
	const struct args_common *args;
	struct progress progress;
	const char *doing;
};

static void on_progress(const char *doing, uint64_t done, uint64_t all,
			void *priv)
{
	struct watch *w = priv;
	struct e4l_io_stats io;

	if (doing != w->doing) {
		progress_end(&w->progress);
		progress_start(&w->progress, w->args, "checking");
		w->doing = doing;
	}
	e4l_get_io_stats(w->e, &io);
	progress_update(&w->progress, done, all, io.bytes);
}

/*
 * Checks @t without changing libext2fs' bitmaps and descriptors in memory.  A
 * signal that @in receives ends the check with E4L_ET_INTERRUPTED.
 */
static errcode_t check_open(const struct target *t, struct e4l *e,
			    const struct args_common *args,
			    struct interrupt *in, struct findings *found)
{
	struct watch w = { .e = e, .args = args };
	const struct e4l_check_options opt = {
		.flags = E4L_CHECK_NO_LAYOUT, .journal = t->journal,
		.progress = on_progress, .priv = &w,
	};
	errcode_t err;

	interrupt_watch(in, e);
	err = e4l_check_run(e, &opt, found);
	interrupt_watch(in, NULL);
	progress_end(&w.progress);
	e4l_findings_sort(found);
	return err || !interrupt_heard(in) ? err : E4L_ET_INTERRUPTED;
}

/* If the filesystem cannot be checked, prints why and returns false. */
static bool can_be_checked(const struct target *t)
{
	errcode_t err;

	if (target_is_strange(t))
		return false;
	err = e4l_check_groups(t->fs);
	if (err == ENOMEM)
		say_error(t->name, "cannot check the group descriptors", err);
	else if (err)
		say("%s: %s: run e2fsck -f %s; nothing was written", t->name,
		    error_message(err), t->e2fs_words);
	return !err;
}

/*
 * Writes ": run COMMAND TARGET" to @buf, or an empty string if no command fixes
 * the finding.  Returns @buf.
 */
static const char *advice(const struct target *t, enum finding_id id,
			  char buf[ADVICE_LEN])
{
	enum e4l_fix fix = e4l_finding_table[id].fix;
	/*
	 * Recommend e2fsck without -y, so that e2fsck asks before each fix: the
	 * user has not seen all findings.
	 */
	const char *command = fix == E4L_FIX_FSCK ? "e2fsck -f" :
						    fix_command(fix);

	*buf = '\0';
	if (command)
		snprintf(buf, ADVICE_LEN, ": run %s %s", command, t->e2fs_words);
	return buf;
}

static void say_refusal(const struct target *t, const struct findings *found)
{
	uint64_t more = found->severity[E4L_SEVERITY_ERROR] - 1;
	char text[FINDING_TEXT_LEN], place[PLACE_LEN], run[ADVICE_LEN];
	char others[64] = "";

	if (more)
		snprintf(others, sizeof(others), ", and %" PRIu64 " more "
			 "error%s", more, more > 1 ? "s" : "");
	say("%s: %s%s: %s%s%s; nothing was written", t->name,
	    e4l_finding_table[found->v->id].code,
	    describe_place(found->v, place),
	    e4l_finding_text(found->v, text, sizeof(text)), others,
	    advice(t, found->v->id, run));
}

bool verify_findings(const struct target *t, struct e4l *e,
		     const struct args_common *args, struct interrupt *in,
		     struct findings *found)
{
	errcode_t err;

	if (!can_be_checked(t))
		return false;
	/*
	 * The journal is checked first, because the full check can take a long
	 * time.
	 */
	err = e4l_journal_probe(e, NULL);
	if (!err)
		err = check_open(t, e, args, in, found);
	if (err == E4L_ET_INTERRUPTED)
		say("%s: interrupted during the check; nothing was changed",
		    t->name);
	else if (err)
		target_say_e4l(t, e, err);
	return !err;
}

bool verify_before(const struct target *t, struct e4l *e,
		   const struct args_common *args, struct interrupt *in)
{
	struct findings found;
	bool sound;

	e4l_findings_init(&found, 1);
	sound = verify_findings(t, e, args, in, &found);
	if (sound && found.severity[E4L_SEVERITY_ERROR]) {
		if (target_is_ours(t))
			say_refusal(t, &found);
		sound = false;
	}
	e4l_findings_free(&found);
	return sound;
}

/* --------------------------------------------------- after the tool has run */

static void tell(const char *name, const struct finding *what)
{
	char text[FINDING_TEXT_LEN], place[PLACE_LEN];

	say("%s: %s%s: %s", name, e4l_finding_table[what->id].code,
	    describe_place(what, place),
	    e4l_finding_text(what, text, sizeof(text)));
}

/* Prints the findings.  If there are no errors, returns true. */
static bool is_sound(const struct target *t, struct findings *found)
{
	uint64_t errors = found->severity[E4L_SEVERITY_ERROR];
	size_t i;

	e4l_findings_sort(found);
	for (i = 0; i < found->n && i < errors; i++)
		tell(t->name, &found->v[i]);
	if (errors)
		say("%s: the filesystem has %" PRIu64 " error%s: run e2fsck -f %s",
		    t->name, errors, errors > 1 ? "s" : "", t->e2fs_words);
	return !errors;
}

bool verify(const char *name, uint64_t partition)
{
	struct e4l_check_options opt = { .flags = E4L_CHECK_NO_LAYOUT };
	struct target_doubt doubt;
	struct findings found;
	struct target t;
	struct e4l *e;
	errcode_t err;
	bool sound;

	if (!target_open_check(&t, name, partition, true, &doubt))
		return false;
	opt.journal = t.journal;
	e4l_findings_init(&found, MAX_SHOWN);
	err = target_new_context(&t, &e);
	if (!err)
		err = e4l_check_run(e, &opt, &found);
	if (err)
		say_e4l(name, e, err);
	if (doubt.super || doubt.groups)
		say("%s: the filesystem is damaged: %s", name,
		    error_message(doubt.super ? doubt.super : doubt.groups));
	sound = !err && !doubt.super && !doubt.groups && is_sound(&t, &found);
	e4l_findings_free(&found);
	e4l_free(e);
	return target_close(&t) && sound;
}
