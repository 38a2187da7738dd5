/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * schedule: the order in which loose items are moved to slots.  A batch may use
 * the clusters that earlier batches have freed.
 */
#include "config.h"
#include "e4layout/base/array.h"
#include "work.h"

/*
 * If a batch moves less than 1/STUCK_SHARE of the clusters that remain to be
 * moved, run_batch() calls e4l_unlock().  e4l_unlock() evacuates up to
 * 1/UNLOCK_SHARE as many clusters as remain to be moved.
 */
#define STUCK_SHARE	100
#define UNLOCK_SHARE	32
#define MOST_BATCHES	5000
/*
 * the schedule ends after this number of consecutive batches that fill no slot
 */
#define IDLE_BATCHES	8

/* --------------------------------------------------------------------- order */

static int densest_first(const void *va, const void *vb, void *priv)
{
	const struct e4l_work *w = priv;
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	uint64_t x = (uint64_t)w->item[a].n * w->item[b].len;
	uint64_t y = (uint64_t)w->item[b].n * w->item[a].len;

	if (x != y)
		return x > y ? -1 : 1;
	return a < b ? -1 : a > b;
}

static errcode_t begin_order(struct e4l_work *w)
{
	uint32_t i;

	free(w->order);
	w->order = calloc(w->n_items + 1, sizeof(*w->order));
	if (!w->order)
		return ENOMEM;
	for (i = 0; i < w->n_items; i++) {
		if (w->item[i].state != E4L_LOOSE)
			continue;
		w->order[w->n_order++] = i;
		w->to_move += w->item[i].len;
	}
	if (w->n_order)
		qsort_r(w->order, w->n_order, sizeof(*w->order), densest_first,
			w);
	return 0;
}

/*
 * Sorts slots without an owner by length, the longest first, and by position.
 * Slots with an owner come last.
 */
