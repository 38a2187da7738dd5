/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <e4layout/e4layout.h>
#include "../../debugfs/es_cache.h"
#include "unit.h"

#define INODES 5
#define BLOCKS 250	/* number of blocks of each inode */
#define UNKNOWN (-1)	/* the test has not set the state of the block */

/* The expected content of the cache: the last state set for each block. */
struct model {
	struct {
		int state;
		blk64_t pblk;
	} blk[INODES][BLOCKS];
	uint64_t hits, misses;
};

/*
 * Returns the first block of inode @ino in the test.  The last inode uses the
 * last blocks that a file can have.
 */
static uint32_t base(unsigned int ino)
{
	return ino == INODES - 1 ? UINT32_MAX - (BLOCKS - 1) : ino * 7;
}

static bool has_place(int state)
{
	return state == E4L_ES_WRITTEN || state == E4L_ES_UNWRITTEN;
}

static bool alike(const struct model *m, unsigned int ino, unsigned int a,
		  unsigned int b)
{
	int state = m->blk[ino][a].state;

	return state == m->blk[ino][b].state &&
	       (!has_place(state) ||
		m->blk[ino][a].pblk + b - a == m->blk[ino][b].pblk);
}

/*
 * Checks that a found entry agrees with the model.  If @limited is false, the
 * cache has freed no entries, so that the entry must have its full length.
 */
static unsigned int check_entry(const struct model *m, unsigned int ino,
				unsigned int at, const struct e4l_es *es,
				bool limited)
{
	unsigned int first = es->lblk - base(ino), i;

	CHECK(first <= at);
	CHECK(first + es->len > at);
	CHECK(first + es->len <= BLOCKS);
	for (i = first; i < first + es->len; i++) {
		CHECK(m->blk[ino][i].state == es->state);
		CHECK(has_place(es->state) ?
		      m->blk[ino][i].pblk == es->pblk + i - first : !es->pblk);
	}
	if (limited)
		return first + es->len;
	CHECK(!first || !alike(m, ino, first - 1, first));
	CHECK(i == BLOCKS || !alike(m, ino, i - 1, i));
	return i;
}

static void compare(struct e4l_es_cache *c, struct model *m, bool limited)
{
	uint64_t entries = 0, delayed = 0, inodes = 0;
	struct e4l_es_stats stats;
	unsigned int ino, at;
	struct e4l_es es;

	for (ino = 0; ino < INODES; ino++) {
		uint64_t before = entries;

		for (at = 0; at < BLOCKS; ) {
			int state = m->blk[ino][at].state;

			if (!e4l_es_lookup(c, ino + 1, base(ino) + at, &es)) {
				CHECK(limited || state == UNKNOWN);
				CHECK(state != E4L_ES_DELAYED);
				m->misses++;
				at++;
				continue;
			}
			m->hits++;
			CHECK(state != UNKNOWN);
			at = check_entry(m, ino, at, &es, limited);
			entries++;
			delayed += es.state == E4L_ES_DELAYED;
		}
		inodes += entries > before;
	}
	e4l_es_get_stats(c, &stats);
	CHECK(stats.entries == entries);
	CHECK(stats.reclaimable == entries - delayed);
	CHECK(stats.inodes == inodes);
	CHECK(stats.hits == m->hits);
	CHECK(stats.misses == m->misses);
}

static void insert(struct e4l_es_cache *c, struct model *m, unsigned int ino,
		   unsigned int at, unsigned int len)
{
	struct e4l_es es = {
		.lblk = base(ino) + at, .len = len, .state = random() % 4,
		/*
		 * only two physical ranges, so that logically adjacent entries
		 * are often also physically adjacent and can be merged
		 */
		.pblk = 1000 * (1 + random() % 2) + at,
	};
	unsigned int i;

	CHECK(!e4l_es_insert(c, ino + 1, &es));
	for (i = 0; i < len; i++) {
		m->blk[ino][at + i].state = es.state;
		m->blk[ino][at + i].pblk = es.pblk + i;
	}
}

