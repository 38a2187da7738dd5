/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which pieces of a file to put where: see e4l_plan_make() for the promises. */
#include "config.h"
#include <errno.h>
#include <string.h>
#include "plan_internal.h"

typedef struct e4l_piece_of_file piece;

errcode_t e4l_push_piece(struct e4l_pieces *list, uint64_t lc, uint64_t pc,
			 uint64_t n)
{
	piece *last = list->n ? &list->v[list->n - 1] : NULL;
	errcode_t err;

	if (last && last->lc + last->n == lc && last->pc + last->n == pc) {
		last->n += n;
		return 0;
	}
	err = e4l_grow(&list->v, list->n, sizeof(*list->v));
	if (!err)
		list->v[list->n++] = (piece) { lc, pc, n };
	return err;
}

errcode_t e4l_get_pieces(const struct e4l_extent *ex, size_t n, uint32_t ratio,
			 struct e4l_pieces *ret)
{
	struct e4l_pieces list = { 0 };
	uint64_t lc, pc, end, next = 0, next_pc = 0;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < n && !err; i++) {
		lc = ex[i].lblk / ratio;
		pc = ex[i].pblk / ratio;
		end = (ex[i].lblk + (uint64_t)ex[i].len - 1) / ratio + 1;
		if (ex[i].lblk % ratio != ex[i].pblk % ratio ||
		    (i && lc < next && pc + 1 != next_pc)) {
			err = E4L_ET_BAD_ARGUMENT;
			break;
		}
		if (i && lc < next) {	/* shares its first cluster */
			lc++;
			pc++;
		}
		if (lc < end)
			err = e4l_push_piece(&list, lc, pc, end - lc);
		next = end;
		next_pc = pc + (end - lc);
	}
	if (err) {
		free(list.v);
		list = (struct e4l_pieces) { 0 };
	}
	*ret = list;
	return err;
}

/* The number of pieces from @v on that are one logical run; its length. */
static size_t logical_run(const piece *v, size_t n, uint64_t *len)
{
	size_t i;

	*len = v[0].n;
	for (i = 1; i < n && v[i - 1].lc + v[i - 1].n == v[i].lc; i++)
		*len += v[i].n;
	return i;
}

errcode_t e4l_move_weigh(const struct e4l_plan *p, struct e4l_candidate *c,
			 const struct e4l_extent *ex, size_t n)
{
	uint64_t ratio = p->opt.geo.cluster_blocks, len;
	struct e4l_pieces pieces;
	const piece *v;
	size_t i, k, x = 0;
	errcode_t err;

	c->excess = c->cost = c->longest = 0;
	if (!(c->allowed & E4L_PLAN_MOVE))
		return 0;
	err = e4l_get_pieces(ex, n, ratio, &pieces);
	if (err)
		return err;
	v = pieces.v;
	for (i = 0; i < pieces.n; i += k) {
		k = logical_run(v + i, pieces.n - i, &len);
		if (k == 1)
			continue;
		c->excess += k - 1;
		if (c->longest < len)
			c->longest = len;
		for (; x < n && ex[x].lblk < (v[i].lc + len) * ratio; x++)
			if (!ex[x].unwritten &&
			    ex[x].lblk + (uint64_t)ex[x].len > v[i].lc * ratio)
				c->cost += ex[x].len;
	}
	free(pieces.v);
	return 0;
}

errcode_t e4l_each_change(const struct e4l_pieces *old,
			  const struct e4l_pieces *new,
			  errcode_t (*fn)(const struct e4l_change *, void *),
			  void *priv)
{
	const piece *was = old->v, *is = new->v;
	uint64_t o = 0, w = 0;	/* how far in *was and *is */
	struct e4l_change ch;
	errcode_t err = 0;

	while (was < old->v + old->n && !err) {
		ch = (struct e4l_change) {
			.lc = was->lc + o, .from = was->pc + o,
			.to = is->pc + w, .n = was->n - o,
		};
		if (ch.n > is->n - w)
			ch.n = is->n - w;
		err = fn(&ch, priv);
		o += ch.n;
		w += ch.n;
		if (o == was->n) {
			was++;
			o = 0;
		}
		if (w == is->n) {
			is++;
			w = 0;
		}
	}
	return err;
}

