/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "move.h"
#include "room.h"
#include "runs.h"

#define NEW_FILE	SIZE_MAX
#define TRIES		16		/* windows, for one run */

/* A fragment that lies in the window, or partly, and where it goes. */
struct lodger {
	struct e4l_movable *at;
	struct e4l_run run;
	uint64_t to;
};

/* A file that moves, and how. */
struct leaving {
	struct e4l_file fresh;		/* if it is not yet one of the draft */
	size_t file;			/* of the draft, or NEW_FILE */
	struct e4l_extent *ex;
	size_t n_ex;
	struct e4l_fragments old, new;
	struct e4l_steps steps;
};

/* Making room for one logical run of a file. */
struct making {
	struct e4l_room *r;
	struct e4l_draft *d;
	struct leaving self;
	const struct e4l_fragment *v;	/* the run's */
	size_t k;
	uint64_t len;
	enum e4l_left_why why;
	/* what lies in the window that is tried */
	struct e4l_window window;
	struct e4l_run *gap;		/* free */
	size_t n_gaps;
	struct lodger *lodger;
	size_t n_lodgers, placed;
	struct leaving *leaving;
	size_t n_leaving;
};

static uint64_t ratio_of(const struct making *m)
{
	return m->d->disk.geo->cluster_blocks;
}

/* ------------------------------------------------------ what is in a window */

/* Where the fragment of the run that is at @at ends, if it can stay there. */
static uint64_t end_of_own(const struct making *m, uint64_t at)
{
	const struct e4l_fragment *v = m->v, *end = m->v + m->k;

	while (v < end && (at < v->pc || at - v->pc >= v->n))
		v++;
	if (v == end ||
	    v->pc != m->window.run.start + (v->lc - m->v->lc))
		return 0;
	return v->pc + v->n;
}

/* What can be moved away of cluster @at, or NULL. */
static struct e4l_movable *lodger_at(const struct making *m,
				     const struct e4l_crowd *c, uint64_t at)
{
	const struct e4l_movables *list = &m->r->movables;
	size_t i = e4l_movables_from(list, (at + 1) * ratio_of(m));
	struct e4l_run run;

	if (!i || !e4l_gives_way(c, &list->v[i - 1]))
		return NULL;
	run = e4l_movable_run(&list->v[i - 1], ratio_of(m));
	return at - run.start < run.len ? &list->v[i - 1] : NULL;
}

static errcode_t add_lodger(struct making *m, struct e4l_movable *at,
			    uint64_t *end)
{
	struct e4l_run run = e4l_movable_run(at, ratio_of(m));
	errcode_t err = e4l_grow(&m->lodger, m->n_lodgers, sizeof(*m->lodger));

	if (!err)
		m->lodger[m->n_lodgers++] = (struct lodger) {
			.at = at, .run = run,
		};
	m->window.cost += run.len;
	*end = run.start + run.len;
	return err;
}

static errcode_t add_gap(struct making *m, uint64_t at, uint64_t len)
{
	errcode_t err = e4l_grow(&m->gap, m->n_gaps, sizeof(*m->gap));

	if (!err)
		m->gap[m->n_gaps++] = (struct e4l_run) { at, len };
	return err;
}

/*
 * Lists what is in the window at @start, and what moving all costs.  *@clear is
 * false if something in it stays.
 */
static errcode_t look_into(struct making *m, const struct e4l_crowd *c,
			   uint64_t start, bool *clear)
{
	uint64_t at = start, end = start + m->len, next;
	struct e4l_movable *lodger;
	errcode_t err = 0;

	m->window = (struct e4l_window) {
		.run = { start, m->len }, .cost = m->len,
	};
	m->n_gaps = m->n_lodgers = 0;
	for (*clear = true; at < end && *clear && !err; at = next) {
		next = at + e4l_space_after(m->d->disk.space, at);
		lodger = lodger_at(m, c, at);
		if (next > at) {
			next = next < end ? next : end;
			err = add_gap(m, at, next - at);
		} else if (lodger) {
			err = add_lodger(m, lodger, &next);
		} else {
			next = end_of_own(m, at);
			*clear = next;
			m->window.cost -= next ? next - at : 0;
		}
	}
	return err;
}

