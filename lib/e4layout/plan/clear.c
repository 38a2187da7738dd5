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

/* Between things that stay; long enough for a zone. */
struct stretch {
	struct e4l_run run;
	uint64_t len;			/* of a window that was asked for; or 0 */
	struct e4l_window best;		/* the cheapest of these; empty: none */
};

struct clearing {
	struct e4l_sweep s;
	uint64_t free, longest;		/* clusters in all, in one run */
	struct stretch *stretch;
	size_t n_stretches;
	struct e4l_run zone[ZONES];
	size_t n_zones;
};

/* -------------------------------------------------------------------- zones */

/* The longest free run in @zone. */
static struct e4l_run longest_in(const struct clearing *cl,
				 const struct e4l_run *zone)
{
	const struct e4l_space *space = cl->s.d->disk.space;
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

static errcode_t add_stretch(struct clearing *cl, uint64_t start, uint64_t len)
{
	errcode_t err;

	if (len < cl->s.c->floor)
		return 0;
	err = e4l_grow(&cl->stretch, cl->n_stretches, sizeof(*cl->stretch));
	if (!err)
		cl->stretch[cl->n_stretches++] = (struct stretch) {
			.run = { start, len },
		};
	return err;
}

static errcode_t find_stretches(struct clearing *cl)
{
	struct e4l_run *runs = NULL;
	size_t n, i;
	errcode_t err = e4l_windows_stretches(&cl->s.crowd, &runs, &n);

	cl->n_stretches = 0;
	for (i = 0; i < n && !err; i++)
		err = add_stretch(cl, runs[i].start, runs[i].len);
	free(runs);
	return err;
}

/* Zones of one length are chosen one after the other: what is in @s stays so. */
static errcode_t look_in(const struct clearing *cl, struct stretch *s,
			 uint64_t len)
{
	struct e4l_windows ws = { .n = 0 };
	errcode_t err;

	if (s->len == len)
		return 0;
	err = e4l_windows_find(&cl->s.crowd, &s->run, len, &ws);
	s->len = len;
	s->best = ws.n ? *ws.v : (struct e4l_window) { .cost = 0 };
	return err;
}

/*
 * The stretch with the cheapest window of @len; NULL: none has one.  Where nothing
 * is in the way, it costs its length.
 */
static errcode_t cheapest(const struct clearing *cl, uint64_t len,
			  struct stretch **best)
{
	struct stretch *s = cl->stretch;
	errcode_t err = 0;

	*best = NULL;
	for (; s < cl->stretch + cl->n_stretches && !err &&
	       !(*best && (*best)->best.cost == len); s++) {
		if (s->run.len < len)
			continue;
		err = look_in(cl, s, len);
		if (!err && s->best.run.len &&
		    (!*best || s->best.cost < (*best)->best.cost))
			*best = s;
	}
	return err;
}

/* What is left of @s, before and after @zone. */
static errcode_t cut_stretch(struct clearing *cl, struct stretch *s,
			     const struct e4l_run *zone)
{
	uint64_t end = s->run.start + s->run.len;
	uint64_t stop = zone->start + zone->len;

	s->run.len = zone->start - s->run.start;
	s->len = 0;
	return add_stretch(cl, stop, end - stop);
}

static uint64_t longest_stretch(const struct clearing *cl)
{
	uint64_t most = 0;
	size_t i;

	for (i = 0; i < cl->n_stretches; i++)
		if (cl->stretch[i].run.len > most)
			most = cl->stretch[i].run.len;
	return most;
}

/* One more zone of @len clusters at most; *@len is 0 if there is none. */
static errcode_t add_zone(struct clearing *cl, uint64_t *len)
{
	uint64_t most = longest_stretch(cl);
	struct stretch *s = NULL;
	struct e4l_run zone, run;
	errcode_t err = 0;

	if (*len > most)
		*len = most;
	while (!err && !s && *len >= cl->s.c->floor) {
		err = cheapest(cl, *len, &s);
		/* things that are partly in a stretch are not in it */
		if (!s)
			*len -= *len / SHARES + 1;
	}
	if (err || !s) {
		*len = 0;
		return err;
	}
	zone = s->best.run;
	run = longest_in(cl, &zone);
	if (run.len >= *len - *len / 10)
		zone = run;	/* is fine as it is */
	*len = zone.len;
	cl->zone[cl->n_zones++] = zone;
	return cut_stretch(cl, s, &zone);
}

/* Chooses zones of @volume clusters in all, and lists what is in them. */
static errcode_t choose_zones(struct clearing *cl, uint64_t volume)
{
	size_t most = cl->s.c->aim == E4L_NO_LIMIT ? ZONES : 1, i;
	uint64_t len = volume;
	errcode_t err;

	cl->n_zones = 0;
	e4l_evict_begin(&cl->s.ev);
	err = find_stretches(cl);
	while (!err && len && volume >= cl->s.c->floor && cl->n_zones < most) {
		len = volume;
		err = add_zone(cl, &len);
		volume -= len;
	}
	for (i = 0; i < cl->n_zones && !err; i++) {
		len = cl->zone[i].len;
		err = e4l_evict_look_through(&cl->s.ev, &cl->s.crowd,
					     &cl->zone[i]);
		if (!err && cl->zone[i].len != len)
			err = E4L_ET_BAD_ARGUMENT;
	}
	return err;
}

/* The longest run that there would be. */
static uint64_t longest_zone(const struct clearing *cl)
{
	uint64_t most = 0;
	size_t i;

	for (i = 0; i < cl->n_zones; i++)
		if (cl->zone[i].len > most)
			most = cl->zone[i].len;
	return most;
}

/* ------------------------------------------------------------ what can be done */

/* Whether there is anything to gain from the zones. */
static bool is_idle(const struct clearing *cl)
{
	return !cl->s.ev.n_lodgers || (cl->s.c->aim != E4L_NO_LIMIT &&
				     longest_zone(cl) <= cl->longest);
}

/* What is in the way is listed, and stays: nothing was taken so far. */
static void forget(struct clearing *cl)
{
	e4l_evict_begin(&cl->s.ev);
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
	*done = !err && !*idle && cl->s.ev.cost <= cl->s.budget &&
		e4l_evict_is_small(&cl->s.ev);
	if (*done)
		return e4l_evict_place(&cl->s.ev, false, done);
	forget(cl);
	return err;
}

/* What may be free in zones, when @share of SHARES is. */
static uint64_t volume_of(const struct clearing *cl, unsigned int share)
{
	uint64_t most = cl->free < cl->s.c->aim ? cl->free : cl->s.c->aim;

	return most / SHARES * share + most % SHARES * share / SHARES;
}

/*
 * The largest share for which places are found, and its longest zone, if that may
 * be longer than @least.  All is tried first, which most often is found room for.
 */
static errcode_t find_share(struct clearing *cl, uint64_t least,
			    unsigned int *share, uint64_t *longest)
{
	unsigned int low = 0, high = SHARES + 1, mid = SHARES;
	errcode_t err = 0;
	bool fits, idle;

	*longest = 0;
	while (low < SHARES && volume_of(cl, low + 1) <= least)
		low++;
	for (; high - low > 1 && !err &&
	       !(*longest && e4l_draft_is_late(cl->s.d));
	     mid = (low + high) / 2) {
		err = e4l_draft_go_on(cl->s.d);
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
		err = e4l_evict_undo(&cl->s.ev);
	}
	*share = low;
	return err;
}

/* Clusters of the longest thing that may move, 0: none. */
static uint64_t longest_moving(const struct clearing *cl)
{
	const struct e4l_movables *m = cl->s.c->movables;
	uint64_t most = 0, len, ratio = cl->s.d->disk.geo->cluster_blocks;
	size_t i;

	for (i = 0; i < m->n; i++) {
		len = e4l_movable_run(&m->v[i], ratio).len;
		if (len > most && e4l_gives_way(&cl->s.crowd, &m->v[i]))
			most = len;
	}
	return most;
}

/* No zone can be longer, with things that stay as they are told now. */
static errcode_t longest_possible(struct clearing *cl, uint64_t *len)
{
	errcode_t err = find_stretches(cl);

	*len = longest_stretch(cl);
	if (*len > volume_of(cl, SHARES))
		*len = volume_of(cl, SHARES);
	return err;
}

/*
 * Of things of which length it is best to make zones.  The fewer may move, the
 * shorter is what lies between those that stay.
 */
static errcode_t find_crowd(struct clearing *cl, unsigned int *share)
{
	uint64_t cap = cl->longest, best_cap = cap, longest, best = 0, last = 0;
	uint64_t moving, most;
	unsigned int found;
	errcode_t err = 0;

	*share = 0;
	for (; cap && !err && !(best && e4l_draft_is_late(cl->s.d)); cap /= 4) {
		cl->s.crowd.longest = cap;
		moving = longest_moving(cl);
		if (moving == last)
			continue;	/* of the same things */
		last = moving;
		err = longest_possible(cl, &most);
		if (err || most <= best)
			break;
		err = find_share(cl, best, &found, &longest);
		if (err || longest <= best)
			continue;
		best = longest;
		best_cap = cap;
		*share = found;
	}
	cl->s.crowd.longest = best_cap;
	return err;
}

/*
 * Whether free space is in no more runs, and as much in long ones; and in fewer,
 * or a longer one, so that there is an end to it.
 */
static errcode_t judge(struct clearing *cl, const struct e4l_outlook *before,
		       bool *good)
{
	struct e4l_outlook now;
	errcode_t err = e4l_sweep_judge(&cl->s, before, &now, good);

	*good &= now.runs < before->runs ||
		 (now.runs == before->runs && longest_zone(cl) > cl->longest);
	return err;
}

/* Makes all steps for zones of @volume clusters, or none. */
static errcode_t try_volume(struct clearing *cl, uint64_t volume, bool *done,
			    bool *again)
{
	const struct e4l_outlook before =
		e4l_space_outlook(cl->s.d->disk.space);
	bool idle;
	errcode_t err = place(cl, volume, &idle, done);

	*again = *done;
	if (!err && *done)
		err = e4l_evict_leave(&cl->s.ev, true, done);
	*again &= !*done;
	if (!err && *done)
		err = judge(cl, &before, done);
	return err || *done ? err : e4l_evict_undo(&cl->s.ev);
}

errcode_t e4l_sweep_begin(struct e4l_sweep *s, struct e4l_clear *c,
			  struct e4l_draft *d, uint64_t budget_blocks)
{
	uint64_t ratio = d->disk.geo->cluster_blocks;

	*s = (struct e4l_sweep) {
		.c = c, .d = d, .ev = { .movables = c->movables, .d = d },
		.crowd = {
			.movables = c->movables, .draft = d,
			.file = E4L_NEW_FILE, .longest = UINT64_MAX,
			.once = !c->again,
		},
		.budget = budget_blocks == E4L_NO_LIMIT ? budget_blocks :
							  budget_blocks / ratio,
	};
	d->disk.trees_stay = true;
	return e4l_movables_renew(c->movables, d);
}

void e4l_sweep_end(struct e4l_sweep *s)
{
	s->d->disk.trees_stay = false;
	e4l_evict_free(&s->ev);
}

int e4l_shortest_first(const void *va, const void *vb)
{
	const struct e4l_run *a = va, *b = vb;

	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

errcode_t e4l_sweep_runs(const struct e4l_sweep *s,
			 int (*order)(const void *a, const void *b),
			 struct e4l_run **runs, size_t *n)
{
	struct e4l_run run;
	uint64_t at = 0;
	errcode_t err = 0;

	for (*n = 0; !err && e4l_space_list(s->d->disk.space, at, &run, 1);
	     at = run.start + run.len) {
		err = e4l_grow(runs, *n, sizeof(run));
		if (!err)
			(*runs)[(*n)++] = run;
	}
	if (*n)
		qsort(*runs, *n, sizeof(run), order);
	return err;
}

errcode_t e4l_sweep_judge(const struct e4l_sweep *s,
			  const struct e4l_outlook *before,
			  struct e4l_outlook *now, bool *good)
{
	errcode_t err = e4l_evict_outcome(&s->ev, now);

	*good = !err && now->in_long >= s->d->in_long &&
		e4l_disk_allows(&s->d->disk, before, now);
	return err;
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
		err = e4l_draft_go_on(cl->s.d);
		if (!err)
			err = try_volume(cl, volume_of(cl, share), &done,
					 &again);
		share -= !again || !tries--;
	}
	if (err || !done)
		return err;
	cl->s.c->made.runs += cl->n_zones - 1;
	return e4l_clear_take(cl->s.c, &cl->s.ev, budget);
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
	struct clearing *cl;
	uint64_t at;
	errcode_t err;

	cl = calloc(1, sizeof(*cl));
	if (!cl)
		return ENOMEM;
	cl->free = e4l_space_sum(d->disk.space);
	cl->longest = e4l_space_largest(d->disk.space, &at);
	c->floor = lowest(c->floor, cl->free / 4);
	err = e4l_sweep_begin(&cl->s, c, d, *budget);
	if (!err && cl->longest < c->aim)
		err = clear(cl, budget);
	e4l_sweep_end(&cl->s);
	free(cl->stretch);
	free(cl);
	return err;
}
