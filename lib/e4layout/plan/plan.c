/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * plan: makes several attempts at a plan, and keeps the best attempt that
 * improves the layout enough.
 */
#include "config.h"
#include <e4layout/context.h>
#include "e4layout/base/array.h"
#include "work.h"
#include "e4layout/read/zero_runs.h"

/*
 * Free space is good if LARGE_PERCENT of free space is in large free extents,
 * and if the largest free extent has NEAR_PERCENT of its maximum possible
 * length, see possible().
 */
#define LARGE_PERCENT	95
#define NEAR_PERCENT	95
/*
 * A plan that saves fragments must keep at least LOSS_PERCENT of the length of
 * the largest free extent.
 */
#define LOSS_PERCENT	90
/* minimum gain of a plan that only improves free space, in % of free space */
#define WORTH_PERCENT	5
/* maximum number of passes (generations) that join_long() adds to an attempt */
#define GENERATIONS	64
#define ROUNDS		16	/* maximum number of rounds of attempts */
/*
 * no further round is run if at most 1/BUDGET_REST of the copy budget is left
 */
#define BUDGET_REST	20

/* ----------------------------------------------------- comparison of layouts */

/*
 * Returns the maximum length, in clusters, that a plan could give the largest
 * free extent.
 */
static uint64_t possible(const struct e4l_plan *p, const struct e4l_look *look)
{
	uint64_t most = look->free < p->stretch ? look->free : p->stretch;
	uint64_t cap = p->opt.region_blocks /
		       p->opt.geo.cluster_blocks;

	return cap && cap < most ? cap : most;
}

static bool meets_goals(const struct e4l_plan *p, const struct e4l_look *look)
{
	return look->large * 100 >= look->free * LARGE_PERCENT &&
	       look->largest * 100 >= possible(p, look) * NEAR_PERCENT;
}

/*
 * Whether the layout @is is acceptable as a replacement of the layout @was: the
 * excess does not increase, and free space does not become worse.  If the
 * excess decreases, it is sufficient that free space meets these conditions:
 *
 * - The largest free extent keeps LOSS_PERCENT of its length.
 * - Large free extents keep their total length, or have LARGE_PERCENT of free
 *   space.  If free space is not to be consolidated, large free extents may also
 *   keep only LOSS_PERCENT of their total length.
 */
static bool is_guarded(const struct e4l_plan *p, const struct e4l_look *was,
		       const struct e4l_look *is)
{
	bool falls = is->excess < was->excess;
	uint64_t percent = falls ? LOSS_PERCENT : 100;
	bool large = is->large >= was->large ||
		     (falls && is->large * 100 >= is->free * LARGE_PERCENT) ||
		     (falls && !p->opt.free_space &&
		      is->large * 100 >= was->large * LOSS_PERCENT);

	return is->excess <= was->excess && large &&
	       is->largest * 100 >= was->largest * percent;
}

/*
 * Whether to carry out a plan that changes the layout @was to the layout @is.
 */
static bool is_worth(const struct e4l_plan *p, const struct e4l_look *was,
		     const struct e4l_look *is)
{
	uint64_t step = was->free * WORTH_PERCENT / 100 + 1;

	if (is->excess < was->excess)
		return true;
	if (!p->opt.free_space || meets_goals(p, was))
		return false;
	return is->large >= was->large + step ||
	       (is->largest >= was->largest + step &&
		is->largest * 100 >= was->largest * (100 + WORTH_PERCENT));
}

/*
 * Returns a rating of a layout.  Lower ratings are better; 0 means that nothing
 * is left to do.
 */
static uint64_t score(const struct e4l_plan *p, const struct e4l_look *look)
{
	bool good = !p->opt.free_space || meets_goals(p, look);

	if (!look->excess && good)
		return 0;
	return 1 + look->excess * 1000 +
	       (good ? 0 : (look->free - look->large) * 999 /
			   (look->free + 1));
}

/* ------------------------------------------------------------------- attempts */

static errcode_t run_generation(struct e4l_work *w, const uint8_t *only)
{
	errcode_t err = e4l_work_items(w, only);

	if (!err && only)
		err = e4l_target_reserve(w);
	if (!err)
		err = e4l_target_choose(w, !only);
	if (!err)
		err = e4l_schedule_run(w);
	w->excess = e4l_work_excess(w);
	return err;
}

