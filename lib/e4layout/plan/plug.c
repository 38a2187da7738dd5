/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What lies beside a free run goes into a hole elsewhere, one after the other,
 * and of the first that is longer than what is left of the hole, the end: the free
 * run becomes longer by what the hole was.
 */
#include "config.h"
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "plug.h"

#define PIECES	64		/* for one hole, at most */

struct plugging {
	struct e4l_sweep s;
	struct e4l_run *run;		/* free runs, the shortest first */
	size_t n_runs;
	struct e4l_run last;		/* hole that was filled: the next is behind */
};

/* A hole and what goes there, beside the pieces that go as a whole. */
struct plug {
	struct e4l_run rest;		/* of the hole */
	struct e4l_leaving giver;	/* the file whose end goes there, or none */
	struct e4l_run end;		/* the fragment of which */
	bool tail;			/* it is the fragment's last part */
	bool gives;			/* there is one */
};

/* ------------------------------------------------------------ what goes there */

/* Whether the file of @l may have one fragment more, and nothing of it moves. */
static bool can_give(const struct plugging *p, const struct e4l_lodger *l)
{
	const struct e4l_evict *ev = &p->s.ev;
	const struct e4l_file *f = &p->s.d->files[l->at->whose];
	size_t i;

	if (!l->at->drafted || !e4l_draft_spare(f))
		return false;
	for (i = 0; i + 1 < ev->n_lodgers; i++)
		if (ev->lodger[i].at->drafted &&
		    ev->lodger[i].at->whose == l->at->whose)
			return false;
	return true;
}

/* The last on the list goes as a whole to where the rest begins. */
static errcode_t place_whole(struct plugging *p, struct plug *plug)
{
	struct e4l_evict *ev = &p->s.ev;
	struct e4l_lodger *l = &ev->lodger[ev->n_lodgers - 1];
	errcode_t err = e4l_space_take(p->s.d->disk.space, plug->rest.start,
				       l->run.len);

	l->to = plug->rest.start;
	ev->placed += !err;
	plug->rest.start += l->run.len;
	plug->rest.len -= l->run.len;
	return err;
}

/* Of the last on the list only the end goes. */
static errcode_t place_end(struct plugging *p, struct plug *plug, bool tail)
{
	struct e4l_evict *ev = &p->s.ev;
	const struct e4l_lodger *l = &ev->lodger[ev->n_lodgers - 1];

	plug->end = l->run;
	plug->tail = tail;
	plug->gives = true;
	plug->giver.file = l->at->whose;
	ev->cost += plug->rest.len - l->run.len;
	e4l_evict_unlist(ev, ev->n_lodgers - 1);
	return e4l_space_take(p->s.d->disk.space, plug->rest.start,
			      plug->rest.len);
}

/* Lists what is beside the free @run until the hole is full; *@full. */
static errcode_t walk(struct plugging *p, const struct e4l_run *run, bool down,
		      struct plug *plug, bool *full)
{
	uint64_t from = run->start, to = run->start + run->len, at, next;
	struct e4l_evict *ev = &p->s.ev;
	enum e4l_found found;
	errcode_t err = 0;

	while (plug->rest.len && !plug->gives && !err && (from || !down) &&
	       ev->n_lodgers < PIECES) {
		const struct e4l_lodger *l;

		at = down ? from - 1 : to;
		/* another free run: it stays */
		if (e4l_space_after(p->s.d->disk.space, at))
			break;
		err = e4l_evict_look(ev, &p->s.crowd, at, at + 1, &next,
				     &found);
		if (err || found != E4L_FOUND_LODGER)
			break;
		l = &ev->lodger[ev->n_lodgers - 1];
		from = l->run.start;
		to = from + l->run.len;
		if (l->run.len <= plug->rest.len &&
		    !e4l_evict_is_striped(ev, &l->run))
			err = place_whole(p, plug);
		else if (l->run.len > plug->rest.len && can_give(p, l) &&
			 (down || !e4l_evict_is_striped(ev, &l->run)))
			err = place_end(p, plug, down);
		else
			e4l_evict_unlist(ev, ev->n_lodgers - 1);
		if (!l->at->listed)
			break;
	}
	*full = !err && (!plug->rest.len || plug->gives);
	return err;
}

/* ------------------------------------------------------------- how it moves */

/* @v without the end that goes to where the rest is, and that. */
static errcode_t split(struct plug *plug, const struct e4l_fragment *v)
{
	struct e4l_fragments *new = &plug->giver.new;
	const struct e4l_run *rest = &plug->rest;
	uint64_t first = plug->tail ? v->n - rest->len : rest->len;
	errcode_t err;

	err = e4l_fragments_add(new, v->lc, plug->tail ? v->pc : rest->start,
				first);
	return err ? err : e4l_fragments_add(new, v->lc + first, plug->tail ?
					     rest->start : v->pc + first,
					     v->n - first);
}

/* *@done is false if the file cannot give its end. */
static errcode_t give_end(struct plugging *p, struct plug *plug, bool *done)
{
	struct e4l_leaving *l = &plug->giver;
	struct e4l_draft *d = p->s.d;
	const struct e4l_fragment *v, *stop;
	errcode_t err = e4l_leaving_read(d, l->file, l);

	for (v = l->old.v, stop = v + l->old.n; v < stop && !err; v++)
		err = v->pc == plug->end.start ? split(plug, v) :
		      e4l_fragments_add(&l->new, v->lc, v->pc, v->n);
	if (!err)
		err = e4l_leaving_steps(d, l, done);
	/* its tree must not become larger than it was */
	*done = !err && *done && l->steps.v[l->steps.n - 1].n_tree <=
				 d->files[l->file].n_tree;
	return err;
}

