/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All that is free, together, is the longest that a run could be, and so is
 * every stretch between things that stay.  Zones are chosen within both, the
 * longest first, each where the least lies in it; then what lies in them must
 * find holes elsewhere.  If it does not, shorter ones are tried, and such among
 * things that fit into holes more easily: the longer of these count as what
 * stays.
 */
#include "config.h"
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "clear.h"

#define SHARES	40		/* of what is free: how finely is tried */
#define ZONES	64		/* at most, in one plan */
#define TRIES	8		/* while there are files that stay after all */

struct clearing {
	struct e4l_clear *c;
	struct e4l_draft *d;
	struct e4l_evict ev;
	struct e4l_crowd crowd;
	uint64_t budget;		/* in clusters */
	uint64_t free, longest;		/* clusters in all, in one run */
	struct e4l_run *stretch;
	size_t n_stretches;
	struct e4l_run zone[ZONES];
	size_t n_zones;
};

/* -------------------------------------------------------------------- zones */

/* The longest free run in @zone. */
static struct e4l_run longest_in(const struct clearing *cl,
				 const struct e4l_run *zone)
{
	const struct e4l_space *space = cl->d->disk.space;
	uint64_t at = zone->start, end = zone->start + zone->len;
	struct e4l_run run, best = { zone->start, 0 };

	while (at < end && e4l_space_list(space, at, &run, 1) &&
	       run.start < end) {
		if (run.len > end - run.start)
			run.len = end - run.start;
		if (run.len > best.len)
			best = run;
		at = run.start + run.len;
	}
	return best;
}

/* The cheapest window of @len in any stretch; false: there is none. */
static errcode_t cheapest(const struct clearing *cl, uint64_t len,
			  size_t *where, struct e4l_window *best, bool *found)
{
	struct e4l_windows ws;
	errcode_t err = 0;
	size_t i;

	*found = false;
	for (i = 0; i < cl->n_stretches && !err; i++) {
		if (cl->stretch[i].len < len)
			continue;
		ws.n = 0;
		err = e4l_windows_find(&cl->crowd, &cl->stretch[i], len, &ws);
		if (err || !ws.n || (*found && ws.v->cost >= best->cost))
			continue;
		*best = *ws.v;
		*where = i;
		*found = true;
	}
	return err;
}

/* What is left of the stretch at @where, before and after @zone. */
static errcode_t cut_stretch(struct clearing *cl, size_t where,
			     const struct e4l_run *zone)
{
	struct e4l_run *old = &cl->stretch[where];
	uint64_t end = old->start + old->len, stop = zone->start + zone->len;
	errcode_t err;

	old->len = zone->start - old->start;
	err = e4l_grow(&cl->stretch, cl->n_stretches, sizeof(*cl->stretch));
	if (!err)
		cl->stretch[cl->n_stretches++] = (struct e4l_run) {
			stop, end - stop,
		};
	return err;
}

static uint64_t longest_of(const struct e4l_run *v, size_t n)
{
	uint64_t most = 0;
	size_t i;

	for (i = 0; i < n; i++)
		if (v[i].len > most)
			most = v[i].len;
	return most;
}

/* One more zone of @len clusters at most; *@len is 0 if there is none. */
static errcode_t add_zone(struct clearing *cl, uint64_t *len)
{
	struct e4l_window window = { .cost = 0 };
	uint64_t most = longest_of(cl->stretch, cl->n_stretches);
	struct e4l_run run;
	bool found = false;
	size_t where = 0;
	errcode_t err = 0;

	if (*len > most)
		*len = most;
	while (!err && !found && *len >= cl->c->floor) {
		err = cheapest(cl, *len, &where, &window, &found);
		/* things that are partly in a stretch are not in it */
		if (!found)
			*len -= *len / SHARES + 1;
	}
	if (err || !found) {
		*len = 0;
		return err;
	}
	run = longest_in(cl, &window.run);
	if (run.len >= *len - *len / 10)
		window.run = run;	/* is fine as it is */
	*len = window.run.len;
	cl->zone[cl->n_zones++] = window.run;
	return cut_stretch(cl, where, &window.run);
}