/* A fragmented logical run. */
struct broken {
	uint32_t len, run;
};

/*
 * Sets the elements of @only for the shortest fragmented runs that together fit
 * into @room clusters, the length of the largest free extent.  Sets *@any to
 * whether a run was chosen.
 */
static errcode_t choose_long(const struct e4l_work *w, uint64_t room,
			     uint8_t *only, bool *any)
{
	const struct e4l_plan *m = w->m;
	struct broken *v = calloc(m->n_items + 1, sizeof(*v));
	uint32_t i, n = 0;

	*any = false;
	if (!v)
		return ENOMEM;
	memset(only, 0, m->n_items);
	for (i = 0; i < m->n_items; i++)
		if (m->item[i].n > 1 && m->item[i].len <= room &&
		    m->owner[m->item[i].file].allowed & E4L_PLAN_MOVE &&
		    e4l_work_pieces(w, i) > 1)
			v[n++] = (struct broken) { m->item[i].len, i };
	qsort(v, n, sizeof(*v), e4l_u32_cmp);
	for (i = 0; i < n && v[i].len <= room; i++) {
		room -= v[i].len;
		only[v[i].run] = true;
		*any = true;
	}
	free(v);
	return 0;
}

/*
 * Plans moves that join each logical run i for which only[i] is not 0.  The
 * moves begin with the layout of @w.  If the result is better, sets *@good to
 * true and @w to the result; otherwise, @w is unchanged.
 */
static errcode_t try_generation(struct e4l_work *w, const uint8_t *only,
				bool *good)
{
	struct e4l_look was, is;
	struct e4l_work next;
	errcode_t err = e4l_work_copy(&next, w);

	*good = false;
	e4l_work_look(w, &was);
	if (!err)
		err = run_generation(&next, only);
	if (!err) {
		e4l_work_look(&next, &is);
		*good = is.excess < was.excess &&
			is.large * 10 >= was.large * 9;
	}
	e4l_work_adopt(w, &next, *good);
	return err;
}

/*
 * Joins fragmented runs that were too long for the first call of
 * run_generation() in the attempt.  Each further generation joins the shortest
 * runs that together fit into the largest free extent.
 */
static errcode_t join_long(struct e4l_work *w)
{
	uint8_t *only = calloc(w->m->n_items + 1, 1);
	unsigned int n = 0;
	struct e4l_look look, first;
	bool good = true;
	errcode_t err = only ? 0 : ENOMEM;

	e4l_work_look(w, &first);
	while (!err && good && n < GENERATIONS && w->excess && !w->late) {
		e4l_work_look(w, &look);
		err = choose_long(w, look.largest, only, &good);
		if (!err && good)
			err = try_generation(w, only, &good);
		n += good;
	}
	e4l_work_look(w, &look);
	if (!err && n && look.largest < first.largest && w->how.regions) {
		memset(only, 0, w->m->n_items);
		/*
		 * joining has split the largest free extent, so consolidate
		 * free space, and join no more runs
		 */
		err = run_generation(w, only);
	}
	free(only);
	return err;
}

/* ------------------------------------------------------------------- rounds */

/* The attempts of one round, which all begin with the same layout. */
struct round {
	struct e4l_plan *p;
	const struct e4l_work *base;	/* state at the start of the round */
	const struct e4l_look *first;	/* the layout before the first round */
	struct e4l_look was;		/* the layout before this round */
	struct e4l_work best;		/* the best attempt */
	uint64_t score;			/* score of @best */
	bool any;			/* @best is valid */
	/* is_guarded() has accepted an attempt to join all fragmented runs */
	bool whole;
};

/*
 * If is_guarded() and is_worth() accept the attempt @w, and the score of @w is
 * better than that of r->best, replaces r->best by @w; otherwise, frees @w.
 */
static void offer(struct round *r, struct e4l_work *w)
{
	struct e4l_look is;
	bool good, better;
	uint64_t s;

	e4l_work_look(w, &is);
	s = score(r->p, &is);
	good = is_guarded(r->p, &r->was, &is) &&
	       is_guarded(r->p, r->first, &is);
	better = good && is_worth(r->p, &r->was, &is) &&
		 (!r->any || s < r->score);
	r->whole |= good && w->how.share == E4L_WHOLE_SHARE;
	r->p->late |= w->late;
	if (better)
		r->score = s;
	r->any |= better;
	e4l_work_adopt(&r->best, w, better);
}

