/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two treaps over the same nodes (Seidel and Aragon, "Randomized search trees",
 * 1996): one ordered by place, which also knows the longest run below each
 * node, and one ordered by size and then place.  Priorities are a hash of the
 * place where a run was when it was new.  What is only counted has the first.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "space.h"

enum order { BY_PLACE, BY_SIZE, ORDERS };

struct node {
	uint64_t start, len;
	uint64_t longest;		/* in the subtree by place */
	uint64_t priority;
	struct node *kid[ORDERS][2];
};

struct e4l_space {
	struct node *root[ORDERS];
	struct e4l_run *given;		/* not free before the next commit */
	size_t n_given;
	uint64_t unit, in_long;		/* see e4l_space_in_long() */
	uint64_t runs;
	struct e4l_space *later;	/* with what was given; or NULL */
};

/* How many fits are looked at to find a close one among tight ones. */
#define FITS 32

static bool before(const struct node *n, enum order o, uint64_t len,
		   uint64_t start)
{
	if (o == BY_SIZE && n->len != len)
		return n->len < len;
	return n->start < start;
}

static uint64_t longest(const struct node *n)
{
	return n ? n->longest : 0;
}

static void pull(struct node *n, enum order o)
{
	uint64_t left, right;

	if (o != BY_PLACE)
		return;
	left = longest(n->kid[o][0]);
	right = longest(n->kid[o][1]);
	n->longest = n->len;
	if (n->longest < left)
		n->longest = left;
	if (n->longest < right)
		n->longest = right;
}

/* Parts @n into what is before the key and what is not. */
static void part(struct node *n, enum order o, uint64_t len, uint64_t start,
		 struct node **low, struct node **high)
{
	if (!n) {
		*low = *high = NULL;
	} else if (before(n, o, len, start)) {
		part(n->kid[o][1], o, len, start, &n->kid[o][1], high);
		*low = n;
		pull(n, o);
	} else {
		part(n->kid[o][0], o, len, start, low, &n->kid[o][0]);
		*high = n;
		pull(n, o);
	}
}

static struct node *join(struct node *low, struct node *high, enum order o)
{
	if (!low || !high)
		return low ? low : high;
	if (low->priority > high->priority) {
		low->kid[o][1] = join(low->kid[o][1], high, o);
		pull(low, o);
		return low;
	}
	high->kid[o][0] = join(low, high->kid[o][0], o);
	pull(high, o);
	return high;
}

static void insert(struct node **at, struct node *n, enum order o)
{
	if (*at && (*at)->priority > n->priority) {
		insert(&(*at)->kid[o][before(*at, o, n->len, n->start)], n, o);
		pull(*at, o);
		return;
	}
	part(*at, o, n->len, n->start, &n->kid[o][0], &n->kid[o][1]);
	*at = n;
	pull(n, o);
}

static void erase(struct node **at, struct node *n, enum order o)
{
	if (*at == n) {
		*at = join(n->kid[o][0], n->kid[o][1], o);
		return;
	}
	erase(&(*at)->kid[o][before(*at, o, n->len, n->start)], n, o);
	pull(*at, o);
}

/* @n, which is at or below @at, has got a new length. */
static void pull_all(struct node *at, struct node *n)
{
	if (at != n)
		pull_all(at->kid[BY_PLACE][at->start < n->start], n);
	pull(at, BY_PLACE);
}

static enum order orders_of(const struct e4l_space *s)
{
	return s->unit ? BY_PLACE + 1 : ORDERS;
}

/* What a run of @len is in e4l_space_in_long(). */
static uint64_t if_long(const struct e4l_space *s, uint64_t len)
{
	return s->unit && len >= s->unit ? len : 0;
}

static uint64_t in_long(const struct e4l_space *s, const struct node *n)
{
	return if_long(s, n->len);
}

static void link_node(struct e4l_space *s, struct node *n)
{
	enum order o;

	s->runs++;
	s->in_long += in_long(s, n);
	for (o = 0; o < orders_of(s); o++)
		insert(&s->root[o], n, o);
}

static void unlink_node(struct e4l_space *s, struct node *n)
{
	enum order o;

	s->runs--;
	s->in_long -= in_long(s, n);
	for (o = 0; o < orders_of(s); o++)
		erase(&s->root[o], n, o);
}

/* The run of @n grows or shrinks, between its neighbours. */
static void resize(struct e4l_space *s, struct node *n, uint64_t start,
		   uint64_t len)
{
	bool by_size = orders_of(s) > BY_SIZE;

	s->in_long -= in_long(s, n);
	if (by_size)
		erase(&s->root[BY_SIZE], n, BY_SIZE);
	n->start = start;
	n->len = len;
	if (by_size) {
		pull_all(s->root[BY_PLACE], n);
		insert(&s->root[BY_SIZE], n, BY_SIZE);
	}
	s->in_long += in_long(s, n);
}