static int longest_first(const void *va, const void *vb)
{
	const struct e4l_slot *a = va, *b = vb;
	bool own_a = a->owner != E4L_NONE, own_b = b->owner != E4L_NONE;

	if (own_a != own_b)
		return own_a ? 1 : -1;
	if (!own_a && a->len != b->len)
		return a->len > b->len ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

/*
 * Makes one queue of loose items per length.  The items with the most fragments
 * per cluster come first.
 */
static void begin_queues(struct e4l_work *w)
{
	uint32_t n = 0, k, i, len;

	for (k = 0; k < w->n_slots; k++)
		if (w->slot[k].owner == E4L_NONE)
			w->head[w->slot[k].len] = E4L_NONE;
	for (k = 0; k < w->n_order; k++) {
		i = w->order[k];
		if (w->item[i].state != E4L_LOOSE)
			continue;
		w->order[n++] = i;
		if (w->item[i].len < E4L_FIT_EXACT)
			w->head[w->item[i].len] = E4L_NONE;
	}
	w->n_order = n;
	for (k = n; k--; ) {
		i = w->order[k];
		len = w->item[i].len;
		/* long items, aligned items and items with @home have reserved slots */
		if (w->item[i].home != E4L_NONE || len >= E4L_FIT_EXACT ||
		    e4l_work_is_aligned(w, i))
			continue;
		w->item[i].next = w->head[len];
		w->head[len] = i;
	}
}

/* --------------------------------------------------------------------- slots */

/*
 * Whether a slot is free.  Fragments of the slot's owner that are at their
 * final positions do not count as used.
 */
static bool is_free(const struct e4l_work *w, const struct e4l_slot *s)
{
	uint32_t at = s->start, end, f, n;

	if (s->owner == E4L_NONE) {
		end = s->start + s->len;
		return e4l_map_next(w->used, s->start, end, true) == end;
	}
	f = w->item[s->owner].first;
	for (n = w->item[s->owner].n; n; n--, f = w->frag[f].next) {
		end = at + w->frag[f].len;
		if (w->frag[f].start != at &&
		    e4l_map_next(w->used, at, end, true) < end)
			return false;
		at = end;
	}
	return true;
}

/* Free slots of one length, and the items that wait for them. */
struct match {
	uint32_t *item, *slot;
	uint32_t n_items, n_slots;
};

static uint32_t goal_of(const struct e4l_work *w, uint32_t item)
{
	return w->m->owner[w->item[item].file].goal;
}

static int by_goal(const void *va, const void *vb, void *priv)
{
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	uint32_t x = goal_of(priv, a), y = goal_of(priv, b);

	if (x != y)
		return x < y ? -1 : 1;
	return a < b ? -1 : a > b;
}

/*
 * Returns the index of the first slot in m->slot, from index @low on, that
 * begins at or after @goal.
 */
static uint32_t slot_at(const struct e4l_work *w, const struct match *m,
			uint32_t low, uint32_t goal)
{
	uint32_t high = m->n_slots, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (w->slot[m->slot[mid]].start < goal)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Assigns items to slots in the order of the items' goals.  The goal of an item
 * is in the group of its inode.  If there are more slots than items, uses slots
 * near the goals.
 */
static errcode_t match_up(struct e4l_work *w, struct match *m)
{
	uint32_t k, low = 0, most;
	errcode_t err = 0;

	if (m->n_items > 1)
		qsort_r(m->item, m->n_items, sizeof(*m->item), by_goal, w);
	for (k = 0; k < m->n_items && !err; k++, low++) {
		most = m->n_slots - (m->n_items - k);
		if (low < most)
			low = slot_at(w, m, low, goal_of(w, m->item[k]));
		if (low > most)
			low = most;
		err = e4l_move_item(w, m->item[k],
				    w->slot[m->slot[low]].start, false);
		w->slot[m->slot[low]].len = 0;
	}
	return err;
}

/*
 * Moves waiting items to the free slots among the slots @k to @end - 1, which
 * have equal lengths.  @m is a buffer for the items and slots.
 */
static errcode_t fill_length(struct e4l_work *w, uint32_t k, uint32_t end,
			     struct match *m)
{
	uint32_t i = w->head[w->slot[k].len];

	m->n_items = m->n_slots = 0;
	for (; k < end; k++)
		if (is_free(w, &w->slot[k]))
			m->slot[m->n_slots++] = k;
	for (; i != E4L_NONE && m->n_items < m->n_slots; i = w->item[i].next)
		m->item[m->n_items++] = i;
	return match_up(w, m);
}

static errcode_t fill_own(struct e4l_work *w, struct e4l_slot *s)
{
	if (w->item[s->owner].state != E4L_LOOSE) {
		s->len = 0;
		return 0;
	}
	if (!is_free(w, s))
		return 0;
	s->len = 0;
	return e4l_move_rest(w, s->owner, s->start);
}

/*
 * Removes the slots of length 0, which are already filled or which no item
 * needs.
 */
static void drop_slots(struct e4l_work *w)
{
	uint32_t k, n = 0;

	for (k = 0; k < w->n_slots; k++)
		if (w->slot[k].len)
			w->slot[n++] = w->slot[k];
	w->n_slots = n;
}

/*
 * Fills the free slots: moves the owner of a reserved slot to the reserved
 * slot, and a waiting item of equal length to each other slot.  Then removes
 * the slots that are filled or that no item needs.
 */
static errcode_t fill_slots(struct e4l_work *w)
{
	struct match m = {
		.item = calloc(w->n_slots + 1, sizeof(*m.item)),
		.slot = calloc(w->n_slots + 1, sizeof(*m.slot)),
	};
	errcode_t err = m.item && m.slot ? 0 : ENOMEM;
	uint32_t k, end;

	begin_queues(w);
	for (k = 0; k < w->n_slots && !err; k = end) {
		struct e4l_slot *s = &w->slot[k];

		end = k + 1;
		if (s->owner != E4L_NONE) {
			err = fill_own(w, s);
			continue;
		}
		while (end < w->n_slots && w->slot[end].owner == E4L_NONE &&
		       w->slot[end].len == s->len)
			end++;
		if (w->head[s->len] != E4L_NONE)
			err = fill_length(w, k, end, &m);
		else
			for (; k < end; k++)
				w->slot[k].len = 0;
	}
	free(m.item);
	free(m.slot);
	drop_slots(w);
	return err;
}

/* ----------------------------------------------- items that are still loose */

/*
 * Moves the remaining items, which have no slot or a blocked slot, to any free
 * extent that is long enough.  Free extents in regions are used only if
 * @in_regions is set.
 */
static errcode_t place_rest(struct e4l_work *w, bool in_regions)
{
	errcode_t err;
	uint32_t k, to;

	begin_queues(w);
	if (!w->n_order)
		return 0;
	for (k = 0; k < w->m->clusters / E4L_WORD_BITS; k++)
		w->scratch[k] = w->used[k] | (in_regions ? 0 : w->region[k]);
	err = e4l_fit_begin(&w->fit, w->scratch, w->m->clusters);
	for (k = 0; k < w->n_order && !err; k++) {
		err = e4l_work_take(w, w->order[k], &to);
		if (!err && to != E4L_NONE)
			err = e4l_move_item(w, w->order[k], to, false);
	}
	e4l_end_batch(w);
	return err;
}

/* ------------------------------------------------------------------- batches */

/*
 * Adds the move that zeroes and packs a file, for each unfragmented file that
 * may be zeroed or packed.  If @all is set, adds this move also for fragmented
 * files.  For all other files, frees only the surplus tree blocks.
 */
static errcode_t finish(struct e4l_work *w, bool all)
{
	errcode_t err = 0;
	uint32_t i;

	for (i = 0; i < w->m->n_owners && !err; i++)
		if (w->m->owner[i].allowed &
		    (E4L_PLAN_PACK | E4L_PLAN_ZEROOUT) &&
		    (all || !w->broken_items[i]))
			err = e4l_move_finish(w, i);
		else
			err = e4l_move_pack(w, i);
	return err;
}

static errcode_t ask(struct e4l_work *w)
{
	const struct e4l_plan_options *opt = &w->m->opt;

	if (opt->enough && opt->enough(opt->priv))
		w->late = true;
	return opt->go_on ? opt->go_on(opt->priv) : 0;
}

/*
 * Runs one batch, and updates *@idle, the number of consecutive batches that
 * filled no slot.
 */
static errcode_t run_batch(struct e4l_work *w, unsigned int *idle)
{
	uint64_t left = w->to_move;
	errcode_t err = fill_slots(w);

	*idle = left == w->to_move ? *idle + 1 : 0;

	if (!err && left - w->to_move < w->to_move / STUCK_SHARE + 1 &&
	    w->n_slots) {
		begin_queues(w);
		err = e4l_unlock(w, w->to_move / UNLOCK_SHARE + 1);
	}
	e4l_end_batch(w);
	return err;
}

errcode_t e4l_schedule_run(struct e4l_work *w)
{
	uint32_t last = w->batch + MOST_BATCHES;
	unsigned int idle = 0;
	errcode_t err = begin_order(w);

	e4l_sort(w->slot, w->n_slots, sizeof(*w->slot), longest_first);
	if (!err)
		err = finish(w, false);
	do {
		if (!err)
			err = ask(w);
		if (err || w->late)
			return err;
		err = run_batch(w, &idle);
	} while (!err && w->n_slots && idle < IDLE_BATCHES && w->batch < last &&
		 !w->spent);
	if (!err && !w->spent)
		err = place_rest(w, false);
	return err || w->spent ? err : place_rest(w, true);
}

errcode_t e4l_schedule_finish(struct e4l_work *w)
{
	errcode_t err = finish(w, true);
	uint32_t i;

	for (i = 0; i < w->m->n_owners && !err; i++)
		err = e4l_move_repack(w, i);
	e4l_end_batch(w);
	return err;
}
