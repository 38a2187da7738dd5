/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A run is stored as the pair (start, length), sorted by place, and as (length,
 * start), sorted by size.  A space that only counts runs has no order by size.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "bytes.h"
#include "space.h"

struct e4l_space {
	struct e4l_sorted *by_place;
	struct e4l_sorted *by_size;	/* NULL: the space only counts */
	struct e4l_bytes given;	/* runs that become free with the next commit */
	uint64_t given_end;		/* end of the last run in @given */
	uint64_t n_given;		/* number of runs in @given */
	uint64_t unit, in_long;		/* see e4l_space_in_long() */
	uint64_t runs;
	struct e4l_space *later; /* free space after the next commit, or NULL */
};

/* How many fitting runs are examined to find a close or a tight one. */
#define FITS 32

static struct e4l_pair place_of(struct e4l_run run)
{
	return (struct e4l_pair) { .key = run.start, .value = run.len };
}

static struct e4l_run run_at(struct e4l_pair place)
{
	return (struct e4l_run) { .start = place.key, .len = place.value };
}

static struct e4l_pair size_of(struct e4l_run run)
{
	return (struct e4l_pair) { .key = run.len, .value = run.start };
}

static struct e4l_run run_of(struct e4l_pair size)
{
	return (struct e4l_run) { .start = size.value, .len = size.key };
}

/* The contribution of a run of @len to e4l_space_in_long(). */
static uint64_t if_long(const struct e4l_space *s, uint64_t len)
{
	return s->unit && len >= s->unit ? len : 0;
}

/* Adds a run that touches no other run.  ENOMEM: nothing has changed. */
static errcode_t put_run(struct e4l_space *s, struct e4l_run run)
{
	errcode_t err = e4l_sorted_add(s->by_place, place_of(run));

	if (err)
		return err;
	if (s->by_size)
		err = e4l_sorted_add(s->by_size, size_of(run));
	if (err) {
		e4l_sorted_remove(s->by_place, place_of(run));
		return err;
	}
	s->runs++;
	s->in_long += if_long(s, run.len);
	return 0;
}

static void drop_run(struct e4l_space *s, struct e4l_run run)
{
	s->runs--;
	s->in_long -= if_long(s, run.len);
	e4l_sorted_remove(s->by_place, place_of(run));
	if (s->by_size)
		e4l_sorted_remove(s->by_size, size_of(run));
}

/* Replaces the free run @run by @to; @to overlaps no other run. */
static errcode_t resize(struct e4l_space *s, struct e4l_run run,
			struct e4l_run to)
{
	errcode_t err = put_run(s, to);

	if (!err)
		drop_run(s, run);
	return err;
}

/*
 * The run that contains @at, or the last run before @at, or a run of length 0.
 */
static struct e4l_run at_or_before(const struct e4l_space *s, uint64_t at)
{
	struct e4l_pair last = { at, UINT64_MAX };

	return e4l_sorted_last(s->by_place, last, &last) ?
	       run_at(last) : (struct e4l_run) { 0 };
}

static struct e4l_space *new_space(bool only_counts)
{
	struct e4l_space *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->by_place = e4l_sorted_new(true);
	s->by_size = only_counts ? NULL : e4l_sorted_new(false);
	if (s->by_place && (s->by_size || only_counts))
		return s;
	e4l_space_free(s);
	return NULL;
}

struct e4l_space *e4l_space_new(void)
{
	return new_space(false);
}

void e4l_space_free(struct e4l_space *s)
{
	if (!s)
		return;
	e4l_space_free(s->later);
	e4l_sorted_free(s->by_place);
	e4l_sorted_free(s->by_size);
	free(s->given.v);
	free(s);
}

errcode_t e4l_space_count(struct e4l_space *s, uint64_t unit)
{
	s->later = new_space(true);
	if (!s->later)
		return ENOMEM;
	s->later->unit = unit;
	return 0;
}

uint64_t e4l_space_in_long(const struct e4l_space *s)
{
	return s->later ? s->later->in_long : 0;
}

uint64_t e4l_space_runs(const struct e4l_space *s)
{
	return s->later ? s->later->runs : 0;
}

struct e4l_outlook e4l_space_outlook(const struct e4l_space *s)
{
	return (struct e4l_outlook) {
		.runs = e4l_space_runs(s), .in_long = e4l_space_in_long(s),
		.longest = s->later ? e4l_sorted_most(s->later->by_place) : 0,
	};
}

