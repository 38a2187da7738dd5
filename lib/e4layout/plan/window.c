/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "window.h"

static bool overlap(const struct e4l_run *a, const struct e4l_run *b)
{
	return a->start < b->start + b->len && b->start < a->start + a->len;
}

/* Whether @w is cheaper than all that it overlaps, which are dropped then. */
static bool outdo(struct e4l_windows *ws, const struct e4l_window *w)
{
	size_t i, n = 0;

	for (i = 0; i < ws->n; i++)
		if (overlap(&ws->v[i].run, &w->run) &&
		    ws->v[i].cost <= w->cost)
			return false;
	for (i = 0; i < ws->n; i++)
		if (!overlap(&ws->v[i].run, &w->run))
			ws->v[n++] = ws->v[i];
	ws->n = n;
	return true;
}

void e4l_windows_offer(struct e4l_windows *ws, const struct e4l_window *w)
{
	size_t i;

	if ((ws->n == E4L_WINDOWS && ws->v[ws->n - 1].cost <= w->cost) ||
	    !outdo(ws, w))
		return;
	if (ws->n == E4L_WINDOWS)
		ws->n--;
	for (i = ws->n++; i && ws->v[i - 1].cost > w->cost; i--)
		ws->v[i] = ws->v[i - 1];
	ws->v[i] = *w;
}

#define FREE_RUNS 256			/* to look up at once */

const struct e4l_run e4l_anywhere = { 0, UINT64_MAX };

/* What is free or can be moved away, from one thing that stays to the next. */
struct item {
	struct e4l_run run;
	uint64_t cost;
};

struct search {
	const struct e4l_crowd *crowd;
	uint64_t len, end;		/* what is not in before @end is not seen */
	struct e4l_windows *found;
	size_t next;			/* of the movables */
	struct e4l_run free[FREE_RUNS];	/* the next from @next_free on */
	size_t next_free, n_free;	/* that is @n_free: there are no more */
	struct item *v;			/* from @first on: the window so far */
	size_t first, n, max;
	uint64_t cost;			/* of these */
};

static void look_up_free(struct search *s, uint64_t at)
{
	s->next_free = 0;
	s->n_free = e4l_space_list(s->crowd->draft->disk.space, at, s->free,
				   FREE_RUNS);
}

static void start_search(struct search *s, const struct e4l_run *within)
{
	uint64_t ratio = s->crowd->draft->disk.geo->cluster_blocks;

	s->next = e4l_movables_from(s->crowd->movables, within->start * ratio);
	s->end = within->start + within->len;
	look_up_free(s, within->start);
}

/* The next that is free or can be moved away, by place. */
static bool next_anywhere(struct search *s, struct item *item)
{
	uint64_t ratio = s->crowd->draft->disk.geo->cluster_blocks;
	const struct e4l_movables *m = s->crowd->movables;
	const struct e4l_run *run;

	while (s->next < m->n && !e4l_gives_way(s->crowd, &m->v[s->next]))
		s->next++;
	run = s->next_free < s->n_free ? &s->free[s->next_free] : NULL;
	if (s->next < m->n) {
		item->run = e4l_movable_run(&m->v[s->next], ratio);
		item->cost = item->run.len;
		if (!run || item->run.start < run->start) {
			s->next++;
			return true;
		}
	}
	if (!run)
		return false;
	*item = (struct item) { .run = *run };
	if (++s->next_free == s->n_free)
		look_up_free(s, run->start + run->len);
	return true;
}

/* The same, but what is partly behind the end is none. */
static bool next_item(struct search *s, struct item *item)
{
	return next_anywhere(s, item) && item->run.start < s->end &&
	       item->run.len <= s->end - item->run.start;
}

/* Room for one more: what is before the window goes when it is the most. */
static errcode_t push(struct search *s, const struct item *item)
{
	if (s->first > s->n / 2) {
		s->n -= s->first;
		memmove(s->v, s->v + s->first, s->n * sizeof(*s->v));
		s->first = 0;
	}
	s->cost += item->cost;
	return e4l_append(&s->v, &s->n, &s->max, item, 1, sizeof(*item));
}

/* Offers the windows that end in the last item. */
static void offer(struct search *s)
{
	const struct item *last = &s->v[s->n - 1], *first;
	uint64_t end = last->run.start + last->run.len;

	for (; s->first < s->n; s->first++) {
		first = &s->v[s->first];
		if (end - first->run.start < s->len)
			break;
		e4l_windows_offer(s->found, &(struct e4l_window) {
			.run = { first->run.start, s->len },
			.cost = s->cost + s->len,
		});
		s->cost -= first->cost;
	}
}

errcode_t e4l_windows_find(const struct e4l_crowd *c,
			   const struct e4l_run *within, uint64_t len,
			   struct e4l_windows *ws)
{
	struct search s = { .crowd = c, .len = len, .found = ws };
	struct item item;
	uint64_t end = 0;
	errcode_t err = 0;

	start_search(&s, within);
	while (!err && next_item(&s, &item)) {
		if (item.run.start != end) {
			s.first = s.n = 0;
			s.cost = 0;
		}
		end = item.run.start + item.run.len;
		err = push(&s, &item);
		if (!err)
			offer(&s);
	}
	free(s.v);
	return err;
}

errcode_t e4l_windows_stretches(const struct e4l_crowd *c,
				struct e4l_run **stretches, size_t *n)
{
	struct search s = { .crowd = c };
	struct e4l_run *last = NULL;
	struct item item;
	errcode_t err = 0;

	start_search(&s, &e4l_anywhere);
	for (*n = 0; !err && next_item(&s, &item); ) {
		last = *n ? &(*stretches)[*n - 1] : NULL;
		if (last && last->start + last->len == item.run.start) {
			last->len += item.run.len;
			continue;
		}
		err = e4l_grow(stretches, *n, sizeof(**stretches));
		if (!err)
			(*stretches)[(*n)++] = item.run;
	}
	return err;
}
