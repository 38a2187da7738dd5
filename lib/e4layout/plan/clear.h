/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * clear: zones are emptied, so that what is free is in few, long runs;
 * e4l_plan_make() has the promises.
 */
#ifndef E4L_CLEAR_H
#define E4L_CLEAR_H

#include "evict.h"

struct e4l_clear {
	struct e4l_movables *movables;
	uint64_t aim;		/* clusters in the longest run do */
	/* No zone is shorter, in clusters; a quarter of what is free, if less. */
	uint64_t floor;
	bool again;		/* what the plan has moved may move once more */
	struct e4l_plan_free made;
};

/* What each way to make long free runs works with. */
struct e4l_sweep {
	struct e4l_clear *c;
	struct e4l_draft *d;
	struct e4l_evict ev;
	struct e4l_crowd crowd;		/* anything that has not moved yet */
	uint64_t budget;		/* in clusters */
};

/* Until the other is called, which must be, trees stay where they can. */
errcode_t e4l_sweep_begin(struct e4l_sweep *s, struct e4l_clear *c,
			  struct e4l_draft *d, uint64_t budget_blocks);
void e4l_sweep_end(struct e4l_sweep *s);
/* An order for e4l_sweep_runs(), of struct e4l_run. */
int e4l_shortest_first(const void *va, const void *vb);
/*
 * Lists the free runs anew, sorted, in *@runs, which is NULL or an array of
 * e4l_grow() and stays the caller's, also after an error.
 */
errcode_t e4l_sweep_runs(const struct e4l_sweep *s,
			 int (*order)(const void *a, const void *b),
			 struct e4l_run **runs, size_t *n);
/*
 * *@now: what free space will be once the steps of s->ev are durable.  False: less
 * of it is in long runs, or it may not be so.
 */
errcode_t e4l_sweep_judge(const struct e4l_sweep *s,
			  const struct e4l_outlook *before,
			  struct e4l_outlook *now, bool *good);

/*
 * Empties zones of what has not moved yet; pays for it from *@budget, in blocks.
 */
errcode_t e4l_clear_make(struct e4l_clear *c, struct e4l_draft *d,
			 uint64_t *budget);
/* Carries @ev out, whose steps empty one zone more; likewise. */
errcode_t e4l_clear_take(struct e4l_clear *c, struct e4l_evict *ev,
			 uint64_t *budget);

#endif
