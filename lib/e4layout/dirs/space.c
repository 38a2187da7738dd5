/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Each free extent is stored as two pairs: (start, length) in @by_place, and
 * (length, start) in @by_size.  A space that only counts free extents has no
 * @by_size.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "space.h"

struct e4l_space {
	struct e4l_sorted *by_place;
	/* NULL in a space that only counts free extents */
	struct e4l_sorted *by_size;
	uint64_t runs;
	/*
	 * the free space plus all runs marked with e4l_space_give(); NULL in a
	 * space that only counts free extents
	 */
	struct e4l_space *later;
};

/* e4l_space_fit() compares at most this many free extents. */
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

/*
 * Adds free extent @run without merging it with adjacent free extents.  After
 * ENOMEM, the space is unchanged.
 */
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
	return 0;
}

static void drop_run(struct e4l_space *s, struct e4l_run run)
{
	s->runs--;
	e4l_sorted_remove(s->by_place, place_of(run));
	if (s->by_size)
		e4l_sorted_remove(s->by_size, size_of(run));
}

/*
 * Replaces free extent @run by @to, which must not overlap any other free
 * extent.  After ENOMEM, the space is unchanged.
 */
static errcode_t resize(struct e4l_space *s, struct e4l_run run,
			struct e4l_run to)
{
	errcode_t err = put_run(s, to);

	if (!err)
		drop_run(s, run);
	return err;
}

/*
 * Returns the last free extent that begins at or before @at.  If all free
 * extents begin after @at, returns a run of length 0.
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
	struct e4l_space *s = new_space(false);

	if (!s)
		return NULL;
	s->later = new_space(true);
	if (s->later)
		return s;
	e4l_space_free(s);
	return NULL;
}

void e4l_space_free(struct e4l_space *s)
{
	if (!s)
		return;
	e4l_space_free(s->later);
	e4l_sorted_free(s->by_place);
	e4l_sorted_free(s->by_size);
	free(s);
}

struct e4l_outlook e4l_space_outlook(const struct e4l_space *s)
{
	return (struct e4l_outlook) {
		.runs = s->later->runs,
		.longest = e4l_sorted_most(s->later->by_place),
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

	return err ? err : add_run(s->later, start, len);
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

	return err ? err : take_run(s->later, start, len);
}

errcode_t e4l_space_give(struct e4l_space *s, uint64_t start, uint64_t len)
{
	return add_run(s->later, start, len);
}

errcode_t e4l_space_take_back(struct e4l_space *s, uint64_t start, uint64_t len)
{
	return take_run(s->later, start, len);
}

/*
 * Examines the first FITS free extents that begin in @near and have at least
 * @len units.  Sets *@best to the shortest of these extents.  If there are no
 * such extents, returns false.
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

/*
 * Examines the @left shortest free extents of at least @len units.  Sets *@best
 * to the extent that begins closest to @place.  If no free extent is long
 * enough, returns false.
 */
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

uint64_t e4l_space_largest(const struct e4l_space *s, uint64_t *start)
{
	struct e4l_pair last = { UINT64_MAX, UINT64_MAX };

	if (!e4l_sorted_last(s->by_size, last, &last))
		return 0;
	*start = last.value;
	return last.key;
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