static errcode_t put_back(const struct e4l_change *ch, void *priv)
{
	return ch->from == ch->to ? 0 : e4l_space_add(priv, ch->to, ch->n);
}

/* What placing one logical run needs. */
struct placing {
	struct e4l_space *space;
	struct e4l_run near;
	uint64_t below;			/* only shorter runs, the tightest; 0 */
	const piece *v;			/* its pieces now */
	size_t n;
	uint64_t len;
	struct e4l_pieces *out;
};

static errcode_t place_at(struct placing *pl, uint64_t lc, uint64_t at,
			  uint64_t len)
{
	errcode_t err = e4l_space_take(pl->space, at, len);

	return err ? err : e4l_push_piece(pl->out, lc, at, len);
}

static bool find_fit(const struct placing *pl, uint64_t len, uint64_t *at)
{
	return e4l_space_fit(pl->space, len, pl->below ? NULL : &pl->near, at) &&
	       (!pl->below || e4l_space_after(pl->space, *at) < pl->below);
}

static uint64_t find_largest(const struct placing *pl, uint64_t *at)
{
	return pl->below ? e4l_space_largest_below(pl->space, pl->below, at) :
			   e4l_space_largest(pl->space, at);
}

/*
 * Puts all in one place: around the longest piece that has room for the others
 * before and after it, or else into the run that fits best.
 */
static errcode_t place_whole(struct placing *pl, bool *done)
{
	uint64_t head = 0, best_head = 0, tail, at;
	const piece *v, *best = NULL;
	errcode_t err = 0;

	*done = true;
	for (v = pl->v; v < pl->v + pl->n; head += v->n, v++) {
		tail = pl->len - head - v->n;
		if ((best && v->n <= best->n) ||
		    e4l_space_before(pl->space, v->pc) < head ||
		    e4l_space_after(pl->space, v->pc + v->n) < tail)
			continue;
		best = v;
		best_head = head;
	}
	if (!best) {
		*done = find_fit(pl, pl->len, &at);
		return *done ? place_at(pl, pl->v->lc, at, pl->len) : 0;
	}
	if (best_head)
		err = place_at(pl, pl->v->lc, best->pc - best_head, best_head);
	if (!err)
		err = e4l_push_piece(pl->out, best->lc, best->pc, best->n);
	tail = pl->len - best_head - best->n;
	if (!err && tail)
		err = place_at(pl, best->lc + best->n, best->pc + best->n,
			       tail);
	return err;
}

/* Puts all in the fewest runs that hold it: the longest first. */
static errcode_t place_longest(struct placing *pl, bool *done)
{
	uint64_t lc = pl->v->lc, left = pl->len, at, len;
	errcode_t err = 0;

	for (; left && !err; left -= len, lc += len) {
		len = find_largest(pl, &at);
		if (!len)
			break;
		if (len >= left) {
			len = left;
			find_fit(pl, len, &at);
		}
		err = place_at(pl, lc, at, len);
	}
	*done = !left;
	return err;
}

/* How many pieces, from @v to @end, fit in @room; their length. */
static size_t count_fit(const piece *v, const piece *end, uint64_t room,
			uint64_t *len)
{
	const piece *first = v;

	*len = 0;
	for (; v < end && v->n <= room - *len; v++)
		*len += v->n;
	return v - first;
}

/*
 * Joins neighbours where they fit, from the start: after the first of them, or
 * in another run.
 */
static errcode_t place_windows(struct placing *pl)
{
	const piece *v = pl->v, *end = pl->v + pl->n;
	uint64_t len, after_len, at;
	size_t n, after;
	errcode_t err = 0;

	for (; v < end && !err; v += n) {
		after = count_fit(v + 1, end, e4l_space_after(pl->space,
				  v->pc + v->n), &after_len);
		n = count_fit(v, end, find_largest(pl, &at), &len);
		if (n > after + 1) {
			find_fit(pl, len, &at);
			err = place_at(pl, v->lc, at, len);
			continue;
		}
		n = after + 1;
		err = e4l_push_piece(pl->out, v->lc, v->pc, v->n);
		if (!err && after)
			err = place_at(pl, v->lc + v->n, v->pc + v->n,
				       after_len);
	}
	return err;
}

