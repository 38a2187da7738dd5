/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* target: chooses the regions, and the items that stay in place. */
#include "config.h"
#include "e4layout/base/array.h"
#include "work.h"

/* maximum length of all regions together, in % of the final free space */
#define REGIONS_PERCENT	97
/*
 * minimum length of the first region, in % of the longest stretch without walls
 */
#define NEAR_PERCENT	96
/*
 * A further region is made only if enough free space remains: the length of
 * LEAST_REGION large free extents, or LEAST_PERCENT of the final free space.
 */
#define LEAST_REGION	4
#define LEAST_PERCENT	1
#define MOST_REGIONS	256	/* maximum number of regions of limited length */

/* ------------------------------------------------------- making items loose */

/*
 * Whether item @i may be moved away.  For a file with E4L_PLAN_ASK, calls the
 * callback may_move() once, with the first fragment of the file.  Clears
 * E4L_PLAN_ASK if the answer is true, and E4L_PLAN_AWAY if the answer is false.
 */
static bool may_move(struct e4l_work *w, uint32_t i)
{
	const struct e4l_plan_options *opt = &w->m->opt;
	struct e4l_owner *o = &w->m->owner[w->item[i].file];
	/* if the file has data, the first item is data */
	const struct e4l_frag *f = &w->frag[w->m->item[o->first_item].first];
	uint64_t ratio = opt->geo.cluster_blocks;
	struct e4l_extent ex = {
		.pblk = f->start * ratio, .lblk = f->lstart * ratio,
		.len = f->len * ratio,
	};

	if (!(o->allowed & E4L_PLAN_ASK) || !opt->may_move)
		return true;
	if (o->allowed & E4L_PLAN_AWAY &&
	    opt->may_move(o->ino, &ex, 1, opt->priv)) {
		o->allowed &= ~E4L_PLAN_ASK;
		return true;
	}
	o->allowed &= ~E4L_PLAN_AWAY;
	return false;
}

bool e4l_target_lift(struct e4l_work *w, uint32_t start, uint32_t end)
{
	uint32_t k = e4l_work_behind(w, start), i;
	bool all = true;

	for (; k < w->n_by_place; k++) {
		const struct e4l_frag *f = &w->frag[w->by_place[k]];

		if (f->start >= end)
			break;
		i = f->item;
		if (w->item[i].state != E4L_KEPT || w->item[i].len > w->large_item)
			continue;
		if (may_move(w, i)) {
			e4l_work_loosen(w, i);
			continue;
		}
		w->item[i].state = E4L_PINNED;
		e4l_work_mark(w, w->walls, i, true);
		all = false;
	}
	return all;
}

/* ------------------------------------------------------------------- regions */

/*
 * The fragments of items that stay in place, sorted by position.  @sum[i] is
 * the total length of the first i fragments.
 */
struct kept {
	struct e4l_span *run;
	uint64_t *sum;
	uint32_t n;
};

static errcode_t list_kept(const struct e4l_work *w, struct kept *k)
{
	uint32_t i;

	*k = (struct kept) {
		.run = calloc(w->n_by_place + 1, sizeof(*k->run)),
		.sum = calloc(w->n_by_place + 1, sizeof(*k->sum)),
	};
	if (!k->run || !k->sum)
		return ENOMEM;
	for (i = 0; i < w->n_by_place; i++) {
		const struct e4l_frag *f = &w->frag[w->by_place[i]];

		if (w->item[f->item].state != E4L_KEPT)
			continue;
		k->run[k->n] = (struct e4l_span) { f->start, f->len };
		k->sum[k->n + 1] = k->sum[k->n] + f->len;
		k->n++;
	}
	return 0;
}

static void free_kept(struct kept *k)
{
	free(k->run);
	free(k->sum);
}

/* A candidate for a region.  @cost: number of clusters to move out of @run. */
struct window {
	uint64_t cost;
	struct e4l_span run;
};

/*
 * Returns the window of @len clusters in the stretch @s from which the fewest
 * clusters must be moved.  A stretch is a range without walls.  A window
 * begins at the start of the stretch or at the end of a fragment, or ends at
 * the end of the stretch.  *@i is the first fragment that ends after the start
 * of the stretch.
 */
static struct window cheapest_in(const struct kept *k,
				 const struct e4l_span *s, uint32_t len,
				 uint32_t *i)
{
	struct window best = { .cost = UINT64_MAX };
	uint32_t at = s->start, end = e4l_span_end(s), j = *i;

	for (;; at = e4l_span_end(&k->run[*i])) {
		if (at > end - len)
			at = end - len;
		while (*i < k->n && e4l_span_end(&k->run[*i]) <= at)
			++*i;
		if (j < *i)
			j = *i;
		while (j < k->n && k->run[j].start < at + len)
			j++;
		if (k->sum[j] - k->sum[*i] < best.cost)
			best = (struct window) {
				k->sum[j] - k->sum[*i], { at, len },
			};
		if (at == end - len || *i >= k->n)
			return best;
	}
}

