/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The planner's lower layers, each by itself, beside the simplest model. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "e4layout/plan/cost.h"
#include "e4layout/plan/join.h"
#include "e4layout/plan/keep.h"
#include "e4layout/plan/packed.h"
#include "e4layout/plan/runs.h"
#include "e4layout/plan/window.h"
#include "unit.h"

/* ---------------------------------------------------------------------- runs */

/* A file whose runs of one state are cut anyhow into entries. */
struct cut {
	struct e4l_extent *ex;
	size_t n, fewest;
	uint64_t fragments;
};

static void add_entry(struct cut *c, blk64_t pblk, uint32_t lblk, uint32_t len,
		      bool unwritten)
{
	ck_assert_int_eq(e4l_grow(&c->ex, c->n, sizeof(*c->ex)), 0);
	c->ex[c->n++] = (struct e4l_extent) {
		.pblk = pblk, .lblk = lblk, .len = len, .unwritten = unwritten,
	};
}

static struct cut random_file(void)
{
	uint32_t lblk = 0, len, most, max;
	unsigned int runs = random() % 8;
	bool unwritten = false, goes_on;
	struct cut c = { 0 };
	blk64_t pblk = 1000;

	for (; runs--; unwritten = !unwritten) {
		goes_on = c.n && random() % 2;
		if (!goes_on && random() % 2)
			lblk += 1 + random() % 9;
		if (!goes_on)
			pblk += 500000;
		c.fragments += !goes_on;
		max = unwritten ? E4L_UNWRITTEN_MAX_BLOCKS :
				  E4L_WRITTEN_MAX_BLOCKS;
		most = random() % 2 ? 40 : 100000;
		len = 1 + random() % most;
		if (random() % 4 == 0)
			len = max * (1 + random() % 2) + random() % 2;
		c.fewest += (len + max - 1) / max;
		while (len) {
			most = len < max ? len : max;
			if (random() % 3)
				most = 1 + random() % most;
			add_entry(&c, pblk, lblk, most, unwritten);
			lblk += most;
			pblk += most;
			len -= most;
		}
	}
	return c;
}

/* The place and state of each block of a file; SIZE: the blocks of @max. */
static uint64_t *map_of(const struct e4l_extent *ex, size_t n, size_t max)
{
	uint64_t *map = calloc(max + 1, sizeof(*map));
	uint32_t b;

	for (; n--; ex++)
		for (b = 0; b < ex->len; b++)
			map[ex->lblk + b] = 2 * (ex->pblk + b) + ex->unwritten;
	return map;
}

START_TEST(packs_into_the_fewest_entries)
{
	uint64_t *before, *after, largest;
	struct cut c;
	size_t n, end;

	srandom(_i);
	c = random_file();
	end = c.n ? c.ex[c.n - 1].lblk + c.ex[c.n - 1].len : 0;
	before = map_of(c.ex, c.n, end);
	ck_assert(e4l_well_formed(c.ex, c.n));
	ck_assert_uint_eq(e4l_count_fragments(c.ex, c.n, &largest),
			  c.fragments);
	ck_assert_uint_eq(e4l_pack(c.ex, c.n, NULL), c.fewest);
	n = e4l_pack(c.ex, c.n, c.ex);
	ck_assert_uint_eq(n, c.fewest);
	ck_assert(e4l_well_formed(c.ex, n));
	after = map_of(c.ex, n, end);
	ck_assert(!memcmp(before, after, end * sizeof(*before)));
	free(before);
	free(after);
	free(c.ex);
}
END_TEST

/* ----------------------------------------------------------------- fragments */

#define MAPPED 600

/* Where each cluster of a file is: 0: nowhere. */
struct cluster_map {
	uint64_t pc[MAPPED];
	struct cut c;
	uint32_t ratio;
};

static struct cluster_map random_clusters(void)
{
	struct cluster_map m = { .ratio = 1u << 2 * (random() % 3) };
	uint64_t lblk = random() % 9, away = 1000, pc, end;
	uint32_t len;

	while ((lblk + 40) / m.ratio + 1 < MAPPED && m.c.n < 60) {
		len = 1 + random() % 40;
		add_entry(&m.c, lblk + away * m.ratio, lblk, len, random() % 2);
		end = lblk + len;
		for (pc = lblk / m.ratio; pc <= (end - 1) / m.ratio; pc++)
			m.pc[pc] = pc + away;
		lblk = end + (random() % 3 ? 0 : random() % 30);
		/* only whole clusters may be elsewhere */
		if (random() % 2 || lblk / m.ratio == (end - 1) / m.ratio)
			continue;
		away += random() % 2 ? MAPPED : 1;
	}
	return m;
}

