/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tune4fs: stores tunables in an ext4 filesystem and applies them. */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/tunables/tunables.h"
#include "support/say.h"
#include "tune4fs.h"

#define AT(member) offsetof(struct tune4fs, member)
static const struct args_option options[] = {
	{ .name = "list", .letter = 'l', .kind = ARGS_FLAG, .offset = AT(list),
	  .help = "show stored and running tunables (default)" },
	{ .name = "set", .letter = 'E', .kind = ARGS_TEXTS, .offset = AT(sets),
	  .value = "LIST",
	  .help = "store name=value, remove ^name (comma-separated)" },
	{ .name = "clear", .kind = ARGS_FLAG, .offset = AT(clear),
	  .help = "remove all stored tunables" },
	{ .name = "apply", .kind = ARGS_FLAG, .offset = AT(apply),
	  .help = "apply the stored tunables to the kernel" },
	{ .name = "apply-all", .kind = ARGS_FLAG, .offset = AT(apply_all),
	  .help = "apply the stored tunables of all mounted filesystems" },
	{ .name = "watch", .kind = ARGS_FLAG, .offset = AT(watch),
	  .help = "with --apply-all: also apply to later mounts" },
	{ .name = "dry-run", .letter = 'n', .kind = ARGS_FLAG,
	  .offset = AT(dry_run), .help = "print the changes, change nothing" },
	{ .name = "force", .letter = 'f', .kind = ARGS_FLAG,
	  .offset = AT(force), .help = "with -E: also store unknown names" },
	{ .name = "undo-file", .letter = 'z', .kind = ARGS_TEXT,
	  .offset = AT(undo.file), .value = "FILE",
	  .help = "save overwritten blocks for e2undo(8)" },
	{ .name = "no-undo", .kind = ARGS_FLAG, .offset = AT(undo.none),
	  .help = "allow changes without a journal or an undo file" },
};
static const struct args_tool tool = {
	.operands = "[TARGET]",
	.purpose = "Show, set and apply the tunables that an ext4 filesystem "
		   "stores.",
	.options = options,
	.n_options = sizeof(options) / sizeof(*options),
	.min_operands = 0, .max_operands = 1,
	.no_verbose = true,
};

static void add_change(struct report *r, const char *name, const char *from,
		       const char *to)
{
	r->changes[r->n_changes++] = (struct change) {
		.name = name, .from = from, .to = to,
	};
}

/*
 * If @gone is true, adds a change for each tunable of @a that @b lacks.
 * Otherwise, adds a change for each tunable of @a that @b lacks or that has
 * another value in @b.
 */
static void compare(struct report *r, const struct e4l_tunables *a,
		    const struct e4l_tunables *b, bool gone)
{
	const struct e4l_tunable *x, *y;
	size_t i;

	for (i = 0; i < e4l_tunables_count(a); i++) {
		x = e4l_tunables_at(a, i);
		y = e4l_tunables_find(b, x->name);
		if (gone && !y)
			add_change(r, x->name, x->value, NULL);
		else if (!gone && (!y || strcmp(x->value, y->value)))
			add_change(r, x->name, y ? y->value : NULL, x->value);
	}
}

static bool write_changes(const struct tune4fs *cfg, struct keeper *p,
			  const struct e4l_tunables *t)
{
	return cfg->dry_run ? keeper_check(p, cfg) : keeper_write(p, cfg, t);
}

/*
 * Stores @after, and reports the differences from @before.  Returns false after
 * printing an error.
 */
static bool store(const struct tune4fs *cfg, struct keeper *p,
		  const struct e4l_tunables *before,
		  const struct e4l_tunables *after)
{
	struct report *r = calloc(1, sizeof(*r));
	bool ok;

	if (!r) {
		say_error(p->name, "changing the tunables", ENOMEM);
		return false;
	}
	*r = (struct report) { .keeper = p, .cfg = cfg, .tunables = after };
	compare(r, before, after, true);
	compare(r, after, before, false);
	ok = !r->n_changes || write_changes(cfg, p, after);
	if (ok)
		ok = report_print(r);
	free(r);
	return ok;
}

static bool change(const struct tune4fs *cfg, struct keeper *p)
{
	struct e4l_tunables *before, *after = NULL;
	char text[E4L_TUNABLES_MAX + 1];
	const char *where = NULL;
	errcode_t err;
	bool ok;

	if (!keeper_read(p, &before))
		return false;
	err = e4l_tunables_parse(text, e4l_tunables_text(before, text), &after);
	if (!err)
		err = e4l_tunables_change(after, cfg->set, cfg->force, &where);
	if (where)
		say_tunable(p->name, where, err);
	else if (err)
		say_error(p->name, "changing the tunables", err);
	ok = !err && store(cfg, p, before, after);
	e4l_tunables_free(before);
	e4l_tunables_free(after);
	return ok;
}