/* Chooses zones of @volume clusters in all, and lists what is in them. */
static errcode_t choose_zones(struct clearing *cl, uint64_t volume)
{
	size_t most = cl->c->aim == E4L_NO_LIMIT ? ZONES : 1, i;
	uint64_t len = volume;
	errcode_t err;

	cl->n_zones = cl->n_stretches = 0;
	e4l_evict_begin(&cl->ev);
	err = e4l_windows_stretches(&cl->crowd, &cl->stretch,
				    &cl->n_stretches);
	while (!err && len && volume >= cl->c->floor && cl->n_zones < most) {
		len = volume;
		err = add_zone(cl, &len);
		volume -= len;
	}
	for (i = 0; i < cl->n_zones && !err; i++) {
		len = cl->zone[i].len;
		err = e4l_evict_look_through(&cl->ev, &cl->crowd,
					     &cl->zone[i]);
		if (!err && cl->zone[i].len != len)
			err = E4L_ET_BAD_ARGUMENT;
	}
	return err;
}

/* The longest run that there would be. */
static uint64_t longest_zone(const struct clearing *cl)
{
	return longest_of(cl->zone, cl->n_zones);
}

/* ------------------------------------------------------------ what can be done */

/* Whether there is anything to gain from the zones. */
static bool is_idle(const struct clearing *cl)
{
	return !cl->ev.n_lodgers || (cl->c->aim != E4L_NO_LIMIT &&
				     longest_zone(cl) <= cl->longest);
}

/* What is in the way is listed, and stays: nothing was taken so far. */
static void forget(struct clearing *cl)
{
	e4l_evict_begin(&cl->ev);
}

/*
 * Whether all that is in zones of @volume clusters finds a place, for now.
 * *@idle: there is nothing to find one for.
 */
static errcode_t place(struct clearing *cl, uint64_t volume, bool *idle,
		       bool *done)
{
	errcode_t err = choose_zones(cl, volume);

	*idle = !err && is_idle(cl);
	*done = !err && !*idle && cl->ev.cost <= cl->budget &&
		e4l_evict_is_small(&cl->ev);
	if (*done)
		return e4l_evict_place(&cl->ev, false, done);
	forget(cl);
	return err;
}

/* What may be free in zones, when @share of SHARES is. */
static uint64_t volume_of(const struct clearing *cl, unsigned int share)
{
	uint64_t most = cl->free < cl->c->aim ? cl->free : cl->c->aim;

	return most / SHARES * share + most % SHARES * share / SHARES;
}

static errcode_t go_on(const struct clearing *cl)
{
	return cl->c->go_on ? cl->c->go_on(cl->c->priv) : 0;
}

bool e4l_clear_is_over(struct e4l_clear *c)
{
	if (!c->over && c->enough)
		c->over = c->enough(c->priv);
	return c->over;
}

/* The largest share for which places are found, and its longest zone. */
static errcode_t find_share(struct clearing *cl, unsigned int *share,
			    uint64_t *longest)
{
	unsigned int low = 0, high = SHARES + 1, mid;
	errcode_t err = 0;
	bool fits, idle;

	*longest = 0;
	while (high - low > 1 && !err &&
	       !(*longest && e4l_clear_is_over(cl->c))) {
		mid = (low + high) / 2;
		err = go_on(cl);
		if (!err)
			err = place(cl, volume_of(cl, mid), &idle, &fits);
		if (err)
			break;
		if (fits || idle)
			low = mid;
		else
			high = mid;
		if (fits)
			*longest = longest_zone(cl);
		err = e4l_evict_undo(&cl->ev);
	}
	*share = low;
	return err;
}

/* Of things of which length it is best to make zones. */
static errcode_t find_crowd(struct clearing *cl, unsigned int *share)
{
	uint64_t cap = cl->longest, best_cap = cap, longest, best = 0;
	unsigned int found;
	errcode_t err = 0;

	*share = 0;
	for (; cap && !err && !(best && e4l_clear_is_over(cl->c)); cap /= 4) {
		cl->crowd.longest = cap;
		err = find_share(cl, &found, &longest);
		if (err || longest <= best)
			continue;
		best = longest;
		best_cap = cap;
		*share = found;
	}
	cl->crowd.longest = best_cap;
	return err;
}

