/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the exchange of inodes (e4l_quotas_make() and e4l_trails_make()) on
 * random inode tables.  A place is an inode number.  After an exchange, no
 * directory has inodes in more blocks than before.  Each move goes to a free
 * place.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "e4layout/inodes/block_shares.h"
#include "e4layout/inodes/trails.h"
#include "unit.h"

#define BLOCKS		60
#define MOST		32		/* maximum number of inodes per block */
#define DIRS		40

/* Values of place[][] that are not the number of a directory. */
#define FREE		(-1)
/* an inode that belongs to no directory, and must not move */
#define FOREIGN		(-2)
/* added to the number of the directory if the inode must not move */
#define STAYS		1000

static int place[BLOCKS][MOST];
static unsigned int per_block;
static uint16_t room[BLOCKS], vacant[BLOCKS];
static struct e4l_quotas q;

/*
 * ---------------------------------------------------------------- the tables
 */

/*
 * Fills place[][] with random inodes.  Of 1000 places, about @vacancy are free.
 * The directories have different numbers of inodes.
 */
static void draw(unsigned int vacancy)
{
	unsigned int dirs = 1 + random() % DIRS, i, j;
	bool in_turns = random() % 2;

	per_block = 1 << random() % 6;
	for (i = 0; i < BLOCKS; i++)
		for (j = 0; j < per_block; j++) {
			int dir = in_turns ? (i * per_block + j) % dirs :
				  random() % (1 + random() % dirs);
			unsigned int dice = random() % 1000;

			place[i][j] = dice < vacancy ? FREE :
				      dice > 990 ? FOREIGN :
				      dice > 980 ? dir + STAYS : dir;
		}
}

static struct e4l_cell *cell_of(unsigned int block, unsigned int dir)
{
	size_t i;

	for (i = 0; i < q.n_cells; i++)
		if (q.cells[i].block == block && q.cells[i].dir == dir)
			return &q.cells[i];
	ck_assert_int_eq(e4l_grow(&q.cells, q.n_cells, sizeof(*q.cells)), 0);
	q.cells[q.n_cells] = (struct e4l_cell) { .dir = dir, .block = block };
	return &q.cells[q.n_cells++];
}

static void describe(void)
{
	unsigned int i, j;

	q = (struct e4l_quotas) {
		.dirs = DIRS, .blocks = BLOCKS, .per_block = per_block,
		.room = room,
	};
	for (i = 0; i < BLOCKS; i++) {
		room[i] = vacant[i] = 0;
		for (j = 0; j < per_block; j++) {
			int who = place[i][j];

			vacant[i] += who == FREE;
			room[i] += who == FREE || (who >= 0 && who < STAYS);
			if (who >= STAYS)
				cell_of(i, who - STAYS)->fixed = true;
			else if (who >= 0)
				cell_of(i, who)->count++;
		}
	}
}

/* Sums: inodes and blocks of each directory, and inodes in each block. */
struct sums {
	unsigned int has[DIRS], blocks[DIRS], in[BLOCKS];
};

static struct sums sum(bool quotas)
{
	struct sums s = { .has = { 0 } };
	size_t i;

	for (i = 0; i < q.n_cells; i++) {
		const struct e4l_cell *c = &q.cells[i];
		unsigned int n = quotas ? c->quota : c->count;

		s.has[c->dir] += n;
		s.blocks[c->dir] += n || c->fixed;
		s.in[c->block] += n;
	}
	return s;
}

static void check_quotas(const struct sums *old)
{
	struct sums new = sum(true);
	unsigned int i;

	for (i = 0; i < DIRS; i++) {
		CHECK(new.has[i] == old->has[i]);
		CHECK(new.blocks[i] <= old->blocks[i]);
	}
	for (i = 0; i < BLOCKS; i++)
		CHECK(new.in[i] <= room[i]);
}

/* --------------------------------------------------------------------- moves */

static struct e4l_trail_move moves[BLOCKS * MOST];
static int who_moves[BLOCKS * MOST];
static size_t n_moves;

/*
 * Moves each surplus inode to a block that lacks an inode of the same
 * directory.
 */
