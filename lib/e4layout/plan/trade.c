/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A hole that nothing fits into is a pit, together with some of its neighbours.  They
 * go to one end of a long free run, its far end; and once that is durable, what lies
 * at its other end, and is as long as the pit, goes into that.  So the run is longer
 * by the hole, for twice what a file or two take.  What is as long as no pit goes from
 * one end of the run to the other, and the holes behind it become part of the run.
 */
#include "config.h"
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "trade.h"

#define ROUNDS		64		/* at most, in one pass */
#define TRIES		8		/* while there are files that stay after all */
#define NEIGHBOURS	6		/* of one hole, that leave a pit */
#define MOST_PITS	65536		/* in one round */

struct trading {
	struct e4l_sweep s;		/* its evict: what goes to the far end */
	struct e4l_evict fill;		/* what goes into the pits then */
	struct e4l_run anchor;		/* a long free run */
	bool down;			/* its far end is where it ends */
	struct e4l_run rest;		/* of the anchor, for what comes there */
	struct e4l_run *hole;		/* free runs, by length */
	size_t n_holes;
	struct e4l_run *pit;		/* by length */
	size_t n_pits;
};

/* How far a walk went. */
struct mark {
	struct e4l_evict_mark away, fill;
	struct e4l_run rest;
};

/* --------------------------------------------------------------------- pits */

/* Whether @pit is where the walk is going to be. */
static bool is_ahead(const struct trading *t, const struct e4l_run *pit)
{
	const struct e4l_run *r = &t->anchor;
	uint64_t before = t->down ? r->len : 0, after = t->down ? 0 : r->len;

	return pit->start < r->start + r->len + after &&
	       pit->start + pit->len + before > r->start;
}

static errcode_t add_pit(struct trading *t, uint64_t from, uint64_t to)
{
	const struct e4l_run pit = { from, to - from };
	errcode_t err;

	if (pit.len > t->s.c->floor)
		return 0;
	err = e4l_grow(&t->pit, t->n_pits, sizeof(*t->pit));
	if (!err)
		t->pit[t->n_pits++] = pit;
	return err;
}

/*
 * How many neighbours the @hole has, before or @after it, that may leave;
 * edge[n] is where the pit begins, or ends, if n of them do.
 */
static size_t neighbours(const struct trading *t, const struct e4l_run *hole,
			 bool after, uint64_t edge[NEIGHBOURS + 1])
{
	const struct e4l_movables *m = t->s.c->movables;
	uint64_t ratio = t->s.d->disk.geo->cluster_blocks;
	size_t i = e4l_movables_from(m, hole->start * ratio), n = 0;
	struct e4l_run run;

	for (edge[0] = after ? hole->start + hole->len : hole->start;
	     n < NEIGHBOURS && (after ? i < m->n : i); n++) {
		const struct e4l_movable *v = &m->v[after ? i++ : --i];

		run = e4l_movable_run(v, ratio);
		if (!e4l_gives_way(&t->s.crowd, v) ||
		    edge[n] != (after ? run.start : run.start + run.len))
			break;
		edge[n + 1] = after ? run.start + run.len : run.start;
	}
	return n;
}

static errcode_t find_pits_of(struct trading *t, const struct e4l_run *hole)
{
	uint64_t from[NEIGHBOURS + 1], to[NEIGHBOURS + 1];
	size_t before = neighbours(t, hole, false, from);
	size_t after = neighbours(t, hole, true, to), i, k;
	errcode_t err = 0;

	for (i = 0; i <= before && !err; i++)
		for (k = 0; k <= after && i + k <= NEIGHBOURS && !err; k++)
			err = add_pit(t, from[i], to[k]);
	return err;
}

static errcode_t find_pits(struct trading *t)
{
	errcode_t err = e4l_sweep_runs(&t->s, e4l_shortest_first, &t->hole,
				       &t->n_holes);
	size_t i;

	t->n_pits = 0;
	for (i = 0; i < t->n_holes && t->n_pits < MOST_PITS && !err; i++)
		err = find_pits_of(t, &t->hole[i]);
	if (t->n_pits)
		qsort(t->pit, t->n_pits, sizeof(*t->pit), e4l_shortest_first);
	return err;
}