/* ------------------------------------------------------- where that can go */

static int largest_first(const void *va, const void *vb)
{
	const struct lodger *a = va, *b = vb;

	if (a->run.len != b->run.len)
		return a->run.len > b->run.len ? -1 : 1;
	return a->run.start < b->run.start ? -1 : a->run.start > b->run.start;
}

/* The parts of one file next to each other, in order of place. */
static int by_file(const void *va, const void *vb)
{
	const struct e4l_movable *a = ((const struct lodger *)va)->at;
	const struct e4l_movable *b = ((const struct lodger *)vb)->at;

	if (a->drafted != b->drafted)
		return a->drafted < b->drafted ? -1 : 1;
	if (a->whose != b->whose)
		return a->whose < b->whose ? -1 : 1;
	return a->pblk < b->pblk ? -1 : a->pblk > b->pblk;
}

/* Takes all that is free in the window, so that nothing goes there. */
static errcode_t take_gaps(struct making *m)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < m->n_gaps && !err; i++)
		err = e4l_space_take(m->d->disk.space, m->gap[i].start,
				     m->gap[i].len);
	return err;
}

static errcode_t free_gaps(struct making *m)
{
	errcode_t err = 0;

	for (; m->n_gaps && !err; m->n_gaps--)
		err = e4l_space_add(m->d->disk.space,
				    m->gap[m->n_gaps - 1].start,
				    m->gap[m->n_gaps - 1].len);
	return err;
}

/* A place for each that is in the way, near where it is: the largest first. */
static errcode_t place_lodgers(struct making *m, bool *done)
{
	uint64_t group = m->d->disk.geo->group_blocks / ratio_of(m);
	struct e4l_space *space = m->d->disk.space;
	struct lodger *l;
	struct e4l_run near;
	errcode_t err = 0;

	if (m->n_lodgers)
		qsort(m->lodger, m->n_lodgers, sizeof(*l), largest_first);
	for (m->placed = 0; m->placed < m->n_lodgers && !err; ) {
		l = &m->lodger[m->placed];
		near = (struct e4l_run) { l->run.start / group * group, group };
		if (!e4l_space_fit(space, l->run.len, &near, &l->to))
			break;
		err = e4l_space_take(space, l->to, l->run.len);
		m->placed += !err;
	}
	*done = m->placed == m->n_lodgers;
	return err;
}

static errcode_t free_places(struct making *m)
{
	errcode_t err = 0;

	for (; m->placed && !err; m->placed--)
		err = e4l_space_add(m->d->disk.space,
				    m->lodger[m->placed - 1].to,
				    m->lodger[m->placed - 1].run.len);
	return err;
}

/* ------------------------------------------------------------- how it moves */

static const struct e4l_file *file_of(const struct making *m,
				      const struct leaving *l)
{
	return l->file == NEW_FILE ? &l->fresh : &m->d->files[l->file];
}

static errcode_t read_drafted(struct making *m, size_t file,
			      struct leaving *l)
{
	errcode_t err;

	l->file = file;
	err = e4l_draft_extents(m->d, &m->d->files[file], &l->ex, &l->n_ex);
	return err ? err : e4l_fragments_of(l->ex, l->n_ex, ratio_of(m),
					    &l->old);
}

static errcode_t copy_plain(const struct e4l_movable *v, struct leaving *l)
{
	l->ex = calloc(1, sizeof(*l->ex));
	if (!l->ex)
		return ENOMEM;
	*l->ex = (struct e4l_extent) { .pblk = v->pblk, .len = v->blocks };
	l->n_ex = 1;
	return 0;
}

/* A file of which only its place is known. */
static errcode_t read_fresh(struct making *m, const struct e4l_movable *v,
			    struct leaving *l)
{
	struct e4l_run run = e4l_movable_run(v, ratio_of(m));
	errcode_t err;

