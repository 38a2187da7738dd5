/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <stdlib.h>
#include "join.h"

/* What is given back, for as long as it goes on. */
struct taken {
	struct e4l_space *space;
	struct e4l_run run;
};

static errcode_t put_run(const struct taken *t)
{
	return t->run.len ? e4l_space_add(t->space, t->run.start, t->run.len) :
			    0;
}

static errcode_t put_back(const struct e4l_shift *s, void *taken)
{
	struct taken *t = taken;
	errcode_t err;

	if (s->from == s->to)
		return 0;
	if (t->run.start + t->run.len == s->to) {
		t->run.len += s->n;
		return 0;
	}
	err = put_run(t);
	t->run = (struct e4l_run) { s->to, s->n };
	return err;
}

errcode_t e4l_unjoin(struct e4l_space *space, struct e4l_walk old,
		     const struct e4l_fragments *new)
{
	struct taken t = { .space = space };
	errcode_t err = e4l_each_shift(old, new, put_back, &t);

	return err ? err : put_run(&t);
}

/* One logical run that is in several fragments. */
struct joining {
	const struct e4l_where *where;
	struct e4l_space *space;
	struct e4l_logical_run old;
	struct e4l_fragments *new;
	size_t first;			/* of those of it in *new */
};

/* How many there are in *new. */
static size_t count_new(const struct joining *j)
{
	return j->new->n - j->first;
}

static errcode_t take_at(struct joining *j, uint64_t lc, uint64_t at,
			 uint64_t len)
{
	errcode_t err = e4l_space_take(j->space, at, len);

	return err ? err : e4l_fragments_add(j->new, lc, at, len);
}

static bool find_fit(const struct e4l_where *w, uint64_t len, uint64_t *at)
{
	return e4l_space_fit(w->space, len, w->below ? NULL : &w->near, at) &&
	       (!w->below || e4l_space_after(w->space, *at) < w->below);
}

static uint64_t find_largest(const struct e4l_where *w, uint64_t *at)
{
	return w->below ? e4l_space_largest_below(w->space, w->below, at) :
			  e4l_space_largest(w->space, at);
}

/*
 * Puts all in one place: around the longest fragment that has room for the
 * others before and after it, or else into the run that fits best.
 */
static errcode_t join_whole(struct joining *j, bool *done)
{
	uint64_t head = 0, best_head = 0, tail, at;
	struct e4l_walk walk = j->old.walk;
	struct e4l_fragment v, best = { 0 };
	errcode_t err = 0;
	size_t i;

	*done = true;
	for (i = 0; i < j->old.n && e4l_next_fragment(&walk, &v);
	     i++, head += v.n) {
		tail = j->old.len - head - v.n;
		if (v.n <= best.n ||
		    e4l_space_before(j->space, v.pc) < head ||
		    e4l_space_after(j->space, v.pc + v.n) < tail)
			continue;
		best = v;
		best_head = head;
	}
	if (!best.n) {
		*done = find_fit(j->where, j->old.len, &at);
		return *done ? take_at(j, j->old.lc, at, j->old.len) : 0;
	}
	if (best_head)
		err = take_at(j, j->old.lc, best.pc - best_head, best_head);
	if (!err)
		err = e4l_fragments_add(j->new, best.lc, best.pc, best.n);
	tail = j->old.len - best_head - best.n;
	if (!err && tail)
		err = take_at(j, best.lc + best.n, best.pc + best.n, tail);
	return err;
}

/* Puts all in the fewest runs that hold it: the longest first; @most of them. */
static errcode_t join_longest(struct joining *j, size_t most, bool *done)
{
	uint64_t lc = j->old.lc, left = j->old.len, at, len;
	errcode_t err = 0;

	*done = e4l_space_holds(j->space, j->where->below, most, left);
	for (; *done && left && !err; left -= len, lc += len) {
		len = find_largest(j->where, &at);
		if (len >= left) {
			len = left;
			find_fit(j->where, len, &at);
		}
		err = take_at(j, lc, at, len);
	}
	return err;
}