static void make_moves(void)
{
	unsigned int lack[BLOCKS * MOST], i, j;

	for (i = 0; i < q.n_cells; i++)
		lack[i] = q.cells[i].quota > q.cells[i].count ?
			  q.cells[i].quota - q.cells[i].count : 0;
	for (i = n_moves = 0; i < q.n_cells; i++) {
		unsigned int n = q.cells[i].count > q.cells[i].quota ?
				 q.cells[i].count - q.cells[i].quota : 0;

		for (j = 0; n; j++) {
			CHECK(j < q.n_cells);
			for (; n && lack[j] && q.cells[j].dir == q.cells[i].dir;
			     n--, lack[j]--) {
				who_moves[n_moves] = q.cells[i].dir;
				moves[n_moves++] = (struct e4l_trail_move) {
					q.cells[i].block, q.cells[j].block,
					random() % 3 == 0,
				};
			}
		}
	}
}

struct spot {
	unsigned int block, nr;
};

static int *at(struct spot s)
{
	return &place[s.block][s.nr];
}

/* Returns an inode number in @block whose inode belongs to directory @who. */
static struct spot find(unsigned int block, int who)
{
	struct spot s = { block, 0 };

	while (s.nr < per_block && *at(s) != who)
		s.nr++;
	CHECK(s.nr < per_block);
	return s;
}

/* Finds a free inode number in any block. */
static struct spot find_any(void)
{
	struct spot s = { 0, 0 };

	for (; s.block < BLOCKS; s.block++)
		for (s.nr = 0; s.nr < per_block; s.nr++)
			if (*at(s) == FREE)
				return s;
	ck_abort_msg("nothing is free");
}

static void go(struct spot from, struct spot to)
{
	CHECK(*at(to) == FREE);
	*at(to) = *at(from);
	*at(from) = FREE;
}

/*
 * Carries out the steps.  Returns the number of moves that need a second step,
 * because the inode moves to a temporary number first.
 */
static size_t follow(const struct e4l_trail_step *steps, size_t n)
{
	struct spot left = { 0, 0 }, away = { 0, 0 }, from, to;
	static char done[BLOCKS * MOST];
	bool is_away = false;
	size_t twice = 0, i;

	memset(done, 0, sizeof(done));
	for (i = 0; i < n; i++) {
		const struct e4l_trail_move *move = &moves[steps[i].move];
		enum e4l_trail_kind kind = steps[i].kind;

		CHECK(is_away || kind != E4L_TRAIL_BACK);
		from = kind == E4L_TRAIL_BACK ? away :
		       find(move->from, who_moves[steps[i].move]);
		to = kind == E4L_TRAIL_BEGIN ? find(move->to, FREE) :
		     kind == E4L_TRAIL_AWAY ? find_any() : left;
		if (kind == E4L_TRAIL_AWAY) {
			CHECK(!is_away);
			away = to;
			is_away = true;
			twice++;
		} else {
			CHECK(to.block == move->to);
			CHECK(!done[steps[i].move]++);
			is_away &= kind != E4L_TRAIL_BACK;
		}
		go(from, to);
		left = from;
	}
	CHECK(!is_away);
	CHECK(n == n_moves + twice);
	return twice;
}

static void check_place(void)
{
	unsigned int i, j, n;
	size_t c;

	for (i = 0; i < BLOCKS; i++)
		for (c = 0; c < q.n_cells; c++) {
			if (q.cells[c].block != i)
				continue;
			for (j = n = 0; j < per_block; j++)
				n += place[i][j] == (int)q.cells[c].dir;
			CHECK(n == q.cells[c].quota);
		}
}

static bool has_free(void)
{
	unsigned int n = 0, i;

	for (i = 0; i < BLOCKS; i++)
		n += vacant[i];
	return n;
}

static void check_one(unsigned int vacancy)
{
	struct e4l_trail_step *steps;
	struct sums old;
	size_t n;

	draw(vacancy);
	describe();
	old = sum(false);
	ck_assert_int_eq(e4l_quotas_make(&q), 0);
	check_quotas(&old);
	make_moves();
	ck_assert_int_eq(e4l_trails_make(moves, n_moves, vacant, BLOCKS, &steps,
					 &n), 0);
	if (has_free()) {
		follow(steps, n);
		check_place();
	}
	free(steps);
	free(q.cells);
}

