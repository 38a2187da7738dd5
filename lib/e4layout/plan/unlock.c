/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * unlock: evacuates slots, which are the target extents of items.  The schedule
 * calls e4l_unlock() if no item can be moved because each item occupies another
 * item's slot.
 */
#include "config.h"
#include "e4layout/base/array.h"
#include "work.h"

/* marks a spare tree block in @what of struct place */
#define TREE	0x80000000u

/*
 * A fragment or a spare tree block that begins at cluster @start and is in a
 * slot.  For a fragment, @what is its index.  For a spare tree block, @what is
 * the index of its file, with TREE set.
 */
struct place {
	uint32_t start, what;
};

/* A slot.  @key increases with the fraction of used clusters in the slot. */
struct candidate {
	uint32_t key, slot;
};

struct unlock {
	struct e4l_work *w;
	/*
	 * all slots, sorted by key; choose_slots() moves the @n_slots chosen
	 * slots to the front
	 */
	struct candidate *slot;
	uint32_t n_slots;
	uint64_t *chosen;		/* map of clusters: the chosen slots */
	struct place *place;
	uint32_t n_places;
};

static int by_key(const void *va, const void *vb)
{
	const struct candidate *a = va, *b = vb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/*
 * Returns the number of used clusters of a slot.  Fragments of the slot's owner
 * that are at their final positions do not count.
 */
static uint32_t count_used(const struct e4l_work *w, const struct e4l_slot *s)
{
	uint32_t used = e4l_map_count(w->used, s->start, s->start + s->len);
	uint32_t at = s->start, f, n;

	if (s->owner == E4L_NONE)
		return used;
	f = w->item[s->owner].first;
	for (n = w->item[s->owner].n; n; n--, f = w->frag[f].next) {
		if (w->frag[f].start == at)
			used -= w->frag[f].len;
		at += w->frag[f].len;
	}
	return used;
}

static errcode_t list_slots(struct unlock *u)
{
	struct e4l_work *w = u->w;
	uint32_t k;

	u->slot = calloc(w->n_slots + 1, sizeof(*u->slot));
	u->chosen = calloc(w->m->clusters / E4L_WORD_BITS, sizeof(uint64_t));
	if (!u->slot || !u->chosen)
		return ENOMEM;
	for (k = 0; k < w->n_slots; k++) {
		const struct e4l_slot *s = &w->slot[k];

		/* longer slots are slightly preferred */
		u->slot[k] = (struct candidate) {
			count_used(w, s) * 1024ull / s->len +
			__builtin_clz(s->len) * 32, k,
		};
	}
	qsort(u->slot, w->n_slots, sizeof(*u->slot), by_key);
	return 0;
}

/*
 * Chooses slots to evacuate, with about @most used clusters in total.  Marks in
 * w->scratch the clusters that evacuated items must not use: used clusters and
 * chosen slots.  If more than half of the free clusters are in regions,
 * evacuated items must not use clusters outside of regions.
 */
static void choose_slots(struct unlock *u, uint64_t most)
{
	struct e4l_work *w = u->w;
	uint32_t words = w->m->clusters / E4L_WORD_BITS, i, k, used, unused;
	uint64_t in_regions = 0, room, away = 0, all;
	bool anywhere;

	all = w->m->clusters - e4l_map_count(w->used, 0, w->m->clusters);
	for (i = 0; i < words; i++)
		in_regions += __builtin_popcountll(~w->used[i] & w->region[i]);
	anywhere = in_regions <= all / 2;
	room = anywhere ? all : in_regions;
	if (most > room / 4 + 1)
		most = room / 4 + 1;
	for (i = 0; i < words; i++)
		w->scratch[i] = w->used[i] | (anywhere ? 0 : ~w->region[i]);
	for (k = 0; k < w->n_slots && away < most; k++) {
		const struct e4l_slot *s = &w->slot[u->slot[k].slot];

		used = count_used(w, s);
		unused = anywhere ? s->len - e4l_map_count(w->used, s->start,
						s->start + s->len) : 0;
		if (unused > room || away + used > room - unused)
			continue;
		away += used;
		room -= unused;
		u->slot[u->n_slots++] = u->slot[k];
		e4l_map_set(w->scratch, s->start, s->start + s->len, true);
		e4l_map_set(u->chosen, s->start, s->start + s->len, true);
	}
}

static errcode_t add_place(struct unlock *u, uint32_t start, uint32_t len,
			   uint32_t what)
{
	uint32_t end = start + len;
	errcode_t err;

	if (e4l_map_next(u->chosen, start, end, true) == end)
		return 0;
	err = e4l_grow(&u->place, u->n_places, sizeof(*u->place));
	if (!err)
		u->place[u->n_places++] = (struct place) { start, what };
	return err;
}

/* Lists all loose fragments and spare tree blocks in the chosen slots. */
static errcode_t list_places(struct unlock *u)
{
	const struct e4l_work *w = u->w;
	const struct e4l_owner *o = w->m->owner;
	errcode_t err = 0;
	uint32_t k, f, n;

	for (k = 0; k < w->n_order && !err; k++) {
		f = w->item[w->order[k]].first;
		for (n = w->item[w->order[k]].n; n && !err; n--) {
			err = add_place(u, w->frag[f].start, w->frag[f].len, f);
			f = w->frag[f].next;
		}
	}
	for (k = 0; k < w->m->n_owners && !err; k++, o++) {
		if (!w->broken_items[k] || w->finished[k] >= E4L_FINISHED)
			continue;
		for (n = 0; n < o->n_spare - o->n_surplus && !err; n++)
			err = add_place(u, w->m->spare[o->first_spare + n], 1,
					TREE | k);
	}
	e4l_sort(u->place, u->n_places, sizeof(*u->place), e4l_u32_cmp);
	return err;
}

/*
 * Joins the fragmented runs of a file at temporary positions.  The file then
 * does not need its spare tree blocks, which can lie in slots of other items.
 */
static errcode_t file_waits(struct e4l_work *w, uint32_t file)
{
	const struct e4l_owner *o = &w->m->owner[file];
	errcode_t err = 0;
	uint32_t k, i, to;

	for (k = 0; k < o->n_items && !err; k++) {
		i = w->of[o->first_item + k];
		if (i == E4L_NONE || !w->item[i].broken || w->item[i].touched == w->batch)
			continue;
		to = e4l_fit_take(&w->fit, w->item[i].len);
		if (to == E4L_NONE)
			break;
		err = e4l_move_item(w, i, to, true);
	}
	return err;
}

/*
 * Whether slot @s is reserved for the item of fragment @f, and the fragment is
 * at its final position in the slot.
 */
static bool is_at_home(const struct e4l_work *w, const struct e4l_slot *s,
		       const struct e4l_frag *f)
{
	const struct e4l_frag *first = &w->frag[w->item[f->item].first];

	return s->owner == f->item &&
	       f->start - s->start == f->lstart - first->lstart;
}

/*
 * Evacuates @p from slot @s.  If no free extent is long enough, @p stays in
 * place.
 */
static errcode_t evacuate(struct e4l_work *w, const struct e4l_slot *s,
			  const struct place *p)
{
	const struct e4l_work_item *it;
	const struct e4l_frag *f;
	uint32_t to;

	if (p->what & TREE)
		return file_waits(w, p->what & ~TREE);
	f = &w->frag[p->what];
	it = &w->item[f->item];
	/* the fragment was moved, or is outside of the slot, or may stay */
	if (f->start != p->start || f->start + f->len <= s->start ||
	    is_at_home(w, s, f))
		return 0;
	if (w->m->owner[it->file].allowed & E4L_PLAN_AT_ONCE)
		return file_waits(w, it->file);
	to = e4l_fit_take(&w->fit, f->len);
	if (to == E4L_NONE)
		return 0;
	return it->n == 1 ? e4l_move_item(w, f->item, to, true) :
			    e4l_move_fragment(w, p->what, to);
}

static errcode_t evacuate_slot(struct unlock *u, const struct e4l_slot *s)
{
	const struct e4l_span key = { s->start, 0 };
	uint32_t i = e4l_lower_bound(&key, u->place, u->n_places,
				     sizeof(*u->place), e4l_u32_cmp);
	errcode_t err = 0;

	/*
	 * the last fragment or tree block (struct place) that begins before the
	 * slot may overlap the slot
	 */
	for (i -= !!i; i < u->n_places && !err; i++) {
		if (u->place[i].start >= s->start + s->len)
			break;
		err = evacuate(u->w, s, &u->place[i]);
	}
	return err;
}

errcode_t e4l_unlock(struct e4l_work *w, uint64_t most)
{
	struct unlock u = { .w = w };
	errcode_t err = list_slots(&u);
	uint32_t k;

	if (!err) {
		choose_slots(&u, most);
		err = list_places(&u);
	}
	if (!err)
		err = e4l_fit_begin(&w->fit, w->scratch, w->m->clusters);
	for (k = 0; k < u.n_slots && !err; k++)
		err = evacuate_slot(&u, &w->slot[u.slot[k].slot]);
	free(u.slot);
	free(u.chosen);
	free(u.place);
	return err;
}