	l->file = NEW_FILE;
	l->fresh = (struct e4l_file) {
		.ino = v->whose,
		.rules = {
			.allowed = E4L_PLAN_ROOM,
			.cluster_blocks = m->d->disk.geo->cluster_blocks,
		},
	};
	l->fresh.tree = calloc(1, sizeof(*l->fresh.tree));
	if (!l->fresh.tree)
		return ENOMEM;
	if (v->plain)
		err = copy_plain(v, l);
	else
		err = e4l_keep_read(&m->d->keep, v->whose, &l->ex, &l->n_ex);
	if (!err)
		err = e4l_weigh(&l->fresh.rules, l->ex, l->n_ex, &l->fresh.w);
	if (err)
		return err;
	l->n_ex = e4l_pack(l->ex, l->n_ex, l->ex);
	err = e4l_fragments_of(l->ex, l->n_ex, ratio_of(m), &l->old);
	if (!err && (l->old.n != 1 || l->old.v->pc != run.start ||
		     l->old.v->n != run.len))
		err = E4L_ET_CHANGED;
	return err;
}

/* The fragments of a file once those of it that are among @n @lodgers moved. */
static errcode_t move_lodgers(struct making *m, const struct lodger *lodgers,
			      size_t n, struct leaving *l)
{
	const struct e4l_fragment *v = l->old.v, *end = v + l->old.n;
	size_t i, moved = 0;
	errcode_t err = 0;

	for (; v < end && !err; v++) {
		const struct e4l_movable at = {
			.pblk = v->pc * ratio_of(m),
			.drafted = lodgers->at->drafted,
			.whose = lodgers->at->whose,
		};
		const struct lodger key = { .at = (void *)&at };
		bool moves;

		i = e4l_lower_bound(&key, lodgers, n, sizeof(key), by_file);
		moves = i < n && lodgers[i].run.start == v->pc;
		moved += moves;
		err = e4l_fragments_add(&l->new, v->lc,
					moves ? lodgers[i].to : v->pc, v->n);
	}
	return err ? err : moved == n ? 0 : E4L_ET_CHANGED;
}

/* The steps that move @l; *@done is false if it cannot move at all. */
static errcode_t make_steps(struct making *m, struct leaving *l, bool *done)
{
	const struct e4l_file *f = file_of(m, l);
	struct e4l_mover mover = {
		.m = {
			.ex = l->ex, .n_ex = l->n_ex, .n_entries = f->w.n_ex,
			.tree = f->tree, .n_tree = f->n_tree,
			.old = l->old, .new = l->new,
			.budget = E4L_NO_LIMIT,
			.part = e4l_part_blocks(m->d, f),
		},
	};
	errcode_t err = e4l_move_to(&m->d->disk, &mover, &l->steps);

	*done = l->steps.n;
	return err;
}

static bool may_move(const struct making *m, const struct leaving *l)
{
	return !m->r->may_move ||
	       m->r->may_move(file_of(m, l)->ino, l->ex, l->n_ex, m->r->priv);
}

/* The file is not asked again. */
static void stay(struct making *m, struct e4l_movable *at)
{
	if (at->drafted)
		m->d->files[at->whose].rules.allowed &= ~E4L_PLAN_ROOM;
	else
		at->blocks = 0;
}

/* Moves the file whose parts are the @n @lodgers. */
static errcode_t leave(struct making *m, struct lodger *lodgers, size_t n,
		       bool *done)
{
	struct e4l_movable *at = lodgers->at;
	struct leaving *l;
	errcode_t err;

	err = e4l_grow(&m->leaving, m->n_leaving, sizeof(*m->leaving));
	if (err)
		return err;
	l = &m->leaving[m->n_leaving++];
	memset(l, 0, sizeof(*l));
	err = at->drafted ? read_drafted(m, at->whose, l) :
			    read_fresh(m, at, l);
	*done = !err && may_move(m, l);
	if (*done)
		err = move_lodgers(m, lodgers, n, l);
	if (*done && !err)
		err = make_steps(m, l, done);
	if (!*done && !err)
		stay(m, at);
	return err;
}