/* ------------------------------------------------------------------- a walk */

static struct mark mark(const struct trading *t)
{
	return (struct mark) {
		e4l_evict_mark(&t->s.ev), e4l_evict_mark(&t->fill), t->rest,
	};
}

static errcode_t go_back(struct trading *t, const struct mark *to)
{
	errcode_t err = e4l_evict_go_back(&t->s.ev, &to->away);

	t->rest = to->rest;
	return err ? err : e4l_evict_go_back(&t->fill, &to->fill);
}

static uint64_t cost_of(const struct trading *t)
{
	return t->s.ev.cost + t->fill.cost;
}

/* What is listed from the @first'th on goes to the far end, if there is room. */
static errcode_t place_far(struct trading *t, size_t first, bool *done)
{
	struct e4l_evict *ev = &t->s.ev;
	errcode_t err = 0;

	for (*done = true; first < ev->n_lodgers && *done && !err; first++) {
		struct e4l_lodger *l = &ev->lodger[first];

		*done = l->run.len <= t->rest.len &&
			!e4l_evict_is_striped(ev, &l->run);
		if (!*done)
			break;
		t->rest.len -= l->run.len;
		l->to = t->rest.start + (t->down ? t->rest.len : 0);
		t->rest.start += t->down ? 0 : l->run.len;
		err = e4l_space_take(t->s.d->disk.space, l->to, l->run.len);
		ev->placed += !err;
	}
	return err;
}

/* What is in @pit goes to the far end. */
static errcode_t empty(struct trading *t, const struct e4l_run *pit, bool *done)
{
	const struct mark before = mark(t);
	struct e4l_run left = *pit;
	struct e4l_evict *ev = &t->s.ev;
	errcode_t err = e4l_evict_look_through(ev, &t->s.crowd, &left);
	size_t gaps = before.away.gaps;

	*done = !err && left.len == pit->len;
	/* what was listed only is neither taken nor placed */
	if (!*done) {
		ev->n_gaps = gaps;
		e4l_evict_unlist(ev, before.away.lodgers);
		ev->cost = before.away.cost;
		return err;
	}
	for (; gaps < ev->n_gaps && !err; gaps++)
		err = e4l_space_take(t->s.d->disk.space, ev->gap[gaps].start,
				     ev->gap[gaps].len);
	if (!err)
		err = place_far(t, before.away.lodgers, done);
	return err || *done ? err : go_back(t, &before);
}

/* Whether nothing else of its file moves. */
static bool is_alone(const struct trading *t, const struct e4l_lodger *l)
{
	return !l->at->drafted ||
	       t->s.d->files[l->at->whose].w.fragments == 1;
}

/* Has the last that is listed to fill a pit go there, if there is one for it. */
static errcode_t find_pit(struct trading *t, bool *found)
{
	struct e4l_lodger *l = &t->fill.lodger[t->fill.n_lodgers - 1];
	const struct e4l_run key = { 0, l->run.len };
	size_t i = e4l_lower_bound(&key, t->pit, t->n_pits, sizeof(key),
				   e4l_shortest_first);
	errcode_t err = 0;

	*found = false;
	if (!is_alone(t, l) || e4l_evict_is_striped(&t->fill, &l->run))
		return 0;
	for (; i < t->n_pits && t->pit[i].len == key.len && !*found && !err; i++) {
		l->to = t->pit[i].start;
		if (!is_ahead(t, &t->pit[i]))
			err = empty(t, &t->pit[i], found);
	}
	return err;
}

/* What is at cluster @at fills a pit, which is a *@gain, or goes to the far end. */
static errcode_t move_at(struct trading *t, uint64_t at, struct e4l_run *run,
			 bool *moved, bool *gain)
{
	const struct mark before = mark(t);
	enum e4l_found found;
	uint64_t next;
	errcode_t err;

	*moved = *gain = false;
	err = e4l_evict_look(&t->fill, &t->s.crowd, at, at + 1, &next, &found);
	if (err || found != E4L_FOUND_LODGER)
		return err;
	*run = t->fill.lodger[t->fill.n_lodgers - 1].run;
	err = find_pit(t, gain);
	*moved = *gain;
	if (err || *gain)
		return err;
	err = go_back(t, &before);
	if (!err)
		err = e4l_evict_look(&t->s.ev, &t->s.crowd, at, at + 1, &next,
				     &found);
	if (!err)
		err = place_far(t, before.away.lodgers, moved);
	return err;
}