static errcode_t attempt(struct round *r, const struct e4l_attempt *how)
{
	struct e4l_work w;
	errcode_t err = e4l_work_copy(&w, r->base);

	w.how = *how;
	if (!err)
		err = run_generation(&w, NULL);
	if (!err && how->share == E4L_WHOLE_SHARE)
		err = join_long(&w);
	if (err)
		e4l_work_free(&w);
	else
		offer(r, &w);
	return err;
}

/*
 * Attempts plans with different parameters, until an attempt leaves nothing to
 * do.  If @regions is true, the attempts also consolidate free space.  If
 * @shares is true, and is_guarded() refuses every attempt to join all
 * fragmented runs, makes attempts to join only a part of these runs.
 */
static errcode_t try_ways(struct round *r, bool regions, bool shares)
{
	static const struct e4l_attempt ways[] = {
		{ .part = 2 }, { .part = 3 }, { .part = 5 }, { .part = 1 },
		{ .part = 2, .cut = true },
		{ .part = 2, .share = 968 }, { .part = 2, .share = 750 },
		{ .part = 2, .share = 500 }, { .part = 2, .share = 250 },
		{ .part = 2, .share = 125 }, { .part = 2, .share = 62 },
		{ .part = 2, .share = 31 },
	};
	bool budget = r->p->opt.copy_budget_blocks != E4L_NO_LIMIT;
	struct e4l_attempt how;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < sizeof(ways) / sizeof(*ways) && !err; i++) {
		how = ways[i];
		how.regions = regions;
		if (r->p->late || (r->any && !r->score) ||
		    (how.share && (!shares || r->any || r->whole)))
			break;
		/*
		 * with a copy budget, no other attempt to join all runs saves
		 * more fragments than the first attempt
		 */
		if (i && !how.share && budget)
			continue;
		if (!how.share)
			how.share = E4L_WHOLE_SHARE;
		err = attempt(r, &how);
	}
	return err;
}

/*
 * Makes attempts without regions and attempts with regions, until an attempt is
 * acceptable.  If free space is good, or if there is a copy budget, attempts
 * without regions come first, because such attempts use the budget only for
 * files.
 */
static errcode_t try_all(struct round *r)
{
	const struct e4l_plan_options *opt = &r->p->opt;
	bool met = !opt->free_space || meets_goals(r->p, &r->was);
	bool files = met || opt->copy_budget_blocks != E4L_NO_LIMIT;
	errcode_t err = 0;

	if (files && r->was.excess)
		err = try_ways(r, false, true);
	if (err || r->any || !opt->free_space)
		return err;
	r->whole = false;
	err = try_ways(r, true, !met);
	if (!err && !files && r->was.excess && !r->any && !r->whole)
		err = try_ways(r, false, true);
	return err;
}

/*
 * Makes rounds of attempts.  Each round begins with the best result of the
 * previous round.  Stops after a round without a better attempt, so that
 * another plan would find nothing to do.
 */
static errcode_t run_rounds(struct e4l_plan *p, const struct e4l_look *first,
			    struct e4l_work *w)
{
	const struct e4l_plan_options *opt = &p->opt;
	unsigned int n = 0;
	errcode_t err = 0;
	bool goes_on = true;

	for (; goes_on && n < ROUNDS && !err && !p->late; n++) {
		struct round r = { .p = p, .base = w, .first = first };

		e4l_work_look(w, &r.was);
		if (!score(p, &r.was))
			break;
		err = try_all(&r);
		/*
		 * a round is not worthwhile if little of the copy budget is
		 * left
		 */
		goes_on = r.any && (r.best.copied < opt->copy_budget_blocks -
				    opt->copy_budget_blocks / BUDGET_REST);
		e4l_work_adopt(w, &r.best, !err && r.any);
	}
	return err;
}

/* -------------------------------------------------------------------- result */

/*
 * Finds the longest stretch without walls.  A wall is a used cluster that
 * belongs to no fragment and no spare tree block of the model.
 */
