/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two treaps over the same nodes (Seidel and Aragon, "Randomized search trees",
 * 1996): one ordered by place, which also knows the longest run below each
 * node, and one ordered by size and then place.  What is only counted has the
 * first.  Nodes are in one array, and known by their index, which is half as long
 * as a pointer: there can be millions.  Priorities are a hash of that.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "packed.h"
#include "space.h"

enum order { BY_PLACE, BY_SIZE, ORDERS };

/* The index of a node; 0: there is none. */
typedef uint32_t node_t;

struct node {
	uint64_t start, len;
	uint64_t longest;		/* in the subtree by place */
	node_t kid[2];			/* there; kid[0]: the next unused one */
};

struct by_size {
	node_t kid[2];
};

struct e4l_space {
	struct node *v;			/* the first is not used */
	struct by_size *by_size;	/* of the same, unless it only counts */
	size_t n;
	node_t unused;			/* below @n */
	node_t root[ORDERS];
	struct e4l_bytes given;		/* not free before the next commit */
	uint64_t given_end;		/* of the last run of it */
	uint64_t n_given;		/* runs */
	uint64_t unit, in_long;		/* see e4l_space_in_long() */
	uint64_t runs;
	struct e4l_space *later;	/* with what was given; or NULL */
};

/* How many fits are looked at to find a close one among tight ones. */
#define FITS 32

/* NULL for 0; until the next node is made. */
static struct node *node_of(const struct e4l_space *s, node_t i)
{
	return i ? &s->v[i] : NULL;
}

/* The indices of the two below @n. */
static node_t *kids(const struct e4l_space *s, struct node *n, enum order o)
{
	return o == BY_PLACE ? n->kid : s->by_size[n - s->v].kid;
}

static struct node *kid_of(const struct e4l_space *s, const struct node *n,
			   enum order o, bool second)
{
	return node_of(s, o == BY_PLACE ? n->kid[second] :
			  s->by_size[n - s->v].kid[second]);
}

static bool before(const struct node *n, enum order o, uint64_t len,
		   uint64_t start)
{
	if (o == BY_SIZE && n->len != len)
		return n->len < len;
	return n->start < start;
}

static void pull(const struct e4l_space *s, struct node *n, enum order o)
{
	const struct node *kid;
	unsigned int i;

	if (o != BY_PLACE)
		return;
	n->longest = n->len;
	for (i = 0; i < 2; i++) {
		kid = kid_of(s, n, o, i);
		if (kid && n->longest < kid->longest)
			n->longest = kid->longest;
	}
}

/* Parts @i into what is before the key and what is not. */
static void part(const struct e4l_space *s, node_t i, enum order o,
		 uint64_t len, uint64_t start, node_t *low, node_t *high)
{
	struct node *n = node_of(s, i);
	node_t *kid;

	if (!n) {
		*low = *high = 0;
	} else if (before(n, o, len, start)) {
		kid = kids(s, n, o);
		part(s, kid[1], o, len, start, &kid[1], high);
		*low = i;
		pull(s, n, o);
	} else {
		kid = kids(s, n, o);
		part(s, kid[0], o, len, start, low, &kid[0]);
		*high = i;
		pull(s, n, o);
	}
}

/* The finaliser of splitmix64 (Steele, Lea and Flood, 2014). */
static uint64_t priority(const struct e4l_space *s, const struct node *n)
{
	uint64_t x = (n - s->v) + 0x9E3779B97F4A7C15;

	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
	x = (x ^ x >> 27) * 0x94D049BB133111EB;
	return x ^ x >> 31;
}

static node_t join(const struct e4l_space *s, node_t low, node_t high,
		   enum order o)
{
	struct node *l = node_of(s, low), *h = node_of(s, high);
	node_t *kid;

	if (!l || !h)
		return l ? low : high;
	if (priority(s, l) > priority(s, h)) {
		kid = kids(s, l, o);
		kid[1] = join(s, kid[1], high, o);
		pull(s, l, o);
		return low;
	}
	kid = kids(s, h, o);
	kid[0] = join(s, low, kid[0], o);
	pull(s, h, o);
	return high;
}

static void insert(const struct e4l_space *s, node_t *at, struct node *n,
		   enum order o)
{
	struct node *top = node_of(s, *at);
	node_t *kid;

	if (top && priority(s, top) > priority(s, n)) {
		kid = kids(s, top, o);
		insert(s, &kid[before(top, o, n->len, n->start)], n, o);
		pull(s, top, o);
		return;
	}
	kid = kids(s, n, o);
	part(s, *at, o, n->len, n->start, &kid[0], &kid[1]);
	*at = n - s->v;
	pull(s, n, o);
}