/* The free @run at the border becomes part of the anchor. */
static errcode_t join(struct trading *t, const struct e4l_run *run)
{
	enum e4l_found found;
	uint64_t next;
	errcode_t err;

	err = e4l_evict_look(&t->s.ev, &t->s.crowd, run->start,
			     run->start + run->len, &next, &found);
	return err ? err : e4l_space_take(t->s.d->disk.space, run->start,
					  run->len);
}

/* The free run at the border; empty: there is none. */
static struct e4l_run beside(const struct trading *t, uint64_t border)
{
	const struct e4l_space *space = t->s.d->disk.space;
	uint64_t len = t->down ? e4l_space_before(space, border) :
				 e4l_space_after(space, border);

	return (struct e4l_run) { t->down ? border - len : border, len };
}

/* From the anchor on, as far as it is worth it. */
static errcode_t walk(struct trading *t)
{
	uint64_t border = t->anchor.start + (t->down ? 0 : t->anchor.len);
	struct mark good = mark(t);
	uint64_t cost = cost_of(t);
	struct e4l_run run;
	bool moved = true, gain;
	errcode_t err = 0;

	while (!err && cost_of(t) - cost <= t->s.c->floor &&
	       cost_of(t) <= t->s.budget && e4l_evict_is_small(&t->s.ev) &&
	       e4l_evict_is_small(&t->fill) && (border || !t->down)) {
		run = beside(t, border);
		gain = run.len;
		if (gain)
			err = join(t, &run);
		else
			err = move_at(t, t->down ? border - 1 : border, &run,
				      &moved, &gain);
		if (err || !moved)
			break;
		border = t->down ? run.start : run.start + run.len;
		if (gain && cost_of(t) <= t->s.budget) {
			good = mark(t);
			cost = cost_of(t);
		}
	}
	return err ? err : go_back(t, &good);
}

/* --------------------------------------------------------- how good it is */

typedef errcode_t change_fn(struct e4l_space *s, uint64_t start, uint64_t len);

/* Takes what goes into the pits, for questions alone, or gives it back. */
static errcode_t change_pits(const struct trading *t, change_fn *change)
{
	const struct e4l_evict *ev = &t->fill;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < ev->n_lodgers && !err; i++)
		err = change(t->s.d->disk.space, ev->lodger[i].to,
			     ev->lodger[i].run.len);
	return err;
}

static errcode_t outcome(const struct trading *t, struct e4l_outlook *ret)
{
	errcode_t err = e4l_evict_try(&t->s.ev, e4l_space_try_give);

	if (!err)
		err = change_pits(t, e4l_space_untry_give);
	if (!err)
		err = e4l_evict_try(&t->fill, e4l_space_try_give);
	*ret = e4l_space_outlook(t->s.d->disk.space);
	if (!err)
		err = e4l_evict_try(&t->fill, e4l_space_untry_give);
	if (!err)
		err = change_pits(t, e4l_space_try_give);
	return err ? err : e4l_evict_try(&t->s.ev, e4l_space_untry_give);
}

/* Whether free space is in fewer runs then, and no worse. */
static errcode_t judge(const struct trading *t, const struct e4l_outlook *before,
		       bool *good)
{
	const struct e4l_draft *d = t->s.d;
	struct e4l_outlook now;
	errcode_t err = outcome(t, &now);

	*good = !err && now.in_long >= d->in_long &&
		e4l_disk_allows(&d->disk, before, &now) &&
		now.runs < before->runs;
	return err;
}

/* ---------------------------------------------------------------- one trade */

/* *@done is false if some file stays, which is known now. */
static errcode_t leave(struct trading *t, bool *done)
{
	bool filled = false;
	errcode_t err = e4l_evict_leave(&t->s.ev, true, done);

	if (!err)
		err = e4l_evict_leave(&t->fill, true, &filled);
	*done &= filled;
	return err;
}