/* Frees again what place_windows() took. */
static errcode_t undo_windows(struct placing *pl)
{
	const struct e4l_pieces old = { (piece *)pl->v, pl->n };
	errcode_t err = e4l_each_change(&old, pl->out, put_back, pl->space);

	pl->out->n = 0;
	return err;
}

/* Frees again what place_longest() took, all of it or not. */
static errcode_t undo_longest(struct placing *pl)
{
	struct e4l_pieces *out = pl->out;
	errcode_t err = 0;

	while (out->n && !err) {
		out->n--;
		err = e4l_space_add(pl->space, out->v[out->n].pc,
				    out->v[out->n].n);
	}
	return err;
}

/*
 * Whether @n pieces instead of @before are worth the copying.  With every
 * single piece saved accepted, files that nothing has room for are copied over
 * and over as each frees a little space for the next: in a disk full of 1000
 * files of 400 pieces, 14 times what they hold, to save not 1 % more.
 */
static bool worthwhile(size_t n, size_t before)
{
	return n < before && n <= before - before / 4;
}

/* Tries both ways to have fewer pieces and takes the better, if it is good. */
static errcode_t place_partly(struct placing *pl, bool *done)
{
	size_t windows;
	bool fits;
	errcode_t err;

	err = place_windows(pl);
	windows = pl->out->n;
	if (!err)
		err = undo_windows(pl);
	if (!err)
		err = place_longest(pl, &fits);
	if (err)
		return err;
	*done = true;
	if (fits && pl->out->n < windows && worthwhile(pl->out->n, pl->n))
		return 0;
	err = undo_longest(pl);
	if (err)
		return err;
	*done = worthwhile(windows, pl->n);
	return *done ? place_windows(pl) : 0;
}

/* Places every logical run of @v that is in pieces; appends all to @out. */
static errcode_t place_all(struct placing *pl, const piece *v, size_t n,
			   bool partial, struct e4l_pieces *out)
{
	struct e4l_pieces tried = { 0 };
	errcode_t err = 0;
	size_t k, i;
	bool done;

	pl->out = &tried;
	for (; n && !err; v += k, n -= k) {
		k = logical_run(v, n, &pl->len);
		pl->v = v;
		pl->n = k;
		tried.n = 0;
		done = false;
		if (k > 1)
			err = partial ? place_partly(pl, &done) :
					place_whole(pl, &done);
		for (i = 0; i < (done ? tried.n : k) && !err; i++) {
			const piece *from = done ? &tried.v[i] : &v[i];

			err = e4l_push_piece(out, from->lc, from->pc, from->n);
		}
	}
	free(tried.v);
	return err;
}

static errcode_t add_move(struct e4l_step *step, const struct e4l_move *m,
			  uint64_t blocksize)
{
	struct e4l_move *last = step->n_moves ?
				&step->moves[step->n_moves - 1] : NULL;
	errcode_t err;

	if (m->from == m->to)
		return 0;
	if (m->copy)
		step->bytes_to_copy += m->len * blocksize;
	if (last && last->from + last->len == m->from &&
	    last->to + last->len == m->to && last->copy == m->copy) {
		last->len += m->len;
		return 0;
	}
	err = e4l_grow(&step->moves, step->n_moves, sizeof(*step->moves));
	if (!err)
		step->moves[step->n_moves++] = *m;
	return err;
}

/* Makes the step's extents and moves, from where the pieces now are. */
static errcode_t map_extents(const struct e4l_plan *p,
			     const struct e4l_extent *ex, size_t n,
			     const piece *v, struct e4l_step *step)
{
	uint64_t ratio = p->opt.geo.cluster_blocks, at, end, stop;
	struct e4l_move m;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		at = ex[i].lblk;
		end = at + ex[i].len;
		for (; at < end && !err; at += m.len) {
			while ((v->lc + v->n) * ratio <= at)
				v++;
			stop = (v->lc + v->n) * ratio;
			m = (struct e4l_move) {
				.from = ex[i].pblk + (at - ex[i].lblk),
				.to = v->pc * ratio + (at - v->lc * ratio),
				.len = (stop < end ? stop : end) - at,
				.copy = !ex[i].unwritten,
			};
			err = e4l_grow(&step->new_extents, step->n_new,
				       sizeof(*step->new_extents));
			if (err)
				return err;
			step->new_extents[step->n_new++] = (struct e4l_extent) {
				.lblk = at, .pblk = m.to, .len = m.len,
				.unwritten = ex[i].unwritten,
			};
			err = add_move(step, &m, p->opt.geo.blocksize);
		}
	}
	step->n_new = e4l_pack(step->new_extents, step->n_new,
			       step->new_extents);
	return err;
}