static errcode_t try_giver(const struct plugging *p, const struct plug *plug,
			   errcode_t (*change)(struct e4l_space *s,
					       uint64_t start, uint64_t len))
{
	const struct e4l_steps *steps = &plug->giver.steps;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < steps->n && !err; i++)
		err = e4l_step_try(&p->s.d->disk, &steps->v[i], change);
	return err;
}

/* Whether there is one run less then, and as much in long ones. */
static errcode_t judge(const struct plugging *p, const struct plug *plug,
		       const struct e4l_outlook *before, bool *good)
{
	struct e4l_outlook now;
	errcode_t err = try_giver(p, plug, e4l_space_try_give);

	if (!err)
		err = e4l_sweep_judge(&p->s, before, &now, good);
	*good = !err && *good && now.runs < before->runs;
	return err ? err : try_giver(p, plug, e4l_space_untry_give);
}

static errcode_t carry_out(struct plugging *p, struct plug *plug,
			   uint64_t *budget)
{
	struct e4l_draft *d = p->s.d;
	uint64_t copied = 0;
	errcode_t err = 0;

	if (plug->gives) {
		copied = e4l_leaving_copied(d, &plug->giver);
		d->files[plug->giver.file].why = E4L_LEFT_FREE_RUNS;
		err = e4l_leaving_add(d, &plug->giver);
	}
	p->s.c->made.blocks_away += copied;
	*budget -= *budget == E4L_NO_LIMIT ? 0 : copied;
	return err ? err : e4l_clear_take(p->s.c, &p->s.ev, budget);
}

static errcode_t undo(struct plugging *p, struct plug *plug)
{
	errcode_t err = 0;

	if (plug->gives) {
		err = e4l_leaving_drop(p->s.d, &plug->giver);
		if (!err)
			err = e4l_space_add(p->s.d->disk.space,
					    plug->rest.start, plug->rest.len);
	}
	return err ? err : e4l_evict_undo(&p->s.ev);
}

/* Fills @hole with what is beside the free @run, if that can be. */
static errcode_t try_plug(struct plugging *p, const struct e4l_run *hole,
			  const struct e4l_run *run, bool down,
			  uint64_t *budget, bool *done)
{
	const struct e4l_outlook before = e4l_space_outlook(p->s.d->disk.space);
	struct plug plug = { .rest = *hole };
	errcode_t err;

	e4l_evict_begin(&p->s.ev);
	err = walk(p, run, down, &plug, done);
	if (!err && *done)
		err = e4l_evict_leave(&p->s.ev, false, done);
	if (!err && *done && plug.gives)
		err = give_end(p, &plug, done);
	if (!err && *done)
		err = judge(p, &plug, &before, done);
	if (!err)
		err = *done ? carry_out(p, &plug, budget) : undo(p, &plug);
	e4l_leaving_free(&plug.giver);
	return err;
}

static errcode_t plug_hole(struct plugging *p, const struct e4l_run *hole,
			   uint64_t *budget, bool *done)
{
	errcode_t err = e4l_draft_go_on(p->s.d);
	size_t i;

	for (i = 2 * p->n_runs; i && !*done && !err; i--) {
		const struct e4l_run *run = &p->run[(i - 1) / 2];

		if (run != hole)
			err = try_plug(p, hole, run, i % 2, budget, done);
	}
	return err;
}

/*
 * Fills one hole, the shortest that can be of those behind the last; the longest
 * run is none.
 */
static errcode_t plug_one(struct plugging *p, uint64_t *budget, bool *done)
{
	uint64_t ratio = p->s.d->disk.geo->cluster_blocks;
	errcode_t err = e4l_sweep_runs(&p->s, e4l_shortest_first, &p->run,
				       &p->n_runs);
	size_t i = e4l_lower_bound(&p->last, p->run, p->n_runs,
				   sizeof(*p->run), e4l_shortest_first);

	*done = false;
	for (; i + 1 < p->n_runs && !*done && !err &&
	     p->run[i].len <= *budget / ratio; i++) {
		p->last = p->run[i];
		err = plug_hole(p, &p->run[i], budget, done);
	}
	return err ? err : e4l_draft_end_batch(p->s.d);
}

bool e4l_plug_is_enough(const struct e4l_space *space,
			const struct e4l_outlook *aim)
{
	const struct e4l_outlook now = e4l_space_outlook(space);

	return now.runs <= aim->runs && now.longest >= aim->longest;
}

/*
 * Those that could not be filled are tried again only once there is none behind
 * the last: to try all of them for each that can be takes a time quadratic in their
 * number.
 */
static errcode_t plug_next(struct plugging *p, uint64_t *budget, bool *done)
{
	bool anew = !p->last.len;
	errcode_t err = plug_one(p, budget, done);

	if (err || *done || anew)
		return err;
	p->last.len = 0;
	return plug_one(p, budget, done);
}

errcode_t e4l_plug_make(struct e4l_clear *c, struct e4l_draft *d,
			const struct e4l_outlook *aim, uint64_t *budget)
{
	struct plugging p = { .n_runs = 0 };
	struct e4l_outlook before, now;
	bool done = true;
	errcode_t err = 0;

	while (done && !err && !e4l_plug_is_enough(d->disk.space, aim) &&
	       !e4l_draft_is_late(d)) {
		before = e4l_space_outlook(d->disk.space);
		err = e4l_sweep_begin(&p.s, c, d, *budget);
		p.s.crowd.once = false;
		if (!err)
			err = plug_next(&p, budget, &done);
		e4l_sweep_end(&p.s);
		/* the longest alone is worth no plug elsewhere */
		now = e4l_space_outlook(d->disk.space);
		done &= now.runs > aim->runs || now.longest > before.longest;
	}
	free(p.run);
	return err;
}