/* The next fragment in the map at @lc or behind it. */
static bool next_mapped(const struct cluster_map *m, uint64_t lc,
			struct e4l_fragment *v)
{
	while (lc < MAPPED && !m->pc[lc])
		lc++;
	if (lc == MAPPED)
		return false;
	*v = (struct e4l_fragment) { .lc = lc, .pc = m->pc[lc] };
	while (lc + v->n < MAPPED && m->pc[lc + v->n] == v->pc + v->n)
		v->n++;
	return true;
}

START_TEST(finds_fragments)
{
	struct cluster_map m;
	struct e4l_walk walk, runs, list;
	struct e4l_fragments all;
	struct e4l_logical_run run = { 0 };
	struct e4l_fragment v, is, same;
	uint64_t end = 0, left = 0;

	srandom(_i);
	m = random_clusters();
	ck_assert_int_eq(e4l_fragments_of(m.c.ex, m.c.n, m.ratio, &all), 0);
	list = e4l_walk_list(&all);
	runs = walk = e4l_walk_extents(m.c.ex, m.c.n, m.ratio);
	for (; next_mapped(&m, end, &v); end = v.lc + v.n) {
		CHECK(e4l_next_fragment(&walk, &is));
		CHECK(e4l_next_fragment(&list, &same));
		CHECK(is.lc == v.lc && is.pc == v.pc && is.n == v.n);
		CHECK(same.lc == v.lc && same.pc == v.pc && same.n == v.n);
		if (!left) {
			CHECK(!end || v.lc != end);
			CHECK(e4l_next_logical_run(&runs, &run));
			CHECK(run.lc == v.lc);
			left = run.n;
		}
		if (!--left)
			CHECK(run.lc + run.len == v.lc + v.n);
	}
	CHECK(!left && !e4l_next_fragment(&walk, &is) &&
	      !e4l_next_fragment(&list, &is) &&
	      !e4l_next_logical_run(&runs, &run));
	if (m.ratio > 1) {
		m.c.ex[m.c.n / 2].pblk++;
		CHECK(e4l_check_clusters(m.c.ex, m.c.n, m.ratio) ==
		      E4L_ET_BAD_ARGUMENT);
	}
	free(all.v);
	free(m.c.ex);
}
END_TEST

/* One cluster cannot be in two places. */
START_TEST(refuses_a_cluster_in_two_places)
{
	struct e4l_extent ex[] = {
		{ .lblk = 0, .pblk = 400, .len = 2 },
		{ .lblk = 2, .pblk = 802, .len = 2 },
	};

	ck_assert_int_eq(e4l_check_clusters(ex, 2, 4), E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_check_clusters(ex, 2, 2), 0);
}
END_TEST

/* ---------------------------------------------------------------------- join */

#define CLUSTERS 300
enum { FREE, OTHERS, OWN };

struct world {
	char map[CLUSTERS];
	struct e4l_space *space;
	struct e4l_fragments file;
};

static uint64_t free_from(const char *map, uint64_t at)
{
	uint64_t n = 0;

	while (at + n < CLUSTERS && map[at + n] == FREE)
		n++;
	return n;
}

static void fill_space(struct world *w)
{
	uint64_t at, n;

	w->space = e4l_space_new();
	for (at = 0; at < CLUSTERS; at += n + 1) {
		n = free_from(w->map, at);
		if (n)
			ck_assert_int_eq(e4l_space_add(w->space, at, n), 0);
	}
}

static struct world random_world(void)
{
	struct world w = { 0 };
	uint64_t at, lc = 0, n;
	unsigned int i;

	for (at = 0; at < CLUSTERS; at += n) {
		n = 1 + random() % 20;
		n = n < CLUSTERS - at ? n : CLUSTERS - at;
		memset(w.map + at, random() % 2 ? FREE : OTHERS, n);
	}
	for (i = random() % 40; i--; lc += random() % 8 == 0) {
		at = random() % CLUSTERS;
		for (n = 1 + random() % 6; n-- && at < CLUSTERS &&
					   w.map[at] != OWN; at++, lc++) {
			w.map[at] = OWN;
			ck_assert_int_eq(e4l_fragments_add(&w.file, lc, at, 1),
					 0);
		}
	}
	fill_space(&w);
	return w;
}