static int cheapest_first(const void *va, const void *vb)
{
	const struct window *a = va, *b = vb;
	/* costs per cluster */
	double x = (double)a->cost / a->run.len;
	double y = (double)b->cost / b->run.len;

	if (x != y)
		return x < y ? -1 : 1;
	return a->run.start < b->run.start ? -1 : a->run.start > b->run.start;
}

/* Returns the length, in clusters, of the longest range without walls. */
static uint32_t longest_stretch(const struct e4l_work *w)
{
	struct e4l_span run = { 0 };
	uint32_t longest = 0;

	while (e4l_map_next_clear(w->walls, w->m->clusters, &run))
		if (run.len > longest)
			longest = run.len;
	return longest;
}

/*
 * Lists one window for each range without walls that has at least @least
 * clusters.  If the range is shorter than @len clusters, the window is the
 * whole range.  Otherwise, the window is the part of @len clusters from which
 * the fewest clusters must be moved.
 */
static errcode_t list_windows(const struct e4l_work *w, uint32_t len,
			      uint32_t least, struct window **v, uint32_t *n)
{
	struct e4l_span s = { 0 };
	struct kept k;
	errcode_t err = list_kept(w, &k);
	uint32_t i = 0;

	*v = NULL;
	*n = 0;
	while (!err && e4l_map_next_clear(w->walls, w->m->clusters, &s)) {
		if (s.len < least)
			continue;
		err = e4l_grow(v, *n, sizeof(**v));
		while (!err && i < k.n && e4l_span_end(&k.run[i]) <= s.start)
			i++;
		if (!err)
			(*v)[(*n)++] = cheapest_in(&k, &s, len < s.len ? len :
						   s.len, &i);
	}
	free_kept(&k);
	e4l_sort(*v, *n, sizeof(**v), cheapest_first);
	return err;
}

/*
 * Makes @run a region, which will be evacuated.  If a file in @run must not be
 * moved, returns false.
 */
static bool make_region(struct e4l_work *w, const struct e4l_span *run)
{
	if (!e4l_target_lift(w, run->start, e4l_span_end(run)))
		return false;
	e4l_map_set(w->region, run->start, e4l_span_end(run), true);
	e4l_map_set(w->walls, run->start, e4l_span_end(run), true);
	return true;
}

/*
 * Returns the length of the next region in clusters; 0: no more regions are
 * made.  @rest is the maximum length.  @first is true for the first region.
 */
static uint32_t next_length(const struct e4l_work *w, uint64_t rest, bool first)
{
	uint32_t longest = longest_stretch(w), len = longest;
	uint64_t cap = w->m->opt.region_blocks /
		       w->m->opt.geo.cluster_blocks;

	if (cap && cap < w->free_end / MOST_REGIONS)
		cap = w->free_end / MOST_REGIONS;
	if (cap && len > cap)
		len = cap;
	if (len > rest)
		len = rest;
	if (!first && (len < w->m->large ||
		       (rest < (uint64_t)w->m->large * LEAST_REGION &&
			rest * 100 < w->free_end * LEAST_PERCENT)))
		return 0;
	return len;
}

/*
 * Returns the minimum length, in clusters, of a region that may be @len
 * clusters long.  A region shorter than @len can need less copying.  If @first
 * is true, the minimum is higher, because the first region becomes the largest
 * free extent.
 */
static uint32_t least_length(const struct e4l_work *w, uint32_t len, bool first)
{
	uint64_t most = longest_stretch(w);

	if (!first)
		return len - len / 8;
	if (most > w->free_end)
		most = w->free_end;
	most = most * NEAR_PERCENT / 100 + 1;
	return most < len ? most : len;
}

errcode_t e4l_target_regions(struct e4l_work *w, struct e4l_span *first)
{
	uint64_t rest = w->free_end * REGIONS_PERCENT / 100 * w->how.share /
			E4L_WHOLE_SHARE;
	struct window *v;
	uint32_t len, least, n, i;
	errcode_t err = 0;

	*first = (struct e4l_span) { 0 };
	if (!rest && w->free_end)
		rest = 1;
	while (!err && (len = next_length(w, rest, !first->len))) {
		least = least_length(w, len, !first->len);
		err = list_windows(w, len, least, &v, &n);
		for (i = 0; i < n && !err && v[i].run.len <= rest; i++) {
			if (!make_region(w, &v[i].run))
				break;	/* a file became a wall: list again */
			if (!first->len)
				*first = v[i].run;
			rest -= v[i].run.len;
		}
		free(v);
	}
	return err;
}