static errcode_t find_stretch(struct e4l_plan *p)
{
	const struct e4l_plan *m = p;
	uint64_t *walls = malloc(m->clusters / 8);
	struct e4l_span run = { 0 };
	uint32_t i;

	if (!walls)
		return ENOMEM;
	memcpy(walls, m->used, m->clusters / 8);
	for (i = 0; i < m->n_frags; i++)
		e4l_map_set(walls, m->frag[i].start,
			    m->frag[i].start + m->frag[i].len, false);
	for (i = 0; i < m->n_spares; i++)
		e4l_map_set(walls, m->spare[i], m->spare[i] + 1, false);
	while (e4l_map_next_clear(walls, m->clusters, &run))
		if (run.len > p->stretch)
			p->stretch = run.len;
	free(walls);
	return 0;
}

static void state_of(const struct e4l_plan *p, const struct e4l_look *look,
		     struct e4l_plan_state *state)
{
	uint64_t ratio = p->opt.geo.cluster_blocks;
	uint32_t i, runs = 0;

	for (i = 0; i < p->n_owners; i++)
		runs += p->owner[i].n_items - p->owner[i].n_kept;
	*state = (struct e4l_plan_state) {
		.fragments = runs + look->excess, .excess = look->excess,
		.free_extents = look->extents,
		.free_blocks = look->free * ratio,
		.largest_free_blocks = look->largest * ratio,
		.large_free_blocks = look->large * ratio,
	};
}

/* Returns the number of fragmented files among the added files. */
static uint64_t count_broken(const struct e4l_work *w)
{
	uint64_t n = 0;
	uint32_t i, k;

	for (i = 0; i < w->m->n_owners; i++) {
		const struct e4l_owner *o = &w->m->owner[i];

		for (k = 0; k < o->n_items; k++)
			if (e4l_work_pieces(w, o->first_item + k) > 1)
				break;
		n += k < o->n_items;
	}
	return n;
}

/* Returns the reason why logical run @i stays fragmented. */
static enum e4l_plan_skip why_left(const struct e4l_plan *p,
				   const struct e4l_look *look, uint32_t i)
{
	uint64_t len = p->item[i].len;

	if (p->late)
		return E4L_PLAN_SKIP_TIME;
	if (p->opt.copy_budget_blocks != E4L_NO_LIMIT)
		return E4L_PLAN_SKIP_COPY_BUDGET;
	return len > look->largest ? E4L_PLAN_SKIP_NO_ROOM :
				     E4L_PLAN_SKIP_GUARD;
}

/*
 * Adds the remaining excess fragments of @file to p->skipped, with one element
 * for each reason.
 */
static errcode_t list_left(struct e4l_plan *p, const struct e4l_work *w,
			   const struct e4l_look *look, uint32_t file)
{
	uint64_t left[E4L_PLAN_SKIP_REASONS] = { 0 }, blocks = 0, len;
	const struct e4l_owner *o = &p->owner[file];
	enum e4l_plan_skip why;
	errcode_t err = 0;
	uint32_t i, pieces;

	if (!(o->allowed & E4L_PLAN_MOVE))
		return 0;
	for (i = o->first_item; i < o->first_item + o->n_items; i++) {
		pieces = e4l_work_pieces(w, i);
		if (pieces == 1)
			continue;
		why = why_left(p, look, i);
		left[why] += pieces - 1;
		len = (uint64_t)p->item[i].len *
		      p->opt.geo.cluster_blocks;
		if (why == E4L_PLAN_SKIP_NO_ROOM && (!blocks || len < blocks))
			blocks = len;
	}
	for (why = 0; why < E4L_PLAN_SKIP_REASONS && !err; why++)
		err = e4l_plan_note_skipped(p, o->ino, why, left[why],
				     why == E4L_PLAN_SKIP_NO_ROOM ? blocks : 0);
	return err;
}

/*
 * Adds the unwritten runs that the zeroing budget does not cover to p->skipped,
 * with one element for each file.
 */