static void check_space(const struct world *w)
{
	uint64_t at;

	for (at = 0; at < CLUSTERS; at++)
		ck_assert_uint_eq(e4l_space_after(w->space, at),
				  free_from(w->map, at));
}

/* What a shift takes was free, and is the file's now. */
static errcode_t take_shift(const struct e4l_shift *s, void *priv)
{
	struct world *w = priv;
	uint64_t i;

	for (i = 0; i < s->n && s->from != s->to; i++) {
		ck_assert_int_eq(w->map[s->to + i], FREE);
		w->map[s->to + i] = OWN;
	}
	return 0;
}

static errcode_t give_shift(const struct e4l_shift *s, void *priv)
{
	struct world *w = priv;

	if (s->from != s->to)
		memset(w->map + s->to, FREE, s->n);
	return 0;
}

/* Each logical run is as it was, or in fewer fragments; the lists are walked. */
static void check_joined(const struct world *w, const struct e4l_fragments *new,
			 bool partial, uint64_t most)
{
	size_t i, k, n, was;
	uint64_t len, len2;

	for (i = k = 0; i < w->file.n; i += was, k += n) {
		was = e4l_logical_run(w->file.v + i, w->file.n - i, &len);
		n = e4l_logical_run(new->v + k, new->n - k, &len2);
		ck_assert_uint_eq(w->file.v[i].lc, new->v[k].lc);
		ck_assert_uint_eq(len, len2);
		ck_assert_uint_le(n, was);
		if (!partial && n > 1) {
			ck_assert_uint_eq(n, was);
			ck_assert_uint_lt(most, len);
		}
		if (n == was)
			ck_assert_mem_eq(w->file.v + i, new->v + k,
					 n * sizeof(*new->v));
	}
	ck_assert_uint_eq(k, new->n);
}

START_TEST(joins_fragments)
{
	struct world w;
	struct e4l_fragments new = { 0 };
	struct e4l_where where;
	bool partial = _i % 2;
	uint64_t at;

	srandom(_i);
	w = random_world();
	where = (struct e4l_where) {
		.space = w.space, .near = { random() % CLUSTERS, 100 },
		.below = random() % 2 ? 1 + random() % 12 : 0,
	};
	check_space(&w);
	ck_assert_int_eq(e4l_join(&where, e4l_walk_list(&w.file), partial,
				  &new), 0);
	e4l_each_shift(e4l_walk_list(&w.file), &new, take_shift, &w);
	check_space(&w);
	check_joined(&w, &new, partial, where.below ? 0 :
		     e4l_space_largest(w.space, &at));
	ck_assert_int_eq(e4l_unjoin(w.space, e4l_walk_list(&w.file), &new), 0);
	e4l_each_shift(e4l_walk_list(&w.file), &new, give_shift, &w);
	check_space(&w);
	e4l_space_free(w.space);
	free(w.file.v);
	free(new.v);
}
END_TEST

/* ---------------------------------------------------------------------- cost */

#define GROUPS 40

static void random_runs(const struct e4l_geometry *geo,
			struct e4l_block_run *runs, size_t n, bool *groups)
{
	uint64_t b;

	for (; n--; runs++) {
		runs->len = 1 + random() % (2 * geo->group_blocks);
		runs->pblk = geo->first_blk +
			     random() % ((GROUPS - 2) * geo->group_blocks);
		for (b = runs->pblk; b < runs->pblk + runs->len; b++)
			groups[(b - geo->first_blk) / geo->group_blocks] = true;
	}
}

START_TEST(counts_what_a_transaction_holds)
{
	struct e4l_block_run take[3], give[3];
	bool groups[GROUPS] = { 0 }, fits;
	uint64_t cost, want, less, last = UINT64_MAX, i;
	blk64_t tree[4];
	struct e4l_geometry geo;
	struct e4l_step step;

	srandom(_i);
	geo = (struct e4l_geometry) {
		.group_blocks = 8 << random() % 4, .first_blk = random() % 2,
		.groups_per_desc = random() % 5, .quota_blocks = random() % 4,
	};
	step = (struct e4l_step) {
		.take = take, .n_take = random() % 4,
		.give = give, .n_give = random() % 4,
		.tree = tree, .n_tree = random() % 5,
		.tree_is_new = random() % 2,
	};
	less = step.tree_is_new ? 0 : random() % (step.n_tree + 1);
	random_runs(&geo, take, step.n_take, groups);
	random_runs(&geo, give, step.n_give, groups);
	for (i = 0; i < step.n_tree; i++) {
		tree[i] = geo.first_blk + random() % (GROUPS * 8);
		if (i >= step.n_tree - less)
			groups[(tree[i] - geo.first_blk) /
			       geo.group_blocks] = true;
	}
	want = 1 + geo.quota_blocks +
	       (step.tree_is_new ? 0 : step.n_tree - less);
	for (i = 0; i < GROUPS; i++) {
		uint64_t desc = i / (geo.groups_per_desc ?: 1);

		want += groups[i] + (groups[i] && desc != last);
		last = groups[i] ? desc : last;
	}
	ck_assert_int_eq(e4l_step_cost(&geo, &step, less, &cost), 0);
	ck_assert_uint_eq(cost, want);
	geo.txn_blocks = want - _i % 2;
	ck_assert_int_eq(e4l_step_fits(&geo, &step, less, &fits), 0);
	ck_assert(fits == (_i % 2 == 0 || want == 1));	/* 0: no limit */
}
END_TEST