static void forget(struct model *m, unsigned int ino, unsigned int at,
		   unsigned int len)
{
	for (; len; len--)
		m->blk[ino][at++].state = UNKNOWN;
}

/*
 * Looks up several entries of inode @ino, from block @at on, and compares them
 * with the model.  @limited is true if the cache may have dropped entries at
 * its memory limit.
 */
static void look_at_many(struct e4l_es_cache *c, struct model *m,
			 unsigned int ino, unsigned int at, bool limited)
{
	size_t n = 1 + random() % 6, found, i;
	struct e4l_es es[6];

	found = e4l_es_lookup_many(c, ino + 1, base(ino) + at, es, n);
	CHECK(found <= n);
	for (i = 0; i < found; i++) {
		CHECK(!i || es[i].lblk == base(ino) + at);
		at = check_entry(m, ino, at, &es[i], limited);
	}
	m->hits += found;
	/*
	 * the last inode uses the last possible block of a file: a lookup that
	 * reaches the end counts no miss
	 */
	if (found == n || (at == BLOCKS && ino == INODES - 1))
		return;
	m->misses++;
	if (at == BLOCKS)
		return;
	CHECK(limited || m->blk[ino][at].state == UNKNOWN);
	CHECK(m->blk[ino][at].state != E4L_ES_DELAYED);
}

static void change(struct e4l_es_cache *c, struct model *m, bool limited)
{
	unsigned int ino = random() % INODES, at = random() % BLOCKS;
	unsigned int len = 1 + random() % (random() % 8 ? 12 : BLOCKS);
	struct e4l_es es;

	if (len > BLOCKS - at)
		len = BLOCKS - at;
	switch (random() % 32) {
	case 0 ... 15:
		insert(c, m, ino, at, len);
		break;
	case 16 ... 23:
		/* a range may extend beyond the last possible block */
		CHECK(!e4l_es_remove(c, ino + 1, base(ino) + at,
				     at + len == BLOCKS ? UINT64_MAX : len));
		forget(m, ino, at, len);
		break;
	case 24 ... 27:
		look_at_many(c, m, ino, at, limited);
		break;
	case 28 ... 30:
		if (!e4l_es_lookup(c, ino + 1, base(ino) + at, &es)) {
			m->misses++;
			break;
		}
		m->hits++;
		check_entry(m, ino, at, &es, true);
		break;
	default:
		if (random() % 64)
			break;
		CHECK(!e4l_es_remove(c, ino + 1, 0, UINT64_MAX));
		forget(m, ino, 0, BLOCKS);
	}
}

static void check_limit(const struct e4l_es_cache *c)
{
	struct e4l_es_stats stats;

	e4l_es_get_stats(c, &stats);
	CHECK(stats.bytes <= stats.limit_bytes || !stats.reclaimable);
	CHECK(stats.active <= stats.reclaimable);
	CHECK(stats.max_bytes >= stats.bytes);
}

/*
 * Memory limits in bytes.  Each limit is tested with an eighth of one million
 * operations.
 */
static const uint64_t limits[] = {
	UINT64_MAX, 40000, 20000, 9000, 6000, 4000, 2000, 0
};
#define N_LIMITS (sizeof(limits) / sizeof(*limits))
#define ROUNDS (1000000 / N_LIMITS)

