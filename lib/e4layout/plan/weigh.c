/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "plan.h"
#include "e4layout/base/array.h"
#include "fragments.h"
#include "runs.h"
#include "weigh.h"

/* What joining the fragments of each logical run saves, and copies. */
static errcode_t weigh_move(const struct e4l_rules *rules,
			    const struct e4l_extent *ex, size_t n,
			    struct e4l_weight *w)
{
	uint64_t ratio = rules->cluster_blocks;
	struct e4l_walk walk = e4l_walk_extents(ex, n, ratio);
	errcode_t err = e4l_check_clusters(ex, n, ratio);
	struct e4l_logical_run run;
	size_t x = 0;

	while (!err && e4l_next_logical_run(&walk, &run)) {
		if (run.n == 1)
			continue;
		w->excess += run.n - 1;
		if (w->longest < run.len)
			w->longest = run.len;
		for (; x < n && ex[x].lblk < (run.lc + run.len) * ratio; x++)
			if (!ex[x].unwritten &&
			    ex[x].lblk + (uint64_t)ex[x].len > run.lc * ratio)
				w->cost += ex[x].len;
	}
	return err;
}

errcode_t e4l_weigh(const struct e4l_rules *rules, const struct e4l_extent *ex,
		    size_t n, struct e4l_weight *ret)
{
	*ret = (struct e4l_weight) {
		.n_ex = n, .n_packed = e4l_pack(ex, n, NULL),
	};
	ret->fragments = e4l_count_fragments(ex, n, &ret->largest);
	e4l_find_zero_runs(rules, ex, n, 0, NULL, &ret->n_zero);
	return rules->allowed & E4L_PLAN_MOVE ?
	       weigh_move(rules, ex, n, ret) : 0;
}

errcode_t e4l_find_zero_runs(const struct e4l_rules *rules,
			     const struct e4l_extent *ex, size_t n_ex,
			     size_t file, struct e4l_zero_run **runs,
			     size_t *n)
{
	struct e4l_state_run prev, run = { 0 }, next;
	unsigned int gain;
	size_t i = 0;
	errcode_t err;

	if (!(rules->allowed & E4L_PLAN_ZEROOUT))
		return 0;
	for (e4l_next_state_run(ex, n_ex, &i, &next); next.len; ) {
		prev = run;
		run = next;
		e4l_next_state_run(ex, n_ex, &i, &next);
		gain = e4l_runs_touch(&prev, &run) +
		       e4l_runs_touch(&run, &next);
		if (!run.unwritten || run.len > rules->zeroout_max_blocks ||
		    !gain || run.lblk + run.len > rules->eof_blk)
			continue;
		err = runs ? e4l_grow(runs, *n, sizeof(**runs)) : 0;
		if (err)
			return err;
		if (runs)
			(*runs)[*n] = (struct e4l_zero_run) {
				.file = file, .lblk = run.lblk,
				.len = run.len, .gain = gain,
				.before = e4l_runs_touch(&prev, &run),
				.behind = e4l_runs_touch(&run, &next),
			};
		++*n;
	}
	return 0;
}