/* Two batches, for the same run. */
static errcode_t carry_out(struct trading *t, uint64_t *budget)
{
	errcode_t err = e4l_clear_take(t->s.c, &t->s.ev, budget);

	t->s.c->made.runs--;
	if (!err)
		err = change_pits(t, e4l_space_take);
	return err ? err : e4l_clear_take(t->s.c, &t->fill, budget);
}

static errcode_t undo(struct trading *t)
{
	errcode_t err = e4l_evict_undo(&t->fill);

	return err ? err : e4l_evict_undo(&t->s.ev);
}

/* From @anchor on; half of it stays free for as long as the pits are empty. */
static errcode_t walk_from(struct trading *t, const struct e4l_run *anchor,
			   bool down, bool *gained)
{
	uint64_t half = anchor->len / 2, cost = cost_of(t);
	errcode_t err;

	t->anchor = *anchor;
	t->down = down;
	t->rest = (struct e4l_run) {
		down ? anchor->start + anchor->len - half : anchor->start, half,
	};
	err = walk(t);
	*gained = cost_of(t) > cost;
	return err;
}

/* Whether no walk has come to @run, or made a pit of it. */
static bool is_whole(const struct trading *t, const struct e4l_run *run)
{
	const struct e4l_space *space = t->s.d->disk.space;

	return !e4l_space_before(space, run->start) &&
	       e4l_space_after(space, run->start) == run->len;
}

/* In one direction or else the other. */
static errcode_t walk_beside(struct trading *t, const struct e4l_run *anchor)
{
	bool gained;
	errcode_t err = e4l_draft_go_on(t->s.d);

	if (!err)
		err = walk_from(t, anchor, true, &gained);
	if (!err && !gained)
		err = walk_from(t, anchor, false, &gained);
	return err;
}

/* From the longest run on, and from all that are long. */
static errcode_t walk_all(struct trading *t)
{
	const struct e4l_run *anchor;
	size_t i = t->n_holes;
	errcode_t err = 0;

	e4l_evict_begin(&t->s.ev);
	e4l_evict_begin(&t->fill);
	for (; i && !err; i--) {
		anchor = &t->hole[i - 1];
		if (i < t->n_holes && anchor->len < t->s.c->floor)
			break;
		if (is_whole(t, anchor))
			err = walk_beside(t, anchor);
	}
	return err;
}

/* *@again: some file stays after all, which is known now. */
static errcode_t trade(struct trading *t, uint64_t *budget, bool *done,
		       bool *again)
{
	const struct e4l_outlook before =
		e4l_space_outlook(t->s.d->disk.space);
	bool all = false;
	errcode_t err = walk_all(t);

	*done = *again = false;
	if (!err && cost_of(t)) {
		err = leave(t, &all);
		*again = !err && !all;
		if (!err && all)
			err = judge(t, &before, done);
	}
	if (err)
		return err;
	return *done ? carry_out(t, budget) : undo(t);
}

static errcode_t trade_once(struct e4l_clear *c, struct e4l_draft *d,
			    uint64_t *budget, bool *done)
{
	struct trading t = { .fill = { .movables = c->movables, .d = d } };
	unsigned int tries = TRIES;
	bool again = true;
	errcode_t err = e4l_sweep_begin(&t.s, c, d, *budget);

	*done = false;
	if (!err)
		err = find_pits(&t);
	while (again && tries-- && !err && !e4l_draft_is_late(d))
		err = trade(&t, budget, done, &again);
	e4l_evict_free(&t.fill);
	e4l_sweep_end(&t.s);
	free(t.hole);
	free(t.pit);
	return err;
}

errcode_t e4l_trade_make(struct e4l_clear *c, struct e4l_draft *d,
			 uint64_t *budget)
{
	unsigned int rounds = ROUNDS;
	bool done = c->aim == E4L_NO_LIMIT;
	errcode_t err = 0;

	while (done && rounds-- && !err && !e4l_draft_is_late(d))
		err = trade_once(c, d, budget, &done);
	return err;
}