static errcode_t leave_all(struct making *m, bool *done)
{
	size_t i, n;
	errcode_t err = 0;

	if (m->n_lodgers)
		qsort(m->lodger, m->n_lodgers, sizeof(*m->lodger), by_file);
	*done = true;
	for (i = 0; i < m->n_lodgers && *done && !err; i += n) {
		const struct e4l_movable *at = m->lodger[i].at;

		for (n = 1; i + n < m->n_lodgers &&
			    m->lodger[i + n].at->drafted == at->drafted &&
			    m->lodger[i + n].at->whose == at->whose; n++)
			;
		err = leave(m, m->lodger + i, n, done);
	}
	return err;
}

/* The file for which room is made: its run goes into the window. */
static errcode_t enter(struct making *m, bool *done)
{
	const struct e4l_fragments *old = &m->self.old;
	const struct e4l_fragment *v = old->v;
	errcode_t err = 0;

	m->self.new.n = 0;
	for (; v < old->v + old->n && !err; v++) {
		bool in = v >= m->v && v < m->v + m->k;

		err = e4l_fragments_add(&m->self.new, v->lc, in ?
					m->window.run.start +
					(v->lc - m->v->lc) : v->pc, v->n);
	}
	return err ? err : make_steps(m, &m->self, done);
}

/* ----------------------------------------------------- whether it is worth it */

typedef errcode_t change_fn(struct e4l_space *s, uint64_t start, uint64_t len);

/* Gives what is not in the window, for questions alone, or takes that back. */
static errcode_t try_step(const struct making *m, const struct e4l_step *step,
			  change_fn *change)
{
	uint64_t from = m->window.run.start, to = from + m->len;
	struct e4l_space *space = m->d->disk.space;
	uint64_t start, end;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < step->n_give && !err; i++) {
		start = step->give[i].pblk / ratio_of(m);
		end = start + step->give[i].len / ratio_of(m);
		if (start < from)
			err = change(space, start,
				     (end < from ? end : from) - start);
		if (end > to && !err) {
			start = start > to ? start : to;
			err = change(space, start, end - start);
		}
	}
	return err;
}

static errcode_t try_steps(const struct making *m, change_fn *change)
{
	const struct leaving *l;
	errcode_t err = 0;
	size_t i, k;

	for (i = 0; i <= m->n_leaving && !err; i++) {
		l = i < m->n_leaving ? &m->leaving[i] : &m->self;
		for (k = 0; k < l->steps.n && !err; k++)
			err = try_step(m, &l->steps.v[k], change);
	}
	return err;
}

/* Whether free space is no worse with all of it done than it was before. */
static errcode_t judge(struct making *m, uint64_t runs_before, bool *good)
{
	const struct e4l_space *space = m->d->disk.space;
	uint64_t runs, in_long;
	errcode_t err = try_steps(m, e4l_space_try_give);

	if (err)
		return err;
	runs = e4l_space_runs(space);
	in_long = e4l_space_in_long(space);
	*good = runs <= runs_before || runs <= m->r->free_runs;
	if (!*good) {
		m->why = E4L_LEFT_FREE_RUNS;
	} else if (in_long < m->d->in_long) {
		m->why = E4L_LEFT_LONG_RUNS;
		*good = false;
	}
	return try_steps(m, e4l_space_untry_give);
}

/* ----------------------------------------------------------- doing it, or not */

static errcode_t drop_steps(struct making *m, struct e4l_steps *steps)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < steps->n && !err; i++)
		err = e4l_step_drop(&m->d->disk, &steps->v[i]);
	for (; i < steps->n; i++)
		e4l_step_free(&steps->v[i]);
	free(steps->v);
	*steps = (struct e4l_steps) { 0 };
	return err;
}

static void free_leaving(struct leaving *l)
{
	free(l->ex);
	free(l->old.v);
	free(l->new.v);
	free(l->steps.v);
	free(l->fresh.tree);
}

/* All is as it was before the window was tried. */
static errcode_t undo(struct making *m)
{
	errcode_t err = drop_steps(m, &m->self.steps);

	for (; m->n_leaving && !err; m->n_leaving--) {
		struct leaving *l = &m->leaving[m->n_leaving - 1];

		err = drop_steps(m, &l->steps);
		free_leaving(l);
	}
	if (!err)
		err = free_places(m);
	return err ? err : free_gaps(m);
}