/* -------------------------------------------------------------------- packed */

/* Of any length of up to @bits bits: most are short. */
static uint64_t random_number(unsigned int bits)
{
	uint64_t number = (uint64_t)random() << 33 ^ (uint64_t)random() << 16 ^
			  (uint64_t)random();

	return number >> (64 - bits + random() % bits);
}

static struct e4l_step random_step(void)
{
	struct e4l_step s = {
		.n_moves = random() % 40, .n_give = random() % 40,
		.n_new = 1 + random() % 40,
	};
	size_t i;

	s.moves = calloc(s.n_moves + 1, sizeof(*s.moves));
	s.give = calloc(s.n_give + 1, sizeof(*s.give));
	s.new_extents = random() % 4 ?
		calloc(s.n_new + 1, sizeof(*s.new_extents)) : NULL;
	for (i = 0; i < s.n_moves; i++)
		s.moves[i] = (struct e4l_move) {
			.from = random_number(64), .to = random_number(64),
			.len = random_number(63) | 1,
			.copy = random() % 2,
		};
	for (i = 0; i < s.n_give; i++)
		s.give[i] = (struct e4l_block_run) {
			random_number(64), random_number(64) | 1,
		};
	for (i = 0; s.new_extents && i < s.n_new; i++)
		s.new_extents[i] = (struct e4l_extent) {
			.pblk = random_number(64), .lblk = random_number(32),
			.len = 1 + random() % E4L_UNWRITTEN_MAX_BLOCKS,
			.unwritten = random() % 2,
		};
	return s;
}

static void check_lists(const struct e4l_step *s, const struct e4l_step *plain)
{
	struct e4l_step_walk moves = { 0 }, given = { 0 };
	struct e4l_block_run run;
	struct e4l_move m;
	size_t i;

	for (i = 0; e4l_step_next_move(s, &moves, &m); i++) {
		ck_assert_uint_eq(m.from, plain->moves[i].from);
		ck_assert_uint_eq(m.to, plain->moves[i].to);
		ck_assert_uint_eq(m.len, plain->moves[i].len);
		ck_assert_int_eq(m.copy, plain->moves[i].copy);
	}
	ck_assert_uint_eq(i, plain->n_moves);
	for (i = 0; e4l_step_next_given(s, &given, &run); i++) {
		ck_assert_uint_eq(run.pblk, plain->give[i].pblk);
		ck_assert_uint_eq(run.len, plain->give[i].len);
	}
	ck_assert_uint_eq(i, plain->n_give);
}

static void check_new_extents(const struct e4l_step *s,
			      const struct e4l_step *plain)
{
	struct e4l_extent *ex = NULL;
	errcode_t err = e4l_step_extents(NULL, 0, s, &ex);

	ck_assert_int_eq(err, plain->new_extents ? 0 : E4L_ET_BAD_ARGUMENT);
	if (!err && s->n_new)
		ck_assert_mem_eq(ex, plain->new_extents,
				 s->n_new * sizeof(*ex));
	free(ex);
}

/* The lists of @plain, the last @behind of what it gives not packed. */
static struct e4l_step pack(const struct e4l_step *plain, size_t behind)
{
	struct e4l_packing k = { 0 };
	struct e4l_step s = { .n_new = plain->n_new };
	size_t i;

	for (i = 0; i < plain->n_moves; i++)
		ck_assert(!e4l_pack_move(&s, &k, &plain->moves[i]));
	for (i = 0; i < plain->n_give - behind; i++)
		ck_assert(!e4l_pack_given(&s, &k, &plain->give[i]));
	ck_assert(!e4l_packing_end(&s, &k));
	s.give = calloc(behind + 1, sizeof(*s.give));
	memcpy(s.give, plain->give + i, behind * sizeof(*s.give));
	s.n_give += behind;
	return s;
}

