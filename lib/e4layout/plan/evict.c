/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "evict.h"
#include "runs.h"

#define ASK_EACH	4096		/* places, whether to go on */
#define LODGER_SHARE	16	/* memory for one is that of 16 movables */

static uint64_t ratio_of(const struct e4l_draft *d)
{
	return d->disk.geo->cluster_blocks;
}

/* -------------------------------------------------------- what is in the way */

void e4l_evict_begin(struct e4l_evict *ev)
{
	e4l_evict_unlist(ev, 0);
	ev->n_gaps = ev->placed = 0;
	ev->cost = 0;
}

void e4l_evict_unlist(struct e4l_evict *ev, size_t n)
{
	for (; ev->n_lodgers > n; ev->n_lodgers--)
		ev->lodger[ev->n_lodgers - 1].at->listed = 0;
}

/* What can be moved away of cluster @at, and is not going to be, or NULL. */
static struct e4l_movable *lodger_at(const struct e4l_evict *ev,
				     const struct e4l_crowd *c, uint64_t at)
{
	const struct e4l_movables *list = ev->movables;
	size_t i = e4l_movables_from(list, (at + 1) * ratio_of(ev->d));
	struct e4l_run run;

	if (!i || list->v[i - 1].listed ||
	    !e4l_gives_way(c, &list->v[i - 1]))
		return NULL;
	run = e4l_movable_run(&list->v[i - 1], ratio_of(ev->d));
	return at - run.start < run.len ? &list->v[i - 1] : NULL;
}

static errcode_t add_lodger(struct e4l_evict *ev, struct e4l_movable *at,
			    uint64_t *end)
{
	struct e4l_run run = e4l_movable_run(at, ratio_of(ev->d));
	errcode_t err = e4l_grow(&ev->lodger, ev->n_lodgers,
				 sizeof(*ev->lodger));

	if (err)
		return err;
	ev->lodger[ev->n_lodgers++] = (struct e4l_lodger) {
		.at = at, .run = run,
	};
	at->listed = 1;
	ev->cost += run.len;
	*end = run.start + run.len;
	return 0;
}

static errcode_t add_gap(struct e4l_evict *ev, uint64_t at, uint64_t len)
{
	errcode_t err = e4l_grow(&ev->gap, ev->n_gaps, sizeof(*ev->gap));

	if (!err)
		ev->gap[ev->n_gaps++] = (struct e4l_run) { at, len };
	return err;
}

errcode_t e4l_evict_look(struct e4l_evict *ev, const struct e4l_crowd *c,
			 uint64_t at, uint64_t end, uint64_t *next,
			 enum e4l_found *found)
{
	uint64_t room = e4l_space_after(ev->d->disk.space, at);
	struct e4l_movable *lodger = room ? NULL : lodger_at(ev, c, at);

	*next = at;
	*found = room ? E4L_FOUND_FREE : lodger ? E4L_FOUND_LODGER :
		 E4L_FOUND_OTHER;
	if (lodger)
		return add_lodger(ev, lodger, next);
	if (!room)
		return 0;
	*next += room < end - at ? room : end - at;
	return add_gap(ev, at, *next - at);
}

errcode_t e4l_evict_look_through(struct e4l_evict *ev,
				 const struct e4l_crowd *c,
				 struct e4l_run *window)
{
	uint64_t at = window->start, end = at + window->len, next;
	enum e4l_found found;
	errcode_t err = 0;

	for (; at < end && !err; at = next) {
		err = e4l_evict_look(ev, c, at, end, &next, &found);
		if (err || found == E4L_FOUND_OTHER)
			break;
	}
	if (at < end)
		window->len = at - window->start;
	return err;
}

bool e4l_evict_is_small(const struct e4l_evict *ev)
{
	return ev->n_lodgers <= ev->movables->most / LODGER_SHARE;
}

/* ------------------------------------------------------- where that can go */

static int largest_first(const void *va, const void *vb)
{
	const struct e4l_lodger *a = va, *b = vb;

	if (a->run.len != b->run.len)
		return a->run.len > b->run.len ? -1 : 1;
	return a->run.start < b->run.start ? -1 : a->run.start > b->run.start;
}