static errcode_t add_run(struct e4l_space *s, uint64_t start, uint64_t len)
{
	struct e4l_run right = at_or_before(s, start + len);
	struct e4l_run left = at_or_before(s, start), all = { start, len };
	errcode_t err;

	if (right.start == left.start)
		right.len = 0;
	if ((left.len && left.start + left.len > start) ||
	    (right.len && right.start != start + len))
		return E4L_ET_BAD_ARGUMENT;
	if (left.start + left.len != start)
		left.len = 0;
	if (left.len)
		all.start = left.start;
	all.len += left.len + right.len;
	if (right.len && !left.len)
		return resize(s, right, all);
	err = left.len ? resize(s, left, all) : put_run(s, all);
	if (!err && right.len)
		drop_run(s, right);
	return err;
}

errcode_t e4l_space_add(struct e4l_space *s, uint64_t start, uint64_t len)
{
	errcode_t err = add_run(s, start, len);

	return err || !s->later ? err : add_run(s->later, start, len);
}

errcode_t e4l_space_add_run(struct e4l_space *s,
			    const struct e4l_block_run *run,
			    uint32_t cluster_blocks)
{
	uint64_t start = (run->pblk + cluster_blocks - 1) / cluster_blocks;
	uint64_t end = (run->pblk + run->len) / cluster_blocks;

	return start < end ? e4l_space_add(s, start, end - start) : 0;
}

static errcode_t take_run(struct e4l_space *s, uint64_t start, uint64_t len)
{
	struct e4l_run all = at_or_before(s, start), head = all, tail;
	errcode_t err;

	head.len = start - all.start;
	tail.start = start + len;
	tail.len = all.len - head.len - len;
	if (!head.len && !tail.len) {
		drop_run(s, all);
		return 0;
	}
	if (!head.len || !tail.len)
		return resize(s, all, head.len ? head : tail);
	err = put_run(s, tail);
	if (err)
		return err;
	err = resize(s, all, head);
	if (err)
		drop_run(s, tail);
	return err;
}

errcode_t e4l_space_take(struct e4l_space *s, uint64_t start, uint64_t len)
{
	errcode_t err = take_run(s, start, len);

	return err || !s->later ? err : take_run(s->later, start, len);
}

errcode_t e4l_space_give(struct e4l_space *s, uint64_t start, uint64_t len)
{
	errcode_t err = e4l_bytes_reserve(&s->given);

	if (!err && s->later)
		err = add_run(s->later, start, len);
	if (err)
		return err;
	e4l_put_apart(&s->given, start, s->given_end);
	e4l_put_number(&s->given, len);
	s->given_end = start + len;
	s->n_given++;
	return 0;
}

/* Whether no unit of @run is free. */
static bool is_taken(const struct e4l_space *s, struct e4l_run run)
{
	struct e4l_run last = at_or_before(s, run.start + run.len - 1);

	return !last.len || last.start + last.len <= run.start;
}

errcode_t e4l_space_list_given(struct e4l_sorted *runs, uint64_t start,
			       uint64_t len)
{
	struct e4l_pair last = { start + len - 1, UINT64_MAX };

	if (e4l_sorted_last(runs, last, &last) &&
	    last.key + last.value > start)
		return E4L_ET_BAD_ARGUMENT;
	return e4l_sorted_add(runs, (struct e4l_pair) { start, len });
}

errcode_t e4l_space_in_long_with(const struct e4l_space *s,
				 struct e4l_sorted *runs, uint64_t *ret)
{
	const struct e4l_space *later = s->later;
	uint64_t sum = later->in_long, end = 0, len = 0, more;
	struct e4l_pair next = { 0 };
	struct e4l_run run;

	for (; e4l_sorted_first(runs, next, &next); next.key++, next.value = 0) {
		run = run_at(next);
		if (!is_taken(later, run))
			return E4L_ET_BAD_ARGUMENT;
		/*
		 * a run of @len ends at @end: extend it, or begin another run
		 */
		if (!len || run.start != end) {
			sum += if_long(later, len);
			len = e4l_space_before(later, run.start);
			sum -= if_long(later, len);
		}
		end = run.start + run.len;
		more = e4l_space_after(later, end);
		sum -= if_long(later, more);
		len += run.len + more;
		end += more;
	}
	sum += if_long(later, len);
	*ret = sum;
	return 0;
}

errcode_t e4l_space_try_give(struct e4l_space *s, uint64_t start, uint64_t len)
{
	return add_run(s->later, start, len);
}

errcode_t e4l_space_untry_give(struct e4l_space *s, uint64_t start,
			       uint64_t len)
{
	return take_run(s->later, start, len);
}

/*
 * Makes the whole of @run free and one run; parts of @run may be free already.
 */
static errcode_t fill_run(struct e4l_space *s, struct e4l_run run)
{
	struct e4l_run part;

	for (;;) {
		part = at_or_before(s, run.start + run.len - 1);
		if (!part.len || part.start < run.start)
			return put_run(s, run);
		if (part.len == run.len)
			return 0;
		drop_run(s, part);
	}
}

