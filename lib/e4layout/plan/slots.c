/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * slots: chooses a target for each loose item.  For this choice, the clusters
 * of all loose items count as free.
 */
#include "config.h"
#include "e4layout/base/array.h"
#include "work.h"

/*
 * the maximum by which give_edge() may shorten the first region, in thousandths
 * of the final free space
 */
#define GIVEN_THOUSANDTHS 19
/* minimum number of clusters in a segment of the disk */
#define SEGMENT		16
#define SEGMENTS	16384	/* maximum number of segments of the disk */
#define TURNS		64	/* maximum number of calls of make_slots() */

/* --------------------------------------------------------------------- slots */

/* A long or aligned item, for which place_specials() reserves a slot. */
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
 * Counts, by length, the items that must move and have no reserved slot.  Items
 * of at least E4L_FIT_EXACT clusters, and items that must begin on a stripe
 * boundary, are not counted, but listed in *@v.
 */
static errcode_t count_loose(const struct e4l_work *w, uint32_t *count,
			     struct special **v, size_t *n)
{
	errcode_t err = 0;
	uint32_t i;

	for (i = 0; i < w->n_items && !err; i++) {
		if (w->item[i].state != E4L_LOOSE || w->item[i].home != E4L_NONE)
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
	e4l_sort(*v, *n, sizeof(**v), longest_first);
	return err;
}

/* The total length and the maximum length of the loose items without a slot. */
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
		if (w->item[i].home != E4L_NONE)
			err = add_slot(w, w->item[i].home, w->item[i].len, i);
	return err;
}

/*
 * Gives each loose item a slot in the shortest free extent that is long enough.
 * Items of at least E4L_FIT_EXACT clusters, and items aligned to a RAID stripe,
 * come before all other items.  Among these and among the others, the longest
 * item comes first.  *@lack describes the items without a slot.
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

/*
 * The segments of the disk on both sides of the first region.  If some items
 * have no slot, items in the nearest segments become loose (E4L_LOOSE), and all
 * loose items get new slots.
 */
struct around {
	/*
	 * number of clusters to move out of each segment; E4L_NONE if the
	 * segment has walls, or if its items are already loose
	 */
	uint32_t *cost;
	uint32_t n, len;	/* number of segments; clusters per segment */
	/* first segment of the region, first segment after the region */
	uint32_t below, above;
	/*
	 * side of the region that is cleared first; 1: before the region; 0:
	 * after the region; -1: not chosen yet
	 */
	int down;
	struct e4l_span region;
	/*
	 * number of clusters that give_edge() has removed from the region, and
	 * the maximum of this number
	 */
	uint64_t given, most;
};

static void weigh_segments(const struct e4l_work *w, struct around *a)
{
	uint32_t f, s, end;

	for (f = 0; f < w->n_frags; f++) {
		const struct e4l_frag *frag = &w->frag[f];

		if (!frag->len || w->item[frag->item].state != E4L_KEPT)
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
	a->above = (e4l_span_end(region) + a->len - 1) / a->len;
	a->cost = calloc(a->n + 1, sizeof(*a->cost));
	if (!a->cost)
		return ENOMEM;
	weigh_segments(w, a);
	return 0;
}

/*
 * Returns the segment at distance @i from the region: if @down is set, before
 * the region; otherwise, after the region.  If the disk ends before the
 * segment, returns E4L_NONE.
 */
static uint32_t segment_at(const struct around *a, bool down, uint32_t i)
{
	if (down)
		return i < a->below ? a->below - 1 - i : E4L_NONE;
	return i < a->n && a->above < a->n - i ? a->above + i : E4L_NONE;
}

/*
 * Returns the number of clusters to move to make @want clusters on one side of
 * the region loose.  If the side has too few clusters that can be moved,
 * returns E4L_NO_LIMIT.
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
		e4l_target_lift(w, s * a->len, (s + 1) * a->len);
		got += a->len;
	}
	return got;
}

/*
 * If the items without a slot have only a few clusters, removes enough clusters
 * from one edge of the region, and returns true.  Otherwise, returns false.
 */
static bool give_edge(struct e4l_work *w, struct around *a,
		      const struct lack *lack)
{
	uint64_t n = lack->sum + lack->sum / 16 + 1;
	uint32_t end;

	if (n > a->most - a->given ||
	    a->given + n - 1 + lack->longest >= a->region.len)
		return false;
	end = e4l_span_end(&a->region) - a->given;
	if (a->down == 1)
		e4l_map_set(w->region, a->region.start + a->given,
			    a->region.start + a->given + n, false);
	else
		e4l_map_set(w->region, end - n, end, false);
	a->given += n;
	return true;
}

/*
 * Makes the items in the disk segments nearest to the region loose, until the
 * items without a slot (@lack) fit into the clusters of these segments.  From
 * @turn 5 on, clears more segments.  If no segments are left, returns false.
 */
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
		e4l_target_homes(w, true);
	err = e4l_work_scatter(w);
	if (!err && w->how.regions)
		err = e4l_target_regions(w, &region);
	if (homes)
		e4l_target_homes(w, false);
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
		if (w->item[i].state != E4L_LOOSE)
			continue;
		start = e4l_fit_take(&w->fit, w->item[i].len);
		if (start == E4L_NONE)
			continue;
		end = start + w->item[i].len;
		e4l_map_set(w->walls, start, end, true);
		e4l_map_set(w->homes, start, end, true);
		w->item[i].home = start;
		w->n_homes++;
	}
	return err;
}