START_TEST(packs_steps)
{
	struct e4l_state_run last = { 0 }, run;
	struct e4l_step plain, s;
	size_t i = 0;

	srandom(_i);
	plain = random_step();
	check_lists(&plain, &plain);
	check_new_extents(&plain, &plain);
	s = pack(&plain, random() % (plain.n_give + 1));
	check_lists(&s, &plain);
	for (i = 0; plain.new_extents && e4l_next_state_run(plain.new_extents,
						plain.n_new, &i, &run);
	     last = run)
		ck_assert(!e4l_pack_extent_run(&s, &last, &run));
	check_lists(&s, &plain);
	check_new_extents(&s, &plain);
	e4l_packed_drop_extents(&s);
	ck_assert(!e4l_packed_has_extents(&s));
	e4l_step_free(&s);
	e4l_step_free(&plain);
}
END_TEST

/* What goes on where the last ends is one with it. */
START_TEST(joins_what_is_packed)
{
	static const struct e4l_move moves[] = {
		{ .from = 10, .to = 90, .len = 2, .copy = true },
		{ .from = 12, .to = 92, .len = 3, .copy = true },
		{ .from = 15, .to = 95, .len = 1 },
		{ .from = 20, .to = 96, .len = 1 },
	};
	struct e4l_step plain = {
		.moves = (struct e4l_move *)moves, .n_moves = 4,
		.give = (struct e4l_block_run []) { { 10, 5 }, { 15, 1 },
						    { 20, 1 } },
		.n_give = 3,
	};
	struct e4l_step s = pack(&plain, 0);

	plain.moves = (struct e4l_move []) {
		{ .from = 10, .to = 90, .len = 5, .copy = true },
		moves[2], moves[3],
	};
	plain.n_moves = 3;
	plain.give = (struct e4l_block_run []) { { 10, 6 }, { 20, 1 } };
	plain.n_give = 2;
	check_lists(&s, &plain);
	e4l_step_free(&s);
}
END_TEST

/* ---------------------------------------------------------------------- keep */

#define FILES 20

struct library {
	struct cut file[FILES];
	unsigned int asked;
};

static errcode_t reread(ext2_ino_t ino, struct e4l_extent **ex, size_t *n,
			void *priv)
{
	struct library *lib = priv;

	lib->asked++;
	*n = lib->file[ino].n;
	*ex = calloc(*n + 1, sizeof(**ex));
	if (*n)
		memcpy(*ex, lib->file[ino].ex, *n * sizeof(**ex));
	return 0;
}

/* What comes back is what was kept, from wherever it comes. */
START_TEST(keeps_extents)
{
	struct library lib = { .asked = 0 };
	struct e4l_keep k = { .reread = reread, .priv = &lib };
	struct e4l_kept kept[FILES];
	struct e4l_extent *ex, packed[200];
	uint64_t limit = E4L_NO_LIMIT;
	unsigned int i, f;

	srandom(_i);
	if (_i % 3)
		limit = 1000 * _i;
	ck_assert_int_eq(e4l_es_new(limit, &k.cache), 0);
	for (f = 0; f < FILES; f++) {
		do {
			free(lib.file[f].ex);
			lib.file[f] = random_file();
		} while (lib.file[f].n > 200);
		ck_assert_int_eq(e4l_keep_put(&k, f, lib.file[f].ex,
					      lib.file[f].n, &kept[f]), 0);
	}
	for (i = 0; i < 60; i++) {
		f = random() % FILES;
		ck_assert_int_eq(e4l_keep_get(&k, f, &kept[f], &ex), 0);
		ck_assert_uint_eq(e4l_pack(lib.file[f].ex, lib.file[f].n,
					   packed), kept[f].n_packed);
		ck_assert(!memcmp(ex, packed,
				  kept[f].n_packed * sizeof(*ex)));
		free(ex);
	}
	ck_assert_uint_eq(k.files_reread, lib.asked);
	ck_assert(_i % 3 || !lib.asked);
	e4l_es_free(k.cache);
	for (f = 0; f < FILES; f++)
		free(lib.file[f].ex);
}
END_TEST

/* ------------------------------------------------------------------- windows */