/*
 * Whether free space is in no more runs, and as much in long ones; and in fewer,
 * or a longer one, so that there is an end to it.
 */
static errcode_t judge(struct clearing *cl, uint64_t runs_before, bool *good)
{
	uint64_t runs, in_long;
	errcode_t err = e4l_evict_outcome(&cl->ev, &runs, &in_long);

	*good = !err && in_long >= cl->d->in_long &&
		(runs < runs_before || (runs == runs_before &&
					longest_zone(cl) > cl->longest));
	return err;
}

/* Makes all steps for zones of @volume clusters, or none. */
static errcode_t try_volume(struct clearing *cl, uint64_t volume, bool *done,
			    bool *again)
{
	uint64_t runs = e4l_space_runs(cl->d->disk.space);
	bool idle;
	errcode_t err = place(cl, volume, &idle, done);

	*again = *done;
	if (!err && *done)
		err = e4l_evict_leave(&cl->ev, true, done);
	*again &= !*done;
	if (!err && *done)
		err = judge(cl, runs, done);
	return err || *done ? err : e4l_evict_undo(&cl->ev);
}

errcode_t e4l_clear_take(struct e4l_clear *c, struct e4l_evict *ev,
			 uint64_t *budget)
{
	struct e4l_plan_free *made = &c->made;
	uint64_t blocks = e4l_evict_copied(ev);

	made->runs++;
	made->files_away += ev->n_leaving;
	made->blocks_away += blocks;
	*budget -= *budget == E4L_NO_LIMIT ? 0 : blocks;
	return e4l_evict_carry_out(ev);
}

static errcode_t clear(struct clearing *cl, uint64_t *budget)
{
	unsigned int share, tries = TRIES;
	bool done = false, again = false;
	errcode_t err = find_crowd(cl, &share);

	while (share && !done && !err) {
		err = go_on(cl);
		if (!err)
			err = try_volume(cl, volume_of(cl, share), &done,
					 &again);
		share -= !again || !tries--;
	}
	if (err || !done)
		return err;
	cl->c->made.runs += cl->n_zones - 1;
	return e4l_clear_take(cl->c, &cl->ev, budget);
}

static uint64_t count_free(const struct e4l_space *space)
{
	uint64_t at = 0, sum = 0;
	struct e4l_run run;

	for (; e4l_space_list(space, at, &run, 1); at = run.start + run.len)
		sum += run.len;
	return sum;
}

/* No zone is shorter than that, nor than two clusters. */
static uint64_t lowest(uint64_t floor, uint64_t share)
{
	if (floor > share)
		floor = share;
	return floor > 2 ? floor : 2;
}

errcode_t e4l_clear_make(struct e4l_clear *c, struct e4l_draft *d,
			 uint64_t *budget)
{
	uint64_t at, ratio = d->disk.geo->cluster_blocks;
	struct clearing *cl;
	errcode_t err;

	cl = calloc(1, sizeof(*cl));
	if (!cl)
		return ENOMEM;
	*cl = (struct clearing) {
		.c = c, .d = d, .ev = { .movables = c->movables, .d = d },
		.crowd = {
			.movables = c->movables, .draft = d,
			.file = E4L_NEW_FILE, .once = true,
		},
		.budget = *budget == E4L_NO_LIMIT ? *budget : *budget / ratio,
		.free = count_free(d->disk.space),
		.longest = e4l_space_largest(d->disk.space, &at),
	};
	c->floor = lowest(c->floor, cl->free / 4);
	err = e4l_movables_renew(c->movables, d);
	d->disk.trees_stay = true;
	if (!err && cl->longest < c->aim)
		err = clear(cl, budget);
	d->disk.trees_stay = false;
	e4l_evict_free(&cl->ev);
	free(cl->stretch);
	free(cl);
	return err;
}
