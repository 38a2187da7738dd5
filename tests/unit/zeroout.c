/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <e4layout/e4layout.h>
#include "e4layout/base/internal.h"
#include "../../debugfs/zeroout.h"
#include "unit.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/*
 * Writes of @len blocks from @lblk to an unwritten extent of 100 blocks, which
 * begins at block 1000 of the file, with the limit @max and the expected
 * result.  The head and the tail are the blocks of the extent before and after
 * the write.
 */
static const struct {
	uint32_t lblk, len, max;
	uint64_t eof;
	struct e4l_zeroout want;
} rule_cases[] = {
	/*
	 * zero nothing if @max is 0, or too small for the blocks before and
	 * after the write
	 */
	{ 1010, 1, 0, 9999, { 1010, 1, 0, 0 } },
	{ 1050, 1, 8, 9999, { 1050, 1, 0, 0 } },
	/*
	 * zero the head (the blocks before the write) if head and write
	 * together are shorter than @max blocks
	 */
	{ 1006, 1, 8, 9999, { 1000, 7, 6, 0 } },
	{ 1007, 1, 8, 9999, { 1007, 1, 0, 0 } },
	/*
	 * zero the tail (the blocks after the write) if write and tail together
	 * are not longer than @max blocks
	 */
	{ 1092, 1, 8, 9999, { 1092, 8, 0, 7 } },
	{ 1091, 1, 8, 9999, { 1091, 1, 0, 0 } },
	/*
	 * zero the blocks before and after the write if the whole extent is
	 * shorter than @max blocks
	 */
	{ 1050, 1, 101, 9999, { 1000, 100, 50, 49 } },
	{ 1050, 1, 100, 9999, { 1050, 50, 0, 49 } },
	/*
	 * a write to the end of the extent zeroes nothing; a write to the start
	 * zeroes the blocks after the write
	 */
	{ 1095, 5, 512, 9999, { 1095, 5, 0, 0 } },
	{ 1000, 5, 512, 9999, { 1000, 100, 0, 95 } },
	/* zero nothing if the extent ends after the end of the file (@eof) */
	{ 1050, 1, 512, 1100, { 1000, 100, 50, 49 } },
	{ 1050, 1, 512, 1099, { 1050, 1, 0, 0 } },
};

START_TEST(rule_by_table)
{
	static const struct e4l_extent ex = {
		.pblk = 5000, .lblk = 1000, .len = 100, .unwritten = 1,
	};
	struct e4l_zeroout z;

	e4l_zeroout_rule(&ex, rule_cases[_i].lblk, rule_cases[_i].len,
			 rule_cases[_i].max, rule_cases[_i].eof, &z);
	ck_assert_mem_eq(&z, &rule_cases[_i].want, sizeof(z));
}
END_TEST

START_TEST(rule_at_the_last_block)
{
	static const struct e4l_extent ex = {
		.pblk = 1, .lblk = UINT32_MAX - 9, .len = 10, .unwritten = 1,
	};
	struct e4l_zeroout z;

	e4l_zeroout_rule(&ex, UINT32_MAX - 1, 1, 512, 1ULL << 32, &z);
	ck_assert_uint_eq(z.len, 10);
	ck_assert_uint_eq(z.tail, 1);
	e4l_zeroout_rule(&ex, UINT32_MAX - 1, 1, 512, (1ULL << 32) - 1, &z);
	ck_assert_uint_eq(z.len, 1);
}
END_TEST

/* The model: the state of each block of a file. */
#define MODEL_BLOCKS 6000
struct model {
	struct {
		blk64_t pblk;		/* 0: no block is mapped */
		bool written, zeroed;
	} b[MODEL_BLOCKS];
	uint64_t zeroed;		/* blocks zeroed by the current write */
};

static void note_zero(blk64_t pblk, uint32_t lblk, uint32_t len, void *priv)
{
	struct model *m = priv;
	uint32_t i;

	CHECK(len > 0);
	for (i = lblk; i < lblk + len; i++) {
		CHECK(m->b[i].pblk == pblk + (i - lblk));
		CHECK(!m->b[i].written && !m->b[i].zeroed);
		m->b[i].zeroed = true;
	}
	m->zeroed += len;
}

/*
 * Makes random extents, mostly unwritten.  Some are distant on the disk, and
 * some are followed by a hole.
 */
