/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include <e4layout/e4layout.h>
#include "e4layout/base/internal.h"
#include "e4layout/tunables/tunables.h"
#include "unit.h"

static struct e4l_tunables *parsed(const char *text)
{
	struct e4l_tunables *t;

	ck_assert_int_eq(e4l_tunables_parse(text, strlen(text), &t), 0);
	return t;
}

static void check_text(const struct e4l_tunables *t, const char *expected)
{
	char buf[E4L_TUNABLES_MAX + 1];

	ck_assert_uint_eq(e4l_tunables_text(t, buf), strlen(expected));
	ck_assert_str_eq(buf, expected);
}

static void check_parse(const char *text, const char *canonical)
{
	struct e4l_tunables *t = parsed(text);

	check_text(t, canonical);
	e4l_tunables_free(t);
}

static void check_refused(const void *text, size_t len, errcode_t expected)
{
	struct e4l_tunables *t;

	ck_assert_int_eq(e4l_tunables_parse(text, len, &t), expected);
	ck_assert_ptr_null(t);
}

START_TEST(text_is_canonical)
{
	check_parse("", "");
	check_parse("mb_order2_req=1", "mb_order2_req=1");
	check_parse("mb_order2_req=1,dir_ireserve=64", "dir_ireserve=64,mb_order2_req=1");
	check_parse("dir_ireserve=low", "dir_ireserve=16");
	check_parse("dir_ireserve=normal", "dir_ireserve=64");
	check_parse("dir_ireserve=high", "dir_ireserve=128");
	check_parse("dir_ireserve=off", "dir_ireserve=0");
	check_parse("zz=Any-thing/../x,a=b", "a=b,zz=Any-thing/../x");
}
END_TEST

START_TEST(damaged_text_is_refused)
{
	static const char *const bad[] = {
		",", "=", "a", "a=", "=1", "a=1,", ",a=1", "a=1,,b=2", "a=b=c",
		"a = 1", "a=1 ", "a=1\n", "A=1", "../../x=1", "a/b=1", "a.b=1",
		"a-b=1", "a=\x7f", "a=\xc3\xa9", "^a", "a=1,^b", "a=1;b=2",
	};
	char long_name[E4L_TUNABLE_NAME_MAX + 4];
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		check_refused(bad[i], strlen(bad[i]), E4L_ET_TUNABLE_SYNTAX);
	check_refused("a=1\0", 4, E4L_ET_TUNABLE_SYNTAX);
	check_refused("a\0=1", 4, E4L_ET_TUNABLE_SYNTAX);
	check_refused("\0", 1, E4L_ET_TUNABLE_SYNTAX);
	check_refused("a=1,b=2,a=3", 11, E4L_ET_TUNABLE_TWICE);
	check_refused("mb_order2_req=0,mb_order2_req=0", 31, E4L_ET_TUNABLE_TWICE);
	memset(long_name, 'a', sizeof(long_name));
	memcpy(long_name + E4L_TUNABLE_NAME_MAX, "=1", 3);
	check_parse(long_name, long_name);
	memcpy(long_name + E4L_TUNABLE_NAME_MAX, "a=1", 4);
	check_refused(long_name, strlen(long_name), E4L_ET_TUNABLE_SYNTAX);
}
END_TEST

START_TEST(length_is_limited)
{
	static char text[65536];
	struct e4l_tunables *t;

	memset(text, '1', sizeof(text));
	memcpy(text, "a=", 2);
	check_refused(text, sizeof(text), E4L_ET_TUNABLES_LONG);
	check_refused(text, E4L_TUNABLES_MAX + 1, E4L_ET_TUNABLES_LONG);
	ck_assert_int_eq(e4l_tunables_parse(text, E4L_TUNABLES_MAX, &t), 0);
	ck_assert_int_eq(e4l_tunables_set(t, "b", "1", true),
			 E4L_ET_TUNABLES_LONG);
	ck_assert_uint_eq(e4l_tunables_count(t), 1);
	/* a replacement needs space only for the additional length */
	ck_assert_int_eq(e4l_tunables_set(t, "a", "1", true), 0);
	check_text(t, "a=1");
	text[E4L_TUNABLES_MAX - 6] = '\0';
	ck_assert_int_eq(e4l_tunables_set(t, "b", text + 2, true), 0);
	e4l_tunables_free(t);
	ck_assert_int_eq(e4l_tunables_parse(text, E4L_TUNABLES_MAX - 4, &t),
			 E4L_ET_TUNABLE_SYNTAX);
	ck_assert_ptr_null(t);
}
END_TEST

