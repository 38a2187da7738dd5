/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * target: chooses the regions that are free at the end, and a slot for each
 * loose item.
 */
#include "config.h"
#include "e4layout/base/array.h"
#include "work.h"

#define REGIONS_PERCENT	97	/* initial share of free space in regions */
/* of the possible length: the minimum for the largest region */
#define NEAR_PERCENT	96
/* of free space: the maximum that regions may give back */
#define GIVEN_THOUSANDTHS 19
/*
 * No more regions are made if the remaining space is less than LEAST_REGION
 * large free extents and less than LEAST_PERCENT of free space.
 */
#define LEAST_REGION	4
#define LEAST_PERCENT	1
/* minimum number of clusters that are lifted together */
#define SEGMENT		16
#define SEGMENTS	16384
#define TURNS		64
#define MOST_REGIONS	256	/* maximum number if their length is limited */

/* ------------------------------------------------------------------- lifting */

/*
 * Whether item @i, which may be part of a swap file, may be moved.  The answer
 * of the callback is kept for the file.
 */
static bool may_move(struct e4l_work *w, uint32_t i)
{
	const struct e4l_plan_options *opt = &w->m->opt;
	struct e4l_owner *o = &w->m->owner[w->item[i].file];
	const struct e4l_frag *f = &w->frag[w->item[i].first];
	uint64_t ratio = opt->geo.cluster_blocks;
	struct e4l_extent ex = {
		.pblk = f->start * ratio, .lblk = f->lstart * ratio,
		.len = f->len * ratio,
	};

	if (!(o->allowed & E4L_PLAN_ASK) || !opt->may_move)
		return true;
	o->allowed &= ~E4L_PLAN_ASK;
	if (!opt->may_move(o->ino, &ex, 1, opt->priv))
		o->allowed &= ~E4L_PLAN_AWAY;
	return o->allowed & E4L_PLAN_AWAY;
}

/*
 * Marks items that overlap [start, end) as loose.  Returns whether all of them
 * can be moved.
 */
static bool lift(struct e4l_work *w, uint32_t start, uint32_t end)
{
	uint32_t k = e4l_work_behind(w, start), i;
	bool all = true;

	for (; k < w->n_by_place; k++) {
		const struct e4l_frag *f = &w->frag[w->by_place[k]];

		if (f->start >= end)
			break;
		i = f->item;
		if (w->state[i] != E4L_KEPT || w->item[i].len > w->large_item)
			continue;
		if (may_move(w, i)) {
			e4l_work_loosen(w, i);
			continue;
		}
		w->state[i] = E4L_PINNED;
		e4l_work_mark(w, w->walls, i, true);
		all = false;
	}
	return all;
}

/* ------------------------------------------------------------------- regions */

/* The fragments of items that stay, by place, and their cumulative length. */
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

		if (w->state[f->item] != E4L_KEPT)
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

static uint32_t end_of(const struct e4l_span *run)
{
	return run->start + run->len;
}

/* A candidate for a region, and the number of clusters to move out of it. */
struct window {
	uint64_t cost;
	struct e4l_span run;
};

/*
 * Returns the cheapest window of @len clusters in the stretch @s.  A window
 * begins at the start of the stretch or at the end of a fragment.  *@i is the
 * first fragment that ends after the start of the stretch.
 */
static struct window cheapest_in(const struct kept *k,
				 const struct e4l_span *s, uint32_t len,
				 uint32_t *i)
{
	struct window best = { .cost = UINT64_MAX };
	uint32_t at = s->start, end = end_of(s), j = *i;

	for (;; at = end_of(&k->run[*i])) {
		if (at > end - len)
			at = end - len;
		while (*i < k->n && end_of(&k->run[*i]) <= at)
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
	/* costs per cluster; lengths are below 2^32 */
	double x = (double)a->cost / a->run.len;
	double y = (double)b->cost / b->run.len;

	if (x != y)
		return x < y ? -1 : 1;
	return a->run.start < b->run.start ? -1 : a->run.start > b->run.start;
}

/* Returns the length of the longest stretch without walls. */
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
 * Lists the cheapest window of each stretch of at least @least clusters; a
 * window has @len clusters, or the length of the stretch if that is shorter.
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
		while (!err && i < k.n && end_of(&k.run[i]) <= s.start)
			i++;
		if (!err)
			(*v)[(*n)++] = cheapest_in(&k, &s, len < s.len ? len :
						   s.len, &i);
	}
	free_kept(&k);
	if (*n)
		qsort(*v, *n, sizeof(**v), cheapest_first);
	return err;
}