START_TEST(drawn)
{
	static const unsigned int vacancies[] = { 3, 20, 300 };
	int draws = getenv("E4L_QUICK") ? 15 : 100, i;

	srandom(_i);
	for (i = 0; i < draws; i++)
		check_one(vacancies[i % 3]);
}
END_TEST

/* --------------------------------------------------------------- known cases */

/*
 * Directories of 24 inodes alternate in full blocks of 16 inodes.  Each
 * directory needs at least two blocks.
 */
START_TEST(in_turns)
{
	unsigned int blocks = 0, i, j;
	struct sums old, new;

	per_block = 16;
	for (i = 0; i < BLOCKS; i++)
		for (j = 0; j < 16; j++)
			place[i][j] = (i * 16 + j) % DIRS;
	describe();
	old = sum(false);
	ck_assert_int_eq(e4l_quotas_make(&q), 0);
	check_quotas(&old);
	new = sum(true);
	for (i = 0; i < DIRS; i++)
		blocks += new.blocks[i];
	ck_assert_uint_eq(blocks, 2 * DIRS);
	free(q.cells);
}
END_TEST

/* If each directory is in the fewest blocks, no inode moves. */
START_TEST(settled)
{
	unsigned int i, j;

	per_block = 16;
	for (i = 0; i < BLOCKS; i++)
		for (j = 0; j < 16; j++)
			place[i][j] = i / 3 * 2 + (i % 3 == 1 ? j / 8 :
						   i % 3 / 2);
	describe();
	ck_assert_int_eq(e4l_quotas_make(&q), 0);
	for (i = 0; i < q.n_cells; i++)
		ck_assert_uint_eq(q.cells[i].quota, q.cells[i].count);
	free(q.cells);
}
END_TEST

/*
 * Two pairs of inodes exchange blocks.  If the blocks have no free inode, one
 * inode of each pair moves twice.
 */
START_TEST(pairs)
{
	static const struct e4l_trail_move two[] = {
		{ 0, 1, true }, { 1, 0, false }, { 2, 3, false }, { 3, 2, true },
	};
	static const struct e4l_trail_step want[] = {
		{ 1, E4L_TRAIL_AWAY }, { 0, E4L_TRAIL_ON },
		{ 1, E4L_TRAIL_BACK },
		{ 2, E4L_TRAIL_AWAY }, { 3, E4L_TRAIL_ON },
		{ 2, E4L_TRAIL_BACK },
	};
	uint16_t none[4] = { 0 };
	struct e4l_trail_step *steps;
	size_t n, i;

	ck_assert_int_eq(e4l_trails_make(two, 4, none, 4, &steps, &n), 0);
	ck_assert_uint_eq(n, 6);
	for (i = 0; i < n; i++) {
		ck_assert_uint_eq(steps[i].move, want[i].move);
		ck_assert_int_eq(steps[i].kind, want[i].kind);
	}
	free(steps);
	none[0] = none[3] = 1;
	ck_assert_int_eq(e4l_trails_make(two, 4, none, 4, &steps, &n), 0);
	ck_assert_uint_eq(n, 4);
	free(steps);
}
END_TEST

/*
 * A plan that moves more inodes to a block than the block has places is
 * refused.
 */
START_TEST(no_room)
{
	static const struct e4l_trail_move one = { 0, 1, false };
	uint16_t none[2] = { 0 };
	struct e4l_trail_step *steps;
	size_t n;

	ck_assert_int_eq(e4l_trails_make(&one, 1, none, 2, &steps, &n), EINVAL);
	ck_assert_ptr_null(steps);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("exchange");
	TCase *tc = tcase_create("exchange");

	tcase_add_loop_test(tc, drawn, 0, 4);
	tcase_add_test(tc, in_turns);
	tcase_add_test(tc, settled);
	tcase_add_test(tc, pairs);
	tcase_add_test(tc, no_room);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
