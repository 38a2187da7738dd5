/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <stdlib.h>
#include "room.h"

#define TRIES		16		/* windows, for one run */

/* Making room for one logical run of a file. */
struct making {
	struct e4l_room *r;
	struct e4l_draft *d;
	struct e4l_leaving self;
	const struct e4l_fragment *v;	/* the run's */
	size_t k;
	uint64_t len;
	enum e4l_left_why why;
	struct e4l_window window;	/* that is tried */
	struct e4l_evict ev;		/* what lies in it */
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

/*
 * Lists what is in the window at @start, and what moving all costs.  *@clear is
 * false if something in it stays.
 */
static errcode_t look_into(struct making *m, const struct e4l_crowd *c,
			   uint64_t start, bool *clear)
{
	uint64_t at = start, end = start + m->len, next;
	enum e4l_found found;
	errcode_t err = 0;

	m->window = (struct e4l_window) {
		.run = { start, m->len }, .cost = m->len,
	};
	e4l_evict_begin(&m->ev);
	for (*clear = true; at < end && *clear && !err; at = next) {
		err = e4l_evict_look(&m->ev, c, at, end, &next, &found);
		if (found != E4L_FOUND_OTHER)
			continue;
		next = end_of_own(m, at);
		*clear = next;
		m->window.cost -= next ? next - at : 0;
	}
	m->window.cost += m->ev.cost;
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
	return err ? err : e4l_leaving_steps(m->d, &m->self, done);
}

/* ----------------------------------------------------- whether it is worth it */

typedef errcode_t change_fn(struct e4l_space *s, uint64_t start, uint64_t len);

/* Gives what is not in the window, for questions alone, or takes that back. */
static errcode_t try_step(const struct making *m, const struct e4l_step *step,
			  change_fn *change)
{
	uint64_t from = m->window.run.start, to = from + m->len;
	struct e4l_space *space = m->d->disk.space;
	struct e4l_step_walk walk = { 0 };
	struct e4l_block_run run;
	uint64_t start, end;
	errcode_t err = 0;

	while (!err && e4l_step_next_given(step, &walk, &run)) {
		start = run.pblk / ratio_of(m);
		end = start + run.len / ratio_of(m);
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
	const struct e4l_leaving *l;
	errcode_t err = 0;
	size_t i, k;

	for (i = 0; i <= m->ev.n_leaving && !err; i++) {
		l = i < m->ev.n_leaving ? &m->ev.leaving[i] : &m->self;
		for (k = 0; k < l->steps.n && !err; k++)
			err = try_step(m, &l->steps.v[k], change);
	}
	return err;
}

/* Whether free space is no worse with all of it done than it was before. */
static errcode_t judge(struct making *m, const struct e4l_outlook *before,
		       bool *good)
{
	struct e4l_outlook now;
	errcode_t err = try_steps(m, e4l_space_try_give);

	if (err)
		return err;
	now = e4l_space_outlook(m->d->disk.space);
	*good = (now.runs <= before->runs || now.runs <= m->r->free_runs) &&
		e4l_disk_allows(&m->d->disk, before, &now);
	if (!*good) {
		m->why = E4L_LEFT_FREE_RUNS;
	} else if (now.in_long < m->d->in_long) {
		m->why = E4L_LEFT_LONG_RUNS;
		*good = false;
	}
	return try_steps(m, e4l_space_untry_give);
}

/* ----------------------------------------------------------- doing it, or not */

static errcode_t take_shift(const struct e4l_shift *s, void *space)
{
	return s->from == s->to ? 0 : e4l_space_take(space, s->to, s->n);
}

/* First what is in the way; once that is durable, the run itself. */
static errcode_t carry_out(struct making *m)
{
	struct e4l_plan_room *made = &m->r->made;
	struct e4l_draft *d = m->d;
	errcode_t err;

	made->blocks_away += e4l_evict_copied(&m->ev);
	made->files_away += m->ev.n_leaving;
	made->runs++;
	made->fragments_saved += m->k - 1;
	err = e4l_evict_carry_out(&m->ev);
	if (!err)
		err = e4l_each_shift(e4l_walk_list(&m->self.old),
				     &m->self.new, take_shift, d->disk.space);
	if (!err)
		err = e4l_leaving_add(d, &m->self);
	return err ? err : e4l_draft_end_batch(d);
}

/* All is as it was before the window was tried. */
static errcode_t undo(struct making *m)
{
	errcode_t err = e4l_leaving_drop(m->d, &m->self);

	return err ? err : e4l_evict_undo(&m->ev);
}

/* Makes all steps for the window that was looked into. */
static errcode_t clear_window(struct making *m, bool *done)
{
	errcode_t err = e4l_evict_place(&m->ev, true, done);

	if (!err && *done)
		err = e4l_evict_leave(&m->ev, false, done);
	if (!err && *done)
		err = enter(m, done);
	return err;
}

/* Empties one window, if that can be, and is any good. */
static errcode_t try_window(struct making *m, const struct e4l_crowd *c,
			    uint64_t start, uint64_t *budget, bool *done)
{
	const struct e4l_outlook before = e4l_space_outlook(m->d->disk.space);
	uint64_t blocks;
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
		err = judge(m, &before, done);
	if (err)
		return err;
	if (!*done)
		return undo(m);
	blocks = e4l_evict_copied(&m->ev) + e4l_leaving_copied(m->d, &m->self);
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
	e4l_evict_begin(&m->ev);
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
		err = e4l_windows_find(c, &e4l_anywhere, m->len,
				       &r->found);
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
		.movables = m->r->movables, .draft = m->d,
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

/*
 * For the logical runs of the file from *@first on, until room was made for one,
 * since the file is another then; *@more: there may be others.
 */
static errcode_t make_for(struct e4l_room *r, struct e4l_draft *d, size_t file,
			  size_t *first, uint64_t *budget, bool *more,
			  bool *made)
{
	struct making m = {
		.r = r, .d = d, .ev = { .movables = r->movables, .d = d },
	};
	errcode_t err = e4l_leaving_read(d, file, &m.self);
	const struct e4l_fragments *old = &m.self.old;
	size_t at, i = 0;

	*more = false;
	for (at = 0; at < old->n && !*more && !err; at += m.k, i++) {
		m.v = old->v + at;
		m.k = e4l_logical_run(m.v, old->n - at, &m.len);
		if (i < *first || m.k == 1)
			continue;
		if (e4l_draft_is_over(d)) {
			d->files[file].why = d->why_late;
			break;
		}
		err = e4l_draft_go_on(d);
		if (!err)
			err = make_for_run(&m, budget, more);
	}
	*first = i;
	*made |= *more;
	e4l_leaving_free(&m.self);
	e4l_evict_free(&m.ev);
	return err;
}

errcode_t e4l_room_begin(struct e4l_room *r, struct e4l_draft *d)
{
	r->no_window = r->found_len = 0;
	return e4l_movables_renew(r->movables, d);
}

errcode_t e4l_room_make(struct e4l_room *r, struct e4l_draft *d, size_t file,
			uint64_t *budget, bool *made)
{
	bool more = true;
	size_t first = 0;
	errcode_t err = 0;

	while (more && !err)
		err = make_for(r, d, file, &first, budget, &more, made);
	return err;
}