/* Makes a region.  False: a file in it cannot be moved. */
static bool make_region(struct e4l_work *w, const struct e4l_span *run)
{
	if (!lift(w, run->start, end_of(run)))
		return false;
	e4l_map_set(w->region, run->start, end_of(run), true);
	e4l_map_set(w->walls, run->start, end_of(run), true);
	return true;
}

/* Returns the length of the next region; 0: no more regions. */
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
 * Returns the minimum length of a stretch that is used for a region instead of
 * a stretch of @len clusters.  The first region becomes the largest free
 * extent.
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

/*
 * Chooses regions: the longest that walls allow, at the places with the least
 * to copy.  *@first is the first region.
 */
static errcode_t choose_regions(struct e4l_work *w, struct e4l_span *first)
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
				/*
				 * there are new walls, so the list is outdated
				 */
				break;
			if (!first->len)
				*first = v[i].run;
			rest -= v[i].run.len;
		}
		free(v);
	}
	return err;
}

/* --------------------------------------------------------------------- homes */

/*
 * Finds the longest fragment of item @i; *@start: the start of the item if the
 * fragment stays.
 */
static bool find_anchor(const struct e4l_work *w, uint32_t i, bool any,
			uint32_t *start)
{
	const struct e4l_item *it = &w->item[i];
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
 * Returns the number of clusters of item @i that are at their final places if
 * the item starts at @start.
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
 * Returns the number of clusters of other items that would have to leave
 * [start, end).
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
		if (w->state[f->item] == E4L_KEPT && f->item != i)
			others += w->item[f->item].len;
	}
	return others;
}

/*
 * Makes @start the home of item @i: fragments at their final places are not
 * loose.
 */
static void settle(struct e4l_work *w, uint32_t i, uint32_t start)
{
	uint32_t f = w->item[i].first, end = start + w->item[i].len, n;

	e4l_map_set(w->walls, start, end, true);
	e4l_map_set(w->homes, start, end, true);
	w->home[i] = start;
	w->n_homes++;
	for (n = w->item[i].n; n; n--, f = w->frag[f].next) {
		if (w->frag[f].start == start)
			e4l_map_set(w->loose, start, start + w->frag[f].len,
				    false);
		start += w->frag[f].len;
	}
}

/*
 * Lets most of item @i stay and moves the rest there, if evacuating other items
 * costs less than half of the clusters that need not be copied.  *@lifted: for
 * long items, which have to fit into half of free space together with all
 * evacuated items.
 */
