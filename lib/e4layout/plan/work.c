/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "e4layout/base/sort_index.h"
#include "work.h"

static uint64_t *new_map(const struct e4l_plan *m)
{
	return calloc(m->clusters / E4L_WORD_BITS, sizeof(uint64_t));
}

/*
 * Returns a copy of the @bytes bytes of @array, with space for one more
 * element.
 */
static void *copy_of(const void *array, uint64_t bytes)
{
	void *copy = calloc(1, bytes + sizeof(uint64_t));

	if (copy && array)
		memcpy(copy, array, bytes);
	return copy;
}

/* Copies the members of @from that can differ from the model. */
static errcode_t copy_state(struct e4l_work *to, const struct e4l_work *from)
{
	const struct e4l_plan *m = to->m;
	uint64_t map = m->clusters / 8;

	to->max_frags = from->n_frags;
	to->max_moves = from->n_moves;
	to->frag = copy_of(from->frag, from->n_frags * sizeof(*to->frag));
	to->move = copy_of(from->move, from->n_moves * sizeof(*to->move));
	to->used = copy_of(from->used, map);
	if (m->unwritten)
		to->unwritten = copy_of(from->unwritten,
					map * m->opt.geo.cluster_blocks);
	to->finished = copy_of(from->finished, m->n_owners);
	to->moved = copy_of(from->moved, m->n_owners);
	return to->frag && to->move && to->used &&
	       !to->unwritten == !m->unwritten && to->finished &&
	       to->moved ? 0 : ENOMEM;
}

/*
 * Allocates the maps and arrays that e4l_work_items() initializes whenever an
 * attempt chooses items.
 */
static errcode_t make_scratch(struct e4l_work *w)
{
	const struct e4l_plan *m = w->m;

	w->of = calloc(m->n_items + 1, sizeof(*w->of));
	w->broken_items = calloc(m->n_owners + 1, sizeof(*w->broken_items));
	w->head = malloc(E4L_FIT_EXACT * sizeof(*w->head));
	w->walls = new_map(m);
	w->loose = new_map(m);
	w->region = new_map(m);
	w->homes = new_map(m);
	w->given = new_map(m);
	w->scratch = new_map(m);
	return w->of && w->broken_items && w->head && w->walls && w->loose &&
	       w->region && w->homes && w->given && w->scratch ? 0 : ENOMEM;
}

uint64_t e4l_work_excess(const struct e4l_work *w)
{
	uint64_t excess = 0;
	uint32_t i;

	for (i = 0; i < w->m->n_items; i++)
		excess += e4l_work_pieces(w, i) - 1;
	return excess;
}

errcode_t e4l_work_copy(struct e4l_work *to, const struct e4l_work *from)
{
	errcode_t err;

	*to = (struct e4l_work) {
		.m = from->m, .how = from->how, .batch = from->batch,
		.excess = from->excess,
		.n_moves = from->n_moves, .n_settled = from->n_settled,
		.n_frags = from->n_frags, .copied = from->copied,
		.zeroed = from->zeroed,
	};
	err = copy_state(to, from);
	return err ? err : make_scratch(to);
}

errcode_t e4l_work_begin(struct e4l_work *w, struct e4l_plan *m)
{
	const struct e4l_work start = {
		.m = m, .how = { .part = 2, .share = E4L_WHOLE_SHARE },
		.frag = m->frag, .n_frags = m->n_frags, .used = m->used,
		.unwritten = m->unwritten,
	};
	errcode_t err = e4l_work_copy(w, &start);

	if (!err)
		w->excess = e4l_work_excess(w);
	return err;
}

void e4l_work_adopt(struct e4l_work *w, struct e4l_work *next, bool take)
{
	bool late = next->late;

	if (take) {
		e4l_work_free(w);
		*w = *next;
	} else {
		e4l_work_free(next);
	}
	w->late |= late;
}

void e4l_work_free(struct e4l_work *w)
{
	void *all[] = {
		w->move, w->frag, w->item, w->order, w->of, w->broken_items,
		w->finished, w->moved, w->by_place, w->used, w->unwritten,
		w->walls, w->loose, w->region, w->homes, w->given, w->scratch,
		w->slot, w->head,
	};
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		free(all[i]);
	e4l_fit_free(&w->fit);
	*w = (struct e4l_work) { 0 };
}