START_TEST(values_are_checked)
{
	const struct e4l_tunable_info *power = e4l_tunable_find("dir_ireserve");
	const struct e4l_tunable_info *few = e4l_tunable_find("mb_order2_req");
	const struct e4l_tunable_info *most =
		e4l_tunable_find("inode_readahead_blks");
	static const char *const never[] = {
		"", "-1", "+1", "01", "0x10", "1k", " 1", "1 ", "on", "LOW",
		"2147483648", "4294967296", "4294967297", "18446744073709551616",
		"18446744073709551617", "99999999999999999999999",
	};
	uint32_t n = 7;
	size_t i;

	for (i = 0; i < sizeof(never) / sizeof(*never); i++)
		ck_assert_int_eq(e4l_tunable_number(most, never[i], &n),
				 E4L_ET_TUNABLE_RANGE);
	ck_assert_uint_eq(n, 7);
	ck_assert_int_eq(e4l_tunable_number(most, "1073741824", &n), 0);
	ck_assert_uint_eq(n, 1073741824);
	ck_assert_int_eq(e4l_tunable_number(few, "32", &n), 0);
	ck_assert_int_ne(e4l_tunable_number(few, "33", &n), 0);
	ck_assert_int_ne(e4l_tunable_number(few, "off", &n), 0);
	ck_assert_int_eq(e4l_tunable_number(power, "0", &n), 0);
	ck_assert_int_eq(e4l_tunable_number(power, "4096", &n), 0);
	ck_assert_int_eq(e4l_tunable_number(power, "high", &n), 0);
	ck_assert_uint_eq(n, 128);
	ck_assert_int_ne(e4l_tunable_number(power, "8", &n), 0);
	ck_assert_int_ne(e4l_tunable_number(power, "8192", &n), 0);
	ck_assert_int_ne(e4l_tunable_number(power, "65", &n), 0);
}
END_TEST

START_TEST(ranges_are_told)
{
	const struct e4l_tunable_info *info = e4l_tunable_find("dir_ireserve");
	char buf[160], tiny[10];

	ck_assert_str_eq(e4l_tunable_range(info, buf, sizeof(buf)),
			 "0, or a power of two from 16 to 4096, off = 0, "
			 "low = 16, normal = 64, high = 128");
	ck_assert_str_eq(e4l_tunable_range(info, tiny, sizeof(tiny)),
			 "0, or a p");
	ck_assert_str_eq(e4l_tunable_range(e4l_tunable_find("mb_order2_req"),
					   buf, sizeof(buf)), "0 to 32");
}
END_TEST

START_TEST(what_is_not_understood_is_kept)
{
	struct e4l_tunables *t =
		parsed("mb_order2_req=77,future=x/y,extent_max_zeroout_kb=64");
	const struct e4l_tunable *v;

	v = e4l_tunables_find(t, "future");
	ck_assert_ptr_null(v->info);
	ck_assert(!v->valid);
	v = e4l_tunables_find(t, "mb_order2_req");
	ck_assert_ptr_nonnull(v->info);
	ck_assert(!v->valid);
	v = e4l_tunables_find(t, "extent_max_zeroout_kb");
	ck_assert(v->valid);
	ck_assert_uint_eq(v->number, 64);
	ck_assert_ptr_null(e4l_tunables_find(t, "absent"));
	ck_assert_int_eq(e4l_tunables_set(t, "mb_max_to_scan", "12", false), 0);
	check_text(t, "extent_max_zeroout_kb=64,future=x/y,mb_max_to_scan=12,"
		      "mb_order2_req=77");
	e4l_tunables_free(t);
}
END_TEST

