/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guarantees of a plan, tested on random filesystems in memory. */
#include "config.h"
#include "plan_world.h"

#define WORLDS	120
#define BUDGETS	60
#define STOPS	50
#define MOST_STOPS 100
#define SLACK	128	/* tolerance for the number of copied blocks */
/* maximum number of further runs on nearly full filesystems */
#define MOST_RUNS 8

/* Returns the content of each block of each file, for later comparison. */
static uint64_t **get_views(const struct world *w, uint64_t *n)
{
	uint64_t **views = calloc(w->files + 1, sizeof(*views));
	unsigned int f;

	for (f = 0; f < w->files; f++)
		views[f] = get_view(w, f, &n[f]);
	return views;
}

static void compare_views(const struct world *w, uint64_t **views,
			  const uint64_t *n)
{
	unsigned int f;
	uint64_t *now, len;

	for (f = 0; f < w->files; f++) {
		now = get_view(w, f, &len);
		CHECK(len == n[f]);
		CHECK(!memcmp(now, views[f], len * sizeof(*now)));
		free(now);
		free(views[f]);
	}
	free(views);
}

/*
 * Checks that each file's clusters have no other owner, and that all other
 * clusters are free or walls.
 */
static void check_owners(const struct world *w)
{
	uint32_t ratio = w->opt.geo.cluster_blocks;
	uint32_t *owner = calloc(w->clusters, sizeof(*owner));
	uint64_t c, k;
	unsigned int f;
	size_t i;

	for (f = 0; f < w->files; f++) {
		const struct file *file = &w->file[f];

		for (i = 0; i < file->n; i++)
			for (k = 0; k < file->ex[i].len; k++)
				owner[(file->ex[i].pblk + k) / ratio] = USED + f;
		for (i = 0; i < file->n_tree; i++)
			owner[file->tree[i].pblk / ratio] = USED + f;
	}
	for (c = 0; c < w->clusters; c++)
		CHECK(w->state[c] == owner[c] ||
		      (w->state[c] == WALL && !owner[c]));
	free(owner);
}

static void check_result(const struct e4l_plan_state *s,
			 const struct figures *f)
{
	ck_assert_uint_eq(s->excess, f->excess);
	/*
	 * the result has more free blocks if some files need fewer tree blocks
	 */
	ck_assert_uint_le(s->free_blocks, f->free_blocks);
	if (s->free_blocks < f->free_blocks)
		return;
	ck_assert_uint_eq(s->free_extents, f->extents);
	ck_assert_uint_eq(s->largest_free_blocks, f->largest);
	ck_assert_uint_eq(s->large_free_blocks, f->large);
}

static void check_guard(const struct figures *was, const struct figures *is)
{
	uint64_t least = is->excess < was->excess ? was->largest * 9 :
						    was->largest * 10;

	ck_assert_uint_le(is->excess, was->excess);
	ck_assert_uint_ge(is->largest * 10, least);
	ck_assert_uint_ge(is->large, was->large);
}

/*
 * Plans, carries out the plan, and checks the result.  Returns the number of
 * moves.
 */
static size_t run_world(struct world *w)
{
	uint64_t *n = calloc(w->files + 1, sizeof(*n));
	uint64_t **views = get_views(w, n);
	const struct e4l_plan_result *r;
	struct figures was, is;
	struct e4l_plan *p;
	size_t moves;

	get_figures(w, &was);
	p = make_plan(w);
	r = e4l_plan_result(p);
	check_result(&r->before, &was);
	e4l_plan_moves(p, &moves);
	run_plan(w, p);
	get_figures(w, &is);
	check_result(&r->after, &is);
	check_guard(&was, &is);
	ck_assert_uint_eq(w->copied, r->copy_blocks);
	ck_assert_uint_le(w->copied, w->opt.copy_budget_blocks);
	/*
	 * If excess remains, fragments of a file can become adjacent by chance.
	 * More unwritten runs than planned may then be zeroed.
	 */
	if (!is.excess)
		ck_assert_uint_eq(w->zeroed, r->zero_blocks);
	check_owners(w);
	compare_views(w, views, n);
	free(n);
	e4l_plan_free(p);
	return moves;
}

static struct world *random_world(unsigned int seed, uint32_t ratio)
{
	srandom(seed);
	return aged_world((seed * 7919u % 60 + 1) * 64, ratio,
			  30 + seed * 37 % 69, 1u << (2 + seed % 9), seed % 7);
}

START_TEST(keeps_promises)
{
	struct world *w = random_world(_i, _i % 5 ? 1 : 4);
	unsigned int runs = 2;
	struct figures f;
	size_t moves;

	run_world(w);
	get_figures(w, &f);
	moves = run_world(w);
	/* if free space and files are as good as required, nothing moves */
	if (!f.excess && f.large * 100 >= f.free_blocks * 95 &&
	    f.largest * 100 >= f.free_blocks * 95)
		ck_assert_uint_eq(moves, 0);
	for (; moves && runs < MOST_RUNS; runs++)
		moves = run_world(w);
	ck_assert_uint_eq(moves, 0);
	free_world(w);
}
END_TEST