/* The run that holds @at or, if @at is not free, the last one before it. */
static struct node *at_or_before(const struct e4l_space *s, uint64_t at)
{
	struct node *n = s->root[BY_PLACE], *best = NULL;

	while (n) {
		if (n->start <= at)
			best = n;
		n = n->kid[BY_PLACE][n->start <= at];
	}
	return best;
}

static struct node *new_node(uint64_t start, uint64_t len)
{
	struct node *n = calloc(1, sizeof(*n));

	/* the finaliser of splitmix64 (Steele, Lea and Flood, 2014) */
	if (n) {
		n->start = start;
		n->len = len;
		n->priority = start + 0x9E3779B97F4A7C15;
		n->priority = (n->priority ^ n->priority >> 30) *
			      0xBF58476D1CE4E5B9;
		n->priority = (n->priority ^ n->priority >> 27) *
			      0x94D049BB133111EB;
		n->priority ^= n->priority >> 31;
	}
	return n;
}

struct e4l_space *e4l_space_new(void)
{
	return calloc(1, sizeof(struct e4l_space));
}

static void free_nodes(struct node *n)
{
	if (!n)
		return;
	free_nodes(n->kid[BY_PLACE][0]);
	free_nodes(n->kid[BY_PLACE][1]);
	free(n);
}

void e4l_space_free(struct e4l_space *s)
{
	if (!s)
		return;
	e4l_space_free(s->later);
	free_nodes(s->root[BY_PLACE]);
	free(s->given);
	free(s);
}

