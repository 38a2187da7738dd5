/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --all: the parts of a repair of the whole filesystem, each planned for what
 * those before it have left, in turns until none of them finds anything to do.
 */
#include "config.h"
#include <stdlib.h>
#include "e4repack.h"

/*
 * In the order that copies least: free space is put together before files, so
 * that hardly anything has to make room for them.
 */
static const unsigned int parts[E4REPACK_PARTS] = {
	ONLY_INDEX, ONLY_INODES, ONLY_FREE, ONLY_DEFAULT | ONLY_ROOM,
};

/* Free space at a time. */
struct looked {
	struct e4l_free_histogram all;
	uint64_t long_blocks;		/* from which a run counts as long */
	uint64_t in_long;		/* blocks in such runs */
};

static errcode_t count_run(const struct e4l_block_run *run, void *priv)
{
	struct looked *l = priv;

	e4l_free_histogram_add(&l->all, run->len);
	if (run->len >= l->long_blocks)
		l->in_long += run->len;
	return 0;
}

static errcode_t look_at_free_space(struct e4repack *r, struct looked *ret)
{
	ret->long_blocks = E4L_LONG_RUN_BYTES / r->target.fs->blocksize;
	return e4l_free_space(r->e, count_run, NULL, ret);
}

#define TOGETHER	(ONLY_DEFAULT | ONLY_ROOM | ONLY_FREE)

/* How far they have come. */
struct turns {
	unsigned int n;			/* parts that were begun */
	unsigned int idle;		/* the last so many did nothing */
	uint64_t held_back;		/* extents, for free space */
	bool was_held_back;		/* ever, since bounds were set */
	bool files_wait;		/* what fits nowhere whole: first turn */
	struct looked before;
};

/* Free space must be no worse than @l from now on. */
static void set_bounds(struct e4repack *r, const struct looked *l)
{
	/* if nothing is free, what becomes free is a run */
	r->most_free_runs = l->all.runs ? l->all.runs : 1;
	r->longest_kept_blocks = l->all.largest_blocks;
	r->long_kept_blocks = l->in_long;
}

/* What the part before has left is not of this one. */
static void begin_part(struct e4repack *r, unsigned int only)
{
	e4repack_forget(r);
	r->only = only;
	r->files_follow = r->free_follows = false;
	r->repairing.writing = false;
	r->repairing.planned_from = repairing_seconds(&r->repairing);
}

/* With a limit to time, what is tried might not be done then. */
static bool should_try(const struct e4repack *r, const struct turns *t)
{
	return t->held_back && r->max_seconds == NOT_GIVEN;
}

static bool is_done(const struct e4repack *r, const struct turns *t)
{
	unsigned int most = (r->dry_run ? 1 : E4REPACK_TURNS) * E4REPACK_PARTS;

	return t->n == most || (t->idle >= E4REPACK_PARTS && !should_try(r, t));
}

/*
 * What is held back for free space, and free space, in one plan: whether files win
 * something, and free space loses nothing.
 */
static errcode_t try_together(struct e4repack *r, bool *good)
{
	const struct e4l_repack_result *result = &r->result;
	uint64_t spent = r->spent_blocks;
	errcode_t err;

	begin_part(r, TOGETHER);
	r->dry_run = true;
	err = e4repack_part(r);
	r->dry_run = false;
	r->spent_blocks = spent;
	*good = !err && !result->stopped &&
		result->extents_after < result->extents_before &&
		result->free_runs_after <= r->most_free_runs &&
		result->longest_free_blocks >= r->longest_kept_blocks &&
		!result->long_blocks_lacking;
	return err;
}

/* Files would have what the longest free run needs: so they must not. */
static bool is_too_short(const struct e4repack *r)
{
	return !r->result.stopped &&
	       r->result.longest_free_blocks < r->longest_kept_blocks;
}

