/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/dirs/space.h"
#include "unit.h"

/* The model: a byte for each unit. */
#define UNITS 400
enum { USED, FREE, GIVEN };

static uint64_t run_from(const char *map, uint64_t at)
{
	uint64_t n = 0;

	while (at + n < UNITS && map[at + n] == FREE)
		n++;
	return n;
}

/* Units in runs of LONG and more, once all that is given is free. */
#define LONG 7
static uint64_t in_long_runs(const char *map)
{
	uint64_t at, n = 0, sum = 0;

	for (at = 0; at < UNITS; at++) {
		n = map[at] != USED ? n + 1 : 0;
		if (n >= LONG)
			sum += n == LONG ? LONG : 1;
	}
	return sum;
}

/* Every question, for every place or for one length. */
static void compare(const struct e4l_space *s, const char *map, uint64_t len)
{
	struct e4l_run near = { random() % UNITS, 1 + random() % UNITS };
	uint64_t at, n, start, longest = 0, tight = UINT64_MAX;
	unsigned int inside = 0;

	for (at = 0; at < UNITS; at++) {
		n = run_from(map, at);
		CHECK(e4l_space_after(s, at) == n);
		if (at && map[at - 1] == FREE)
			continue;
		if (n > longest)
			longest = n;
		if (n < len || at < near.start || at - near.start >= near.len)
			continue;
		inside++;
		if (n < tight)
			tight = n;
	}
	for (at = 0, n = 0; at <= UNITS; at++) {
		CHECK(e4l_space_before(s, at) == n);
		n = at < UNITS && map[at] == FREE ? n + 1 : 0;
	}
	CHECK(e4l_space_in_long(s) == in_long_runs(map));
	CHECK(e4l_space_largest(s, &start) == longest);
	if (longest)
		CHECK(run_from(map, start) == longest);
	CHECK(e4l_space_fit(s, len, &near, &start) == (longest >= len));
	if (longest < len)
		return;
	CHECK(run_from(map, start) >= len);
	if (inside) {
		CHECK(start - near.start < near.len);
		if (inside <= 32)
			CHECK(run_from(map, start) == tight);
	}
}

/* Runs that are listed in any order. */
static struct e4l_sorted *list_given(struct e4l_run *runs, size_t n)
{
	struct e4l_sorted *list = e4l_sorted_new(false);
	size_t i, k;

	CHECK(list);
	for (i = 0; i < n; i++) {
		struct e4l_run run;

		k = i + random() % (n - i);
		run = runs[k];
		runs[k] = runs[i];
		CHECK(!e4l_space_list_given(list, run.start, run.len));
		CHECK(e4l_space_list_given(list, run.start + run.len - 1, 2) ==
		      E4L_ET_BAD_ARGUMENT);
	}
	return list;
}

/* What would be in long runs if some runs more were given. */
static void compare_with(const struct e4l_space *s, const char *map)
{
	struct e4l_sorted *list;
	struct e4l_run runs[UNITS];
	uint64_t at, n = 0, in_long;
	char *then = malloc(UNITS);

	memcpy(then, map, UNITS);
	for (at = random() % 40; at < UNITS; at += 1 + random() % 20) {
		if (then[at] != USED)
			continue;
		runs[n++] = (struct e4l_run) { at, 1 };
		then[at] = GIVEN;
		while (at + 1 < UNITS && then[at + 1] == USED && random() % 4) {
			runs[n - 1].len++;
			then[++at] = GIVEN;
		}
	}
	list = list_given(runs, n);
	CHECK(!e4l_space_in_long_with(s, list, &in_long));
	CHECK(in_long == in_long_runs(then));
	e4l_sorted_free(list);
	for (at = 0; at < UNITS && map[at] == USED; at++)
		;
	runs[0] = (struct e4l_run) { at ? at - 1 : 0, 2 };
	list = list_given(runs, 1);
	if (at < UNITS)
		CHECK(e4l_space_in_long_with(s, list, &in_long) ==
		      E4L_ET_BAD_ARGUMENT);
	e4l_sorted_free(list);
	free(then);
}