START_TEST(changes_are_made_or_refused)
{
	struct e4l_tunables *t = e4l_tunables_new();
	const char *where = NULL, *spec;

	ck_assert_int_eq(e4l_tunables_set(t, "future", "1", false),
			 E4L_ET_TUNABLE_UNKNOWN);
	ck_assert_int_eq(e4l_tunables_set(t, "mb_order2_req", "33", true),
			 E4L_ET_TUNABLE_RANGE);
	ck_assert_int_eq(e4l_tunables_set(t, "a/b", "2", true),
			 E4L_ET_TUNABLE_SYNTAX);
	ck_assert_int_eq(e4l_tunables_set(t, "a=b", "2", true),
			 E4L_ET_TUNABLE_SYNTAX);
	check_text(t, "");
	spec = "mb_order2_req=1,dir_ireserve=high,^absent";
	ck_assert_int_eq(e4l_tunables_change(t, spec, false, &where), 0);
	check_text(t, "dir_ireserve=128,mb_order2_req=1");
	spec = "^mb_order2_req,future=1,^dir_ireserve";
	ck_assert_int_eq(e4l_tunables_change(t, spec, false, &where),
			 E4L_ET_TUNABLE_UNKNOWN);
	ck_assert_ptr_eq(where, strchr(spec, 'f'));
	check_text(t, "dir_ireserve=128");
	spec = "mb_order2_req=1,dir_ireserve=16,^mb_order2_req";
	ck_assert_int_eq(e4l_tunables_change(t, spec, false, &where),
			 E4L_ET_TUNABLE_TWICE);
	ck_assert_ptr_eq(where, strchr(spec, '^'));
	check_text(t, "dir_ireserve=16,mb_order2_req=1");
	spec = "^mb_order2_req,dir_ireserve=128";
	ck_assert_int_eq(e4l_tunables_change(t, spec, false, &where), 0);
	ck_assert_int_eq(e4l_tunables_change(t, "future=1", true, &where), 0);
	ck_assert(e4l_tunables_remove(t, "dir_ireserve"));
	ck_assert(!e4l_tunables_remove(t, "dir_ireserve"));
	check_text(t, "future=1");
	spec = "";
	ck_assert_int_eq(e4l_tunables_change(t, spec, true, &where),
			 E4L_ET_TUNABLE_SYNTAX);
	ck_assert_ptr_eq(where, spec);
	ck_assert_int_eq(e4l_tunables_change(t, "^", true, &where),
			 E4L_ET_TUNABLE_SYNTAX);
	ck_assert_int_eq(e4l_tunables_change(t, "^a/b", true, &where),
			 E4L_ET_TUNABLE_SYNTAX);
	e4l_tunables_free(t);
}
END_TEST

/*
 * The table of known tunables is sorted by name.  Functions that look up a
 * tunable and parse its values agree with the rows of the table.
 */
START_TEST(table_is_consistent)
{
	const struct e4l_tunable_info *info, *prev = NULL;
	char text[16], range[160];
	uint32_t n;
	size_t i;

	for (i = 0; (info = e4l_tunable_at(i)); prev = info, i++) {
		ck_assert_ptr_eq(e4l_tunable_find(info->name), info);
		ck_assert(!prev || strcmp(prev->name, info->name) < 0);
		ck_assert_uint_le(strlen(info->name), E4L_TUNABLE_NAME_MAX);
		ck_assert_uint_eq(strspn(info->sysfs,
			"abcdefghijklmnopqrstuvwxyz0123456789_"),
			strlen(info->sysfs));
		ck_assert_uint_lt(strlen(e4l_tunable_range(info, range,
				  sizeof(range))), sizeof(range) - 1);
		snprintf(text, sizeof(text), "%u", info->max);
		ck_assert_int_eq(e4l_tunable_number(info, text, &n), 0);
		snprintf(text, sizeof(text), "%llu", info->max + 1ULL);
		ck_assert_int_ne(e4l_tunable_number(info, text, &n), 0);
		if (info->default_number == E4L_TUNABLE_AUTO)
			continue;
		snprintf(text, sizeof(text), "%lld",
			 (long long)info->default_number);
		ck_assert_int_eq(e4l_tunable_number(info, text, &n), 0);
	}
	ck_assert_uint_eq(i, 12);
	ck_assert_ptr_null(e4l_tunable_find("../x"));
}
END_TEST

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 16;
}