errcode_t e4l_space_count(struct e4l_space *s, uint64_t unit)
{
	s->later = e4l_space_new();
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

static errcode_t add_run(struct e4l_space *s, uint64_t start, uint64_t len)
{
	struct node *left = at_or_before(s, start);
	struct node *right = at_or_before(s, start + len);

	if ((left && left->start + left->len > start) ||
	    (right != left && right->start != start + len))
		return E4L_ET_BAD_ARGUMENT;
	if (right == left)
		right = NULL;
	if (left && left->start + left->len == start) {
		if (right) {
			len += right->len;
			unlink_node(s, right);
			free(right);
		}
		resize(s, left, left->start, left->len + len);
	} else if (right) {
		resize(s, right, start, len + right->len);
	} else {
		left = new_node(start, len);
		if (!left)
			return ENOMEM;
		link_node(s, left);
	}
	return 0;
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
	struct node *n = at_or_before(s, start), *rest;
	uint64_t first = n->start, end = n->start + n->len;

	if (start > first && start + len < end) {
		rest = new_node(start + len, end - start - len);
		if (!rest)
			return ENOMEM;
		resize(s, n, first, start - first);
		link_node(s, rest);
	} else if (start > first) {
		resize(s, n, first, start - first);
	} else if (len < n->len) {
		resize(s, n, start + len, n->len - len);
	} else {
		unlink_node(s, n);
		free(n);
	}
	return 0;
}

errcode_t e4l_space_take(struct e4l_space *s, uint64_t start, uint64_t len)
{
	errcode_t err = take_run(s, start, len);

	return err || !s->later ? err : take_run(s->later, start, len);
}

errcode_t e4l_space_give(struct e4l_space *s, uint64_t start, uint64_t len)
{
	errcode_t err = e4l_grow(&s->given, s->n_given, sizeof(*s->given));

	if (!err && s->later)
		err = add_run(s->later, start, len);
	if (!err)
		s->given[s->n_given++] = (struct e4l_run) { start, len };
	return err;
}

static int by_start(const void *va, const void *vb)
{
	const struct e4l_run *a = va, *b = vb;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Whether nothing of @run is free. */
static bool is_taken(const struct e4l_space *s, const struct e4l_run *run)
{
	const struct node *n = at_or_before(s, run->start + run->len - 1);

	return !n || n->start + n->len <= run->start;
}

errcode_t e4l_space_in_long_with(const struct e4l_space *s,
				 struct e4l_run *runs, size_t n, uint64_t *ret)
{
	const struct e4l_space *later = s->later;
	uint64_t sum = later->in_long, end = 0, len = 0, more;
	size_t i;

	if (n)
		qsort(runs, n, sizeof(*runs), by_start);
	for (i = 0; i < n; i++) {
		if (!is_taken(later, &runs[i]) ||
		    (i && runs[i].start < runs[i - 1].start + runs[i - 1].len))
			return E4L_ET_BAD_ARGUMENT;
		/* a run of @len ends at @end: it goes on, or is a new one */
		if (!i || runs[i].start != end) {
			sum += if_long(later, len);
			len = e4l_space_before(later, runs[i].start);
			sum -= if_long(later, len);
		}
		end = runs[i].start + runs[i].len;
		more = e4l_space_after(later, end);
		sum -= if_long(later, more);
		len += runs[i].len + more;
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

errcode_t e4l_space_commit(struct e4l_space *s)
{
	struct e4l_run *run;
	errcode_t err;

	while (s->n_given) {
		run = &s->given[s->n_given - 1];
		err = add_run(s, run->start, run->len);
		if (err)
			return err;
		s->n_given--;
	}
	return 0;
}

/* The shortest run of at least @len among those that begin in @near. */
static void fit_near(const struct node *n, uint64_t len,
		     const struct e4l_run *near, unsigned int *left,
		     const struct node **best)
{
	if (!n || n->longest < len || !*left)
		return;
	if (n->start >= near->start)
		fit_near(n->kid[BY_PLACE][0], len, near, left, best);
	if (n->len >= len && n->start >= near->start &&
	    n->start - near->start < near->len && *left) {
		--*left;
		if (!*best || n->len < (*best)->len)
			*best = n;
	}
	if (n->start < near->start || n->start - near->start < near->len)
		fit_near(n->kid[BY_PLACE][1], len, near, left, best);
}

/* The closest to @place of the tightest runs of at least @len. */
static void fit_tight(const struct node *n, uint64_t len, uint64_t place,
		      unsigned int *left, const struct node **best)
{
	uint64_t away, least;

	if (!n)
		return;
	if (n->len >= len)
		fit_tight(n->kid[BY_SIZE][0], len, place, left, best);
	if (!*left)
		return;
	if (n->len >= len) {
		--*left;
		away = n->start > place ? n->start - place : place - n->start;
		least = !*best ? UINT64_MAX : (*best)->start > place ?
			(*best)->start - place : place - (*best)->start;
		if (away < least)
			*best = n;
	}
	fit_tight(n->kid[BY_SIZE][1], len, place, left, best);
}

bool e4l_space_fit(const struct e4l_space *s, uint64_t len,
		   const struct e4l_run *near, uint64_t *start)
{
	const struct node *best = NULL;
	unsigned int left = FITS;

	if (near)
		fit_near(s->root[BY_PLACE], len, near, &left, &best);
	left = near ? FITS : 1;
	if (!best)
		fit_tight(s->root[BY_SIZE], len, near ? near->start : 0, &left,
			  &best);
	if (best)
		*start = best->start;
	return best;
}

uint64_t e4l_space_largest(const struct e4l_space *s, uint64_t *start)
{
	const struct node *n = s->root[BY_SIZE];

	if (!n)
		return 0;
	while (n->kid[BY_SIZE][1])
		n = n->kid[BY_SIZE][1];
	*start = n->start;
	return n->len;
}

uint64_t e4l_space_largest_below(const struct e4l_space *s, uint64_t len,
				 uint64_t *start)
{
	const struct node *n = s->root[BY_SIZE], *best = NULL;

	while (n) {
		if (n->len < len)
			best = n;
		n = n->kid[BY_SIZE][n->len < len];
	}
	if (!best)
		return 0;
	*start = best->start;
	return best->len;
}

static size_t list(const struct node *n, uint64_t at, struct e4l_run *runs,
		   size_t max)
{
	size_t found = 0;

	if (!n || !max)
		return 0;
	if (n->start >= at) {
		found = list(n->kid[BY_PLACE][0], at, runs, max);
		if (found == max)
			return found;
		runs[found++] = (struct e4l_run) { n->start, n->len };
	}
	return found + list(n->kid[BY_PLACE][1], at, runs + found, max - found);
}

size_t e4l_space_list(const struct e4l_space *s, uint64_t at,
		      struct e4l_run *runs, size_t max)
{
	return list(s->root[BY_PLACE], at, runs, max);
}

uint64_t e4l_space_after(const struct e4l_space *s, uint64_t at)
{
	const struct node *n = at_or_before(s, at);

	return n && at - n->start < n->len ? n->start + n->len - at : 0;
}

uint64_t e4l_space_before(const struct e4l_space *s, uint64_t at)
{
	const struct node *n = at ? at_or_before(s, at - 1) : NULL;

	return n && at - n->start <= n->len ? at - n->start : 0;
}