/*
 * Refuses to move inodes with a number that is a multiple of 4.  Checks that
 * @extents has one extent, which begins at the first cluster of the file.
 */
static bool may_move(ext2_ino_t ino, const struct e4l_extent *extents, size_t n,
		     void *priv)
{
	const struct world *w = priv;
	const struct e4l_extent *first = w->file[ino - 1].ex;
	uint64_t ratio = w->opt.geo.cluster_blocks;

	CHECK(n == 1 && extents->lblk == first->lblk / ratio * ratio);
	CHECK(extents->pblk == first->pblk / ratio * ratio);
	return ino % 4;
}

/* Files for which may_move() is false keep their blocks. */
START_TEST(asks)
{
	struct world *w = random_world(_i, _i % 5 ? 1 : 4);
	const struct e4l_plan_move *m;
	struct e4l_plan *p;
	unsigned int f;
	size_t n, i;

	w->opt.may_move = may_move;
	w->opt.priv = w;
	for (f = 1; f < w->files; f += 2)
		if (w->file[f].allowed)
			w->file[f].allowed = E4L_PLAN_AWAY | E4L_PLAN_ASK;
	p = make_plan(w);
	m = e4l_plan_moves(p, &n);
	for (i = 0; i < n; i++)
		CHECK(e4l_plan_ino(p, m[i].file) % 4);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/*
 * With a copy budget of a quarter of the blocks that a plan without a budget
 * copies, a plan saves at least half of the excess fragments.
 */
START_TEST(spends_budgets)
{
	uint64_t excess = 0, saved = 0;
	struct figures before, after;
	struct world *w;
	unsigned int i;

	for (i = 1; i < BUDGETS; i++) {
		w = random_world(i, 1);
		run_world(w);
		before.excess = w->copied / 4;
		free_world(w);
		w = random_world(i, 1);
		w->opt.copy_budget_blocks = before.excess;
		get_figures(w, &before);
		run_world(w);
		get_figures(w, &after);
		excess += before.excess;
		saved += before.excess - after.excess;
		free_world(w);
	}
	ck_assert_uint_ge(saved * 2, excess);
}
END_TEST

/*
 * If a file is longer than any free extent, or longer than the limit for copied
 * blocks, the plan joins the file in parts.
 */
START_TEST(joins_parts)
{
	struct world *w = new_world(2048, 1, 1);
	struct figures f;
	uint32_t i;

	w->state[0] = WALL;
	for (i = 0; i < 100; i++)
		add_extent(w, 0, (struct e4l_extent) {
				.lblk = i * 6, .pblk = 1 + i * 7, .len = 6 });
	for (i = 700; i < 2048; i++)
		w->state[i] = i % (_i ? 64 : 2048) ? FREE : WALL;
	w->file[0].allowed = E4L_PLAN_MOVE | E4L_PLAN_AWAY;
	add_trees(w, 0);
	w->opt.free_space = false;
	w->opt.copy_budget_blocks = _i ? E4L_NO_LIMIT : 60;
	run_world(w);
	get_figures(w, &f);
	ck_assert_uint_le(f.excess, _i ? 30 : 96);
	free_world(w);
}
END_TEST

/*
 * If each run stops after a few files, a finite number of runs completes the
 * work.  The runs copy at most twice as much as one complete run.  Runs that
 * consolidate free space do not guarantee this limit, and are not tested.
 */
START_TEST(gets_on)
{
	struct world *w = random_world(_i, _i % 5 ? 1 : 4);
	uint64_t copied = 0, all;
	unsigned int runs = 0;
	struct e4l_plan *p;
	size_t moves;

	w->opt.free_space = false;
	p = make_plan(w);
	all = e4l_plan_result(p)->copy_blocks;
	e4l_plan_moves(p, &moves);
	w->stop_after = moves / 20 + 1;
	for (; moves && runs < MOST_STOPS; runs++) {
		run_plan(w, p);
		copied += w->copied;
		e4l_plan_free(p);
		p = make_plan(w);
		e4l_plan_moves(p, &moves);
	}
	e4l_plan_free(p);
	ck_assert_uint_eq(moves, 0);
	ck_assert_uint_le(copied, all * 2 + SLACK);
	free_world(w);
}
END_TEST

static Suite *plan_suite(void)
{
	Suite *s = suite_create("plan");
	TCase *t = tcase_create("plan");
	int part = getenv("E4L_QUICK") ? 3 : 1;

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, keeps_promises, 1, WORLDS / part);
	tcase_add_loop_test(t, asks, 1, WORLDS / part);
	tcase_add_test(t, spends_budgets);
	tcase_add_loop_test(t, gets_on, 1, STOPS / part);
	tcase_add_loop_test(t, joins_parts, 0, 2);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	return unit_main(plan_suite());
}