/*
 * Makes a random text in @buf.  Most bytes have a meaning in the grammar of
 * tunables.  Returns the length of the text.
 */
static size_t random_text(uint32_t *state, char *buf, size_t max)
{
	static const char usual[] = "aab=,,==0112_/^-";
	size_t i, len = next_random(state) % max;

	for (i = 0; i < len; i++)
		buf[i] = next_random(state) % 64 ?
			 usual[next_random(state) % (sizeof(usual) - 1)] :
			 (char)next_random(state);
	return len;
}

/*
 * If a text is accepted, its canonical text is accepted as well, and does not
 * change when it is parsed.
 */
START_TEST(random_bytes_are_safe)
{
	char in[40], text[E4L_TUNABLES_MAX + 1], again[E4L_TUNABLES_MAX + 1];
	struct e4l_tunables *t, *u;
	unsigned int i, accepted = 0;
	uint32_t state = 1;
	size_t len, n;

	for (i = 0; i < 100000; i++) {
		len = random_text(&state, in, i % 8 ? 12 : sizeof(in));
		if (e4l_tunables_parse(in, len, &t))
			continue;
		accepted++;
		n = e4l_tunables_text(t, text);
		ck_assert_int_eq(e4l_tunables_parse(text, n, &u), 0);
		ck_assert_uint_eq(e4l_tunables_text(u, again), n);
		ck_assert_int_eq(memcmp(text, again, n), 0);
		e4l_tunables_free(t);
		e4l_tunables_free(u);
	}
	ck_assert_uint_gt(accepted, 2500);
}
END_TEST

/* Random changes of tunables are compared with an array indexed by the name. */
START_TEST(set_and_remove_follow_a_model)
{
	char name[2] = "", value[12], expected[600], *p;
	int model[26], pick;
	struct e4l_tunables *t = e4l_tunables_new();
	uint32_t state = 7;
	unsigned int i, k;

	memset(model, -1, sizeof(model));
	for (i = 0; i < 20000; i++) {
		pick = next_random(&state) % 26;
		name[0] = 'a' + pick;
		if (next_random(&state) % 3) {
			model[pick] = next_random(&state) % 1000;
			snprintf(value, sizeof(value), "%d", model[pick]);
			ck_assert_int_eq(e4l_tunables_set(t, name, value, true),
					 0);
		} else {
			ck_assert_int_eq(e4l_tunables_remove(t, name),
					 model[pick] >= 0);
			model[pick] = -1;
		}
		for (k = 0, p = expected, *p = '\0'; k < 26; k++)
			if (model[k] >= 0)
				p += sprintf(p, "%s%c=%d",
					     p > expected ? "," : "", 'a' + k,
					     model[k]);
		check_text(t, expected);
	}
	e4l_tunables_free(t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tunables");
	TCase *tc = tcase_create("text");

	tcase_add_test(tc, text_is_canonical);
	tcase_add_test(tc, damaged_text_is_refused);
	tcase_add_test(tc, length_is_limited);
	tcase_add_test(tc, values_are_checked);
	tcase_add_test(tc, ranges_are_told);
	tcase_add_test(tc, what_is_not_understood_is_kept);
	tcase_add_test(tc, changes_are_made_or_refused);
	tcase_add_test(tc, table_is_consistent);
	tcase_add_test(tc, random_bytes_are_safe);
	tcase_add_test(tc, set_and_remove_follow_a_model);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