/* ---------------------------------------------- reserved slots (item[].home) */

/*
 * Finds a place for item @i at which the longest fragment of the item does not
 * move.  Sets *@start to the first cluster of this place.  If the item would
 * not fit on the disk at *@start, returns false.  Unless @any is set, also
 * returns false if the longest fragment is shorter than half of the item.
 */
static bool find_anchor(const struct e4l_work *w, uint32_t i, bool any,
			uint32_t *start)
{
	const struct e4l_work_item *it = &w->item[i];
	uint32_t f = it->first, n, at = 0, before = 0;
	const struct e4l_frag *best = NULL;

	for (n = it->n; n; n--, f = w->frag[f].next) {
		if (!best || w->frag[f].len > best->len) {
			best = &w->frag[f];
			before = at;
		}
		at += w->frag[f].len;
	}
	if ((!any && best->len < it->len / 2) || best->start < before)
		return false;
	*start = best->start - before;
	return it->len <= w->m->clusters - *start;
}

/*
 * Returns the number of clusters of item @i that need not be moved if the item
 * starts at @start.
 */
static uint64_t count_staying(const struct e4l_work *w, uint32_t i,
			      uint32_t start)
{
	uint32_t f = w->item[i].first, n;
	uint64_t stays = 0;

	for (n = w->item[i].n; n; n--, f = w->frag[f].next) {
		if (w->frag[f].start == start)
			stays += w->frag[f].len;
		start += w->frag[f].len;
	}
	return stays;
}

/*
 * Returns the total length of the items to evacuate from [start, end), without
 * item @i.
 */
static uint64_t count_others(const struct e4l_work *w, uint32_t i,
			     uint32_t start, uint32_t end)
{
	uint32_t k = e4l_work_behind(w, start);
	uint64_t others = 0;

	for (; k < w->n_by_place; k++) {
		const struct e4l_frag *f = &w->frag[w->by_place[k]];

		if (f->start >= end)
			break;
		if (w->item[f->item].state == E4L_KEPT && f->item != i)
			others += w->item[f->item].len;
	}
	return others;
}

/*
 * Reserves the slot that begins at @start for item @i.  Fragments of the item
 * that are already at their final positions are not loose.
 */
static void settle(struct e4l_work *w, uint32_t i, uint32_t start)
{
	uint32_t f = w->item[i].first, end = start + w->item[i].len, n;

	e4l_map_set(w->walls, start, end, true);
	e4l_map_set(w->homes, start, end, true);
	w->item[i].home = start;
	w->n_homes++;
	for (n = w->item[i].n; n; n--, f = w->frag[f].next) {
		if (w->frag[f].start == start)
			e4l_map_set(w->loose, start, start + w->frag[f].len,
				    false);
		start += w->frag[f].len;
	}
}

/*
 * Reserves a slot around the longest fragment of item @i if the slot has no
 * walls, the other items in the slot can be evacuated, and:
 *
 * - Short item (@is_long is false): the other items in the slot have at most
 *   half as many clusters as item @i keeps in place.
 * - Long item: the clusters to move, and the *@lifted clusters evacuated for
 *   earlier items, are together at most half of free space.
 */
static void try_home(struct e4l_work *w, uint32_t i, bool is_long,
		     uint64_t *lifted)
{
	const struct e4l_work_item *it = &w->item[i];
	uint32_t start, end;
	uint64_t stays, others;
	bool worth = false;

	if (!find_anchor(w, i, is_long, &start))
		return;
	end = start + it->len;
	if (is_long)
		e4l_work_mark(w, w->walls, i, false);
	if (e4l_map_next(w->walls, start, end, true) == end) {
		stays = count_staying(w, i, start);
		others = count_others(w, i, start, end);
		worth = is_long ? *lifted + others + it->len - stays <=
				  w->free_end / 2 : others <= stays / 2;
		if (worth)
			worth = e4l_target_lift(w, start, end);
	}
	if (!worth) {
		if (is_long)
			e4l_work_mark(w, w->walls, i, true);
		return;
	}
	*lifted += others;
	if (is_long)
		e4l_work_loosen(w, i);
	settle(w, i, start);
}

void e4l_target_homes(struct e4l_work *w, bool is_long)
{
	uint64_t lifted = 0;
	uint32_t i;

	for (i = 0; i < w->n_items; i++)
		if (w->item[i].broken && w->item[i].n > 1 &&
		    w->item[i].len >= w->m->large &&
		    (w->item[i].len > w->large_item) == is_long)
			try_home(w, i, is_long, &lifted);
}