/* How many of the next @n fragments fit in @room; their length. */
static size_t count_fit(struct e4l_walk walk, size_t n, uint64_t room,
			uint64_t *len)
{
	struct e4l_fragment v;
	size_t i;

	*len = 0;
	for (i = 0; i < n && e4l_next_fragment(&walk, &v) &&
		    v.n <= room - *len; i++)
		*len += v.n;
	return i;
}

static void pass_over(struct e4l_walk *walk, size_t n)
{
	struct e4l_fragment v;

	while (n--)
		e4l_next_fragment(walk, &v);
}

/*
 * Joins neighbours where they fit, from the start: after the first of them, or
 * in another run.
 */
static errcode_t join_windows(struct joining *j)
{
	struct e4l_walk walk = j->old.walk, behind;
	uint64_t len, after_len, at;
	struct e4l_fragment v;
	size_t n, after, left;
	errcode_t err = 0;

	for (left = j->old.n; left && !err; left -= n, pass_over(&walk, n)) {
		behind = walk;
		e4l_next_fragment(&behind, &v);
		after = count_fit(behind, left - 1,
				  e4l_space_after(j->space, v.pc + v.n),
				  &after_len);
		n = count_fit(walk, left, find_largest(j->where, &at), &len);
		if (n > after + 1) {
			find_fit(j->where, len, &at);
			err = take_at(j, v.lc, at, len);
			continue;
		}
		n = after + 1;
		err = e4l_fragments_add(j->new, v.lc, v.pc, v.n);
		if (!err && after)
			err = take_at(j, v.lc + v.n, v.pc + v.n, after_len);
	}
	return err;
}

/* Frees again what join_windows() took. */
static errcode_t undo_windows(struct joining *j)
{
	const struct e4l_fragments new = {
		.v = j->new->v + j->first, .n = count_new(j),
	};
	errcode_t err = e4l_unjoin(j->space, j->old.walk, &new);

	j->new->n = j->first;
	return err;
}

/*
 * The most fragments that are worth the copying instead of @before.  With every
 * single one saved accepted, files that nothing has room for are copied over
 * and over as each frees a little space for the next: in a disk full of 1000
 * files of 400 fragments, 14 times what they hold, to save not 1 % more.
 */
static size_t most_worthwhile(size_t before)
{
	size_t saved = before / 4;

	return before - (saved ? saved : 1);
}

/* Tries both ways to have fewer fragments; takes the better, if it is good. */
static errcode_t join_partly(struct joining *j, bool *done)
{
	size_t most = most_worthwhile(j->old.n), windows;
	errcode_t err;

	err = join_windows(j);
	windows = count_new(j);
	if (!err)
		err = undo_windows(j);
	if (!err)
		err = join_longest(j, windows <= most ? windows - 1 : most,
				   done);
	if (err || *done)
		return err;
	*done = windows <= most;
	return *done ? join_windows(j) : 0;
}

/* Appends a logical run as it is to be. */
static errcode_t join_run(struct joining *j, bool partial)
{
	struct e4l_walk walk = j->old.walk;
	struct e4l_fragment v;
	errcode_t err = 0;
	bool done = false;
	size_t i;

	j->first = j->new->n;
	if (j->old.n > 1)
		err = partial ? join_partly(j, &done) : join_whole(j, &done);
	for (i = 0; !done && i < j->old.n && !err; i++) {
		e4l_next_fragment(&walk, &v);
		err = e4l_fragments_add(j->new, v.lc, v.pc, v.n);
	}
	return err;
}

errcode_t e4l_join(const struct e4l_where *where, struct e4l_walk old,
		   bool partial, struct e4l_fragments *new)
{
	struct joining j = {
		.where = where, .space = where->space, .new = new,
	};
	errcode_t err = 0;

	while (!err && e4l_next_logical_run(&old, &j.old))
		err = join_run(&j, partial);
	return err;
}