static void erase(const struct e4l_space *s, node_t *at, struct node *n,
		  enum order o)
{
	struct node *top = node_of(s, *at);
	node_t *kid = kids(s, top, o);

	if (top == n) {
		*at = join(s, kid[0], kid[1], o);
		return;
	}
	erase(s, &kid[before(top, o, n->len, n->start)], n, o);
	pull(s, top, o);
}

/* @n, which is at or below @at, has got a new length. */
static void pull_all(const struct e4l_space *s, struct node *at,
		     struct node *n)
{
	if (at != n)
		pull_all(s, kid_of(s, at, BY_PLACE, at->start < n->start), n);
	pull(s, at, BY_PLACE);
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
		insert(s, &s->root[o], n, o);
}

/* Its node may be used for another run then. */
static void unlink_node(struct e4l_space *s, struct node *n)
{
	enum order o;

	s->runs--;
	s->in_long -= in_long(s, n);
	for (o = 0; o < orders_of(s); o++)
		erase(s, &s->root[o], n, o);
	n->kid[0] = s->unused;
	s->unused = n - s->v;
}

/* The run of @n grows or shrinks, between its neighbours. */
static void resize(struct e4l_space *s, struct node *n, uint64_t start,
		   uint64_t len)
{
	bool by_size = orders_of(s) > BY_SIZE;

	s->in_long -= in_long(s, n);
	if (by_size)
		erase(s, &s->root[BY_SIZE], n, BY_SIZE);
	n->start = start;
	n->len = len;
	pull_all(s, node_of(s, s->root[BY_PLACE]), n);
	if (by_size)
		insert(s, &s->root[BY_SIZE], n, BY_SIZE);
	s->in_long += in_long(s, n);
}

/* The run that holds @at or, if @at is not free, the last one before it. */
static struct node *at_or_before(const struct e4l_space *s, uint64_t at)
{
	struct node *n = node_of(s, s->root[BY_PLACE]), *best = NULL;

	while (n) {
		if (n->start <= at)
			best = n;
		n = kid_of(s, n, BY_PLACE, n->start <= at);
	}
	return best;
}

/* Makes a node for a run that is new; pointers to others may change. */
static errcode_t add_node(struct e4l_space *s, uint64_t start, uint64_t len)
{
	node_t i = s->unused;
	errcode_t err;

	if (i) {
		s->unused = s->v[i].kid[0];
	} else {
		s->n += !s->n;
		if (s->n > UINT32_MAX)
			return ENOMEM;
		err = e4l_grow(&s->v, s->n, sizeof(*s->v));
		if (!err && !s->unit)
			err = e4l_grow(&s->by_size, s->n, sizeof(*s->by_size));
		if (err)
			return err;
		i = s->n++;
	}
	s->v[i] = (struct node) { .start = start, .len = len };
	link_node(s, &s->v[i]);
	return 0;
}

struct e4l_space *e4l_space_new(void)
{
	return calloc(1, sizeof(struct e4l_space));
}