static void change(struct e4l_space *s, char *map)
{
	uint64_t at = random() % UNITS, n, i;

	if (map[at] == FREE) {
		n = 1 + random() % run_from(map, at);
		CHECK(!e4l_space_take(s, at, n));
		memset(map + at, USED, n);
		return;
	}
	for (n = 0; n < 30 && at + n < UNITS && map[at + n] == USED; n++)
		;
	if (n && random() % 3) {
		CHECK(!e4l_space_add(s, at, n));
		memset(map + at, FREE, n);
	} else if (n) {
		CHECK(!e4l_space_give(s, at, n));
		memset(map + at, GIVEN, n);
	} else {
		CHECK(!e4l_space_commit(s));
		for (i = 0; i < UNITS; i++)
			if (map[i] == GIVEN)
				map[i] = FREE;
	}
}

/* In more runs than there are then: most are parts of one. */
START_TEST(commits_many_parts)
{
	struct e4l_space *s = e4l_space_new();
	char *map = calloc(1, UNITS);
	int i;

	srandom(_i);
	ck_assert_ptr_nonnull(s);
	ck_assert_int_eq(e4l_space_count(s, LONG), 0);
	for (i = 0; i < 100; i++)
		change(s, map);
	for (i = 0; i < UNITS; i++) {
		int at = (i * 7 + _i) % UNITS;	/* all of them, if 7 is prime to it */

		if (map[at] != USED || random() % 20 == 0)
			continue;
		CHECK(!e4l_space_give(s, at, 1));
		map[at] = GIVEN;
	}
	compare(s, map, 3);
	CHECK(!e4l_space_commit(s));
	for (i = 0; i < UNITS; i++)
		if (map[i] == GIVEN)
			map[i] = FREE;
	compare(s, map, 3);
	for (i = 0; i < 100; i++)
		change(s, map);
	compare(s, map, 3);
	e4l_space_free(s);
	free(map);
}
END_TEST

START_TEST(agrees_with_the_model)
{
	struct e4l_space *s = e4l_space_new();
	char *map = calloc(1, UNITS);
	int i;

	srandom(_i);
	ck_assert_ptr_nonnull(s);
	ck_assert_int_eq(e4l_space_count(s, LONG), 0);
	compare(s, map, 1);
	for (i = 0; i < 800; i++) {
		change(s, map);
		compare(s, map, 1 + random() % 20);
		compare_with(s, map);
	}
	e4l_space_free(s);
	free(map);
}
END_TEST

/* Far from where it is wanted, the closest of the tightest is taken. */
START_TEST(prefers_the_closest)
{
	const struct e4l_run near = { 5000, 100 };
	struct e4l_space *s = e4l_space_new();
	uint64_t start;

	e4l_space_add(s, 100, 10);
	e4l_space_add(s, 4000, 10);
	e4l_space_add(s, 9000, 10);
	e4l_space_add(s, 5050, 9);
	ck_assert(e4l_space_fit(s, 10, &near, &start));
	ck_assert_uint_eq(start, 4000);
	ck_assert(e4l_space_fit(s, 9, &near, &start));
	ck_assert_uint_eq(start, 5050);
	ck_assert(!e4l_space_fit(s, 11, &near, &start));
	/* the tightest of all, wherever it is; the longest of the shorter */
	ck_assert(e4l_space_fit(s, 5, NULL, &start));
	ck_assert_uint_eq(start, 5050);
	ck_assert_uint_eq(e4l_space_largest_below(s, 10, &start), 9);
	ck_assert_uint_eq(start, 5050);
	ck_assert_uint_eq(e4l_space_largest_below(s, 9, &start), 0);
	ck_assert_uint_eq(e4l_space_largest_below(s, 11, &start), 10);
	e4l_space_free(s);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("space");
	TCase *tc = tcase_create("space");

	tcase_add_loop_test(tc, agrees_with_the_model, 0, 20);
	tcase_add_loop_test(tc, commits_many_parts, 0, 50);
	tcase_add_test(tc, prefers_the_closest);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
