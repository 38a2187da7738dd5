/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holes into which nothing fits cannot be filled.  But where as much as the
 * longest free run moves into that run, or into holes that it fits, the holes
 * that were between it become one long run.  Right behind the longest run is the
 * best place for this, for both are one run then; if something there stays, or it
 * is too dear, the place where the least must move is.
 */
#include "config.h"
#include "slide.h"

#define SLIDES	256		/* at most, in one plan */

struct sliding {
	struct e4l_sweep s;
	struct e4l_run longest;		/* that is free now */
};

static void find_longest(struct sliding *s)
{
	s->longest.len = e4l_space_largest(s->s.d->disk.space,
					   &s->longest.start);
}

/* ------------------------------------------------------------------- where */

/* *@window: the cheapest of @len clusters outside the longest run, or empty. */
static errcode_t cheapest(const struct sliding *s, uint64_t len,
			  struct e4l_run *window)
{
	const uint64_t end = s->longest.start + s->longest.len;
	const struct e4l_run sides[] = {
		{ 0, s->longest.start }, { end, UINT64_MAX - end },
	};
	struct e4l_windows ws = { .n = 0 };
	errcode_t err;

	err = e4l_windows_find(&s->s.crowd, &sides[0], len, &ws);
	if (!err)
		err = e4l_windows_find(&s->s.crowd, &sides[1], len, &ws);
	*window = ws.n ? ws.v[0].run : (struct e4l_run) { 0, 0 };
	return err;
}

/* ---------------------------------------------------------- how good it is */

/*
 * Whether that leaves fewer runs than @before, and for each there is at most a
 * long one to copy.
 */
static errcode_t judge(struct sliding *s, const struct e4l_outlook *before,
		       bool *good)
{
	struct e4l_outlook now;
	errcode_t err = e4l_sweep_judge(&s->s, before, &now, good);

	*good = *good && now.runs < before->runs &&
		s->s.ev.cost / (before->runs - now.runs) <= s->s.c->floor;
	return err;
}

/* ---------------------------------------------------------------- one slide */

/* Whether it may cost that much, and there is memory for it. */
static bool is_affordable(const struct sliding *s, uint64_t budget)
{
	return s->s.ev.n_lodgers && e4l_evict_is_small(&s->s.ev) &&
	       (budget == E4L_NO_LIMIT ||
		s->s.ev.cost <= budget / s->s.d->disk.geo->cluster_blocks);
}

/*
 * Whether judge() may find it good: a run that there is not after it lies in the
 * window, or beside it, or is filled by something that moves.
 */
static bool may_be_good(const struct sliding *s,
			const struct e4l_outlook *before)
{
	const struct e4l_evict *ev = &s->s.ev;
	uint64_t filled = before->runs - ev->n_gaps;

	if (filled > ev->n_lodgers)
		filled = ev->n_lodgers;
	return ev->cost / (ev->n_gaps + 1 + filled) <= s->s.c->floor;
}

/* Empties @window as far as nothing in it stays, if that is good. */
static errcode_t empty(struct sliding *s, struct e4l_run window,
		       uint64_t *budget, bool *done)
{
	const struct e4l_outlook before = e4l_space_outlook(s->s.d->disk.space);
	errcode_t err;

	*done = false;
	e4l_evict_begin(&s->s.ev);
	err = e4l_evict_look_through(&s->s.ev, &s->s.crowd, &window);
	if (err || !is_affordable(s, *budget) || !may_be_good(s, &before)) {
		e4l_evict_begin(&s->s.ev);
		return err;
	}
	err = e4l_evict_place(&s->s.ev, false, done);
	if (!err && *done)
		err = e4l_evict_leave(&s->s.ev, true, done);
	if (!err && *done)
		err = judge(s, &before, done);
	if (err || !*done)
		return err ? err : e4l_evict_undo(&s->s.ev);
	return e4l_clear_take(s->s.c, &s->s.ev, budget);
}

/* One slide of @len clusters at most. */
static errcode_t slide(struct sliding *s, uint64_t len, uint64_t *budget,
		       bool *done)
{
	struct e4l_run window = { s->longest.start + s->longest.len, len };
	errcode_t err = empty(s, window, budget, done);

	if (!err && !*done)
		err = cheapest(s, len, &window);
	if (!err && !*done && window.len)
		err = empty(s, window, budget, done);
	return err;
}

/* A length that was too much once is not tried again: each try takes its time. */
static errcode_t slide_all(struct sliding *s, uint64_t *budget)
{
	struct e4l_clear *c = s->s.c;
	uint64_t len = s->longest.len;
	unsigned int n = 0;
	bool done = false, full;
	errcode_t err = 0;

	while (n < SLIDES && len >= c->floor && !err &&
	       e4l_space_runs(s->s.d->disk.space) > 1 &&
	       !e4l_draft_is_late(s->s.d)) {
		err = e4l_draft_go_on(s->s.d);
		if (!err)
			err = slide(s, len, budget, &done);
		n += done;
		full = s->longest.len == len;
		find_longest(s);
		if (!done)
			len /= 2;
		else if (full)
			len = s->longest.len;
	}
	return err;
}

errcode_t e4l_slide_make(struct e4l_clear *c, struct e4l_draft *d,
			 uint64_t *budget)
{
	struct sliding s;
	errcode_t err;

	if (c->aim != E4L_NO_LIMIT)
		return 0;
	err = e4l_sweep_begin(&s.s, c, d, *budget);
	find_longest(&s);
	if (!err)
		err = slide_all(&s, budget);
	e4l_sweep_end(&s.s);
	return err;
}