/* Copies the runs of @later, in which the given runs are free. */
static errcode_t commit_all(struct e4l_space *s)
{
	struct e4l_pair next = { 0 };
	errcode_t err = 0;

	while (!err && e4l_sorted_first(s->later->by_place, next, &next)) {
		err = fill_run(s, run_at(next));
		next.key++;
		next.value = 0;
	}
	return err;
}

static errcode_t commit_each(struct e4l_space *s)
{
	uint64_t start, len, end = 0;
	size_t at = 0;
	errcode_t err = 0;

	while (at < s->given.n && !err) {
		start = e4l_take_apart(s->given.v, &at, end);
		len = e4l_take_number(s->given.v, &at);
		end = start + len;
		err = add_run(s, start, len);
	}
	return err;
}

/*
 * With more given runs than final runs, most given runs are parts of a final
 * run.  Copying the final runs avoids the memory for all parts at the same
 * time.
 */
errcode_t e4l_space_commit(struct e4l_space *s)
{
	bool many = s->later && s->n_given > s->later->runs;
	errcode_t err = many ? commit_all(s) : commit_each(s);

	free(s->given.v);
	s->given = (struct e4l_bytes) { 0 };
	s->given_end = s->n_given = 0;
	return err;
}

/*
 * The shortest of the first runs that begin in @near and have at least @len
 * units.
 */
static bool fit_near(const struct e4l_space *s, uint64_t len,
		     const struct e4l_run *near, struct e4l_run *best)
{
	struct e4l_pair next = { .key = near->start };
	unsigned int left = FITS;
	bool found = false;

	for (; left && e4l_sorted_first_of(s->by_place, next, len, &next) &&
	       next.key - near->start < near->len; left--) {
		if (!found || next.value < best->len)
			*best = run_at(next);
		found = true;
		next.key++;
		next.value = 0;
	}
	return found;
}

static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Of the @left shortest runs of at least @len, the one closest to @place. */
static bool fit_tight(const struct e4l_space *s, uint64_t len, uint64_t place,
		      unsigned int left, struct e4l_run *best)
{
	struct e4l_pair next = { .key = len };
	bool found = false;

	for (; left && e4l_sorted_first(s->by_size, next, &next); left--) {
		if (!found ||
		    apart(next.value, place) < apart(best->start, place))
			*best = run_of(next);
		found = true;
		next.value++;
	}
	return found;
}

bool e4l_space_fit(const struct e4l_space *s, uint64_t len,
		   const struct e4l_run *near, uint64_t *start)
{
	struct e4l_run best;
	bool found = near ? fit_near(s, len, near, &best) ||
			    fit_tight(s, len, near->start, FITS, &best) :
			    fit_tight(s, len, 0, 1, &best);

	if (found)
		*start = best.start;
	return found;
}

/* The longest run of at most @len units; of several, the last. */
static uint64_t longest(const struct e4l_space *s, uint64_t len,
			uint64_t *start)
{
	struct e4l_pair last = { len, UINT64_MAX };

	if (!e4l_sorted_last(s->by_size, last, &last))
		return 0;
	*start = last.value;
	return last.key;
}

uint64_t e4l_space_largest(const struct e4l_space *s, uint64_t *start)
{
	return longest(s, UINT64_MAX, start);
}

uint64_t e4l_space_largest_below(const struct e4l_space *s, uint64_t len,
				 uint64_t *start)
{
	return len ? longest(s, len - 1, start) : 0;
}

bool e4l_space_holds(const struct e4l_space *s, uint64_t below, uint64_t most,
		     uint64_t len)
{
	struct e4l_pair last = { below ? below - 1 : UINT64_MAX, UINT64_MAX };

	for (; most && e4l_sorted_last(s->by_size, last, &last); most--) {
		if (last.key >= len)
			return true;
		len -= last.key;
		last.key -= !last.value--;
	}
	return !len;
}

uint64_t e4l_space_sum(const struct e4l_space *s)
{
	uint64_t at = 0, sum = 0;
	struct e4l_run run;

	for (; e4l_space_list(s, at, &run, 1); at = run.start + run.len)
		sum += run.len;
	return sum;
}

size_t e4l_space_list(const struct e4l_space *s, uint64_t at,
		      struct e4l_run *runs, size_t max)
{
	struct e4l_pair next = { .key = at };
	size_t found = 0;

	while (found < max && e4l_sorted_first(s->by_place, next, &next)) {
		runs[found++] = run_at(next);
		next.key++;
		next.value = 0;
	}
	return found;
}

uint64_t e4l_space_after(const struct e4l_space *s, uint64_t at)
{
	struct e4l_run run = at_or_before(s, at);

	return at - run.start < run.len ? run.start + run.len - at : 0;
}

uint64_t e4l_space_before(const struct e4l_space *s, uint64_t at)
{
	struct e4l_run run = at_or_before(s, at - !!at);

	return at && at - run.start <= run.len ? at - run.start : 0;
}