/* The parts of one file next to each other, in order of place. */
static int by_file(const void *va, const void *vb)
{
	const struct e4l_movable *a = ((const struct e4l_lodger *)va)->at;
	const struct e4l_movable *b = ((const struct e4l_lodger *)vb)->at;

	if (a->drafted != b->drafted)
		return a->drafted < b->drafted ? -1 : 1;
	if (a->whose != b->whose)
		return a->whose < b->whose ? -1 : 1;
	return a->pblk < b->pblk ? -1 : a->pblk > b->pblk;
}

/* Takes all that is free, so that nothing goes there. */
static errcode_t take_gaps(struct e4l_evict *ev)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < ev->n_gaps && !err; i++)
		err = e4l_space_take(ev->d->disk.space, ev->gap[i].start,
				     ev->gap[i].len);
	return err;
}

static errcode_t free_gaps(struct e4l_evict *ev)
{
	errcode_t err = 0;

	for (; ev->n_gaps && !err; ev->n_gaps--)
		err = e4l_space_add(ev->d->disk.space,
				    ev->gap[ev->n_gaps - 1].start,
				    ev->gap[ev->n_gaps - 1].len);
	return err;
}

/* Where a lodger should go, if anywhere: its group, or as close as can be. */
static struct e4l_run near_to(const struct e4l_evict *ev,
			      const struct e4l_lodger *l, bool near)
{
	uint64_t group = ev->d->disk.geo->group_blocks / ratio_of(ev->d);

	if (!near)
		return (struct e4l_run) { l->run.start, 0 };
	return (struct e4l_run) { l->run.start / group * group, group };
}

static uint64_t stripe_of(const struct e4l_evict *ev)
{
	return ev->d->disk.geo->stripe_blocks / ratio_of(ev->d);
}

bool e4l_evict_is_striped(const struct e4l_evict *ev, const struct e4l_run *run)
{
	uint64_t stripe = stripe_of(ev);

	return stripe && run->len >= stripe && run->start % stripe == 0;
}

/* Finds a run for @l, on a stripe if it is on one and as long. */
static bool find_place(const struct e4l_evict *ev, struct e4l_lodger *l,
		       bool near)
{
	uint64_t stripe = stripe_of(ev);
	const struct e4l_space *space = ev->d->disk.space;
	const struct e4l_run at = near_to(ev, l, near);

	if (!e4l_space_fit(space, l->run.len, &at, &l->to))
		return false;
	if (!e4l_evict_is_striped(ev, &l->run) || l->to % stripe == 0)
		return true;
	if (!e4l_space_fit(space, l->run.len + stripe - 1, &at, &l->to))
		return false;
	l->to += stripe - 1 - (l->to + stripe - 1) % stripe;
	return true;
}

errcode_t e4l_evict_place(struct e4l_evict *ev, bool near, bool *done)
{
	struct e4l_space *space = ev->d->disk.space;
	errcode_t err = take_gaps(ev);

	if (ev->n_lodgers)
		qsort(ev->lodger, ev->n_lodgers, sizeof(*ev->lodger),
		      largest_first);
	for (ev->placed = 0; ev->placed < ev->n_lodgers && !err; ) {
		struct e4l_lodger *l = &ev->lodger[ev->placed];

		if (!find_place(ev, l, near))
			break;
		if (ev->placed % ASK_EACH == ASK_EACH - 1)
			err = e4l_draft_go_on(ev->d);
		if (err)
			break;
		err = e4l_space_take(space, l->to, l->run.len);
		ev->placed += !err;
	}
	*done = ev->placed == ev->n_lodgers;
	return err;
}

errcode_t e4l_evict_place_last(struct e4l_evict *ev, uint64_t below,
			       bool *placed, bool *filled)
{
	struct e4l_lodger *l = &ev->lodger[ev->n_lodgers - 1];
	struct e4l_space *space = ev->d->disk.space;
	const struct e4l_run near = near_to(ev, l, false);
	uint64_t hole;
	errcode_t err;

	*placed = false;
	if (e4l_evict_is_striped(ev, &l->run) ||
	    !e4l_space_fit(space, l->run.len, &near, &l->to))
		return 0;
	hole = e4l_space_before(space, l->to) + e4l_space_after(space, l->to);
	if (hole >= below)
		return 0;
	err = e4l_space_take(space, l->to, l->run.len);
	if (err)
		return err;
	ev->placed = ev->n_lodgers;
	*placed = true;
	*filled = hole == l->run.len;
	return 0;
}