static size_t random_extents(struct e4l_extent *ex, struct model *m)
{
	uint32_t at = random() % 3, len, i;
	blk64_t pblk = 10000;
	size_t n = 0;

	memset(m, 0, sizeof(*m));
	while (at < MODEL_BLOCKS - 200) {
		len = 1 + random() % (random() % 4 ? 10 : 200);
		if (random() % 3 == 0)
			pblk += 1 + random() % 50;
		ex[n] = (struct e4l_extent) {
			.lblk = at, .pblk = pblk, .len = len,
			.unwritten = random() % 8 != 0,
		};
		for (i = 0; i < len; i++) {
			m->b[at + i].pblk = pblk + i;
			m->b[at + i].written = !ex[n].unwritten;
		}
		n++;
		pblk += len;
		at += len + (random() % 4 ? 0 : random() % 20);
	}
	return n;
}

static void compare(const struct model *m, const struct e4l_zeroout_file *f)
{
	size_t n = e4l_zeroout_file_extents(f, NULL), k;
	struct e4l_extent *ex = calloc(n, sizeof(*ex));
	uint32_t at = 0, i;

	ck_assert_ptr_nonnull(ex);
	CHECK(e4l_zeroout_file_extents(f, ex) == n);
	for (k = 0; k < n; k++) {
		CHECK(ex[k].len > 0);
		for (; at < ex[k].lblk; at++)
			CHECK(!m->b[at].pblk);
		for (i = 0; i < ex[k].len; i++, at++) {
			CHECK(m->b[at].pblk == ex[k].pblk + i);
			CHECK(m->b[at].written == !ex[k].unwritten);
		}
	}
	for (; at < MODEL_BLOCKS; at++)
		CHECK(!m->b[at].pblk);
	free(ex);
}

/*
 * Writes to @f and to @m, and compares the zeroed blocks.  If the write was
 * refused because of a hole, returns false.
 */
static bool write_both(struct e4l_zeroout_file *f, struct model *m,
		       uint32_t lblk, uint32_t len, uint32_t max, uint64_t eof)
{
	uint32_t i;
	bool hole = false;
	errcode_t err;

	for (i = lblk; i < lblk + len; i++)
		hole |= !m->b[i].pblk;
	m->zeroed = 0;
	err = e4l_zeroout_file_write(f, lblk, len, max, note_zero, m);
	CHECK(err == (hole ? E4L_ET_BAD_ARGUMENT : 0));
	if (hole) {
		CHECK(!m->zeroed);
		return false;
	}
	/* a write zeroes at most one chunk at each of its ends */
	CHECK(m->zeroed <= 2 * (uint64_t)max);
	for (i = lblk; i < lblk + len; i++) {
		CHECK(!m->b[i].zeroed);
		m->b[i].written = true;
	}
	for (i = 0; i < MODEL_BLOCKS; i++) {
		if (!m->b[i].zeroed)
			continue;
		CHECK(i < eof);
		m->b[i].written = true;
		m->b[i].zeroed = false;
	}
	return true;
}

/*
 * Small blocks have small leaves, so that leaves fill, split and pass entries
 * to other leaves.  Each seed makes one file.
 */
START_TEST(writes_agree_with_the_model)
{
	static const uint32_t limits[] = { 0, 7, 16, 32, 64, 128, 256 };
	struct e4l_extent *ex = calloc(MODEL_BLOCKS, sizeof(*ex));
	struct model *m = malloc(sizeof(*m));
	struct e4l_zeroout_file *f;
	uint32_t lblk, len, max = limits[_i % ARRAY_SIZE(limits)];
	uint64_t eof;
	size_t n;
	int w;

	srandom(_i);
	n = random_extents(ex, m);
	eof = random() % 2 ? MODEL_BLOCKS : random() % MODEL_BLOCKS;
	ck_assert_int_eq(e4l_zeroout_file_new(ex, n, 1024, eof, &f), 0);
	compare(m, f);
	for (w = 0; w < 600; w++) {
		lblk = random() % (MODEL_BLOCKS - 100);
		len = 1 + random() % (random() % 3 ? 2 : 60);
		if (write_both(f, m, lblk, len, max, eof) && lblk + len > eof)
			eof = lblk + len;
		if (w % 20 == 0)
			compare(m, f);
	}
	compare(m, f);
	e4l_zeroout_file_free(f);
	free(m);
	free(ex);
}
END_TEST

/*
 * A file with one unwritten extent, and a leaf of 84 entries, is written at
 * various places.
 */