/*
 * Removes the attribute that stores the tunables, even if damaged.  Returns
 * false after printing an error.
 */
static bool clear(const struct tune4fs *cfg, struct keeper *p)
{
	struct e4l_tunables *before, *none = e4l_tunables_new();
	struct report *r = calloc(1, sizeof(*r));
	errcode_t err = keeper_get(p, &before);
	bool ok = false;

	if (!none || !r) {
		say_error(p->name, "removing the tunables", ENOMEM);
	} else if (keeper_is_damage(err)) {
		*r = (struct report) {
			.keeper = p, .cfg = cfg, .tunables = none,
		};
		add_change(r, E4L_TUNABLES_XATTR, "damaged", NULL);
		ok = write_changes(cfg, p, none) && report_print(r);
	} else if (err) {
		keeper_say(p, err);
	} else {
		ok = store(cfg, p, before, none);
	}
	e4l_tunables_free(before);
	e4l_tunables_free(none);
	free(r);
	return ok;
}

static bool list(const struct tune4fs *cfg, struct keeper *p)
{
	struct e4l_tunables *t = NULL;
	struct report *r;
	bool ok;

	if (!keeper_read(p, &t))
		return false;
	r = calloc(1, sizeof(*r));
	if (!r) {
		say_error(p->name, "listing the tunables", ENOMEM);
		e4l_tunables_free(t);
		return false;
	}
	*r = (struct report) { .keeper = p, .cfg = cfg, .tunables = t };
	ok = report_print(r);
	e4l_tunables_free(t);
	free(r);
	return ok;
}

/*
 * Sets cfg->set to the values of all -E options, separated by commas.  Returns
 * false after printing an error.
 */
static bool join_sets(struct tune4fs *cfg)
{
	size_t i, room = 0;
	char *end;

	for (i = 0; i < cfg->sets.n; i++)
		room += strlen(cfg->sets.v[i]) + 1;
	if (!room)
		return true;
	cfg->set = end = malloc(room);
	if (!end) {
		say("%s", error_message(ENOMEM));
		return false;
	}
	for (i = 0; i < cfg->sets.n; i++)
		end = stpcpy(stpcpy(end, i ? "," : ""), cfg->sets.v[i]);
	return true;
}

/*
 * Checks that at most one action is given, and that a target is given unless
 * the action is --apply-all.  Returns false after printing an error.
 */
static bool check_usage(const struct tune4fs *cfg, const char *name)
{
	int actions = cfg->list + cfg->clear + cfg->apply + cfg->apply_all +
		      !!cfg->set;

	if (actions > 1)
		say("--list, --set, --clear, --apply and --apply-all cannot be "
		    "given together");
	else if (cfg->watch && !cfg->apply_all)
		say("--watch requires --apply-all");
	else if (cfg->apply_all && name)
		say("--apply-all takes no target");
	else if (!cfg->apply_all && !name)
		say("no target is given");
	else
		return true;
	return false;
}

static int work_on(const struct tune4fs *cfg, const char *name)
{
	struct keeper p;
	bool ok;

	if (!keeper_open(&p, name, cfg->args.partition))
		return STATUS_FAILED;
	if (cfg->set)
		ok = change(cfg, &p);
	else if (cfg->clear)
		ok = clear(cfg, &p);
	else
		ok = list(cfg, &p);
	keeper_close(&p);
	return ok ? STATUS_DONE : STATUS_FAILED;
}

static int act(struct tune4fs *cfg, const char *name)
{
	if (!check_usage(cfg, name))
		return STATUS_USAGE;
	cfg->list = !cfg->set && !cfg->clear && !cfg->apply && !cfg->apply_all;
	if (cfg->apply_all)
		return say_done(apply_all(cfg));
	return say_done(cfg->apply ? apply_one(cfg, name) :
				     work_on(cfg, name));
}

int main(int argc, char **argv)
{
	struct tune4fs cfg = { .args.progress = PROGRESS_AUTO };
	int status, first = args_parse(&tool, argc, argv, &cfg, &status);

	initialize_ext2_error_table();
	initialize_e4l_error_table();
	if (first >= 0)
		status = join_sets(&cfg) ? act(&cfg, argv[first]) :
					   STATUS_FAILED;
	free(cfg.sets.v);
	free(cfg.set);
	return status;
}
