/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/dirs/space.h"
#include "unit.h"

/* The tests compare e4l_space with an array of one byte per unit of space. */
#define UNITS 400
enum { USED, FREE, GIVEN };

static uint64_t run_from(const char *map, uint64_t at)
{
	uint64_t n = 0;

	while (at + n < UNITS && map[at + n] == FREE)
		n++;
	return n;
}

/*
 * Returns the number of free runs and the length of the longest free run, if
 * all units in the state GIVEN were free.
 */
static struct e4l_outlook outlook_of(const char *map)
{
	struct e4l_outlook o = { 0 };
	uint64_t at, n = 0;

	for (at = 0; at < UNITS; at++) {
		n = map[at] != USED ? n + 1 : 0;
		o.runs += n == 1;
		if (n > o.longest)
			o.longest = n;
	}
	return o;
}

/*
 * Calls each query function of @s, for each unit or for the length @len, and
 * compares the results with the model @map.
 */
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
	CHECK(e4l_space_outlook(s).runs == outlook_of(map).runs);
	CHECK(e4l_space_outlook(s).longest == outlook_of(map).longest);
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

static void change(struct e4l_space *s, char *map)
{
	uint64_t at = random() % UNITS, n;

	if (map[at] == FREE) {
		n = 1 + random() % run_from(map, at);
		CHECK(!e4l_space_take(s, at, n));
		memset(map + at, USED, n);
		return;
	}
	for (n = 0; n < 30 && at + n < UNITS && map[at + n] == map[at]; n++)
		;
	if (map[at] == GIVEN) {
		CHECK(!e4l_space_take_back(s, at, n));
		memset(map + at, USED, n);
	} else if (random() % 3) {
		CHECK(!e4l_space_add(s, at, n));
		memset(map + at, FREE, n);
	} else {
		CHECK(!e4l_space_give(s, at, n));
		memset(map + at, GIVEN, n);
	}
}

START_TEST(agrees_with_the_model)
{
	struct e4l_space *s = e4l_space_new();
	char *map = calloc(1, UNITS);
	int i;

	srandom(_i);
	ck_assert_ptr_nonnull(s);
	compare(s, map, 1);
	for (i = 0; i < 800; i++) {
		change(s, map);
		compare(s, map, 1 + random() % 20);
	}
	e4l_space_free(s);
	free(map);
}
END_TEST

/*
 * If no run near the wanted place fits, e4l_space_fit() takes the closest of
 * the shortest runs that fit.
 */
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
	/* NULL: no range is preferred; the shortest run that fits is found */
	ck_assert(e4l_space_fit(s, 5, NULL, &start));
	ck_assert_uint_eq(start, 5050);
	e4l_space_free(s);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("space");
	TCase *tc = tcase_create("space");

	tcase_add_loop_test(tc, agrees_with_the_model, 0, 20);
	tcase_add_test(tc, prefers_the_closest);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