static errcode_t list_unzeroed(struct e4l_plan *p)
{
	const struct e4l_plan *m = p;
	errcode_t err = 0;
	uint64_t left;
	size_t i, k;

	for (i = 0; i < m->n_zero && !err; i = k) {
		left = 0;
		for (k = i; k < m->n_zero && m->zero[k].file == m->zero[i].file;
		     k++)
			left += !m->zero[k].chosen;
		err = e4l_plan_note_skipped(p, m->owner[m->zero[i].file].ino,
				     E4L_PLAN_SKIP_ZEROOUT_BUDGET, left, 0);
	}
	return err;
}

static int in_order(const void *va, const void *vb)
{
	const struct e4l_plan_move *a = va, *b = vb;

	if (a->batch != b->batch)
		return a->batch < b->batch ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->lstart < b->lstart ? -1 : a->lstart > b->lstart;
}

/* Renumbers the batches without gaps, and counts batches and files. */
static errcode_t number(struct e4l_plan *p)
{
	uint8_t *seen = calloc(p->n_owners + 1ull, 1);
	uint32_t last = E4L_NONE;
	size_t i;

	if (!seen)
		return ENOMEM;
	for (i = 0; i < p->n_moves; i++) {
		struct e4l_plan_move *m = &p->move[i];

		p->result.batches += m->batch != last;
		last = m->batch;
		m->batch = p->result.batches - 1;
		p->result.files += !seen[m->file];
		seen[m->file] = true;
	}
	p->result.moves = p->n_moves;
	free(seen);
	return 0;
}

/* Makes the moves of @w the moves of the plan, and sets the result. */
static errcode_t conclude(struct e4l_plan *p, struct e4l_work *w)
{
	struct e4l_plan_result *r = &p->result;
	struct e4l_look look;
	errcode_t err = e4l_schedule_finish(w);
	uint32_t i;

	if (err)
		return err;
	e4l_work_look(w, &look);
	state_of(p, &look, &r->after);
	r->after.fragmented_files = count_broken(w);
	r->copy_blocks = w->copied;
	r->zero_blocks = w->zeroed;
	for (i = 0; i < p->n_owners && !err; i++)
		err = list_left(p, w, &look, i);
	if (!err)
		err = list_unzeroed(p);
	p->move = w->move;
	p->n_moves = w->n_moves;
	w->move = NULL;
	e4l_sort(p->move, p->n_moves, sizeof(*p->move), in_order);
	return err ? err : number(p);
}

static int cheapest_first(const void *va, const void *vb)
{
	const struct e4l_zero_run *a = *(struct e4l_zero_run *const *)va;
	const struct e4l_zero_run *b = *(struct e4l_zero_run *const *)vb;
	uint64_t x = (uint64_t)a->len * b->gain, y = (uint64_t)b->len * a->gain;

	if (x != y)
		return x < y ? -1 : 1;
	return a < b ? -1 : a > b;
}

/*
 * If there is a zeroing budget, chooses the runs to zero.  The runs with the
 * fewest blocks per saved extent come first.
 */
static errcode_t choose_zeroes(struct e4l_plan *p)
{
	uint64_t left = p->opt.zeroout_budget_blocks;
	struct e4l_zero_run **v;
	size_t i;

	if (!p->n_zero || left == E4L_NO_LIMIT)
		return 0;
	v = calloc(p->n_zero, sizeof(*v));
	if (!v)
		return ENOMEM;
	for (i = 0; i < p->n_zero; i++)
		v[i] = &p->zero[i];
	qsort(v, p->n_zero, sizeof(*v), cheapest_first);
	for (i = 0; i < p->n_zero; i++)
		if (v[i]->len <= left) {
			v[i]->chosen = true;
			left -= v[i]->len;
		}
	free(v);
	return 0;
}

errcode_t e4l_plan_make(struct e4l_plan *p)
{
	struct e4l_work w = { 0 };
	struct e4l_look was;
	errcode_t err = e4l_plan_check(p);

	if (!err)
		err = choose_zeroes(p);
	if (!err)
		err = find_stretch(p);
	if (!err)
		err = e4l_work_begin(&w, p);
	if (!err) {
		e4l_work_look(&w, &was);
		state_of(p, &was, &p->result.before);
		p->result.before.fragmented_files = count_broken(&w);
		err = run_rounds(p, &was, &w);
	}
	if (!err)
		err = conclude(p, &w);
	e4l_work_free(&w);
	return err;
}
