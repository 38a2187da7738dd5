/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/bits.h"
#include "e4layout/base/owners.h"
#include "unit.h"

/*
 * The model has one byte per cluster.  The number of clusters is chosen so that
 * struct e4l_owners has two pages of 32768 clusters and a partial page.
 */
#define CLUSTERS (2 * 32768 + 12345)
static char model[CLUSTERS];

static uint64_t count(uint64_t start, uint64_t len, uint64_t *first)
{
	uint64_t n = 0, i;

	for (i = start; i < start + len; i++)
		if (model[i] && !n++)
			*first = i;
	return n;
}

/* Draws a short range, or a range that can cross pages of 32768 clusters. */
static void draw(uint64_t *start, uint64_t *len)
{
	*start = random() % CLUSTERS;
	*len = 1 + random() % (random() % 16 ? 8 : CLUSTERS);
	if (*len > CLUSTERS - *start)
		*len = CLUSTERS - *start;
}

static void compare(const struct e4l_owners *o)
{
	static uint8_t bits[CLUSTERS / 8 + 8];
	uint64_t start, len, i, first = 0, want = 0;

	draw(&start, &len);
	ck_assert_uint_eq(e4l_owners_count(o, start, len, &first),
			  count(start, len, &want));
	ck_assert_uint_eq(first, want);
	e4l_owners_bits(o, start, len, bits);
	for (i = 0; i < (len + 7) / 8 * 8; i++)
		ck_assert_int_eq(bits[i / 8] >> i % 8 & 1,
				 i < len && model[start + i]);
}

static void claim(struct e4l_owners *o)
{
	uint64_t start, len, taken = 7, first = 0, want = 0, n;

	draw(&start, &len);
	if (len > 100)
		len = 100;
	n = count(start, len, &want);
	taken = 0;
	ck_assert_int_eq(e4l_owners_claim(o, start, len, &taken, &first), 0);
	ck_assert_uint_eq(taken, n);
	ck_assert_uint_eq(first, want);
	memset(model + start, 1, len);
}

/*
 * Claims few runs of clusters at first, and then so many runs that owners.c
 * replaces arrays of runs by bitmaps.
 */
START_TEST(claims)
{
	struct e4l_owners *o = e4l_owners_new(CLUSTERS);
	int i;

	srandom(_i);
	memset(model, 0, sizeof(model));
	ck_assert_ptr_nonnull(o);
	for (i = 0; i < 8000; i++) {
		claim(o);
		if (i % 40 == 0)
			compare(o);
	}
	e4l_owners_free(o);
}
END_TEST

START_TEST(bits)
{
	uint8_t map[40], one[40];
	unsigned int first, last, i, n, hit, want;
	int round;

	srandom(1);
	for (round = 0; round < 10000; round++) {
		first = random() % 320;
		last = first + random() % (320 - first);
		for (i = 0; i < sizeof(map); i++)
			map[i] = round % 3 ? random() & random() : 0;
		for (i = first, n = 0, want = hit = 999; i <= last; i++)
			if (map[i / 8] >> i % 8 & 1 && !n++)
				want = i;
		ck_assert_uint_eq(e4l_bits_count(map, first, last, &hit), n);
		ck_assert_uint_eq(hit, want);
		memcpy(one, map, sizeof(map));
		for (i = first; i <= last; i++)
			one[i / 8] |= 1 << i % 8;
		e4l_bits_set(map, first, last);
		ck_assert_mem_eq(map, one, sizeof(map));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("owners");
	TCase *tc = tcase_create("owners");

	tcase_add_loop_test(tc, claims, 0, 4);
	tcase_add_test(tc, bits);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