struct lists {
	struct e4l_step *step;
	uint64_t ratio;
};

static errcode_t add_run(struct e4l_block_run **runs, size_t *n, blk64_t pblk,
			 blk64_t len)
{
	struct e4l_block_run *last = *n ? &(*runs)[*n - 1] : NULL;
	errcode_t err;

	if (last && last->pblk + last->len == pblk) {
		last->len += len;
		return 0;
	}
	err = e4l_grow(runs, *n, sizeof(**runs));
	if (!err)
		(*runs)[(*n)++] = (struct e4l_block_run) { pblk, len };
	return err;
}

static errcode_t list_change(const struct e4l_change *ch, void *priv)
{
	struct lists *l = priv;
	errcode_t err;

	if (ch->from == ch->to)
		return 0;
	err = add_run(&l->step->take, &l->step->n_take, ch->to * l->ratio,
		      ch->n * l->ratio);
	return err ? err : add_run(&l->step->give, &l->step->n_give,
				   ch->from * l->ratio, ch->n * l->ratio);
}

errcode_t e4l_make_move(const struct e4l_plan *p, const struct e4l_extent *ex,
			size_t n, const struct e4l_pieces *old,
			const struct e4l_pieces *new,
			struct e4l_step *step)
{
	struct lists lists = { step, p->opt.geo.cluster_blocks };
	errcode_t err = map_extents(p, ex, n, new->v, step);

	return err ? err : e4l_each_change(old, new, list_change, &lists);
}

/*
 * Whether as much is free in long runs as must be once @step is done, or what
 * @m saves is worth more: see e4l_plan_make().
 */
static errcode_t spares_long_runs(struct e4l_plan *p,
				  const struct e4l_moving *m,
				  const struct e4l_step *step, bool *spares)
{
	uint64_t ratio = p->opt.geo.cluster_blocks, clusters = 0, in_long;
	const struct e4l_block_run *give = step->give;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < step->n_give; i++)
		clusters += give[i].len / ratio;
	*spares = !p->opt.long_run_blocks ||
		  2 * (m->old.n - m->new.n) >= clusters;
	if (*spares)
		return 0;
	for (i = 0; i < step->n_give && !err; i++)
		err = e4l_space_try_give(p->space, give[i].pblk / ratio,
					 give[i].len / ratio);
	in_long = e4l_space_in_long(p->space);
	while (i-- && !err)
		err = e4l_space_untry_give(p->space, give[i].pblk / ratio,
					   give[i].len / ratio);
	*spares = in_long >= p->in_long;
	if (!*spares)
		m->c->why = E4L_LEFT_LONG_RUNS;
	return err;
}

/* Adds the one step that moves @m, of which it is known that it fits. */
static errcode_t add_whole(struct e4l_plan *p, struct e4l_moving *m)
{
	struct e4l_step step = { 0 };
	errcode_t err;
	bool placed;

	err = e4l_make_move(p, m->ex, m->n_ex, &m->old, &m->new, &step);
	step.fragments_saved = m->old.n - m->new.n;
	m->copied = step.bytes_to_copy / p->opt.geo.blocksize;
	if (!err)
		err = e4l_place_tree(p, m->c->tree, m->c->n_tree, &step,
				     &placed);
	if (!err)
		return e4l_add_steps(p, m->c, &step, 1);
	e4l_free_step(&step);
	return err;
}