/* Blocks that steps copy. */
static uint64_t copied(const struct making *m, const struct e4l_steps *steps)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < steps->n; i++)
		bytes += steps->v[i].bytes_to_copy;
	return bytes / m->d->disk.geo->blocksize;
}

/* The draft takes over the steps of @l, and @l itself if it is new to it. */
static errcode_t add_leaving(struct making *m, struct leaving *l)
{
	struct e4l_draft *d = m->d;
	struct e4l_steps steps = l->steps;
	size_t i = l->file;
	errcode_t err = 0;

	if (i == NEW_FILE) {
		err = e4l_grow(&d->files, d->n_files, sizeof(*d->files));
		if (err)
			return err;
		i = d->n_files++;
		d->files[i] = l->fresh;
		l->fresh.tree = NULL;
	}
	l->steps.n = 0;
	return e4l_draft_add(d, &d->files[i], steps.v, steps.n);
}

static errcode_t take_shift(const struct e4l_shift *s, void *space)
{
	return s->from == s->to ? 0 : e4l_space_take(space, s->to, s->n);
}

/* First what is in the way; once that is durable, the run itself. */
static errcode_t carry_out(struct making *m)
{
	struct e4l_plan_room *made = &m->r->made;
	struct e4l_draft *d = m->d;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < m->n_leaving && !err; i++) {
		made->blocks_away += copied(m, &m->leaving[i].steps);
		err = add_leaving(m, &m->leaving[i]);
	}
	for (i = 0; i < m->n_lodgers; i++)
		if (!m->lodger[i].at->drafted)
			m->lodger[i].at->blocks = 0;
	made->files_away += m->n_leaving;
	made->runs++;
	made->fragments_saved += m->k - 1;
	if (!err)
		err = e4l_draft_end_batch(d);
	if (!err)
		err = free_gaps(m);
	if (!err)
		err = e4l_each_shift(&m->self.old, &m->self.new, take_shift,
				     d->disk.space);
	if (!err)
		err = add_leaving(m, &m->self);
	return err ? err : e4l_draft_end_batch(d);
}

static uint64_t count_copied(const struct making *m)
{
	uint64_t blocks = copied(m, &m->self.steps);
	size_t i;

	for (i = 0; i < m->n_leaving; i++)
		blocks += copied(m, &m->leaving[i].steps);
	return blocks;
}

/* Makes all steps for the window that was looked into. */
static errcode_t clear_window(struct making *m, bool *done)
{
	errcode_t err = take_gaps(m);

	if (!err)
		err = place_lodgers(m, done);
	if (!err && *done)
		err = leave_all(m, done);
	if (!err && *done)
		err = enter(m, done);
	return err;
}

/* Empties one window, if that can be, and is any good. */
static errcode_t try_window(struct making *m, const struct e4l_crowd *c,
			    uint64_t start, uint64_t *budget, bool *done)
{
	uint64_t runs = e4l_space_runs(m->d->disk.space), blocks;
	errcode_t err = look_into(m, c, start, done);

	if (err || !*done)
		return err;
	if (m->window.cost > *budget / ratio_of(m)) {
		m->why = E4L_LEFT_COPY_BUDGET;
		*done = false;
		return 0;
	}
	err = clear_window(m, done);
	if (!err && *done)
		err = judge(m, runs, done);
	if (err)
		return err;
	if (!*done)
		return undo(m);
	blocks = count_copied(m);
	err = carry_out(m);
	*budget -= *budget == E4L_NO_LIMIT ? 0 : blocks;
	return err;
}

/* ------------------------------------------------------------------- windows */

/* Windows in which one of the long fragments of the run stays where it is. */
static errcode_t find_around(struct making *m, const struct e4l_crowd *c,
			     struct e4l_windows *ws)
{
	const struct e4l_fragment *v;
	errcode_t err = 0;
	bool clear;

	for (v = m->v; v < m->v + m->k && !err; v++) {
		uint64_t head = v->lc - m->v->lc;

		if (v->n < m->len / TRIES || v->pc < head)
			continue;
		err = look_into(m, c, v->pc - head, &clear);
		if (clear)
			e4l_windows_offer(ws, &m->window);
	}
	m->n_gaps = m->n_lodgers = 0;
	return err;
}