void e4l_space_free(struct e4l_space *s)
{
	if (!s)
		return;
	e4l_space_free(s->later);
	free(s->v);
	free(s->by_size);
	free(s->given.v);
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

struct e4l_outlook e4l_space_outlook(const struct e4l_space *s)
{
	const struct node *all = s->later ? node_of(s->later,
						    s->later->root[BY_PLACE]) :
					    NULL;

	return (struct e4l_outlook) {
		.runs = e4l_space_runs(s), .in_long = e4l_space_in_long(s),
		.longest = all ? all->longest : 0,
	};
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
		}
		resize(s, left, left->start, left->len + len);
	} else if (right) {
		resize(s, right, start, len + right->len);
	} else {
		return add_node(s, start, len);
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
	struct node *n = at_or_before(s, start);
	uint64_t first = n->start, all = n->len;
	errcode_t err;

	if (start > first) {
		resize(s, n, first, start - first);
		if (start + len == first + all)
			return 0;
		err = add_node(s, start + len, first + all - start - len);
		if (err)
			resize(s, at_or_before(s, first), first, all);
		return err;
	}
	if (len < all)
		resize(s, n, start + len, all - len);
	else
		unlink_node(s, n);
	return 0;
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

/* Makes one run of all that is free in that of @n, which is all of it then. */
static errcode_t fill_run(struct e4l_space *s, const struct node *n)
{
	struct node *part;

	for (;;) {
		part = at_or_before(s, n->start + n->len - 1);
		if (!part || part->start < n->start)
			return add_node(s, n->start, n->len);
		if (part->len == n->len)
			return 0;
		unlink_node(s, part);
	}
}

/* What was given is free in runs that are in @n, below it, or free already. */
static errcode_t commit_all(struct e4l_space *s, const struct node *n)
{
	errcode_t err;

	if (!n)
		return 0;
	err = commit_all(s, kid_of(s->later, n, BY_PLACE, 0));
	if (!err)
		err = fill_run(s, n);
	return err ? err : commit_all(s, kid_of(s->later, n, BY_PLACE, 1));
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
 * Of more runs than there are in the end, most are parts of one, which is not put
 * together of them: that would take the memory of all at a time.
 */
errcode_t e4l_space_commit(struct e4l_space *s)
{
	bool many = s->later && s->n_given > s->later->runs;
	errcode_t err = many ? commit_all(s, node_of(s->later,
					s->later->root[BY_PLACE])) :
			       commit_each(s);

	free(s->given.v);
	s->given = (struct e4l_bytes) { 0 };
	s->given_end = s->n_given = 0;
	return err;
}

/* The shortest run of at least @len among those that begin in @near. */
static void fit_near(const struct e4l_space *s, const struct node *n,
		     uint64_t len, const struct e4l_run *near,
		     unsigned int *left, const struct node **best)
{
	if (!n || n->longest < len || !*left)
		return;
	if (n->start >= near->start)
		fit_near(s, kid_of(s, n, BY_PLACE, 0), len, near, left,
			 best);
	if (n->len >= len && n->start >= near->start &&
	    n->start - near->start < near->len && *left) {
		--*left;
		if (!*best || n->len < (*best)->len)
			*best = n;
	}
	if (n->start < near->start || n->start - near->start < near->len)
		fit_near(s, kid_of(s, n, BY_PLACE, 1), len, near, left,
			 best);
}

/* The closest to @place of the tightest runs of at least @len. */
static void fit_tight(const struct e4l_space *s, const struct node *n,
		      uint64_t len, uint64_t place, unsigned int *left,
		      const struct node **best)
{
	uint64_t away, least;

	if (!n)
		return;
	if (n->len >= len)
		fit_tight(s, kid_of(s, n, BY_SIZE, 0), len, place, left, best);
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
	fit_tight(s, kid_of(s, n, BY_SIZE, 1), len, place, left, best);
}

bool e4l_space_fit(const struct e4l_space *s, uint64_t len,
		   const struct e4l_run *near, uint64_t *start)
{
	const struct node *best = NULL;
	unsigned int left = FITS;

	if (near)
		fit_near(s, node_of(s, s->root[BY_PLACE]), len, near, &left, &best);
	left = near ? FITS : 1;
	if (!best)
		fit_tight(s, node_of(s, s->root[BY_SIZE]), len,
			  near ? near->start : 0, &left, &best);
	if (best)
		*start = best->start;
	return best;
}

uint64_t e4l_space_largest(const struct e4l_space *s, uint64_t *start)
{
	const struct node *n = node_of(s, s->root[BY_SIZE]);

	if (!n)
		return 0;
	while (kid_of(s, n, BY_SIZE, 1))
		n = kid_of(s, n, BY_SIZE, 1);
	*start = n->start;
	return n->len;
}

uint64_t e4l_space_largest_below(const struct e4l_space *s, uint64_t len,
				 uint64_t *start)
{
	const struct node *n = node_of(s, s->root[BY_SIZE]), *best = NULL;

	while (n) {
		if (n->len < len)
			best = n;
		n = kid_of(s, n, BY_SIZE, n->len < len);
	}
	if (!best)
		return 0;
	*start = best->start;
	return best->len;
}

static size_t list(const struct e4l_space *s, const struct node *n, uint64_t at,
		   struct e4l_run *runs, size_t max)
{
	size_t found = 0;

	if (!n || !max)
		return 0;
	if (n->start >= at) {
		found = list(s, kid_of(s, n, BY_PLACE, 0), at, runs, max);
		if (found == max)
			return found;
		runs[found++] = (struct e4l_run) { n->start, n->len };
	}
	return found + list(s, kid_of(s, n, BY_PLACE, 1), at, runs + found,
			    max - found);
}

size_t e4l_space_list(const struct e4l_space *s, uint64_t at,
		      struct e4l_run *runs, size_t max)
{
	return list(s, node_of(s, s->root[BY_PLACE]), at, runs, max);
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
