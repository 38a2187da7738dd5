/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is beside a free run goes, one after the other, into the tightest holes
 * that are shorter than that run.  Each hole that is full then, and each run that
 * the free run has reached, is one run less; when it takes too much to get there,
 * what was walked over since the last one stays.
 */
#include "config.h"
#include <stdlib.h>
#include "fill.h"

#define TRIES	8		/* while there are files that stay after all */

struct filling {
	struct e4l_sweep s;
	struct e4l_run *anchor;		/* free runs, the longest first */
	size_t n_anchors;
	size_t gained;			/* runs less */
	size_t grown;			/* anchors that are longer */
};

/* -------------------------------------------------------------------- a walk */

/* Nothing goes into the free @run from now on. */
static errcode_t take_gap(struct filling *f, const struct e4l_run *run)
{
	enum e4l_found found;
	uint64_t next;
	errcode_t err;

	err = e4l_evict_look(&f->s.ev, &f->s.crowd, run->start,
			     run->start + run->len, &next, &found);
	return err ? err : e4l_space_take(f->s.d->disk.space, run->start,
					  run->len);
}

/* Adds what is at cluster @at, and takes a hole for it. */
static errcode_t move_at(struct filling *f, const struct e4l_run *anchor,
			 uint64_t at, struct e4l_run *run, bool *moved,
			 bool *filled)
{
	struct e4l_evict_mark before = e4l_evict_mark(&f->s.ev);
	enum e4l_found found;
	uint64_t next;
	errcode_t err;

	*moved = false;
	err = e4l_evict_look(&f->s.ev, &f->s.crowd, at, at + 1, &next, &found);
	if (err || found != E4L_FOUND_LODGER)
		return err;
	if (f->s.ev.cost <= f->s.budget)
		err = e4l_evict_place_last(&f->s.ev, anchor->len, moved, filled);
	if (err)
		return err;
	if (!*moved)
		return e4l_evict_go_back(&f->s.ev, &before);
	*run = f->s.ev.lodger[f->s.ev.n_lodgers - 1].run;
	return 0;
}

/* The free run beside the free run from *@from to *@to; empty: there is none. */
static struct e4l_run beside(const struct filling *f, bool up, uint64_t from,
			     uint64_t to)
{
	const struct e4l_space *space = f->s.d->disk.space;
	uint64_t len = up ? e4l_space_after(space, to) :
			    e4l_space_before(space, from);

	return (struct e4l_run) { up ? to : from - len, len };
}

/* From @anchor on in one direction, as far as it is worth it. */
static errcode_t walk(struct filling *f, const struct e4l_run *anchor, bool up)
{
	uint64_t from = anchor->start, to = from + anchor->len;
	struct e4l_evict_mark good = e4l_evict_mark(&f->s.ev);
	struct e4l_run run;
	bool moved = true, gain;
	errcode_t err = 0;

	while (moved && !err && f->s.ev.cost - good.cost <= f->s.c->floor &&
	       e4l_evict_is_small(&f->s.ev) && (up || from)) {
		run = beside(f, up, from, to);
		gain = run.len;
		if (gain)
			err = take_gap(f, &run);
		else
			err = move_at(f, anchor, up ? to : from - 1, &run,
				      &moved, &gain);
		if (err || !moved)
			break;
		if (up)
			to = run.start + run.len;
		else
			from = run.start;
		if (!gain)
			continue;
		f->gained++;
		good = e4l_evict_mark(&f->s.ev);
	}
	return err ? err : e4l_evict_go_back(&f->s.ev, &good);
}

/* -------------------------------------------------------------------- a pass */

static int longest_first(const void *va, const void *vb)
{
	const struct e4l_run *a = va, *b = vb;

	if (a->len != b->len)
		return a->len > b->len ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/* Whether nothing goes into @run, and it belongs to no other. */
static bool is_whole(const struct filling *f, const struct e4l_run *run)
{
	const struct e4l_space *space = f->s.d->disk.space;

	return !e4l_space_before(space, run->start) &&
	       e4l_space_after(space, run->start) == run->len;
}

/* Walks from all free runs that are no hole by then. */
static errcode_t walk_all(struct filling *f)
{
	errcode_t err = e4l_sweep_runs(&f->s, longest_first, &f->anchor,
				       &f->n_anchors);
	size_t i;

	f->gained = f->grown = 0;
	e4l_evict_begin(&f->s.ev);
	for (i = 0; i < f->n_anchors && !err; i++) {
		const struct e4l_run *anchor = &f->anchor[i];
		struct e4l_evict_mark before = e4l_evict_mark(&f->s.ev);
		size_t gained = f->gained;

		if (!is_whole(f, anchor))
			continue;
		err = e4l_draft_go_on(f->s.d);
		if (!err)
			err = take_gap(f, anchor);
		if (!err)
			err = walk(f, anchor, true);
		if (!err)
			err = walk(f, anchor, false);
		f->grown += f->gained > gained;
		if (!err && f->gained == gained)
			err = e4l_evict_go_back(&f->s.ev, &before);
	}
	return err;
}

/* Whether free space is in fewer runs then, and no worse. */
static errcode_t judge(struct filling *f, const struct e4l_outlook *before,
		       bool *good)
{
	struct e4l_outlook now;
	errcode_t err = e4l_sweep_judge(&f->s, before, &now, good);

	*good &= now.runs < before->runs;
	return err;
}

/* *@again: some file stays after all, which is known now. */
static errcode_t fill(struct filling *f, uint64_t *budget, bool *again)
{
	const struct e4l_outlook before = e4l_space_outlook(f->s.d->disk.space);
	bool all, done = false;
	errcode_t err = walk_all(f);

	*again = false;
	if (!err && f->s.ev.n_lodgers) {
		err = e4l_evict_leave(&f->s.ev, true, &all);
		*again = !err && !all;
		if (!err && all)
			err = judge(f, &before, &done);
	}
	if (err)
		return err;
	if (!done)
		return e4l_evict_undo(&f->s.ev);
	f->s.c->made.runs += f->grown - 1;
	return e4l_clear_take(f->s.c, &f->s.ev, budget);
}

errcode_t e4l_fill_make(struct e4l_clear *c, struct e4l_draft *d,
			uint64_t *budget)
{
	struct filling f = { .n_anchors = 0 };
	unsigned int tries = TRIES;
	bool again = true;
	errcode_t err;

	if (c->aim != E4L_NO_LIMIT)
		return 0;
	err = e4l_sweep_begin(&f.s, c, d, *budget);
	while (again && tries-- && !err && !e4l_draft_is_late(d))
		err = fill(&f, budget, &again);
	e4l_sweep_end(&f.s);
	free(f.anchor);
	return err;
}