static bool is_too_long(const struct making *m)
{
	return m->r->no_window && m->len >= m->r->no_window;
}

/*
 * The windows that were found for the last run as long, unless none of those is
 * left, since files as long come one after the other.  *@anew: they were sought.
 */
static errcode_t find_windows(struct making *m, const struct e4l_crowd *c,
			      bool *anew)
{
	struct e4l_room *r = m->r;
	errcode_t err = 0;

	*anew = r->found_len != m->len || !r->found.n;
	if (!*anew)
		return 0;
	r->found.n = 0;
	r->found_len = m->len;
	if (!is_too_long(m))
		err = e4l_windows_find(c, m->len, &r->found);
	return err;
}

/* Tries the cheapest windows; those that were found for others are used up. */
static errcode_t try_windows(struct making *m, const struct e4l_crowd *c,
			     uint64_t *budget, bool *done)
{
	struct e4l_windows ws = m->r->found;
	size_t i;
	errcode_t err = find_around(m, c, &ws);

	for (i = 0; i < ws.n && i < TRIES && !*done && !err; i++)
		err = try_window(m, c, ws.v[i].run.start, budget, done);
	return err;
}

/* Makes room for one logical run. */
static errcode_t make_for_run(struct making *m, uint64_t *budget, bool *made)
{
	struct e4l_crowd crowd = {
		.movables = &m->r->movables, .draft = m->d,
		.file = m->self.file,
	};
	bool done = false, anew = false;
	uint64_t at;
	errcode_t err = 0;

	m->why = is_too_long(m) ? m->r->no_window_why : E4L_LEFT_CROWDED;
	while (!done && !anew && !err) {
		crowd.longest = e4l_space_largest(m->d->disk.space, &at);
		err = find_windows(m, &crowd, &anew);
		if (!err)
			err = try_windows(m, &crowd, budget, &done);
		if (!done)
			m->r->found.n = 0;
	}
	if (!done && !is_too_long(m)) {
		m->r->no_window = m->len;
		m->r->no_window_why = m->why;
	}
	*made |= done;
	if (!done)
		m->d->files[m->self.file].why = m->why;
	return err;
}

/* The @i'th logical run of a file, or false. */
static bool find_run(struct making *m, size_t i)
{
	const struct e4l_fragments *old = &m->self.old;
	size_t at = 0;

	for (; at < old->n; at += m->k) {
		m->v = old->v + at;
		m->k = e4l_logical_run(m->v, old->n - at, &m->len);
		if (!i--)
			return true;
	}
	return false;
}

static void free_making(struct making *m)
{
	size_t i;

	for (i = 0; i < m->self.steps.n; i++)
		e4l_step_free(&m->self.steps.v[i]);
	free_leaving(&m->self);
	for (i = 0; i < m->n_leaving; i++) {
		struct e4l_steps *steps = &m->leaving[i].steps;
		size_t k;

		for (k = 0; k < steps->n; k++)
			e4l_step_free(&steps->v[k]);
		free_leaving(&m->leaving[i]);
	}
	free(m->leaving);
	free(m->lodger);
	free(m->gap);
}

/* For the @i'th logical run of the file; *@more is false if there is none. */
static errcode_t make_for(struct e4l_room *r, struct e4l_draft *d, size_t file,
			  size_t i, uint64_t *budget, bool *more, bool *made)
{
	struct making m = { .r = r, .d = d };
	errcode_t err = read_drafted(&m, file, &m.self);

	*more = !err && find_run(&m, i);
	if (*more && m.k > 1)
		err = make_for_run(&m, budget, made);
	free_making(&m);
	return err;
}

errcode_t e4l_room_begin(struct e4l_room *r, struct e4l_draft *d)
{
	r->no_window = r->found_len = 0;
	return e4l_movables_renew(&r->movables, d);
}

errcode_t e4l_room_make(struct e4l_room *r, struct e4l_draft *d, size_t file,
			uint64_t *budget, bool *made)
{
	bool more = true;
	errcode_t err = 0;
	size_t i;

	for (i = 0; more && !err; i++)
		err = make_for(r, d, file, i, budget, &more, made);
	return err;
}