/* --------------------------------------------------- statistics of a layout */

uint32_t e4l_work_pieces(const struct e4l_work *w, uint32_t i)
{
	uint32_t f = w->m->item[i].first, end = E4L_NONE, n = 0;

	for (; f != E4L_NONE; f = w->frag[f].next) {
		n += w->frag[f].start != end;
		end = w->frag[f].start + w->frag[f].len;
	}
	return n;
}

/*
 * Returns a map of the used clusters.  Free clusters that the plan must not use
 * do not count as used.
 */
static const uint64_t *in_use(const struct e4l_work *w)
{
	const uint64_t *other = w->m->other_free;
	uint32_t i;

	for (i = 0; other && i < w->m->clusters / E4L_WORD_BITS; i++)
		w->m->look[i] = w->used[i] & ~other[i];
	return other ? w->m->look : w->used;
}

void e4l_work_look(const struct e4l_work *w, struct e4l_look *look)
{
	const uint64_t *used = in_use(w);
	struct e4l_span run = { 0 };

	*look = (struct e4l_look) { .excess = w->excess };
	while (e4l_map_next_clear(used, w->m->clusters, &run)) {
		look->extents++;
		look->free += run.len;
		if (run.len >= w->m->large)
			look->large += run.len;
		if (run.len > look->largest)
			look->largest = run.len;
	}
}

/* ---------------------------------------------------- fragments by position */

static errcode_t sort_by_place(struct e4l_work *w)
{
	uint32_t i, n = 0, *v = calloc(w->n_frags + 1, sizeof(*v));

	if (!v)
		return ENOMEM;
	/* skip fragments that were merged into others */
	for (i = 0; i < w->n_frags; i++)
		if (w->frag[i].len)
			v[n++] = i;
	free(w->by_place);
	w->by_place = v;
	w->n_by_place = n;
	return e4l_sort_index(v, n, &w->frag->start, sizeof(*w->frag));
}