START_TEST(merges_and_passes_on)
{
	static const struct e4l_extent ex = {
		.pblk = 5000, .lblk = 0, .len = 1000, .unwritten = 1,
	};
	struct e4l_zeroout_file *f;
	struct e4l_extent got[8];

	ck_assert_int_eq(e4l_zeroout_file_new(&ex, 1, 1024, 1000, &f), 0);
	e4l_zeroout_file_write(f, 500, 1, 0, NULL, NULL);
	ck_assert_uint_eq(e4l_zeroout_file_extents(f, NULL), 3);
	/* the blocks are added to the adjacent extents; nothing is zeroed */
	e4l_zeroout_file_write(f, 501, 1, 999, NULL, NULL);
	e4l_zeroout_file_write(f, 499, 1, 999, NULL, NULL);
	ck_assert_uint_eq(e4l_zeroout_file_extents(f, got), 3);
	ck_assert_uint_eq(got[1].lblk, 499);
	ck_assert_uint_eq(got[1].len, 3);
	/* writing the whole head joins the head with the next extent */
	e4l_zeroout_file_write(f, 0, 499, 0, NULL, NULL);
	ck_assert_uint_eq(e4l_zeroout_file_extents(f, got), 2);
	ck_assert_uint_eq(got[0].len, 502);
	/* write the last 498 blocks, so that the file has one extent */
	e4l_zeroout_file_write(f, 502, 498, 0, NULL, NULL);
	ck_assert_uint_eq(e4l_zeroout_file_extents(f, got), 1);
	ck_assert_uint_eq(got[0].len, 1000);
	e4l_zeroout_file_free(f);
}
END_TEST

/*
 * A written extent grows to 32768 blocks, its maximum length.  The next written
 * block begins another extent.
 */
START_TEST(respects_the_entry_length)
{
	static const struct e4l_extent ex[] = {
		{ .pblk = 100, .lblk = 0, .len = 32766 },
		{ .pblk = 32866, .lblk = 32766, .len = 10, .unwritten = 1 },
	};
	struct e4l_zeroout_file *f;
	struct e4l_extent got[4];

	ck_assert_int_eq(e4l_zeroout_file_new(ex, 2, 4096, 99999, &f), 0);
	e4l_zeroout_file_write(f, 32766, 1, 0, NULL, NULL);
	ck_assert_uint_eq(e4l_zeroout_file_extents(f, got), 2);
	ck_assert_uint_eq(got[0].len, 32767);
	e4l_zeroout_file_write(f, 32767, 1, 0, NULL, NULL);
	ck_assert_uint_eq(e4l_zeroout_file_extents(f, got), 2);
	ck_assert_uint_eq(got[0].len, 32768);
	e4l_zeroout_file_write(f, 32768, 1, 0, NULL, NULL);
	ck_assert_uint_eq(e4l_zeroout_file_extents(f, got), 3);
	ck_assert_uint_eq(got[1].len, 1);
	e4l_zeroout_file_free(f);
}
END_TEST

START_TEST(refuses_bad_lists)
{
	static const struct e4l_extent bad[][2] = {
		{ { .lblk = 0, .len = 5 }, { .lblk = 4, .len = 5 } },
		{ { .lblk = 9, .len = 5 }, { .lblk = 0, .len = 5 } },
		{ { .lblk = 0, .len = 5 }, { .lblk = 5, .len = 0 } },
		{ { .lblk = 0, .len = 5 }, { .lblk = 5, .len = 32769 } },
		{ { .lblk = 0, .len = 5 },
		  { .lblk = 5, .len = 32768, .unwritten = 1 } },
		{ { .lblk = 0, .len = 5 }, { .lblk = UINT32_MAX, .len = 2 } },
	};
	struct e4l_zeroout_file *f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ck_assert_int_eq(e4l_zeroout_file_new(bad[i], 2, 4096, 0, &f),
				 E4L_ET_BAD_ARGUMENT);
		ck_assert_ptr_null(f);
	}
	ck_assert_int_eq(e4l_zeroout_file_new(NULL, 0, 4096, 0, &f), 0);
	ck_assert_int_eq(e4l_zeroout_file_write(f, 0, 1, 0, NULL, NULL),
			 E4L_ET_BAD_ARGUMENT);
	e4l_zeroout_file_free(f);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("zeroout");
	TCase *tc = tcase_create("zeroout");

	tcase_add_loop_test(tc, rule_by_table, 0, ARRAY_SIZE(rule_cases));
	tcase_add_test(tc, rule_at_the_last_block);
	tcase_add_loop_test(tc, writes_agree_with_the_model, 0, 70);
	tcase_add_test(tc, merges_and_passes_on);
	tcase_add_test(tc, respects_the_entry_length);
	tcase_add_test(tc, refuses_bad_lists);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
