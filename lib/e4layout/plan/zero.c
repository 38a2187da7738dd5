/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "e4layout/read/runs.h"
#include "zero.h"

errcode_t e4l_find_zero_runs(const struct e4l_extent *ex, size_t n_ex,
			     uint32_t max_blocks, uint64_t eof_blk,
			     size_t file, struct e4l_zero_run **runs,
			     size_t *n)
{
	struct e4l_state_run prev, run = { 0 }, next;
	unsigned int gain;
	size_t i = 0;
	errcode_t err;

	for (e4l_next_state_run(ex, n_ex, &i, &next); next.len; ) {
		prev = run;
		run = next;
		e4l_next_state_run(ex, n_ex, &i, &next);
		gain = e4l_runs_touch(&prev, &run) +
		       e4l_runs_touch(&run, &next);
		if (!run.unwritten || run.len > max_blocks ||
		    !gain || run.lblk + run.len > eof_blk)
			continue;
		err = e4l_grow(runs, *n, sizeof(**runs));
		if (err)
			return err;
		(*runs)[(*n)++] = (struct e4l_zero_run) {
			.file = file, .lblk = run.lblk,
			.len = run.len, .gain = gain,
			.before = e4l_runs_touch(&prev, &run),
			.behind = e4l_runs_touch(&run, &next),
		};
	}
	return 0;
}

static uint64_t entries(uint64_t len)
{
	return (len + E4L_WRITTEN_MAX_BLOCKS - 1) / E4L_WRITTEN_MAX_BLOCKS;
}

static int cheapest_first(const void *va, const void *vb)
{
	const struct e4l_zero_run *a = *(struct e4l_zero_run *const *)va;
	const struct e4l_zero_run *b = *(struct e4l_zero_run *const *)vb;

	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return a < b ? -1 : a > b;
}

/*
 * Runs with the same gain, the cheapest first; cost[i]: the cost of the first i
 * runs.
 */
struct kind {
	struct e4l_zero_run **run;
	uint64_t *cost;
	size_t n;
};

static errcode_t make_kind(struct kind *k, struct e4l_zero_run *runs, size_t n,
			   unsigned int gain)
{
	size_t i;

	k->run = calloc(n + 1, sizeof(*k->run));
	k->cost = calloc(n + 1, sizeof(*k->cost));
	if (!k->run || !k->cost)
		return ENOMEM;
	for (i = 0; i < n; i++)
		if (runs[i].gain == gain && !runs[i].banned)
			k->run[k->n++] = &runs[i];
	qsort(k->run, k->n, sizeof(*k->run), cheapest_first);
	for (i = 0; i < k->n; i++)
		k->cost[i + 1] = k->cost[i] + k->run[i]->len;
	return 0;
}

static void free_kind(struct kind *k)
{
	free(k->run);
	free(k->cost);
}

/*
 * Chooses runs within the budget: tries each number of runs that save two
 * extents, together with as many runs that save one as the rest of the budget
 * allows.
 */
static void spend(const struct kind *one, const struct kind *two,
		  uint64_t budget)
{
	size_t i, j = one->n, best_i = 0, best_j = 0;
	uint64_t cost, best_cost = 0;

	for (i = 0; i <= two->n && two->cost[i] <= budget; i++) {
		while (one->cost[j] > budget - two->cost[i])
			j--;
		cost = two->cost[i] + one->cost[j];
		if (2 * i + j > 2 * best_i + best_j ||
		    (2 * i + j == 2 * best_i + best_j && cost < best_cost)) {
			best_i = i;
			best_j = j;
			best_cost = cost;
		}
	}
	while (best_i)
		two->run[--best_i]->chosen = true;
	while (best_j)
		one->run[--best_j]->chosen = true;
}

errcode_t e4l_zero_choose(struct e4l_zero_run *runs, size_t n,
			  uint64_t budget)
{
	struct kind one = { 0 }, two = { 0 };
	errcode_t err;
	size_t i;

	for (i = 0; i < n; i++)
		runs[i].chosen = false;
	err = make_kind(&one, runs, n, 1);
	if (!err)
		err = make_kind(&two, runs, n, 2);
	if (!err)
		spend(&one, &two, budget);
	free_kind(&one);
	free_kind(&two);
	return err;
}

/* Blocks that become contiguous if all chosen runs are zeroed. */
struct stretch {
	uint64_t start, end;
	struct e4l_zero_run *first;	/* runs in the stretch, chosen or not */
	size_t n;
};

/*
 * Bans runs in @s that save no extent because the length of an extent is
 * limited: the longest first.  There are at most as many banned runs as extents
 * of maximum length, so that the search for the limits around a run is cheap.
 */