/* Adds @step, or several in its place, or none. */
static errcode_t add_fitting(struct e4l_plan *p, struct e4l_moving *m,
			     struct e4l_step *step, bool *done)
{
	bool large = m->copied > e4l_part_blocks(p, m->c);
	bool affordable = m->copied <= p->opt.copy_budget_blocks;
	bool placed, fits = false;
	errcode_t err;

	*done = true;
	err = e4l_place_tree(p, m->c->tree, m->c->n_tree, step, &placed);
	if (!err && placed)
		err = e4l_step_fits(p, step, 0, &fits);
	if (!err && fits)
		err = spares_long_runs(p, m, step, done);
	if (!err && fits && *done && !large)
		return e4l_add_steps(p, m->c, step, 1);
	if (err) {
		e4l_free_step(step);
		return err;
	}
	err = e4l_drop_step(p, step);
	if (err || !*done)
		return err;
	err = e4l_split_move(p, m, done);
	if (err || *done)
		return err;
	*done = fits && affordable;
	if (!fits)
		e4l_leave(m->c, E4L_PLAN_MOVE);
	return *done ? add_whole(p, m) : 0;
}

/*
 * Whether to move @m by @step; if not, @m's file knows why.  A budget that is
 * not enough may do for parts.
 */
static errcode_t judge(struct e4l_plan *p, const struct e4l_moving *m,
		       const struct e4l_step *step, bool *good)
{
	uint64_t budget = p->opt.copy_budget_blocks;

	*good = m->new.n < m->old.n && step->n_new <= m->c->n_ex;
	if (*good && m->copied > budget) {
		m->c->why = E4L_LEFT_COPY_BUDGET;
		*good = e4l_part_blocks(p, m->c) <= budget;
	}
	return *good ? spares_long_runs(p, m, step, good) : 0;
}

/* Makes a step of what has been placed, or takes it back. */
static errcode_t settle(struct e4l_plan *p, struct e4l_moving *m, bool *moved)
{
	struct e4l_step step = { 0 };
	errcode_t err;

	err = e4l_make_move(p, m->ex, m->n_ex, &m->old, &m->new, &step);
	m->copied = step.bytes_to_copy / p->opt.geo.blocksize;
	if (!err)
		err = judge(p, m, &step, moved);
	step.fragments_saved = m->old.n - m->new.n;
	if (!err && *moved)
		err = add_fitting(p, m, &step, moved);
	else
		e4l_free_step(&step);
	if (err)
		return err;
	if (!*moved)
		return e4l_each_change(&m->old, &m->new, put_back, p->space);
	if (p->opt.copy_budget_blocks != E4L_NO_LIMIT)
		p->opt.copy_budget_blocks -= m->copied;
	return 0;
}

/* Places @m's pieces and moves them; *@done is false if that is no good. */
static errcode_t try_move(struct e4l_plan *p, struct e4l_moving *m,
			  uint64_t below, bool partial, bool *done)
{
	uint64_t ratio = p->opt.geo.cluster_blocks;
	uint64_t group = p->opt.geo.group_blocks / ratio;
	struct placing pl = {
		.space = p->space, .below = below,
		.near = { m->c->goal / ratio / group * group, group },
	};
	errcode_t err;

	m->new.n = 0;
	err = place_all(&pl, m->old.v, m->old.n, partial, &m->new);
	return err ? err : settle(p, m, done);
}

errcode_t e4l_move_file(struct e4l_plan *p, struct e4l_candidate *c,
			bool partial, bool *moved)
{
	uint64_t ratio = p->opt.geo.cluster_blocks;
	struct e4l_moving m = { .c = c };
	bool done = false;
	errcode_t err;

	if (!partial)
		c->why = E4L_LEFT_NO_ROOM;
	err = e4l_get_extents(p, c, &m.ex, &m.n_ex);
	if (!err)
		err = e4l_get_pieces(m.ex, m.n_ex, ratio, &m.old);
	if (!err)
		err = try_move(p, &m, 0, partial, &done);
	if (!err && !done && c->why == E4L_LEFT_LONG_RUNS)
		err = try_move(p, &m, p->opt.long_run_blocks / ratio, partial,
			       &done);
	*moved |= done;
	free(m.ex);
	free(m.old.v);
	free(m.new.v);
	return err;
}
