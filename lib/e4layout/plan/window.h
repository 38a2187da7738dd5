/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* window: where a run could be, if what lies there were moved away. */
#ifndef E4L_WINDOW_H
#define E4L_WINDOW_H

#include "movable.h"

struct e4l_window {
	struct e4l_run run;
	uint64_t cost;			/* clusters to copy, in it and to it */
};

/* Some that do not overlap, the cheapest first. */
#define E4L_WINDOWS 64
struct e4l_windows {
	struct e4l_window v[E4L_WINDOWS];
	size_t n;
};

/* What windows are looked for in. */
struct e4l_crowd {
	const struct e4l_movables *movables;
	const struct e4l_draft *draft;
	size_t file;			/* whose room it is to be: stays */
	uint64_t longest;		/* no fragment over this can move away */
	bool once;			/* nor can what the plan has moved */
};

/* Whether what @v is can be moved away. */
static inline bool e4l_gives_way(const struct e4l_crowd *c,
				 const struct e4l_movable *v)
{
	uint64_t ratio = c->draft->disk.geo->cluster_blocks;

	return e4l_is_there(c->movables, c->draft, v) &&
	       !(c->once && v->drafted && c->draft->files[v->whose].step) &&
	       !(v->drafted && v->whose == c->file) &&
	       e4l_movable_run(v, ratio).len <= c->longest;
}

/* Keeps @w, if it is among the cheapest. */
void e4l_windows_offer(struct e4l_windows *ws, const struct e4l_window *w);

/*
 * Offers all windows of @len clusters, @within a run, of which everything is free
 * or can be moved away, and that begin where something does: others cost no less.
 * What is partly in one is moved, and counts, as a whole.  Error: ENOMEM.
 */
errcode_t e4l_windows_find(const struct e4l_crowd *c,
			   const struct e4l_run *within, uint64_t len,
			   struct e4l_windows *ws);
extern const struct e4l_run e4l_anywhere;

/*
 * Lists the longest stretches of which everything is free or can be moved away,
 * by place, in an array that the caller grows with.  Error: ENOMEM.
 */
errcode_t e4l_windows_stretches(const struct e4l_crowd *c,
				struct e4l_run **stretches, size_t *n);

#endif