static errcode_t do_together(struct e4repack *r, struct turns *t, bool *done)
{
	errcode_t err;

	t->held_back = 0;
	t->was_held_back = true;
	r->bounds_at_end = true;
	err = try_together(r, done);
	if (!err && !*done && is_too_short(r)) {
		r->longest_stays = true;
		err = try_together(r, done);
	}
	if (!err && *done) {
		begin_part(r, TOGETHER);
		err = e4repack_part(r);
	}
	r->bounds_at_end = r->longest_stays = false;
	return err;
}

static bool is_first_turn(const struct turns *t)
{
	return t->n < E4REPACK_PARTS;
}

/* A plan tells all that files would have of free space, whatever is held back. */
static void unbind(struct e4repack *r)
{
	r->most_free_runs = r->longest_kept_blocks = r->long_kept_blocks = 0;
}

static errcode_t do_next(struct e4repack *r, struct turns *t, bool *done)
{
	errcode_t err;

	if (should_try(r, t))
		return do_together(r, t, done);
	begin_part(r, parts[t->n % E4REPACK_PARTS]);
	r->files_follow = r->only == ONLY_FREE && is_first_turn(t);
	r->free_follows = r->only & ONLY_ROOM && t->files_wait && !r->dry_run;
	t->n++;
	if (r->dry_run && r->only == ONLY_FREE)
		set_bounds(r, &t->before);
	else if (r->dry_run)
		unbind(r);
	err = e4repack_part(r);
	*done = !err;
	t->files_wait = r->result.free_for_files;
	if (*done && r->only & ONLY_ROOM)
		t->held_back = r->result.free_runs_extents;
	return err;
}

static bool did_nothing(const struct e4repack *r)
{
	return !r->result.transactions && !r->dirs.transactions &&
	       !r->inodes.transactions;
}

/* Some files may wait for what later parts leave. */
static bool is_idle(const struct e4repack *r)
{
	return did_nothing(r) && !r->free_follows &&
	       !r->result.free_for_files;
}

/*
 * Another run would begin with what free space is now, and find another plan for
 * what was held back: so this one does, unless that is what it has begun with.
 */
static errcode_t begin_anew(struct e4repack *r, struct turns *t)
{
	struct looked now = { .in_long = 0 };
	errcode_t err = look_at_free_space(r, &now);

	t->was_held_back = false;
	if (err || (now.all.runs == r->most_free_runs &&
		    now.all.largest_blocks == r->longest_kept_blocks &&
		    now.in_long == r->long_kept_blocks))
		return err;
	set_bounds(r, &now);
	t->idle = 0;
	return 0;
}

/* Whether there is nothing left to do. */
static errcode_t look_for_more(struct e4repack *r, struct turns *t, bool *over)
{
	errcode_t err = is_done(r, t) && t->was_held_back ? begin_anew(r, t) : 0;

	*over = is_done(r, t);
	return err;
}

static errcode_t do_all(struct e4repack *r, struct turns *t)
{
	bool over, done;
	errcode_t err;

	while (!(err = look_for_more(r, t, &over)) && !over) {
		if (r->parts_done && repairing_stop(&r->repairing))
			return 0;
		err = do_next(r, t, &done);
		if (err)
			return err;
		if (done)
			e4repack_end_part(r);
		if (e4repack_is_stopped(r))
			return 0;
		if (!done)
			continue;
		r->parts_done++;
		t->idle = is_idle(r) ? t->idle + 1 : 0;
	}
	if (err)
		return err == E4L_ET_INTERRUPTED ? 0 : err;
	r->all_done = r->dry_run || t->idle >= E4REPACK_PARTS;
	r->turns_over = !r->all_done;
	return 0;
}

errcode_t e4repack_all(struct e4repack *r)
{
	struct looked after = { .in_long = 0 };
	struct turns t = { .n = 0 };
	errcode_t err = look_at_free_space(r, &t.before);

	r->sum.free_runs_before = t.before.all.runs;
	set_bounds(r, &t.before);
	if (!err)
		err = do_all(r, &t);
	if (err || !r->all_done || r->dry_run)
		return err;
	/* a signal would end this, too */
	err = look_at_free_space(r, &after);
	r->sum.free_runs_after = after.all.runs;
	r->sum.free_runs_counted = !err;
	return err == E4L_ET_INTERRUPTED ? 0 : err;
}