static void try_home(struct e4l_work *w, uint32_t i, bool is_long,
		     uint64_t *lifted)
{
	const struct e4l_item *it = &w->item[i];
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
			worth = lift(w, start, end);
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

static void choose_homes(struct e4l_work *w, bool is_long)
{
	uint64_t lifted = 0;
	uint32_t i;

	for (i = 0; i < w->n_items; i++)
		if (w->broken[i] && w->item[i].n > 1 &&
		    w->item[i].len >= w->m->large &&
		    (w->item[i].len > w->large_item) == is_long)
			try_home(w, i, is_long, &lifted);
}

/* --------------------------------------------------------------------- slots */

/* An item with its own slot. */
struct special {
	uint32_t len, item;
};

static int longest_first(const void *va, const void *vb)
{
	const struct special *a = va, *b = vb;

	if (a->len != b->len)
		return a->len > b->len ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

static errcode_t add_slot(struct e4l_work *w, uint32_t start, uint32_t len,
			  uint32_t owner)
{
	errcode_t err = e4l_reserve(&w->slot, w->n_slots, &w->max_slots, 1,
				    sizeof(*w->slot));

	if (!err)
		w->slot[w->n_slots++] = (struct e4l_slot) { start, len, owner };
	return err;
}

/*
 * Counts loose items without a home by length; lists long and aligned items
 * individually.
 */
static errcode_t count_loose(const struct e4l_work *w, uint32_t *count,
			     struct special **v, size_t *n)
{
	errcode_t err = 0;
	uint32_t i;

	for (i = 0; i < w->n_items && !err; i++) {
		if (w->state[i] != E4L_LOOSE || w->home[i] != E4L_NONE)
			continue;
		if (w->item[i].len < E4L_FIT_EXACT &&
		    !e4l_work_is_aligned(w, i)) {
			count[w->item[i].len]++;
			continue;
		}
		err = e4l_grow(v, *n, sizeof(**v));
		if (!err)
			(*v)[(*n)++] = (struct special) { w->item[i].len, i };
	}
	if (*n)
		qsort(*v, *n, sizeof(**v), longest_first);
	return err;
}

/* Items without a slot. */
struct lack {
	uint64_t sum;
	uint32_t longest;
};

static void add_lack(struct lack *lack, uint32_t len, uint32_t n)
{
	lack->sum += (uint64_t)len * n;
	if (len > lack->longest)
		lack->longest = len;
}

static errcode_t place_specials(struct e4l_work *w, const struct special *v,
				size_t n, struct lack *lack)
{
	errcode_t err = 0;
	uint32_t start;
	size_t i;

	for (i = 0; i < n && !err; i++) {
		err = e4l_work_take(w, v[i].item, &start);
		if (start == E4L_NONE)
			add_lack(lack, v[i].len, 1);
		else if (!err)
			err = add_slot(w, start, v[i].len, v[i].item);
	}
	return err;
}

static errcode_t place_counts(struct e4l_work *w, uint32_t *count,
			      struct lack *lack)
{
	uint32_t len, start;
	errcode_t err = 0;

	for (len = E4L_FIT_EXACT - 1; len && !err; len--) {
		for (; count[len] && !err; count[len]--) {
			start = e4l_fit_take(&w->fit, len);
			if (start == E4L_NONE)
				break;
			err = add_slot(w, start, len, E4L_NONE);
		}
		if (count[len])
			add_lack(lack, len, count[len]);
	}
	return err;
}

static errcode_t place_homes(struct e4l_work *w)
{
	errcode_t err = 0;
	uint32_t i;

	for (i = 0; i < w->n_items && w->n_homes && !err; i++)
		if (w->home[i] != E4L_NONE)
			err = add_slot(w, w->home[i], w->item[i].len, i);
	return err;
}

/*
 * Gives a slot in the tightest free extent to each loose item, the longest
 * first.
 */
static errcode_t make_slots(struct e4l_work *w, struct lack *lack)
{
	uint32_t *count = calloc(E4L_FIT_EXACT, sizeof(*count)), i;
	struct special *v = NULL;
	size_t n = 0;
	errcode_t err = count ? 0 : ENOMEM;

	*lack = (struct lack) { 0 };
	w->n_slots = 0;
	for (i = 0; i < w->m->clusters / E4L_WORD_BITS; i++)
		w->scratch[i] = (w->used[i] & ~w->loose[i]) | w->region[i] |
				w->homes[i];
	if (!err)
		err = e4l_fit_begin(&w->fit, w->scratch, w->m->clusters);
	if (!err)
		err = count_loose(w, count, &v, &n);
	if (!err)
		err = place_specials(w, v, n, lack);
	if (!err)
		err = place_counts(w, count, lack);
	if (!err)
		err = place_homes(w);
	free(count);
	free(v);
	return err;
}

/* ----------------------------------------------------- items without a slot */

/* Segments around the first region that are lifted for items without a slot. */
struct around {
	uint32_t *cost;	/* per segment; E4L_NONE: cannot be lifted */
	uint32_t n, len;	/* number of segments; clusters per segment */
	/* first segment of the region; first segment after it */
	uint32_t below, above;
	int down;			/* the cheaper side; -1: unknown */
	struct e4l_span region;
	uint64_t given, most;	/* clusters that the region has given back */
};

static void weigh_segments(const struct e4l_work *w, struct around *a)
{
	uint32_t f, s, end;

	for (f = 0; f < w->n_frags; f++) {
		const struct e4l_frag *frag = &w->frag[f];

		if (!frag->len || w->state[frag->item] != E4L_KEPT)
			continue;
		end = (frag->start + frag->len - 1) / a->len;
		for (s = frag->start / a->len; s <= end && s < a->n; s++)
			a->cost[s] += frag->len < a->len ? frag->len : a->len;
	}
	for (s = 0; s < a->n; s++) {
		end = (s + 1) * a->len;
		if (e4l_map_next(w->walls, s * a->len, end, true) < end)
			a->cost[s] = E4L_NONE;
	}
}

static errcode_t begin_around(const struct e4l_work *w,
			      const struct e4l_span *region, struct around *a)
{
	*a = (struct around) {
		.len = SEGMENT, .down = -1, .region = *region,
		.most = w->free_end * GIVEN_THOUSANDTHS / 1000,
	};
	while ((uint64_t)a->len * SEGMENTS < w->m->clusters)
		a->len *= 2;
	a->n = w->m->clusters / a->len;
	a->below = region->start / a->len;
	a->above = (end_of(region) + a->len - 1) / a->len;
	a->cost = calloc(a->n + 1, sizeof(*a->cost));
	if (!a->cost)
		return ENOMEM;
	weigh_segments(w, a);
	return 0;
}

/*
 * Returns the segment at distance @i from the region on the given side, or
 * E4L_NONE.
 */
static uint32_t segment_at(const struct around *a, bool down, uint32_t i)
{
	if (down)
		return i < a->below ? a->below - 1 - i : E4L_NONE;
	return i < a->n && a->above < a->n - i ? a->above + i : E4L_NONE;
}

/*
 * Returns the cost of lifting @want clusters on one side; E4L_NO_LIMIT: not
 * enough clusters.
 */
static uint64_t cost_of_side(const struct around *a, bool down, uint64_t want)
{
	uint64_t cost = 0, got = 0;
	uint32_t i, s;

	for (i = 0; got < want; i++) {
		s = segment_at(a, down, i);
		if (s == E4L_NONE)
			return E4L_NO_LIMIT;
		if (a->cost[s] == E4L_NONE)
			continue;
		got += a->len;
		cost += a->cost[s];
	}
	return cost;
}

static uint64_t lift_side(struct e4l_work *w, struct around *a, bool down,
			  uint64_t want)
{
	uint64_t got = 0;
	uint32_t i, s;

	for (i = 0; got < want; i++) {
		s = segment_at(a, down, i);
		if (s == E4L_NONE)
			break;
		if (a->cost[s] == E4L_NONE)
			continue;
		a->cost[s] = E4L_NONE;
		lift(w, s * a->len, (s + 1) * a->len);
		got += a->len;
	}
	return got;
}

/* Gives the edge of the region back if only a little is lacking. */
static bool give_edge(struct e4l_work *w, struct around *a,
		      const struct lack *lack)
{
	uint64_t n = lack->sum + lack->sum / 16 + 1;
	uint32_t end;

	if (n > a->most - a->given ||
	    a->given + n - 1 + lack->longest >= a->region.len)
		return false;
	end = end_of(&a->region) - a->given;
	if (a->down == 1)
		e4l_map_set(w->region, a->region.start + a->given,
			    a->region.start + a->given + n, false);
	else
		e4l_map_set(w->region, end - n, end, false);
	a->given += n;
	return true;
}

/* Lifts segments next to the region.  False: no segments are left. */
static bool lift_around(struct e4l_work *w, struct around *a,
			const struct lack *lack, unsigned int turn)
{
	uint64_t want = lack->sum + lack->sum / 16 + a->len, got, up, down;

	if (turn > 4 && want < w->free_end / 32)
		want = w->free_end / 32;
	if (a->down < 0) {
		down = cost_of_side(a, true, want);
		up = cost_of_side(a, false, want);
		a->down = down < up;
	}
	got = lift_side(w, a, a->down, want);
	if (got < want)
		got += lift_side(w, a, !a->down, want - got);
	return got;
}

errcode_t e4l_target_choose(struct e4l_work *w, bool homes)
{
	struct e4l_span region = { 0 };
	struct around a = { 0 };
	struct lack lack;
	unsigned int turn;
	errcode_t err;

	if (homes)
		choose_homes(w, true);
	err = e4l_work_scatter(w);
	if (!err && w->how.regions)
		err = choose_regions(w, &region);
	if (homes)
		choose_homes(w, false);
	if (!err)
		err = begin_around(w, &region, &a);
	for (turn = 1; !err; turn++) {
		err = make_slots(w, &lack);
		if (err || !lack.sum || turn > TURNS)
			break;
		if (w->m->opt.go_on)
			err = w->m->opt.go_on(w->m->opt.priv);
		if (!give_edge(w, &a, &lack) &&
		    !lift_around(w, &a, &lack, turn))
			break;
	}
	free(a.cost);
	return err;
}

errcode_t e4l_target_reserve(struct e4l_work *w)
{
	errcode_t err = e4l_fit_begin(&w->fit, w->used, w->m->clusters);
	uint32_t i, start, end;

	for (i = 0; i < w->n_items && !err; i++) {
		if (w->state[i] != E4L_LOOSE)
			continue;
		start = e4l_fit_take(&w->fit, w->item[i].len);
		if (start == E4L_NONE)
			continue;
		end = start + w->item[i].len;
		e4l_map_set(w->walls, start, end, true);
		e4l_map_set(w->homes, start, end, true);
		w->home[i] = start;
		w->n_homes++;
	}
	return err;
}