uint32_t e4l_work_behind(const struct e4l_work *w, uint32_t cluster)
{
	uint32_t low = 0, high = w->n_by_place, mid;

	while (low < high) {
		const struct e4l_frag *f;

		mid = low + (high - low) / 2;
		f = &w->frag[w->by_place[mid]];
		if (f->start + f->len > cluster)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

/* -------------------------------------------------------------------- items */

void e4l_work_mark(const struct e4l_work *w, uint64_t *map, uint32_t i,
		   bool value)
{
	const struct e4l_work_item *it = &w->item[i];
	const struct e4l_frag *f;
	uint32_t n, at = it->first;

	for (n = it->n; n; n--, at = f->next) {
		f = &w->frag[at];
		e4l_map_set(map, f->start, f->start + f->len, value);
	}
}

uint32_t e4l_work_stripe(const struct e4l_work *w)
{
	return w->m->opt.geo.stripe_blocks / w->m->opt.geo.cluster_blocks;
}

/*
 * Tests whether the first fragment of the item began on a stripe boundary in
 * w->m, which has the layout before the plan.  If the fragment is not in w->m,
 * tests its current start in w->frag.
 */
bool e4l_work_is_aligned(const struct e4l_work *w, uint32_t i)
{
	uint32_t stripe = e4l_work_stripe(w), f = w->item[i].first;
	const struct e4l_frag *first = f < w->m->n_frags ? &w->m->frag[f] :
							  &w->frag[f];

	return stripe && !w->item[i].broken && w->item[i].len >= stripe &&
	       first->start % stripe == 0;
}

errcode_t e4l_work_take(struct e4l_work *w, uint32_t i, uint32_t *to)
{
	uint32_t len = w->item[i].len;

	if (e4l_work_is_aligned(w, i))
		return e4l_fit_take_aligned(&w->fit, len, e4l_work_stripe(w),
					    to);
	*to = e4l_fit_take(&w->fit, len);
	return 0;
}

void e4l_work_loosen(struct e4l_work *w, uint32_t i)
{
	w->item[i].state = E4L_LOOSE;
	e4l_work_mark(w, w->loose, i, true);
}

/*
 * Makes an item of the fragments from @f on, up to the fragment before @end.
 * @broken is true if the item has several fragments to join.
 */
static errcode_t add_item(struct e4l_work *w, uint32_t f, uint32_t end,
			  uint32_t file, bool broken)
{
	struct e4l_work_item it = {
		.first = f, .file = file, .broken = broken,
		.home = E4L_NONE, .touched = E4L_NONE,
		.state = w->m->owner[file].allowed & E4L_PLAN_AWAY || broken ?
			 E4L_KEPT : E4L_PINNED,
	};

	for (; f != end; f = w->frag[f].next, it.n++) {
		it.len += w->frag[f].len;
		w->frag[f].item = w->n_items;
	}
	return e4l_append(&w->item, &w->n_items, &w->max_items, &it, 1,
			  sizeof(it));
}

/*
 * Finds the part of a logical run that begins with fragment @f, and returns the
 * fragment after the part.  A part of several fragments has at most @limit
 * clusters.  Sets *@len to the number of clusters of the part, and *@n to the
 * number of fragments.
 */
static uint32_t end_of_part(const struct e4l_work *w, uint32_t f, uint64_t limit,
			    uint64_t *len, uint32_t *n)
{
	uint32_t end = w->frag[f].start;

	*n = 1;
	for (*len = 0; f != E4L_NONE; f = w->frag[f].next) {
		if (w->frag[f].start != end) {
			if (*len + w->frag[f].len > limit)
				break;
			++*n;
		}
		*len += w->frag[f].len;
		end = w->frag[f].start + w->frag[f].len;
	}
	return f;
}

/*
 * Divides logical run @i into parts, and makes an item of each part, because
 * the run is not joined as a whole.  A part of several fragments will be
 * joined; it has at most @most clusters.  All parts of several fragments
 * together have at most @all clusters.
 */
static errcode_t add_parts(struct e4l_work *w, uint32_t i, uint64_t most,
			   uint64_t all)
{
	const struct e4l_item *run = &w->m->item[i];
	uint32_t f, next, n;
	uint64_t len;
	errcode_t err = 0;

	for (f = run->first; f != E4L_NONE && !err; f = next) {
		next = end_of_part(w, f, most < all ? most : all, &len, &n);
		err = add_item(w, f, next, run->file, n > 1);
		if (n == 1)
			continue;
		w->broken_items[run->file]++;
		all -= len;
	}
	return err;
}

/*
 * Returns the maximum length of a joined part of run @i, which is too long to
 * be joined as a whole.  If no fragments of the run may be joined, returns 0.
 */
static uint32_t part_length(const struct e4l_work *w, uint32_t i)
{
	const struct e4l_owner *o = &w->m->owner[w->m->item[i].file];

	return w->how.cut && o->allowed & E4L_PLAN_MOVE &&
	       !(o->allowed & E4L_PLAN_AT_ONCE) ? w->large_item / 2 : 0;
}

/*
 * Returns the number of excess fragments of item @i, which has @pieces
 * fragments, per 2^20 clusters.
 */
static uint64_t density(const struct e4l_work *w, uint32_t i, uint32_t pieces)
{
	return ((uint64_t)(pieces - 1) << 20) / w->m->item[i].len;
}

struct dense {
	uint64_t density;
	uint32_t len, run;
};

static int densest_first(const void *va, const void *vb)
{
	const struct dense *a = va, *b = vb;

	if (a->density != b->density)
		return a->density > b->density ? -1 : 1;
	return a->run < b->run ? -1 : a->run > b->run;
}

/*
 * Returns how many of @all fragmented clusters the attempt may join: the
 * fraction w->how.share of @all or, if the copy budget permits fewer clusters,
 * of the budget.
 */
static uint64_t share_of(const struct e4l_work *w, uint64_t all)
{
	const struct e4l_plan_options *opt = &w->m->opt;
	uint64_t budget = (opt->copy_budget_blocks - w->copied) /
			  opt->geo.cluster_blocks;

	if (opt->copy_budget_blocks != E4L_NO_LIMIT && budget < all)
		all = budget;
	return all * w->how.share / E4L_WHOLE_SHARE;
}

/*
 * Lists in @v all fragmented logical runs that may be joined, sorted by excess
 * fragments per cluster, the highest number first.  Adds the lengths of the
 * runs to *@sum.  Returns the number of runs.
 */
static uint32_t list_dense(const struct e4l_work *w, struct dense *v,
			   uint64_t *sum)
{
	const struct e4l_plan *m = w->m;
	uint32_t i, n = 0, pieces;

	for (i = 0; i < m->n_items; i++) {
		pieces = e4l_work_pieces(w, i);
		if (pieces == 1 || !(m->owner[m->item[i].file].allowed &
				     E4L_PLAN_MOVE))
			continue;
		v[n++] = (struct dense) { density(w, i, pieces),
					  m->item[i].len, i };
		*sum += m->item[i].len;
	}
	qsort(v, n, sizeof(*v), densest_first);
	return n;
}

/*
 * Sets (*@share)[i] to the number of clusters of logical run i that are to be
 * joined.  The sum is at most share_of() clusters.  Runs with the most excess
 * fragments per cluster come first.  A run that is longer than the remaining
 * clusters is skipped.  At the end, the remaining clusters go to the first
 * skipped run that may be joined in parts.  The caller frees *@share.
 */
static errcode_t choose_share(const struct e4l_work *w, uint32_t **share)
{
	struct dense *v = calloc(w->m->n_items + 1, sizeof(*v));
	uint32_t i, n;
	uint64_t sum = 0;

	*share = calloc(w->m->n_items + 1, sizeof(**share));
	if (!v || !*share) {
		free(v);
		return ENOMEM;
	}
	n = list_dense(w, v, &sum);
	sum = share_of(w, sum);
	for (i = 0; i < n; i++) {
		if (v[i].len > sum)
			continue;
		sum -= v[i].len;
		(*share)[v[i].run] = v[i].len;
	}
	for (i = 0; i < n && sum; i++) {
		if ((*share)[v[i].run] ||
		    w->m->owner[w->m->item[v[i].run].file].allowed &
		    E4L_PLAN_AT_ONCE)
			continue;
		(*share)[v[i].run] = sum;
		break;
	}
	free(v);
	return 0;
}

static void begin_maps(struct e4l_work *w)
{
	const struct e4l_plan *m = w->m;
	size_t bytes = m->clusters / 8;
	uint32_t f;

	memset(w->loose, 0, bytes);
	memset(w->region, 0, bytes);
	memset(w->homes, 0, bytes);
	memcpy(w->walls, w->used, bytes);
	for (f = 0; f < w->n_frags; f++)
		e4l_map_set(w->walls, w->frag[f].start,
			    w->frag[f].start + w->frag[f].len, false);
	w->free_end = m->clusters - e4l_map_count(w->used, 0, m->clusters);
	w->large_item = w->free_end / w->how.part;
}

/*
 * Whether to make the fragmented logical run @i one item, so that the plan
 * joins the whole run.  If @only is not NULL, only[i] decides.  If @share is
 * not NULL, share[i] is the number of clusters of the run that may be joined.
 */
static bool is_joined(const struct e4l_work *w, uint32_t i,
		      const uint8_t *only, const uint32_t *share)
{
	const struct e4l_item *run = &w->m->item[i];

	if (!(w->m->owner[run->file].allowed & E4L_PLAN_MOVE))
		return false;
	if (only)
		return only[i];
	/* e4l_target_homes() can join items of m->large clusters or more */
	return (run->len <= w->large_item || run->len >= w->m->large) &&
	       (!share || share[i] >= run->len);
}

/* Merges fragments of logical run @i that are physically adjacent. */
static void merge_neighbours(struct e4l_work *w, uint32_t i)
{
	struct e4l_frag *f = &w->frag[w->m->item[i].first], *next;

	while (f->next != E4L_NONE) {
		next = &w->frag[f->next];
		if (f->start + f->len != next->start) {
			f = next;
			continue;
		}
		f->len += next->len;
		f->next = next->next;
		next->len = 0;
	}
}

static errcode_t add_run(struct e4l_work *w, uint32_t i, const uint8_t *only,
			 const uint32_t *share)
{
	const struct e4l_item *run = &w->m->item[i];
	bool broken;

	merge_neighbours(w, i);
	broken = e4l_work_pieces(w, i) > 1;
	w->broken_items[run->file] += broken;
	w->of[i] = E4L_NONE;
	if (broken && !is_joined(w, i, only, share))
		return share ? add_parts(w, i, share[i], share[i]) :
		       add_parts(w, i, only ? 0 : part_length(w, i),
				 UINT64_MAX);
	w->of[i] = w->n_items;
	return add_item(w, run->first, E4L_NONE, run->file, broken);
}

/*
 * Whether the attempt can make the file unfragmented: add_run() has made one
 * item, and not several items, of each logical run of the file.
 */
static bool is_to_be_whole(const struct e4l_work *w, const struct e4l_owner *o)
{
	uint32_t i;

	for (i = 0; i < o->n_items; i++)
		if (w->of[o->first_item + i] == E4L_NONE)
			return false;
	return true;
}

/*
 * Marks the spare tree blocks that the file will free in @w->loose, and adds
 * their number to @w->free_end.  If the file will be unfragmented, frees all
 * spare tree blocks; otherwise, only the surplus tree blocks.
 */
static void lift_spares(struct e4l_work *w, uint32_t file)
{
	const struct e4l_owner *o = &w->m->owner[file];
	uint32_t i = o->n_spare - o->n_surplus, end = o->n_spare, c;

	if (w->finished[file] >= E4L_FINISHED)
		return;
	if (w->finished[file] >= E4L_PACKED)
		end = i;
	if ((o->allowed & E4L_PLAN_PACK || w->broken_items[file]) &&
	    is_to_be_whole(w, o))
		i = 0;
	for (; i < end; i++) {
		c = w->m->spare[o->first_spare + i];
		e4l_map_set(w->walls, c, c + 1, false);
		e4l_map_set(w->loose, c, c + 1, true);
		w->free_end++;
	}
}

/*
 * If item @i has several fragments to join, makes the item loose (E4L_LOOSE).
 * Otherwise, if the item is long or must not be moved, makes the item a wall.
 * If @any_length is false, a long item becomes a wall even if it has several
 * fragments.
 */
static void sort_out(struct e4l_work *w, uint32_t i, bool any_length)
{
	bool is_long = w->item[i].len > w->large_item;

	if (w->item[i].broken && (any_length || !is_long)) {
		e4l_work_loosen(w, i);
		return;
	}
	if (is_long && !w->item[i].broken)
		w->item[i].state = E4L_PINNED;
	if (is_long || w->item[i].state == E4L_PINNED)
		e4l_work_mark(w, w->walls, i, true);
}

errcode_t e4l_work_items(struct e4l_work *w, const uint8_t *only)
{
	const struct e4l_plan *m = w->m;
	uint32_t *share = NULL;
	errcode_t err = 0;
	uint32_t i;

	w->n_items = w->n_homes = w->n_order = w->n_slots = 0;
	w->to_move = 0;
	memset(w->broken_items, 0, m->n_owners * sizeof(*w->broken_items));
	begin_maps(w);
	if (w->how.share < E4L_WHOLE_SHARE ||
	    m->opt.copy_budget_blocks != E4L_NO_LIMIT)
		err = choose_share(w, &share);
	for (i = 0; i < m->n_items && !err; i++)
		err = add_run(w, i, only, share);
	free(share);
	if (!err)
		err = sort_by_place(w);
	if (err)
		return err;
	for (i = 0; i < m->n_owners; i++)
		lift_spares(w, i);
	for (i = 0; i < w->n_items; i++)
		sort_out(w, i, only);
	return 0;
}

/* Whether item @i is fragmented, long, not loose, and has no reserved slot. */
static bool is_lost(const struct e4l_work *w, uint32_t i)
{
	return i != E4L_NONE && w->item[i].broken && w->item[i].state != E4L_LOOSE &&
	       w->item[i].len > w->large_item && w->item[i].home == E4L_NONE;
}

errcode_t e4l_work_scatter(struct e4l_work *w)
{
	errcode_t err = 0;
	uint32_t i, k;

	for (i = 0; i < w->m->n_items && !err; i++) {
		if (!is_lost(w, w->of[i]))
			continue;
		e4l_work_mark(w, w->walls, w->of[i], false);
		w->item[w->of[i]].n = w->item[w->of[i]].len = 0;
		w->item[w->of[i]].state = E4L_MOVED;
		w->of[i] = E4L_NONE;
		k = w->n_items;
		err = add_parts(w, i, part_length(w, i), UINT64_MAX);
		for (; k < w->n_items; k++)
			sort_out(w, k, false);
	}
	return err;
}