struct e4l_evict_mark e4l_evict_mark(const struct e4l_evict *ev)
{
	return (struct e4l_evict_mark) {
		ev->n_lodgers, ev->n_gaps, ev->cost,
	};
}

errcode_t e4l_evict_go_back(struct e4l_evict *ev,
			    const struct e4l_evict_mark *to)
{
	struct e4l_space *space = ev->d->disk.space;
	errcode_t err = 0;

	for (; ev->placed > to->lodgers && !err; ev->placed--) {
		const struct e4l_lodger *l = &ev->lodger[ev->placed - 1];

		err = e4l_space_add(space, l->to, l->run.len);
	}
	e4l_evict_unlist(ev, to->lodgers);
	for (; ev->n_gaps > to->gaps && !err; ev->n_gaps--)
		err = e4l_space_add(space, ev->gap[ev->n_gaps - 1].start,
				    ev->gap[ev->n_gaps - 1].len);
	ev->cost = to->cost;
	return err;
}

static errcode_t free_places(struct e4l_evict *ev)
{
	errcode_t err = 0;

	for (; ev->placed && !err; ev->placed--)
		err = e4l_space_add(ev->d->disk.space,
				    ev->lodger[ev->placed - 1].to,
				    ev->lodger[ev->placed - 1].run.len);
	return err;
}

/* ------------------------------------------------------------- how it moves */

static struct e4l_file *file_of(struct e4l_draft *d, struct e4l_leaving *l)
{
	return l->file == E4L_NEW_FILE ? &l->fresh : &d->files[l->file];
}

errcode_t e4l_leaving_read(struct e4l_draft *d, size_t file,
			   struct e4l_leaving *l)
{
	errcode_t err;

	l->file = file;
	err = e4l_draft_extents(d, &d->files[file], &l->ex, &l->n_ex);
	return err ? err : e4l_fragments_of(l->ex, l->n_ex, ratio_of(d),
					    &l->old);
}

static errcode_t copy_plain(const struct e4l_movable *v, struct e4l_leaving *l)
{
	l->ex = calloc(1, sizeof(*l->ex));
	if (!l->ex)
		return ENOMEM;
	*l->ex = (struct e4l_extent) { .pblk = v->pblk, .len = v->blocks };
	l->n_ex = 1;
	return 0;
}

/* A file of which only its place is known. */
static errcode_t read_fresh(struct e4l_draft *d, const struct e4l_movable *v,
			    struct e4l_leaving *l)
{
	struct e4l_run run = e4l_movable_run(v, ratio_of(d));
	errcode_t err;

	l->file = E4L_NEW_FILE;
	l->fresh = (struct e4l_file) {
		.ino = v->whose,
		.rules = {
			.allowed = E4L_PLAN_ROOM,
			.cluster_blocks = d->disk.geo->cluster_blocks,
		},
	};
	l->fresh.tree = calloc(1, sizeof(*l->fresh.tree));
	if (!l->fresh.tree)
		return ENOMEM;
	if (v->plain)
		err = copy_plain(v, l);
	else
		err = e4l_keep_read(&d->keep, v->whose, &l->ex, &l->n_ex);
	if (!err)
		err = e4l_weigh(&l->fresh.rules, l->ex, l->n_ex, &l->fresh.w);
	if (err)
		return err;
	l->n_ex = e4l_pack(l->ex, l->n_ex, l->ex);
	err = e4l_fragments_of(l->ex, l->n_ex, ratio_of(d), &l->old);
	if (!err && (l->old.n != 1 || l->old.v->pc != run.start ||
		     l->old.v->n != run.len))
		err = E4L_ET_CHANGED;
	return err;
}

/* The fragments of a file once those of it that are among @n @lodgers moved. */
static errcode_t move_lodgers(struct e4l_evict *ev,
			      const struct e4l_lodger *lodgers, size_t n,
			      struct e4l_leaving *l)
{
	const struct e4l_fragment *v = l->old.v, *end = v + l->old.n;
	size_t i, moved = 0;
	errcode_t err = 0;