START_TEST(test_model)
{
	const bool limited = limits[_i] != UINT64_MAX;
	static struct model m;
	struct e4l_es_stats stats;
	struct e4l_es_cache *c;
	unsigned int i;

	memset(&m, 0, sizeof(m));
	for (i = 0; i < INODES; i++)
		forget(&m, i, 0, BLOCKS);
	srandom(_i + 1);
	ck_assert_int_eq(e4l_es_new(limits[_i], &c), 0);
	for (i = 0; i < ROUNDS; i++) {
		change(c, &m, limited);
		check_limit(c);
		if (i % 1024 == 0)
			compare(c, &m, limited);
		if (limited && i % 1024 == 0)
			e4l_es_shrink(c, random() % 32);
	}
	e4l_es_get_stats(c, &stats);
	ck_assert(limited ? stats.scans > 100 : !stats.scans);
	e4l_es_forget_all(c);
	e4l_es_get_stats(c, &stats);
	ck_assert_uint_eq(stats.entries | stats.inodes | stats.reclaimable |
			  stats.active, 0);
	e4l_es_free(c);
}
END_TEST

/*
 * Inserts @n entries of one block each for inode @ino, from block 2 * @from on.
 * Every second block stays without an entry, so that entries never join.
 */
static void fill(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t from,
		 uint32_t n, enum e4l_es_state state)
{
	struct e4l_es es = { .len = 1, .state = state };

	for (es.lblk = 2 * from; n; n--, es.lblk += 2)
		ck_assert_int_eq(e4l_es_insert(c, ino, &es), 0);
}

/*
 * Returns how many of @n blocks are cached.  The blocks have even numbers, from
 * 2 * @from on, as in fill().
 */
static unsigned int known(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t from,
			  uint32_t n)
{
	unsigned int found = 0;
	struct e4l_es es;

	for (; n; n--, from++)
		found += e4l_es_lookup(c, ino, 2 * from, &es);
	return found;
}

static struct e4l_es_cache *cache_of(uint64_t entries)
{
	struct e4l_es_cache *c;
	struct e4l_es_stats one, two;

	ck_assert_int_eq(e4l_es_new(UINT64_MAX, &c), 0);
	fill(c, 1, 0, 1, E4L_ES_HOLE);
	e4l_es_get_stats(c, &one);
	fill(c, 1, 1, 1, E4L_ES_HOLE);
	e4l_es_get_stats(c, &two);
	e4l_es_free(c);
	ck_assert_int_eq(e4l_es_new(one.bytes + (two.bytes - one.bytes) *
				    entries, &c), 0);
	return c;
}

/* Entries in use stay while many other entries pass through the cache. */
START_TEST(test_in_use)
{
	struct e4l_es_cache *c = cache_of(1000);
	uint32_t i;

	fill(c, 1, 0, 200, E4L_ES_WRITTEN);
	for (i = 0; i < 100; i++) {
		ck_assert_uint_eq(known(c, 1, 0, 200), 200);
		fill(c, 2, i * 200, 200, E4L_ES_WRITTEN);
	}
	e4l_es_free(c);
}
END_TEST

/* Entries that are no longer looked up are reclaimed before entries in use. */
START_TEST(test_was_in_use)
{
	struct e4l_es_cache *c = cache_of(1000);
	unsigned int found = 0, i;

	fill(c, 1, 0, 900, E4L_ES_WRITTEN);
	for (i = 0; i < 4; i++) {
		known(c, 1, 0, 900);
		fill(c, 2, 0, 100, E4L_ES_WRITTEN);
	}
	for (i = 0; i < 40; i++) {
		found = known(c, 3, 0, 600);
		fill(c, 3, 0, 600, E4L_ES_WRITTEN);
	}
	ck_assert_uint_ge(found, 400);
	e4l_es_free(c);
}
END_TEST