/* A disk of free clusters, of what can be moved, and of what cannot. */
struct crowd {
	struct e4l_geometry geo;
	struct e4l_draft draft;
	struct e4l_movables list;
	struct e4l_crowd crowd;
	uint64_t clusters;
	int *run;			/* of each: number + 1; 0: free; -1 */
	uint64_t *len;			/* of each run */
};

static struct crowd *random_crowd(void)
{
	struct crowd *c = calloc(1, sizeof(*c));
	uint64_t at = 0, n, i;
	int kind;

	c->clusters = 50 + random() % 400;
	c->run = calloc(c->clusters, sizeof(*c->run));
	c->len = calloc(c->clusters, sizeof(*c->len));
	c->geo.cluster_blocks = random() % 2 ? 1 : 4;
	c->draft.disk.geo = &c->geo;
	c->draft.disk.space = e4l_space_new();
	c->list.most = SIZE_MAX;
	c->crowd = (struct e4l_crowd) {
		.movables = &c->list, .draft = &c->draft,
		.longest = random() % 3 ? 10 : UINT64_MAX,
	};
	for (; at < c->clusters; at += n) {
		struct e4l_extent ex = { .pblk = at * c->geo.cluster_blocks };
		bool added;

		n = 1 + random() % (random() % 3 ? 5 : 20);
		n = n < c->clusters - at ? n : c->clusters - at;
		kind = random() % 20 ? random() % 4 : -1;
		ex.len = n * c->geo.cluster_blocks -
			 random() % c->geo.cluster_blocks;
		if (kind > 0)
			ck_assert(!e4l_movables_add(&c->list, 12, &ex, 1,
						    c->geo.cluster_blocks,
						    &added) && added);
		if (!kind)
			ck_assert(!e4l_space_add(c->draft.disk.space, at, n));
		for (i = at; i < at + n; i++) {
			c->run[i] = kind > 0 ? (int)c->list.n : kind;
			c->len[i] = n;
			if (kind > 0 && n > c->crowd.longest)
				c->run[i] = -1;
		}
	}
	ck_assert(!e4l_movables_renew(&c->list, &c->draft));
	return c;
}

/* What it costs to have @len clusters at @at, or UINT64_MAX. */
static uint64_t cost_of(const struct crowd *c, uint64_t at, uint64_t len)
{
	uint64_t cost = len, i;

	for (i = at; i < at + len; i++) {
		if (c->run[i] < 0)
			return UINT64_MAX;
		if (c->run[i] && (i == at || c->run[i] != c->run[i - 1]))
			cost += c->len[i];
	}
	return cost;
}

/* The first is the cheapest there is, and all cost what they say. */
START_TEST(finds_the_cheapest_window)
{
	struct e4l_windows ws = { 0 };
	struct crowd *c;
	uint64_t len, at, best = UINT64_MAX;
	size_t i;

	srandom(_i);
	c = random_crowd();
	len = 1 + random() % 40;
	ck_assert_int_eq(e4l_windows_find(&c->crowd, &e4l_anywhere,
					  len, &ws), 0);
	for (at = 0; at + len <= c->clusters; at++)
		if (cost_of(c, at, len) < best)
			best = cost_of(c, at, len);
	ck_assert(!ws.n == (best == UINT64_MAX));
	for (i = 0; i < ws.n; i++) {
		ck_assert_uint_eq(ws.v[i].cost,
				  cost_of(c, ws.v[i].run.start, len));
		ck_assert_uint_eq(ws.v[i].run.len, len);
		ck_assert_uint_ge(ws.v[i].cost, i ? ws.v[i - 1].cost : best);
	}
	ck_assert(!ws.n || ws.v[0].cost == best);
	e4l_space_free(c->draft.disk.space);
	free(c->list.v);
	free(c->run);
	free(c->len);
	free(c);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan_layers");
	TCase *tc = tcase_create("plan_layers");

	tcase_add_loop_test(tc, packs_into_the_fewest_entries, 0, 200);
	tcase_add_loop_test(tc, finds_fragments, 0, 300);
	tcase_add_test(tc, refuses_a_cluster_in_two_places);
	tcase_add_loop_test(tc, joins_fragments, 0, 400);
	tcase_add_loop_test(tc, counts_what_a_transaction_holds, 0, 200);
	tcase_add_loop_test(tc, packs_steps, 0, 300);
	tcase_add_test(tc, joins_what_is_packed);
	tcase_add_loop_test(tc, keeps_extents, 0, 30);
	tcase_add_loop_test(tc, finds_the_cheapest_window, 0, 300);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