	for (; v < end && !err; v++) {
		const struct e4l_movable at = {
			.pblk = v->pc * ratio_of(ev->d),
			.drafted = lodgers->at->drafted,
			.whose = lodgers->at->whose,
		};
		const struct e4l_lodger key = { .at = (void *)&at };
		bool moves;

		i = e4l_lower_bound(&key, lodgers, n, sizeof(key), by_file);
		moves = i < n && lodgers[i].run.start == v->pc;
		moved += moves;
		err = e4l_fragments_add(&l->new, v->lc,
					moves ? lodgers[i].to : v->pc, v->n);
	}
	return err ? err : moved == n ? 0 : E4L_ET_CHANGED;
}

errcode_t e4l_leaving_steps(struct e4l_draft *d, struct e4l_leaving *l,
			    bool *done)
{
	const struct e4l_file *f = file_of(d, l);
	struct e4l_mover mover = {
		.m = {
			.ex = l->ex, .n_ex = l->n_ex, .n_entries = f->w.n_ex,
			.tree = f->tree, .n_tree = f->n_tree,
			.n_old = l->old.n, .new = l->new,
			.budget = E4L_NO_LIMIT,
			.part = e4l_part_blocks(d, f),
		},
	};
	errcode_t err = e4l_move_to(&d->disk, &mover, &l->steps);

	*done = l->steps.n;
	return err;
}

static bool may_move(struct e4l_evict *ev, struct e4l_leaving *l)
{
	const struct e4l_movables *list = ev->movables;

	return !list->may_move ||
	       list->may_move(file_of(ev->d, l)->ino, l->ex, l->n_ex,
			      list->priv);
}

/* The file is not asked again. */
static void stay(struct e4l_evict *ev, struct e4l_movable *at)
{
	if (at->drafted)
		ev->d->files[at->whose].rules.allowed &= ~E4L_PLAN_ROOM;
	else
		at->blocks = 0;
}

/* Moves the file whose parts are the @n @lodgers. */
static errcode_t leave(struct e4l_evict *ev, struct e4l_lodger *lodgers,
		       size_t n, bool *done)
{
	struct e4l_movable *at = lodgers->at;
	struct e4l_leaving *l;
	errcode_t err;

	err = e4l_grow(&ev->leaving, ev->n_leaving, sizeof(*ev->leaving));
	if (err)
		return err;
	l = &ev->leaving[ev->n_leaving++];
	memset(l, 0, sizeof(*l));
	err = at->drafted ? e4l_leaving_read(ev->d, at->whose, l) :
			    read_fresh(ev->d, at, l);
	*done = !err && may_move(ev, l);
	if (*done)
		err = move_lodgers(ev, lodgers, n, l);
	if (*done && !err)
		err = e4l_leaving_steps(ev->d, l, done);
	if (!*done && !err)
		stay(ev, at);
	return err;
}

errcode_t e4l_evict_leave(struct e4l_evict *ev, bool all, bool *done)
{
	bool left;
	size_t i, n;
	errcode_t err = 0;

	if (ev->n_lodgers)
		qsort(ev->lodger, ev->n_lodgers, sizeof(*ev->lodger), by_file);
	*done = true;
	for (i = 0; i < ev->n_lodgers && (*done || all) && !err; i += n) {
		const struct e4l_movable *at = ev->lodger[i].at;

		for (n = 1; i + n < ev->n_lodgers &&
			    ev->lodger[i + n].at->drafted == at->drafted &&
			    ev->lodger[i + n].at->whose == at->whose; n++)
			;
		err = leave(ev, ev->lodger + i, n, &left);
		*done &= left;
	}
	return err;
}

/* ------------------------------------------------------- what comes of it */

errcode_t e4l_evict_try(const struct e4l_evict *ev,
			errcode_t (*change)(struct e4l_space *s, uint64_t start,
					    uint64_t len))
{
	const struct e4l_steps *steps;
	errcode_t err = 0;
	size_t i, k;

	for (i = 0; i < ev->n_gaps && !err; i++)
		err = change(ev->d->disk.space, ev->gap[i].start,
			     ev->gap[i].len);
	for (i = 0; i < ev->n_leaving && !err; i++) {
		steps = &ev->leaving[i].steps;
		for (k = 0; k < steps->n && !err; k++)
			err = e4l_step_try(&ev->d->disk, &steps->v[k], change);
	}
	return err;
}