/* Delayed entries do not make a scan longer. */
START_TEST(test_short_scans)
{
	struct e4l_es_cache *c = cache_of(UINT32_MAX);
	struct e4l_es_stats stats;
	ext2_ino_t ino;

	for (ino = 1; ino <= 1000; ino++)
		fill(c, ino, 0, 20, E4L_ES_DELAYED);
	ck_assert_uint_eq(e4l_es_shrink(c, 10), 0);
	for (ino = 1; ino <= 1000; ino += 3)
		fill(c, ino, 20, 10, E4L_ES_UNWRITTEN);
	ck_assert_uint_eq(e4l_es_shrink(c, 25), 25);
	e4l_es_get_stats(c, &stats);
	ck_assert_uint_eq(stats.visited, 25 + 3);
	ck_assert_uint_eq(stats.max_visited, stats.visited);
	ck_assert_uint_eq(stats.reclaimed, 25);
	while (e4l_es_shrink(c, 64))
		;
	e4l_es_get_stats(c, &stats);
	ck_assert_uint_eq(stats.entries, 20000);
	ck_assert_uint_eq(stats.inodes, 1000);
	e4l_es_free(c);
}
END_TEST

/*
 * Reclaim visits the inodes in turn, and frees the oldest entries of each inode
 * first.
 */
START_TEST(test_turns)
{
	struct e4l_es_cache *c = cache_of(UINT32_MAX);
	ext2_ino_t ino;

	for (ino = 1; ino <= 3; ino++)
		fill(c, ino, 0, 10, E4L_ES_WRITTEN);
	for (ino = 1; ino <= 3; ino++)
		ck_assert_uint_eq(e4l_es_shrink(c, 4), 4);
	for (ino = 1; ino <= 3; ino++) {
		ck_assert_uint_eq(known(c, ino, 0, 4), 0);
		ck_assert_uint_eq(known(c, ino, 4, 6), 6);
	}
	/* if all entries are in use, reclaim frees one entry anyway */
	ck_assert_uint_eq(e4l_es_shrink(c, 0), 1);
	e4l_es_free(c);
}
END_TEST

static const struct e4l_es wrong[] = {
	{ .len = 0 },
	{ .lblk = 1, .len = 1ULL << 32 },
	{ .lblk = UINT32_MAX, .len = 2 },
	{ .len = UINT64_MAX },
	{ .len = 1, .state = E4L_ES_DELAYED + 1 },
};

START_TEST(test_wrong)
{
	struct e4l_es_cache *c = cache_of(10);
	struct e4l_es_stats stats;

	ck_assert_int_eq(e4l_es_insert(c, 1, &wrong[_i]), E4L_ET_BAD_ARGUMENT);
	e4l_es_get_stats(c, &stats);
	ck_assert_uint_eq(stats.inodes | stats.entries, 0);
	e4l_es_free(c);
}
END_TEST

/* One hole may cover the whole of the largest file. */
START_TEST(test_large)
{
	struct e4l_es hole = { .len = 1ULL << 32, .state = E4L_ES_HOLE };
	struct e4l_es_cache *c = cache_of(10);
	struct e4l_es es;

	ck_assert_int_eq(e4l_es_insert(c, 1, &hole), 0);
	ck_assert(e4l_es_lookup(c, 1, UINT32_MAX, &es));
	ck_assert_uint_eq(es.len, hole.len);
	ck_assert_int_eq(e4l_es_remove(c, 1, 5, 1), 0);
	ck_assert(!e4l_es_lookup(c, 1, 5, &es));
	hole = (struct e4l_es) { .lblk = 5, .len = 1, .state = E4L_ES_HOLE };
	ck_assert_int_eq(e4l_es_insert(c, 1, &hole), 0);
	ck_assert(e4l_es_lookup(c, 1, 5, &es));
	ck_assert_uint_eq(es.len, 1ULL << 32);
	e4l_es_free(c);
	e4l_es_free(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("es_cache");
	TCase *tc = tcase_create("es_cache");

	tcase_add_loop_test(tc, test_model, 0, N_LIMITS);
	tcase_add_test(tc, test_in_use);
	tcase_add_test(tc, test_was_in_use);
	tcase_add_test(tc, test_short_scans);
	tcase_add_test(tc, test_turns);
	tcase_add_loop_test(tc, test_wrong, 0, sizeof(wrong) / sizeof(*wrong));
	tcase_add_test(tc, test_large);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
