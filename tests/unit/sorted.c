/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/dirs/sorted.h"
#include "unit.h"

/* The model: a sorted array. */
#define PAIRS 3000
struct model {
	struct e4l_pair v[PAIRS];
	size_t n;
};

static bool before(struct e4l_pair a, struct e4l_pair b)
{
	return a.key != b.key ? a.key < b.key : a.value < b.value;
}

static size_t place(const struct model *m, struct e4l_pair p)
{
	size_t i = 0;

	while (i < m->n && before(m->v[i], p))
		i++;
	return i;
}

static bool is_equal(struct e4l_pair a, struct e4l_pair b)
{
	return a.key == b.key && a.value == b.value;
}

/*
 * Distributions of random numbers.  DENSE: below 2000.  SPREAD: mostly below
 * 50000, and some of any size.  ANY: mostly large, and sometimes one of the
 * three largest 64-bit numbers.
 */
enum kind { DENSE, SPREAD, ANY, KINDS };

static uint64_t number(enum kind kind)
{
	uint64_t any = (uint64_t)random() << 33 ^ (uint64_t)random() << 11 ^
		       (uint64_t)random();

	switch (kind) {
	case DENSE:
		return any % 2000;
	case SPREAD:
		return any % 3 ? any % 50000 : any >> any % 64;
	default:
		return any % 50 ? any : UINT64_MAX - any % 3;
	}
}

static struct e4l_pair pair(enum kind kind)
{
	return (struct e4l_pair) { number(kind), number(kind) };
}

/*
 * Calls each lookup function of the sorted set with the pair @p, and compares
 * the results with the model.
 */
static void compare(struct e4l_sorted *s, const struct model *m,
		    struct e4l_pair p)
{
	uint64_t least = random() % 2 && m->n ? m->v[random() % m->n].value :
						p.value;
	size_t i = place(m, p), k = i;
	struct e4l_pair got;

	CHECK(e4l_sorted_first(s, p, &got) == (i < m->n));
	CHECK(i == m->n || is_equal(got, m->v[i]));
	while (k < m->n && m->v[k].value < least)
		k++;
	CHECK(e4l_sorted_first_of(s, p, least, &got) == (k < m->n));
	CHECK(k == m->n || is_equal(got, m->v[k]));
	i += i < m->n && is_equal(m->v[i], p);
	CHECK(e4l_sorted_last(s, p, &got) == (i > 0));
	CHECK(!i || is_equal(got, m->v[i - 1]));
}

static void compare_all(struct e4l_sorted *s, const struct model *m)
{
	struct e4l_pair next = { 0 };
	uint64_t most = 0;
	size_t i;

	for (i = 0; i < m->n; i++) {
		CHECK(e4l_sorted_first(s, next, &next));
		CHECK(is_equal(next, m->v[i]));
		if (most < next.value)
			most = next.value;
		if (!++next.value)
			next.key++;
	}
	CHECK(e4l_sorted_most(s) == most);
}

static void add(struct e4l_sorted *s, struct model *m, struct e4l_pair p)
{
	size_t i = place(m, p);

	if (m->n == PAIRS || (i < m->n && is_equal(m->v[i], p)))
		return;
	memmove(&m->v[i + 1], &m->v[i], (m->n++ - i) * sizeof(p));
	m->v[i] = p;
	CHECK(!e4l_sorted_add(s, p));
}

static void take(struct e4l_sorted *s, struct model *m, size_t i)
{
	e4l_sorted_remove(s, m->v[i]);
	memmove(&m->v[i], &m->v[i + 1], (--m->n - i) * sizeof(*m->v));
}

/* The set grows, shrinks to nothing, and grows again. */
START_TEST(agrees_with_the_model)
{
	struct e4l_sorted *s = e4l_sorted_new(true);
	struct model *m = calloc(1, sizeof(*m));
	enum kind kind = _i % KINDS;
	int i;

	srandom(_i);
	ck_assert_ptr_nonnull(s);
	compare(s, m, pair(kind));
	for (i = 0; i < 15000; i++) {
		if (m->n && random() % 9 < (i / 3000 % 2 ? 8 : 1))
			take(s, m, random() % m->n);
		else
			add(s, m, pair(kind));
		compare(s, m, pair(kind));
		if (m->n)
			compare(s, m, m->v[random() % m->n]);
		CHECK(i % 500 || (compare_all(s, m), true));
	}
	compare_all(s, m);
	while (m->n) {
		take(s, m, m->n / 2);
		compare(s, m, pair(kind));
	}
	compare_all(s, m);
	e4l_sorted_free(s);
	free(m);
}
END_TEST

/*
 * After ascending or descending insertions, leaves are full, and are split only
 * if necessary.
 */
START_TEST(agrees_in_order)
{
	struct e4l_sorted *s = e4l_sorted_new(true);
	struct model *m = calloc(1, sizeof(*m));
	uint64_t i;

	ck_assert_ptr_nonnull(s);
	for (i = 0; i < PAIRS; i++)
		add(s, m, (struct e4l_pair) {
			(_i ? PAIRS - i : i) * 300, i % 7 });
	compare_all(s, m);
	while (m->n) {
		take(s, m, _i ? m->n - 1 : 0);
		compare(s, m, pair(DENSE));
	}
	CHECK(!e4l_sorted_most(s));
	e4l_sorted_free(s);
	free(m);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sorted");
	TCase *tc = tcase_create("sorted");

	tcase_add_loop_test(tc, agrees_with_the_model, 0, 12);
	tcase_add_loop_test(tc, agrees_in_order, 0, 2);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