errcode_t e4l_evict_outcome(const struct e4l_evict *ev,
			    struct e4l_outlook *ret)
{
	errcode_t err = e4l_evict_try(ev, e4l_space_try_give);

	*ret = e4l_space_outlook(ev->d->disk.space);
	return err ? err : e4l_evict_try(ev, e4l_space_untry_give);
}

/* ---------------------------------------------------------- doing it, or not */

errcode_t e4l_leaving_drop(struct e4l_draft *d, struct e4l_leaving *l)
{
	struct e4l_steps *steps = &l->steps;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < steps->n && !err; i++)
		err = e4l_step_drop(&d->disk, &steps->v[i]);
	for (; i < steps->n; i++)
		e4l_step_free(&steps->v[i]);
	free(steps->v);
	*steps = (struct e4l_steps) { 0 };
	return err;
}

void e4l_leaving_free(struct e4l_leaving *l)
{
	size_t i;

	for (i = 0; i < l->steps.n; i++)
		e4l_step_free(&l->steps.v[i]);
	free(l->ex);
	free(l->old.v);
	free(l->new.v);
	free(l->steps.v);
	free(l->fresh.tree);
}

static void forget_leaving(struct e4l_evict *ev)
{
	for (; ev->n_leaving; ev->n_leaving--)
		e4l_leaving_free(&ev->leaving[ev->n_leaving - 1]);
}

errcode_t e4l_evict_undo(struct e4l_evict *ev)
{
	errcode_t err = 0;

	for (; ev->n_leaving && !err; ev->n_leaving--) {
		struct e4l_leaving *l = &ev->leaving[ev->n_leaving - 1];

		err = e4l_leaving_drop(ev->d, l);
		e4l_leaving_free(l);
	}
	if (!err)
		err = free_places(ev);
	if (!err)
		err = free_gaps(ev);
	if (!err)
		e4l_evict_begin(ev);
	return err;
}

uint64_t e4l_leaving_copied(const struct e4l_draft *d,
			    const struct e4l_leaving *l)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < l->steps.n; i++)
		bytes += l->steps.v[i].bytes_to_copy;
	return bytes / d->disk.geo->blocksize;
}

uint64_t e4l_evict_copied(const struct e4l_evict *ev)
{
	uint64_t blocks = 0;
	size_t i;

	for (i = 0; i < ev->n_leaving; i++)
		blocks += e4l_leaving_copied(ev->d, &ev->leaving[i]);
	return blocks;
}

/* The draft takes over the steps of @l, and @l itself if it is new to it. */
errcode_t e4l_leaving_add(struct e4l_draft *d, struct e4l_leaving *l)
{
	struct e4l_steps steps = l->steps;
	size_t i = l->file;
	errcode_t err = 0;

	if (i == E4L_NEW_FILE) {
		err = e4l_grow(&d->files, d->n_files, sizeof(*d->files));
		if (err)
			return err;
		i = d->n_files++;
		d->files[i] = l->fresh;
		l->fresh.tree = NULL;
	}
	l->steps.n = 0;
	return e4l_draft_add(d, &d->files[i], steps.v, steps.n);
}

errcode_t e4l_evict_carry_out(struct e4l_evict *ev)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < ev->n_leaving && !err; i++)
		err = e4l_leaving_add(ev->d, &ev->leaving[i]);
	forget_leaving(ev);
	for (i = 0; i < ev->n_lodgers; i++)
		if (!ev->lodger[i].at->drafted)
			ev->lodger[i].at->blocks = 0;
	if (!err)
		err = e4l_draft_end_batch(ev->d);
	if (!err)
		err = free_gaps(ev);
	if (!err)
		e4l_evict_begin(ev);
	return err;
}

void e4l_evict_free(struct e4l_evict *ev)
{
	forget_leaving(ev);
	e4l_evict_begin(ev);
	free(ev->leaving);
	free(ev->lodger);
	free(ev->gap);
}