static errcode_t trim_stretch(const struct stretch *s, bool *trimmed)
{
	struct e4l_zero_run **order, *run;
	uint64_t from, to, end;
	size_t n = 0, banned = 0, i, k;

	order = calloc(s->n + 1, sizeof(*order));
	if (!order)
		return ENOMEM;
	for (i = 0; i < s->n; i++)
		if (s->first[i].chosen)
			order[n++] = &s->first[i];
	qsort(order, n, sizeof(*order), cheapest_first);
	for (i = n; i--; ) {
		run = order[i];
		end = (uint64_t)run->lblk + run->len;
		from = s->start;
		to = s->end;
		/* banned runs are kept at the end of the array */
		for (k = n - banned; k < n; k++) {
			if (order[k]->lblk > run->lblk && order[k]->lblk < to)
				to = order[k]->lblk;
			if (order[k]->lblk < run->lblk &&
			    (uint64_t)order[k]->lblk + order[k]->len > from)
				from = (uint64_t)order[k]->lblk +
				       order[k]->len;
		}
		if (entries(run->lblk - from) + 1 + entries(to - end) >
		    entries(to - from))
			continue;
		run->chosen = false;
		run->banned = true;
		order[n - ++banned] = run;
	}
	*trimmed |= banned != 0;
	free(order);
	return 0;
}

/* Searches extents for stretches that are too long for one extent. */
errcode_t e4l_zero_trim(const struct e4l_extent *ex, size_t n_ex,
			struct e4l_zero_run *runs, size_t n, bool *trimmed)
{
	struct e4l_state_run run, prev = { 0 };
	struct stretch s = { .first = runs };
	size_t i = 0, k = 0;
	errcode_t err = 0;
	bool goes_on;

	while (!err && e4l_next_state_run(ex, n_ex, &i, &run)) {
		while (k < n && runs[k].lblk < run.lblk)
			k++;
		goes_on = !run.unwritten || (k < n && runs[k].chosen &&
					     runs[k].lblk == run.lblk);
		if (!goes_on || !e4l_runs_touch(&prev, &run) ||
		    s.end != run.lblk) {
			s.n = runs + k - s.first;
			if (s.end - s.start > E4L_WRITTEN_MAX_BLOCKS)
				err = trim_stretch(&s, trimmed);
			s = (struct stretch) {
				.start = run.lblk, .end = run.lblk,
				.first = runs + k,
			};
		}
		if (goes_on)
			s.end = run.lblk + run.len;
		prev = run;
	}
	s.n = runs + n - s.first;
	if (!err && s.end - s.start > E4L_WRITTEN_MAX_BLOCKS)
		err = trim_stretch(&s, trimmed);
	return err;
}

const struct e4l_zero_run *e4l_zero_of_file(const struct e4l_zero_run *runs,
					    size_t n, size_t file,
					    size_t *n_file)
{
	size_t low = 0, high = n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (runs[mid].file < file)
			low = mid + 1;
		else
			high = mid;
	}
	for (high = low; high < n && runs[high].file == file; high++)
		;
	*n_file = high - low;
	return runs + low;
}

static errcode_t write_run(struct e4l_extent *ex, size_t n,
			   const struct e4l_state_run *run,
			   struct e4l_block_run **zero, size_t *n_zero)
{
	errcode_t err = e4l_grow(zero, *n_zero, sizeof(**zero));

	if (err)
		return err;
	(*zero)[(*n_zero)++] = (struct e4l_block_run) { run->pblk, run->len };
	for (; n; n--, ex++)
		ex->unwritten = 0;
	return 0;
}

errcode_t e4l_zero_apply(struct e4l_extent *ex, size_t n_ex,
			 const struct e4l_zero_run *runs, size_t n,
			 struct e4l_block_run **zero, size_t *n_zero)
{
	const struct e4l_zero_run *end = runs + n;
	struct e4l_state_run prev, run = { 0 }, next;
	size_t i = 0, first, last = 0;
	errcode_t err = 0;

	e4l_next_state_run(ex, n_ex, &i, &next);
	while (next.len && !err) {
		prev = run;
		run = next;
		first = last;
		last = i;
		e4l_next_state_run(ex, n_ex, &i, &next);
		while (runs < end && (!runs->chosen || runs->lblk < run.lblk))
			runs++;
		if (runs == end)
			break;
		if (runs->lblk == run.lblk && runs->len == run.len &&
		    run.unwritten && (e4l_runs_touch(&prev, &run) ||
				      e4l_runs_touch(&run, &next)))
			err = write_run(ex + first, last - first, &run, zero,
					n_zero);
	}
	return err;
}
