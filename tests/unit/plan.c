/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plans are made for small random worlds, carried out on a disk in memory that
 * checks every step, and made again for what results.
 */
#include "config.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <e4layout/e4layout.h>
#include "e4layout/base/internal.h"
#include "e4layout/plan/fragments.h"
#include "e4layout/plan/packed.h"
#include "unit.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define ALL (E4L_PLAN_MERGE | E4L_PLAN_ZEROOUT | E4L_PLAN_MOVE)
#define AWAY (E4L_PLAN_ROOM | E4L_PLAN_FREE)
#define GARBAGE 0xDEADBEEF

/* Four entries per tree block, so that small files have trees. */
#define BLOCKSIZE 64

enum { FREE, GIVEN, USED };	/* USED + n: by file n */

struct file {
	struct e4l_extent *ex;
	size_t n;
	size_t most;			/* extents, before all steps */
	uint64_t most_fragments;
	struct e4l_tree_block *tree;
	size_t n_tree;
	uint64_t eof;
	unsigned int allowed;
};

struct world {
	struct e4l_plan_options opt;
	uint64_t clusters;
	int *state;			/* of each cluster */
	uint32_t *content;		/* of each block */
	struct file *file;
	unsigned int files;
	uint64_t copied, zeroed;	/* blocks */
	unsigned int steps, parts;	/* of these, not a file's last */
	bool *left;			/* files, for want of a transaction */
};

static uint32_t name_of(unsigned int file, uint32_t lblk)
{
	return (file + 1) * 1000000 + lblk;
}

static struct world *new_world(uint64_t clusters, uint32_t ratio,
			       unsigned int files)
{
	struct world *w = calloc(1, sizeof(*w));
	uint64_t i;

	w->opt = (struct e4l_plan_options) {
		.geo = {
			.blocksize = BLOCKSIZE, .cluster_blocks = ratio,
			.group_blocks = 128 * ratio, .quota_blocks = 3,
		},
		.zeroout_max_blocks = 8,
		.zeroout_budget_blocks = E4L_NO_LIMIT,
		.copy_budget_blocks = E4L_NO_LIMIT,
	};
	w->clusters = clusters;
	w->files = files;
	w->state = calloc(clusters, sizeof(*w->state));
	w->content = calloc(clusters * ratio, sizeof(*w->content));
	w->file = calloc(files, sizeof(*w->file));
	w->left = calloc(files, sizeof(*w->left));
	for (i = 0; i < clusters * ratio; i++)
		w->content[i] = GARBAGE;
	return w;
}

static void free_world(struct world *w)
{
	unsigned int i;

	for (i = 0; i < w->files; i++) {
		free(w->file[i].ex);
		free(w->file[i].tree);
	}
	free(w->state);
	free(w->content);
	free(w->file);
	free(w->left);
	free(w);
}

/* Appends an extent to file @f; its clusters become the file's. */
static void add_extent(struct world *w, unsigned int f, struct e4l_extent ex)
{
	struct file *file = &w->file[f];
	uint32_t i;

	file->ex = reallocarray(file->ex, file->n + 1, sizeof(*file->ex));
	file->ex[file->n++] = ex;
	for (i = 0; i < ex.len; i++) {
		w->state[(ex.pblk + i) / w->opt.geo.cluster_blocks] = USED + f;
		if (!ex.unwritten)
			w->content[ex.pblk + i] = name_of(f, ex.lblk + i);
	}
}

static uint64_t some_free(struct world *w)
{
	uint64_t at = random() % w->clusters, i;

	for (i = 0; w->state[at] != FREE; i++) {
		CHECK(i < 100 * w->clusters);
		/* much is in use here */
		at = (i % 5000 == 4999 ? random() : at + 1) % w->clusters;
	}
	return at;
}

/* Gives every file the tree blocks it needs, and some more. */
static void add_trees(struct world *w)
{
	struct file *f;
	uint64_t at;
	size_t i;

	for (f = w->file; f < w->file + w->files; f++) {
		f->n_tree = e4l_ideal_tree_blocks(f->n, BLOCKSIZE);
		if (random() % 4 == 0)
			f->n_tree += random() % 3;
		f->tree = calloc(f->n_tree + 1, sizeof(*f->tree));
		for (i = 0; i < f->n_tree; i++) {
			at = some_free(w);
			w->state[at] = USED + (f - w->file);
			f->tree[i].pblk = at * w->opt.geo.cluster_blocks;
		}
	}
}

/* The blocks of one cluster, as extents of random length and state. */
static void add_cluster(struct world *w, unsigned int f, uint64_t lc,
			uint64_t pc, unsigned int state)
{
	uint32_t ratio = w->opt.geo.cluster_blocks, i, len;

	for (i = 0; i < ratio; i += len) {
		len = 1 + random() % (ratio - i);
		if (ratio > 1 && random() % 8 == 0)
			continue;	/* a hole */
		add_extent(w, f, (struct e4l_extent) {
			.lblk = lc * ratio + i, .pblk = pc * ratio + i,
			.len = len,
			.unwritten = ratio > 1 ? random() % 2 : state,
		});
	}
}

/* Files grow in turns, a few clusters each time. */
static struct world *random_world(uint32_t ratio)
{
	struct world *w = new_world(200 + random() % 1000, ratio,
				    1 + random() % 20);
	uint64_t used = w->clusters * (15 + random() % 20) / 100, pc = 0;
	uint64_t *lc = calloc(w->files, sizeof(*lc));
	unsigned int f, n, state, jump = 1 + random() % 8;

	if (ratio == 1)		/* trees need less of the rest */
		used *= 2;
	while (used > 12) {
		f = random() % w->files;
		if (random() % jump == 0)
			pc = some_free(w);
		if (random() % 6 == 0)
			lc[f] += 1 + random() % 4;
		state = random() % 3 == 0;
		for (n = 1 + random() % 12; n--; used--, lc[f]++) {
			while (w->state[pc] != FREE)
				pc = (pc + 1) % w->clusters;
			add_cluster(w, f, lc[f], pc, state);
			pc = (pc + 1) % w->clusters;
		}
	}
	for (f = 0; f < w->files; f++) {
		w->file[f].eof = random() % 3 ? lc[f] * ratio :
			random() % (lc[f] * ratio + 1);
		w->file[f].allowed = random() % 4 ? ALL : random() % (ALL + 1);
	}
	free(lc);
	add_trees(w);
	return w;
}

static errcode_t try_plan(const struct world *w, struct e4l_plan **ret)
{
	struct e4l_plan_file pf;
	struct e4l_block_run run;
	struct e4l_plan *p;
	const struct file *f;
	uint64_t i, n;

	ck_assert_int_eq(e4l_plan_new(&w->opt, &p), 0);
	*ret = p;
	for (i = 0; i < w->clusters; i += n) {
		for (n = 0; i + n < w->clusters && w->state[i + n] == FREE; )
			n++;
		run.pblk = i * w->opt.geo.cluster_blocks;
		run.len = n * w->opt.geo.cluster_blocks;
		if (n)
			CHECK(!e4l_plan_add_free(&run, p));
		n += !n;
	}
	for (f = w->file; f < w->file + w->files; f++) {
		pf = (struct e4l_plan_file) {
			.ino = f - w->file + 1, .allowed = f->allowed,
			.eof_blk = f->eof, .goal = (f - w->file) * 100,
			.extents = f->ex, .n_extents = f->n,
			.tree = f->tree, .n_tree = f->n_tree,
		};
		CHECK(!e4l_plan_add_file(p, &pf));
	}
	return e4l_plan_make(p);
}

static struct e4l_plan *make_plan(const struct world *w)
{
	struct e4l_plan *p;

	ck_assert_int_eq(try_plan(w, &p), 0);
	return p;
}

/* What a reader of the file sees, and what is not to be seen. */
enum { HOLE, UNWRITTEN, DATA };
struct view {
	int kind;
	uint32_t content;
};

static struct view *view_of(const struct world *w, const struct file *f,
			    uint32_t *blocks)
{
	const struct e4l_extent *ex;
	struct view *v;
	uint32_t i;

	*blocks = f->n ? f->ex[f->n - 1].lblk + f->ex[f->n - 1].len : 0;
	v = calloc(*blocks + 1, sizeof(*v));
	for (ex = f->ex; ex < f->ex + f->n; ex++) {
		for (i = 0; i < ex->len; i++) {
			struct view *b = &v[ex->lblk + i];

			CHECK(b->kind == HOLE);
			b->kind = ex->unwritten ? UNWRITTEN : DATA;
			if (!ex->unwritten)
				b->content = w->content[ex->pblk + i];
		}
	}
	return v;
}

static void mark(struct world *w, const struct e4l_block_run *run, size_t n,
		 int from, int to)
{
	uint64_t ratio = w->opt.geo.cluster_blocks, i;

	for (; n--; run++) {
		CHECK(run->len > 0);
		CHECK(run->pblk % ratio == 0);
		CHECK(run->len % ratio == 0);
		for (i = 0; i < run->len / ratio; i++) {
			CHECK(run->pblk / ratio + i < w->clusters);
			CHECK(w->state[run->pblk / ratio + i] == from);
			w->state[run->pblk / ratio + i] = to;
		}
	}
}

static void copy_blocks(struct world *w, const struct e4l_step *s, int me)
{
	uint64_t i, copied = 0, zeroed = 0;
	struct e4l_step_walk walk = { 0 };
	struct e4l_move m;
	size_t k;

	while (e4l_step_next_move(s, &walk, &m)) {
		CHECK(m.from != m.to);
		for (i = 0; i < m.len; i++) {
			CHECK(w->state[(m.from + i) /
					 w->opt.geo.cluster_blocks] == me);
			CHECK(w->state[(m.to + i) /
					 w->opt.geo.cluster_blocks] == me);
			if (m.copy)
				w->content[m.to + i] = w->content[m.from + i];
		}
		copied += m.copy ? m.len : 0;
	}
	for (k = 0; k < s->n_zero; k++) {
		memset(&w->content[s->zero[k].pblk], 0,
		       s->zero[k].len * sizeof(w->content[0]));
		zeroed += s->zero[k].len;
	}
	CHECK(copied * BLOCKSIZE == s->bytes_to_copy);
	CHECK(zeroed * BLOCKSIZE == s->bytes_to_zero);
	w->copied += copied;
	w->zeroed += zeroed;
}

static void compare_views(const struct file *f, const struct view *old,
			  const struct view *new, uint32_t blocks)
{
	uint32_t i;

	for (i = 0; i < blocks; i++) {
		if (old[i].kind != UNWRITTEN || new[i].kind == UNWRITTEN) {
			CHECK(old[i].kind == new[i].kind);
			CHECK(old[i].content == new[i].content);
			continue;
		}
		CHECK(new[i].kind == DATA);
		CHECK(new[i].content == 0);
		CHECK(i < f->eof);
		CHECK(f->allowed & E4L_PLAN_ZEROOUT);
	}
}

static void set_layout(struct file *f, const struct e4l_step *s)
{
	struct e4l_extent *ex, *own;
	size_t i;

	CHECK(!e4l_step_extents(f->ex, f->n, s, &ex));
	if (s->new_extents || e4l_packed_has_extents(s)) {
		CHECK(!e4l_step_extents(NULL, 0, s, &own));
		CHECK(!s->n_new || !memcmp(ex, own, s->n_new * sizeof(*ex)));
		free(own);
	}
	free(f->ex);
	f->n = s->n_new;
	f->ex = ex;
	CHECK(s->n_tree == e4l_ideal_tree_blocks(f->n, BLOCKSIZE));
	if (s->n_tree > f->n_tree)
		f->tree = reallocarray(f->tree, s->n_tree, sizeof(*f->tree));
	f->n_tree = s->n_tree;
	for (i = 0; i < f->n_tree; i++)
		f->tree[i].pblk = s->tree[i];
}

static uint64_t fragments_of(const struct file *f)
{
	uint64_t n = f->n > 0;
	size_t i;

	for (i = 1; i < f->n; i++)
		n += f->ex[i].lblk - f->ex[i - 1].lblk != f->ex[i - 1].len ||
		     f->ex[i].pblk - f->ex[i - 1].pblk != f->ex[i - 1].len;
	return n;
}

static void mark_groups(const struct world *w, const struct e4l_block_run *run,
			size_t n, bool *groups)
{
	uint64_t i;

	for (; n--; run++)
		for (i = run->pblk; i < run->pblk + run->len; i++)
			groups[i / w->opt.geo.group_blocks] = true;
}

/* An inode, quota files, the tree, bitmaps, descriptors. */
static void check_cost(const struct world *w, const struct e4l_step *s)
{
	uint64_t n = w->clusters * w->opt.geo.cluster_blocks /
		     w->opt.geo.group_blocks + 1, i;
	uint64_t cost = 1 + w->opt.geo.quota_blocks;
	uint32_t per = w->opt.geo.groups_per_desc;
	bool *groups = calloc(2 * n, sizeof(*groups));
	struct e4l_step_walk walk = { 0 };
	struct e4l_block_run run;

	mark_groups(w, s->take, s->n_take, groups);
	while (e4l_step_next_given(s, &walk, &run))
		mark_groups(w, &run, 1, groups);
	for (i = 0; i < n; i++) {
		cost += groups[i];
		groups[n + i / (per ? per : 1)] |= groups[i];
	}
	for (i = n; i < 2 * n; i++)
		cost += groups[i];
	if (!s->tree_is_new)
		cost += s->n_tree;
	CHECK(!w->opt.geo.txn_blocks || cost <= w->opt.geo.txn_blocks);
	free(groups);
}

/* Much is copied at once only where a fragment is long. */
static void check_part(const struct world *w, const struct e4l_step *s)
{
	uint64_t most = w->opt.part_blocks, longest = 0, len = 0;
	const struct file *f = &w->file[s->ino - 1];
	size_t i;

	if (!most)
		return;
	if (most < 8 * f->n_tree)
		most = 8 * f->n_tree;
	for (i = 0; i < f->n; i++) {
		len = i && f->ex[i - 1].pblk + f->ex[i - 1].len ==
			   f->ex[i].pblk ? len + f->ex[i].len : f->ex[i].len;
		longest = len > longest ? len : longest;
	}
	CHECK(s->bytes_to_copy / BLOCKSIZE <= 2 * longest + 2 * most);
}

/* A new tree is the end of what is taken. */
static void check_tree(const struct e4l_step *s, uint32_t ratio)
{
	const struct e4l_block_run *last;
	size_t i;

	if (!s->tree_is_new)
		return;
	CHECK(s->n_tree && s->n_take);
	last = &s->take[s->n_take - 1];
	CHECK(last->len == s->n_tree * ratio);
	for (i = 0; i < s->n_tree; i++)
		CHECK(s->tree[i] == last->pblk + i * ratio);
}

static bool gives(const struct e4l_step *s)
{
	struct e4l_step_walk walk = { 0 };
	struct e4l_block_run run;

	return e4l_step_next_given(s, &walk, &run);
}

/* @part: more steps follow that belong to the same move. */
static void carry_out(struct world *w, const struct e4l_step *s, bool part)
{
	struct file *f = &w->file[s->ino - 1];
	int me = USED + (s->ino - 1);
	struct e4l_step_walk walk = { 0 };
	struct e4l_block_run given;
	struct view *old, *new;
	uint32_t blocks, same;

	CHECK(f->allowed);
	CHECK(f->allowed & (E4L_PLAN_MOVE | AWAY) || !s->n_moves);
	CHECK(s->n_old == f->n);
	CHECK(s->old_fragments == fragments_of(f));
	CHECK(part || s->n_new <= s->n_old || w->parts ||
		      w->opt.bounds_at_end);
	CHECK(s->n_new < s->n_old || s->fragments_saved || gives(s));
	CHECK(part ? (s->n_moves || s->n_zero) && !s->fragments_saved :
		     !s->n_moves == !s->fragments_saved ||
		     (f->allowed & AWAY && s->n_moves));
	check_part(w, s);
	check_cost(w, s);
	check_tree(s, w->opt.geo.cluster_blocks);
	old = view_of(w, f, &blocks);
	mark(w, s->take, s->n_take, FREE, me);
	copy_blocks(w, s, me);
	set_layout(f, s);
	CHECK(s->new_fragments == fragments_of(f));
	/* stopped here, it is no worse than it was */
	CHECK(w->opt.geo.txn_blocks || (f->n <= f->most &&
				    s->new_fragments <= f->most_fragments));
	new = view_of(w, f, &same);
	CHECK(same == blocks);
	compare_views(f, old, new, blocks);
	while (e4l_step_next_given(s, &walk, &given))
		mark(w, &given, 1, me, GIVEN);
	free(old);
	free(new);
	w->steps++;
	w->parts += part;
}

static void batch_ends(struct world *w)
{
	uint64_t i;

	for (i = 0; i < w->clusters; i++)
		if (w->state[i] == GIVEN)
			w->state[i] = FREE;
}

/* The map must say of each cluster what the files say. */
static void check_map(const struct world *w)
{
	int *state = calloc(w->clusters, sizeof(*state));
	uint32_t ratio = w->opt.geo.cluster_blocks;
	unsigned int f;
	uint64_t i;
	size_t k;

	for (f = 0; f < w->files; f++) {
		const struct file *file = &w->file[f];

		for (k = 0; k < file->n; k++)
			for (i = 0; i < file->ex[k].len; i++)
				state[(file->ex[k].pblk + i) / ratio] =
					USED + f;
		for (k = 0; k < file->n_tree; k++) {
			CHECK(state[file->tree[k].pblk / ratio] == FREE);
			state[file->tree[k].pblk / ratio] = USED + f;
		}
	}
	ck_assert_mem_eq(state, w->state, w->clusters * sizeof(*state));
	free(state);
}

/* No more than @most steps. */
static void carry_out_some(struct world *w, const struct e4l_plan *p,
			   size_t most)
{
	const struct e4l_step *steps;
	unsigned int batch = 0;
	const struct e4l_left *left;
	struct file *f;
	size_t n, i;

	w->copied = w->zeroed = w->steps = w->parts = 0;
	for (f = w->file; f < w->file + w->files; f++) {
		f->most = f->n;
		f->most_fragments = fragments_of(f);
	}
	steps = e4l_plan_steps(p, &n);
	for (i = 0; i < n && i < most; i++) {
		if (steps[i].batch != batch)
			batch_ends(w);
		ck_assert_uint_ge(steps[i].batch, batch);
		batch = steps[i].batch;
		carry_out(w, &steps[i], i + 1 < n &&
			  steps[i + 1].ino == steps[i].ino &&
			  steps[i + 1].batch == batch);
	}
	batch_ends(w);
	left = e4l_plan_left(p, &n);
	memset(w->left, 0, w->files * sizeof(*w->left));
	for (i = 0; i < n; i++) {
		CHECK(left[i].extents);
		if (left[i].why == E4L_LEFT_TXN)
			w->left[left[i].ino - 1] = true;
	}
}

static void carry_out_all(struct world *w, const struct e4l_plan *p)
{
	carry_out_some(w, p, SIZE_MAX);
}

static void plan_and_carry_out(struct world *w)
{
	struct e4l_plan *p = make_plan(w);

	carry_out_all(w, p);
	check_map(w);
	e4l_plan_free(p);
}

static uint64_t largest_free(const struct world *w)
{
	uint64_t i, n = 0, most = 0;

	for (i = 0; i < w->clusters; i++) {
		n = w->state[i] == FREE ? n + 1 : 0;
		if (most < n)
			most = n;
	}
	return most;
}

/* The pieces of @f in clusters; *@unjoined: the shortest run in pieces. */
static uint64_t pieces_of(const struct world *w, const struct file *f,
			  uint64_t *unjoined)
{
	uint64_t ratio = w->opt.geo.cluster_blocks, lc, pc, len = 0, pieces = 0;
	uint64_t last_lc = UINT64_MAX - 1, last_pc = 0, in_run = 0, i;
	size_t k;

	*unjoined = UINT64_MAX;
	for (k = 0; k < f->n; k++) {
		for (i = 0; i < f->ex[k].len; i++) {
			lc = (f->ex[k].lblk + i) / ratio;
			pc = (f->ex[k].pblk + i) / ratio;
			if (lc == last_lc)
				continue;
			if (lc != last_lc + 1) {
				if (in_run > 1 && len < *unjoined)
					*unjoined = len;
				in_run = len = 0;
			}
			if (!in_run || pc != last_pc + 1) {
				pieces++;
				in_run++;
			}
			len++;
			last_lc = lc;
			last_pc = pc;
		}
	}
	if (in_run > 1 && len < *unjoined)
		*unjoined = len;
	return pieces;
}

START_TEST(random_worlds)
{
	struct world *w;
	uint64_t unjoined;
	unsigned int f;

	srandom(_i);
	w = random_world(_i % 3 ? 1 : 4);
	plan_and_carry_out(w);
	for (f = 0; f < w->files; f++) {
		if (!(w->file[f].allowed & E4L_PLAN_MOVE))
			continue;
		pieces_of(w, &w->file[f], &unjoined);
		ck_assert(unjoined == UINT64_MAX ||
			  unjoined > largest_free(w));
	}
	plan_and_carry_out(w);
	ck_assert_uint_eq(w->steps, 0);
	free_world(w);
}
END_TEST

/* How many clusters are free in runs of @unit and more. */
static uint64_t in_long_runs(const struct world *w, uint64_t unit)
{
	uint64_t i, n = 0, sum = 0;

	for (i = 0; i < w->clusters; i++) {
		n = w->state[i] == FREE ? n + 1 : 0;
		if (n >= unit)
			sum += n == unit ? unit : 1;
	}
	return sum;
}

/* As much is in long runs as there was, whatever is gained. */
START_TEST(keeps_long_free_runs)
{
	uint64_t unit, before, kept;
	struct e4l_plan *p;
	struct world *w;

	srandom(_i);
	w = random_world(_i % 3 ? 1 : 4);
	unit = 8 + random() % 24;
	w->opt.long_run_blocks = unit * w->opt.geo.cluster_blocks;
	w->opt.long_blocks_kept = random() % 2 ? E4L_NO_LIMIT : random() % 400;
	before = in_long_runs(w, unit);
	p = make_plan(w);
	carry_out_all(w, p);
	check_map(w);
	e4l_plan_free(p);
	kept = w->opt.long_blocks_kept / w->opt.geo.cluster_blocks;
	kept = before < kept ? before : kept;
	ck_assert_uint_ge(in_long_runs(w, unit), kept);
	free_world(w);
}
END_TEST

/* Gives the file its tree blocks, from @pblk on; how many. */
static size_t add_tree(struct world *w, unsigned int f, blk64_t pblk)
{
	struct file *file = &w->file[f];
	size_t i;

	file->n_tree = e4l_ideal_tree_blocks(file->n, BLOCKSIZE);
	file->tree = calloc(file->n_tree + 1, sizeof(*file->tree));
	for (i = 0; i < file->n_tree; i++) {
		file->tree[i].pblk = pblk + i;
		w->state[pblk + i] = USED + f;
	}
	return file->n_tree;
}

/* A file of @pieces of @len blocks each, every second @len blocks from @pblk. */
static void add_pieces(struct world *w, unsigned int f, blk64_t pblk,
		       uint32_t pieces, uint32_t len, blk64_t tree)
{
	uint32_t i;

	for (i = 0; i < pieces; i++)
		add_extent(w, f, (struct e4l_extent) {
			.lblk = i * len, .pblk = pblk + 2 * i * len,
			.len = len,
		});
	w->file[f].eof = pieces * len;
	w->file[f].allowed = E4L_PLAN_MOVE;
	add_tree(w, f, tree);
}

/*
 * A file in pieces of @piece blocks and one long free run, which it fits in:
 * taken only when that need not be kept, however many pieces are saved.
 */
START_TEST(takes_no_long_run_that_is_kept)
{
	static const struct {
		uint32_t piece;
		uint64_t kept;
		bool moves;
	} cases[] = {
		{ 1, E4L_NO_LIMIT, false },
		{ 2, E4L_NO_LIMIT, false },
		{ 1, 0, true },
		{ 4, E4L_NO_LIMIT, false },
		{ 4, 1, false },
		{ 4, 0, true },
	};
	struct world *w = new_world(400, 1, 2);
	const struct e4l_left *left;
	struct e4l_plan *p;
	uint32_t i;
	size_t n;

	w->opt.long_run_blocks = 32;
	w->opt.long_blocks_kept = cases[_i].kept;
	for (i = 0; i < 400; i++)
		w->state[i] = i < 360 ? USED + 1 : FREE;
	add_pieces(w, 0, 0, 40 / cases[_i].piece, cases[_i].piece, 300);
	p = make_plan(w);
	e4l_plan_steps(p, &n);
	ck_assert_uint_eq(n, cases[_i].moves);
	left = e4l_plan_left(p, &n);
	ck_assert_uint_eq(n, !cases[_i].moves);
	if (n) {
		ck_assert_int_eq(left->why, E4L_LEFT_LONG_RUNS);
		ck_assert_uint_eq(left->extents, 40 / cases[_i].piece - 1);
	}
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/* What is left in pieces has no room, or too little in a transaction. */
START_TEST(small_transactions)
{
	unsigned int round, f;
	uint64_t unjoined;
	struct world *w;

	srandom(_i);
	w = random_world(_i % 3 ? 1 : 4);
	w->opt.geo.group_blocks = 32 * w->opt.geo.cluster_blocks;
	w->opt.geo.txn_blocks = 9 + random() % 30;
	w->opt.geo.groups_per_desc = random() % 4;
	w->opt.geo.quota_blocks = _i % 4;
	for (round = 0; round < 20 && (!round || w->steps); round++)
		plan_and_carry_out(w);
	ck_assert_uint_eq(w->steps, 0);
	for (f = 0; f < w->files; f++) {
		if (!(w->file[f].allowed & E4L_PLAN_MOVE) || w->left[f])
			continue;
		pieces_of(w, &w->file[f], &unjoined);
		ck_assert(unjoined == UINT64_MAX ||
			  unjoined > largest_free(w));
	}
	free_world(w);
}
END_TEST

/* Some long files, each in a few long pieces, and room to join some. */
static struct world *long_world(uint32_t ratio)
{
	struct world *w = new_world(4000, ratio, 1 + random() % 3);
	uint64_t lc, pc, left;
	unsigned int f, n;

	for (f = 0; f < w->files; f++) {
		left = 1800 / w->files / (1 + random() % 3);
		for (lc = 0; left; ) {
			pc = some_free(w);
			for (n = random() % 100; n && left; n--, left--) {
				while (w->state[pc] != FREE)
					pc = (pc + 1) % w->clusters;
				add_cluster(w, f, lc++, pc, random() % 64 == 0);
			}
			lc += random() % 8 == 0;
		}
		w->file[f].eof = lc * ratio;
		w->file[f].allowed = ALL;
	}
	add_trees(w);
	w->opt.part_blocks = (1 + random() % 50) * ratio;
	return w;
}

/* Nothing is left to do that could be done. */
static void check_done(struct world *w)
{
	uint64_t unjoined;
	unsigned int f;

	plan_and_carry_out(w);
	ck_assert_uint_eq(w->steps, 0);
	for (f = 0; f < w->files; f++) {
		pieces_of(w, &w->file[f], &unjoined);
		ck_assert(unjoined == UINT64_MAX ||
			  unjoined > largest_free(w));
	}
}

/* Stopped after each step, plans lead to where one goes at once. */
START_TEST(moves_in_parts)
{
	unsigned int round;
	struct e4l_plan *p;
	struct world *w;

	srandom(_i);
	w = long_world(_i % 3 ? 1 : 4);
	for (round = 0; round < 1000 && (!round || w->steps); round++) {
		p = make_plan(w);
		carry_out_some(w, p, _i % 2 ? SIZE_MAX : 1 + random() % 3);
		check_map(w);
		e4l_plan_free(p);
	}
	check_done(w);
	free_world(w);
}
END_TEST

/* So does a budget that is less than what any file takes. */
START_TEST(buys_parts)
{
	unsigned int round;
	struct world *w;

	srandom(_i);
	w = long_world(_i % 3 ? 1 : 4);
	w->opt.copy_budget_blocks = 400 * w->opt.geo.cluster_blocks;
	for (round = 0; round < 1000 && (!round || w->steps); round++) {
		plan_and_carry_out(w);
		ck_assert_uint_le(w->copied, w->opt.copy_budget_blocks);
	}
	w->opt.copy_budget_blocks = E4L_NO_LIMIT;
	plan_and_carry_out(w);
	check_done(w);
	free_world(w);
}
END_TEST

START_TEST(budgets_are_kept)
{
	uint64_t copy, zero;
	unsigned int round;
	struct world *w;

	srandom(_i);
	w = random_world(_i % 3 ? 1 : 4);
	w->opt.copy_budget_blocks = copy = random() % 100;
	w->opt.zeroout_budget_blocks = zero = random() % 30;
	/* run again and again, it ends where a run without limits would */
	for (round = 0; round < 1000 && (!round || w->steps); round++) {
		plan_and_carry_out(w);
		ck_assert_uint_le(w->copied, copy);
		ck_assert_uint_le(w->zeroed, zero);
	}
	ck_assert_uint_eq(w->steps, 0);
	free_world(w);
}
END_TEST

/*
 * With small transactions, too: what is zeroed of a file once another budget
 * allows it is not behind what was zeroed before.
 */
START_TEST(budgets_and_transactions_are_kept)
{
	uint64_t zero;
	struct world *w;

	srandom(_i);
	w = random_world(_i % 3 ? 1 : 4);
	w->opt.geo.group_blocks = 32 * w->opt.geo.cluster_blocks;
	w->opt.geo.txn_blocks = 5 + random() % 40;
	w->opt.copy_budget_blocks = random() % 300;
	w->opt.zeroout_budget_blocks = zero = random() % 60;
	plan_and_carry_out(w);
	ck_assert_uint_le(w->zeroed, zero);
	free_world(w);
}
END_TEST

/* One file in one fragment: runs of random length, written and not in turn. */
static void add_mosaic(struct world *w, unsigned int f, uint32_t runs,
		       uint32_t most, blk64_t *pblk)
{
	bool unwritten = random() % 2;
	uint32_t lblk = 0, len;

	while (runs--) {
		len = 1 + random() % most;
		add_extent(w, f, (struct e4l_extent) {
			.lblk = lblk, .pblk = *pblk, .len = len,
			.unwritten = unwritten,
		});
		unwritten = !unwritten;
		lblk += len;
		*pblk += len;
	}
	*pblk += 3;
	w->file[f].eof = random() % 4 ? lblk : random() % (lblk + 1);
	w->file[f].allowed = ALL;
}

struct eligible {
	unsigned int file;
	size_t ex;
};

/* The number of entries of all files if the runs in @set are zeroed. */
static uint64_t entries_with(const struct world *w, const struct eligible *run,
			     unsigned int n, unsigned int set)
{
	uint64_t total = 0, len = 0, max;
	unsigned int f, k = 0;
	bool state, last = false;
	size_t i;

	for (f = 0; f < w->files; f++, len = 0) {
		for (i = 0; i <= w->file[f].n; i++) {
			state = i < w->file[f].n && w->file[f].ex[i].unwritten;
			if (k < n && run[k].file == f && run[k].ex == i) {
				if (set & 1u << k)
					state = false;
				k++;
			}
			if (len && (state != last || i == w->file[f].n)) {
				max = last ? E4L_UNWRITTEN_MAX_BLOCKS :
					     E4L_WRITTEN_MAX_BLOCKS;
				total += (len + max - 1) / max;
				len = 0;
			}
			if (i < w->file[f].n)
				len += w->file[f].ex[i].len;
			last = state;
		}
	}
	return total;
}

/* The fewest entries and, of them, the fewest blocks zeroed, by trying all. */
static uint64_t brute_force(const struct world *w, uint64_t *cost)
{
	struct eligible run[16];
	unsigned int f, n = 0, set, k;
	uint64_t best = UINT64_MAX, entries, blocks;
	const struct e4l_extent *ex;
	size_t i;

	for (f = 0; f < w->files; f++) {
		for (i = 0; i < w->file[f].n; i++) {
			ex = &w->file[f].ex[i];
			if (ex->unwritten &&
			    ex->len <= w->opt.zeroout_max_blocks &&
			    ex->lblk + ex->len <= w->file[f].eof)
				run[n++] = (struct eligible) { f, i };
			CHECK(n < ARRAY_SIZE(run));
		}
	}
	for (set = 0; set < 1u << n; set++) {
		for (k = 0, blocks = 0; k < n; k++)
			if (set & 1u << k)
				blocks += w->file[run[k].file]
						  .ex[run[k].ex].len;
		if (blocks > w->opt.zeroout_budget_blocks)
			continue;
		entries = entries_with(w, run, n, set);
		if (entries < best || (entries == best && blocks < *cost)) {
			best = entries;
			*cost = blocks;
		}
	}
	return best;
}

static uint64_t count_entries(const struct world *w)
{
	uint64_t n = 0;
	unsigned int f;

	for (f = 0; f < w->files; f++)
		n += w->file[f].n;
	return n;
}

static struct world *mosaic_world(uint32_t most)
{
	struct world *w = new_world(most * 80, 1, 1 + random() % 4);
	unsigned int f, left = 24;
	blk64_t pblk = 10;

	for (f = 0; f < w->files; f++)
		add_mosaic(w, f, left / w->files, most, &pblk);
	add_trees(w);
	w->opt.zeroout_max_blocks = random() % 3 ? most : most / 2;
	w->opt.zeroout_budget_blocks = random() % 4 ? random() % (most * 8) :
						      E4L_NO_LIMIT;
	return w;
}

START_TEST(zeroes_what_the_budget_is_best_spent_on)
{
	uint64_t best, cost = 0;
	struct world *w;

	srandom(_i);
	w = mosaic_world(12);
	best = brute_force(w, &cost);
	plan_and_carry_out(w);
	ck_assert_uint_eq(count_entries(w), best);
	ck_assert_uint_eq(w->zeroed, cost);
	free_world(w);
}
END_TEST

/* A long file that is zeroed into. */
START_TEST(zeroes_in_parts)
{
	const struct e4l_step *s;
	struct e4l_plan *p;
	uint64_t entries;
	struct world *w;
	size_t n;

	srandom(_i);
	w = mosaic_world(12);
	w->opt.zeroout_budget_blocks = E4L_NO_LIMIT;
	plan_and_carry_out(w);
	entries = count_entries(w);
	free_world(w);
	srandom(_i);
	w = mosaic_world(12);
	w->opt.zeroout_budget_blocks = E4L_NO_LIMIT;
	w->opt.part_blocks = 1 + random() % 20;
	p = make_plan(w);
	for (s = e4l_plan_steps(p, &n); n; n--, s++)
		CHECK(s->bytes_to_zero / BLOCKSIZE <=
		      w->opt.part_blocks + 8 * 20 + 12);
	carry_out_some(w, p, random() % 4);
	e4l_plan_free(p);
	plan_and_carry_out(w);
	ck_assert_uint_eq(count_entries(w), entries);
	free_world(w);
}
END_TEST

/* A world of any kind, with any of the options that limit a plan. */
static struct world *limited_world(void)
{
	static struct world *(*const kinds[])(uint32_t) = {
		random_world, long_world,
	};
	uint32_t ratio = random() % 3 ? 1 : 4;
	struct world *w = random() % 3 ? kinds[random() % 2](ratio) :
					 mosaic_world(12);

	ratio = w->opt.geo.cluster_blocks;
	if (random() % 2) {
		w->opt.copy_budget_blocks = random() % 300;
		w->opt.zeroout_budget_blocks = random() % 60;
	}
	if (random() % 2)
		w->opt.part_blocks = (1 + random() % 50) * ratio;
	if (random() % 2) {
		w->opt.geo.group_blocks = 32 * ratio;
		w->opt.geo.txn_blocks = 5 + random() % 40;
		w->opt.geo.quota_blocks = random() % 4;
	}
	if (random() % 2) {
		w->opt.long_run_blocks = (8 + random() % 24) * ratio;
		w->opt.long_blocks_kept = random() % 2 ? E4L_NO_LIMIT :
							 random() % 400;
	}
	return w;
}

/* Whatever the limits are, each step does something, and plans come to an end. */
START_TEST(limits_go_together)
{
	unsigned int round;
	struct world *w;

	srandom(_i);
	w = limited_world();
	for (round = 0; round < 1000 && (!round || w->steps); round++)
		plan_and_carry_out(w);
	ck_assert_uint_eq(w->steps, 0);
	free_world(w);
}
END_TEST

/*
 * With entries as long as they can be, the result may miss the best by as many
 * as there are full ones; without a budget it is the best.
 */
START_TEST(zeroes_up_to_the_length_of_entries)
{
	uint64_t best, cost = 0, blocks = 0, before;
	struct world *w;
	unsigned int f;
	size_t i;

	srandom(_i);
	w = mosaic_world(12000);
	before = count_entries(w);
	for (f = 0; f < w->files; f++)
		for (i = 0; i < w->file[f].n; i++)
			blocks += w->file[f].ex[i].len;
	best = brute_force(w, &cost);
	plan_and_carry_out(w);
	ck_assert_uint_le(count_entries(w), before);
	ck_assert_uint_le(count_entries(w),
			  best + blocks / E4L_WRITTEN_MAX_BLOCKS);
	if (w->opt.zeroout_budget_blocks == E4L_NO_LIMIT)
		ck_assert_uint_eq(count_entries(w), best);
	w->opt.zeroout_budget_blocks = E4L_NO_LIMIT;
	plan_and_carry_out(w);
	plan_and_carry_out(w);
	ck_assert_uint_eq(w->steps, 0);
	free_world(w);
}
END_TEST

/* How many of @f's unwritten runs can be zeroed, the shortest first. */
static uint64_t affordable(const struct file *f, uint64_t budget)
{
	uint64_t of_len[257] = { 0 }, n = 0, len;
	size_t i;

	for (i = 0; i < f->n; i++)
		if (f->ex[i].unwritten && f->ex[i].len <= 256)
			of_len[f->ex[i].len]++;
	for (len = 1; len <= 256; n += of_len[len], len++) {
		if (budget / len < of_len[len])
			return n + budget / len;
		budget -= len * of_len[len];
	}
	return n;
}

/* 1 GiB in 4 KiB blocks, an eighth of it written block by block. */
START_TEST(joins_a_big_mosaic)
{
	uint32_t blocks = 262144, i, len;
	struct world *w = new_world(blocks + 40000, 1, 1);
	struct file *f = &w->file[0];
	char *written = calloc(1, blocks);
	uint64_t fewest;

	srandom(1);
	for (i = 0; i < blocks / 8; i++)
		written[1 + random() % (blocks - 2)] = 1;
	written[0] = written[blocks - 1] = 1;
	for (i = 0; i < blocks; i += len) {
		for (len = 1; i + len < blocks &&
			      written[i] == written[i + len]; len++)
			;
		add_extent(w, 0, (struct e4l_extent) {
			.lblk = i, .pblk = 500 + i, .len = len,
			.unwritten = !written[i],
		});
	}
	f->eof = blocks;
	f->allowed = ALL;
	add_trees(w);
	w->opt.zeroout_max_blocks = 256;
	w->opt.zeroout_budget_blocks = 16384;	/* 64 MiB */
	fewest = f->n - 2 * affordable(f, 16384);
	ck_assert_uint_gt(f->n, 50000);
	plan_and_carry_out(w);
	ck_assert_uint_le(w->zeroed, 16384);
	ck_assert_uint_eq(f->n, fewest);
	w->opt.zeroout_budget_blocks = E4L_NO_LIMIT;
	plan_and_carry_out(w);
	ck_assert_uint_eq(f->n, blocks / E4L_WRITTEN_MAX_BLOCKS);
	ck_assert_uint_eq(w->copied, 0);
	free(written);
	free_world(w);
}
END_TEST

/*
 * A file in 1897 pieces of 13 blocks with one used block between them, and free
 * runs of the given lengths.
 */
static struct world *scattered(const uint64_t *runs, size_t n)
{
	struct world *w = new_world(1897 * 14 + 60000, 1, 1);
	uint64_t at = 1897 * 14, i;

	for (i = 0; i < w->clusters; i++)
		w->state[i] = USED + 1;
	for (i = 0; i < 1897; i++)
		add_extent(w, 0, (struct e4l_extent) {
			.lblk = i * 13, .pblk = i * 14, .len = 13,
		});
	while (n--) {
		for (i = 0; i < runs[n]; i++)
			w->state[at + i] = FREE;
		at += runs[n] + 1;
	}
	w->file[0].eof = 1897 * 13;
	w->file[0].allowed = ALL;
	return w;
}

/* The used blocks between are nobody's: the map is not checked here. */
static uint64_t pieces_after(struct world *w)
{
	struct e4l_plan *p;
	uint64_t unjoined;
	size_t i;

	w->file[0].tree = calloc(2000, sizeof(struct e4l_tree_block));
	w->file[0].n_tree = e4l_ideal_tree_blocks(w->file[0].n, BLOCKSIZE);
	for (i = 0; i < w->file[0].n_tree; i++) {
		w->file[0].tree[i].pblk = w->clusters - 1 - i;
		w->state[w->clusters - 1 - i] = USED;
	}
	p = make_plan(w);
	carry_out_all(w, p);
	e4l_plan_free(p);
	return pieces_of(w, &w->file[0], &unjoined);
}

START_TEST(uses_as_few_runs_as_there_are)
{
	static const struct {
		uint64_t runs[4];
		size_t n;
		uint64_t pieces;
	} cases[] = {
		{ { 24661 }, 1, 1 },
		{ { 100, 30000 }, 2, 1 },
		{ { 24660, 1 }, 2, 2 },
		{ { 9000, 9000, 9000 }, 3, 3 },
		{ { 100, 12000, 14000, 11000 }, 4, 2 },
	};
	struct world *w = scattered(cases[_i].runs, cases[_i].n);

	ck_assert_uint_le(pieces_after(w), cases[_i].pieces);
	free_world(w);
}
END_TEST

/*
 * A file in 1897 pieces in 208 groups, with a tree of 633 blocks, in
 * transactions of a hundred: nothing but new trees helps.
 */
START_TEST(moves_what_no_transaction_holds)
{
	static const uint64_t runs[] = { 30000 };
	struct world *w = scattered(runs, 1);

	w->opt.geo.txn_blocks = 100;
	w->opt.geo.groups_per_desc = 4;
	ck_assert_uint_eq(pieces_after(w), 1);
	ck_assert(!w->left[0]);
	ck_assert_uint_ge(w->parts, 2);
	free_world(w);
	/* no group fits beside the inode and quota */
	w = scattered(runs, 1);
	w->opt.geo.txn_blocks = 5;
	ck_assert_uint_eq(pieces_after(w), 1897);
	ck_assert(w->left[0]);
	ck_assert_uint_eq(w->steps, 0);
	free_world(w);
}
END_TEST

/* Small files in three to six pieces each, and one free run at the end. */
START_TEST(joins_many_small_files)
{
	unsigned int files = 5000, round, f;
	struct world *w = new_world(45000 + 30000, 1, files);
	uint64_t at = 0, unjoined;

	srandom(1);
	for (round = 0; round < 6; round++) {
		for (f = 0; f < files; f++) {
			struct file *file = &w->file[f];
			uint32_t len = 1 + (f + round) % 3;

			if (round > 2 && random() % 2)
				continue;
			add_extent(w, f, (struct e4l_extent) {
				.lblk = file->eof, .pblk = at, .len = len,
			});
			file->eof += len;
			at += len;
		}
	}
	for (f = 0; f < files; f++)
		w->file[f].allowed = ALL;
	add_trees(w);
	plan_and_carry_out(w);
	for (f = 0; f < files; f++)
		CHECK(pieces_of(w, &w->file[f], &unjoined) == 1);
	plan_and_carry_out(w);
	ck_assert_uint_eq(w->steps, 0);
	free_world(w);
}
END_TEST

/*
 * Files of about 40 blocks that grew in turns with their neighbours, and a third
 * of what would hold all of them: what the first have left holds the others, so
 * that none moves twice.
 */
START_TEST(moves_neighbours_together)
{
	unsigned int files = 600, near = 20, rounds = 20, first, round, f;
	struct world *w = new_world(45000, 1, files);
	struct e4l_plan *p;
	uint64_t at = 0;

	srandom(_i);
	for (first = 0; first < files; first += near)
		for (round = 0; round < rounds; round++)
			for (f = first; f < first + near; f++) {
				struct file *file = &w->file[f];
				uint32_t len = 1 + random() % 3;

				add_extent(w, f, (struct e4l_extent) {
					.lblk = file->eof, .pblk = at,
					.len = len,
				});
				file->eof += len;
				file->allowed = ALL;
				at += len;
			}
	for (; at < 30000; at++)
		w->state[at] = USED + files;
	for (f = 0; f < files; f++)
		at += add_tree(w, f, at);
	for (at += 8000; at < w->clusters; at++)
		w->state[at] = USED + files;
	p = make_plan(w);
	carry_out_all(w, p);
	e4l_plan_free(p);
	for (at = 0, f = 0; f < files; f++)
		at += w->file[f].eof;
	ck_assert_uint_le(w->copied, at);
	free_world(w);
}
END_TEST

/* What is ideal, or not allowed, is not touched; bad lists are refused. */
START_TEST(knows_what_to_leave_alone)
{
	static const struct e4l_extent ideal[] = {
		{ .pblk = 100, .lblk = 0, .len = 32768 },
		{ .pblk = 32868, .lblk = 32768, .len = 5 },
		{ .pblk = 32873, .lblk = 32773, .len = 5, .unwritten = 1 },
		{ .pblk = 10, .lblk = 40000, .len = 5 },
	};
	static const struct e4l_extent bad[] = {
		{ .pblk = 10, .lblk = 5, .len = 5 },
		{ .pblk = 20, .lblk = 9, .len = 5 },
	};
	static const struct e4l_block_run run = { 50000, 50000 };
	struct e4l_plan_file f = {
		.ino = 12, .allowed = ALL, .eof_blk = 32773,
		.extents = ideal, .n_extents = ARRAY_SIZE(ideal),
	};
	struct world *w = new_world(1, 1, 1);
	struct e4l_plan *p;
	size_t n;

	ck_assert_int_eq(e4l_plan_new(&w->opt, &p), 0);
	CHECK(!e4l_plan_add_free(&run, p));
	ck_assert_int_eq(e4l_plan_add_free(&run, p), E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_plan_add_file(p, &f), 0);
	f.n_extents = 2;
	f.extents = bad;
	ck_assert_int_eq(e4l_plan_add_file(p, &f), E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_plan_make(p), 0);
	e4l_plan_steps(p, &n);
	ck_assert_uint_eq(n, 0);
	e4l_plan_free(p);
	w->opt.geo.cluster_blocks = 0;
	ck_assert_int_eq(e4l_plan_new(&w->opt, &p), E4L_ET_BAD_ARGUMENT);
	ck_assert_ptr_null(p);
	w->opt.geo.cluster_blocks = w->opt.geo.group_blocks = 3;
	ck_assert_int_eq(e4l_plan_new(&w->opt, &p), E4L_ET_BAD_ARGUMENT);
	ck_assert_ptr_null(p);
	w->opt.geo.cluster_blocks = 1;
	ck_assert_int_eq(e4l_es_new(0, &w->opt.cache), 0);
	ck_assert_int_eq(e4l_plan_new(&w->opt, &p), E4L_ET_BAD_ARGUMENT);
	ck_assert_ptr_null(p);
	e4l_es_free(w->opt.cache);
	free_world(w);
}
END_TEST

/* With bigalloc, blocks that do not keep their place in the cluster stay. */
START_TEST(does_not_move_misaligned_blocks)
{
	static const struct e4l_block_run run = { 50000, 50000 };
	struct e4l_extent ex[] = {
		{ .pblk = 100, .lblk = 0, .len = 4 },
		{ .pblk = 200, .lblk = 4, .len = 4 },
	};
	struct e4l_plan_file f = {
		.ino = 12, .allowed = ALL, .eof_blk = 8,
		.extents = ex, .n_extents = ARRAY_SIZE(ex),
	};
	struct world *w = new_world(1, 4, 1);
	struct e4l_plan *p;
	size_t n;

	ex[1].pblk += _i;
	ck_assert_int_eq(e4l_plan_new(&w->opt, &p), 0);
	ck_assert_int_eq(e4l_plan_add_free(&run, p), 0);
	ck_assert_int_eq(e4l_plan_add_file(p, &f), 0);
	ck_assert_int_eq(e4l_plan_make(p), 0);
	e4l_plan_steps(p, &n);
	ck_assert_uint_eq(n, _i % 4 == 0);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/* Reads files of a world again, and one of them otherwise than it is. */
struct rereader {
	const struct world *w;
	unsigned int calls;
	unsigned int full, wrong_at;	/* of files with extents; 0: never */
	void (*spoil)(struct e4l_extent *ex, size_t *n);
	errcode_t err;			/* or this */
	unsigned int asked, enough_at;	/* whether the plan is enough */
};

static errcode_t reread(ext2_ino_t ino, struct e4l_extent **extents, size_t *n,
			void *priv)
{
	struct rereader *r = priv;
	const struct file *f = &r->w->file[ino - 1];

	*n = f->n;
	*extents = calloc(f->n + 1, sizeof(**extents));
	if (f->n)
		memcpy(*extents, f->ex, f->n * sizeof(**extents));
	r->calls++;
	if (!f->n || ++r->full != r->wrong_at)
		return 0;
	if (r->spoil)
		r->spoil(*extents, n);
	return r->err;
}

static bool is_enough(void *priv)
{
	struct rereader *r = priv;

	return r->asked++ >= r->enough_at;
}

#define SAME(member) CHECK(a->member == b->member)
#define SAME_ARRAY(array, count) do {					\
	SAME(count);							\
	CHECK(!a->count || !memcmp(a->array, b->array,			\
				   a->count * sizeof(*a->array)));	\
} while (0)

static void compare_moves(const struct e4l_step *a,
			  const struct e4l_step *b)
{
	struct e4l_step_walk of_a = { 0 }, of_b = { 0 };
	struct e4l_move x, y;

	SAME(n_moves);
	while (e4l_step_next_move(a, &of_a, &x)) {
		CHECK(e4l_step_next_move(b, &of_b, &y));
		CHECK(x.from == y.from && x.to == y.to && x.len == y.len &&
		      x.copy == y.copy);
	}
}

static void compare_given(const struct e4l_step *a, const struct e4l_step *b)
{
	struct e4l_step_walk of_a = { 0 }, of_b = { 0 };
	struct e4l_block_run x, y;

	SAME(n_give);
	while (e4l_step_next_given(a, &of_a, &x)) {
		CHECK(e4l_step_next_given(b, &of_b, &y));
		CHECK(x.pblk == y.pblk && x.len == y.len);
	}
}

static void compare_steps(const struct e4l_step *a,
			  const struct e4l_step *b)
{
	SAME(ino);
	SAME(batch);
	SAME(n_old);
	CHECK(!a->new_extents == !b->new_extents);
	CHECK(!a->packed == !b->packed);
	if (a->new_extents)
		SAME_ARRAY(new_extents, n_new);
	SAME(old_fragments);
	SAME(new_fragments);
	compare_moves(a, b);
	SAME_ARRAY(zero, n_zero);
	SAME_ARRAY(take, n_take);
	compare_given(a, b);
	SAME_ARRAY(tree, n_tree);
	SAME(tree_is_new);
	SAME(fragments_saved);
	SAME(bytes_to_copy);
	SAME(bytes_to_zero);
}

static void compare_plans(const struct e4l_plan *a, const struct e4l_plan *b)
{
	const struct e4l_step *x, *y;
	const struct e4l_left *i, *j;
	size_t n, m;

	x = e4l_plan_steps(a, &n);
	y = e4l_plan_steps(b, &m);
	ck_assert_uint_eq(n, m);
	while (n--)
		compare_steps(x++, y++);
	i = e4l_plan_left(a, &n);
	j = e4l_plan_left(b, &m);
	ck_assert_uint_eq(n, m);
	for (; n; n--, i++, j++)
		CHECK(i->ino == j->ino && i->why == j->why &&
		      i->extents == j->extents);
}

/* The world of small_transactions() or of budgets_are_kept(). */
static struct world *any_world(int i)
{
	struct world *w;

	srandom(i);
	w = random_world(i % 3 ? 1 : 4);
	if (i % 2) {
		w->opt.copy_budget_blocks = random() % 100;
		w->opt.zeroout_budget_blocks = random() % 30;
	} else {
		w->opt.geo.group_blocks = 32 * w->opt.geo.cluster_blocks;
		w->opt.geo.txn_blocks = 9 + random() % 30;
	}
	return w;
}

static struct e4l_plan *plan_with(struct world *w, uint64_t limit,
				  struct rereader *r, errcode_t want)
{
	struct e4l_es_stats stats;
	struct e4l_plan *p;

	*r = (struct rereader) {
		.w = w, .wrong_at = r->wrong_at, .spoil = r->spoil,
		.err = r->err,
	};
	w->opt.reread = reread;
	w->opt.priv = r;
	ck_assert_int_eq(e4l_es_new(limit, &w->opt.cache), 0);
	ck_assert_int_eq(try_plan(w, &p), want);
	ck_assert_uint_eq(e4l_plan_reread(p), r->calls);
	e4l_es_get_stats(w->opt.cache, &stats);
	/* one entry too many, and what is there when nothing is known */
	ck_assert_uint_le(stats.max_bytes, (limit < 1000 ? 1000 : limit) + 400);
	return p;
}

static void free_plan_with(struct world *w, struct e4l_plan *p)
{
	e4l_plan_free(p);
	e4l_es_free(w->opt.cache);
	w->opt.cache = NULL;
}

/* A plan does not depend on what the cache had to forget. */
START_TEST(remembers_what_was_forgotten)
{
	static const uint64_t limits[] = { 0, 2000, 5000, 20000, 1 << 30 };
	struct world *w = any_world(_i);
	struct e4l_plan *p = make_plan(w), *q;
	struct rereader r = { .wrong_at = 0 };
	unsigned int fewer = 0, i, none = 0;
	size_t n;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		q = plan_with(w, limits[i], &r, 0);
		compare_plans(p, q);
		none = i ? none : r.calls;
		fewer += r.calls < none;
		free_plan_with(w, q);
	}
	e4l_plan_steps(p, &n);
	ck_assert(!n || none);
	ck_assert(!none || fewer);
	ck_assert_uint_eq(r.calls, 0);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

static void lose_one(struct e4l_extent *ex, size_t *n)
{
	--*n;
}

static void shift_one(struct e4l_extent *ex, size_t *n)
{
	ex[*n / 2].pblk++;
}

static void write_one(struct e4l_extent *ex, size_t *n)
{
	ex[*n - 1].unwritten ^= 1;
}

static void overlap(struct e4l_extent *ex, size_t *n)
{
	ex[*n - 1].lblk = 0;
	ex[0].len++;
}

/* The same blocks in one entry more, if there is one of several. */
static void cut_one(struct e4l_extent *ex, size_t *n)
{
	size_t i;

	for (i = 0; i < *n && ex[i].len < 2; i++)
		;
	if (i == *n) {
		lose_one(ex, n);
		return;
	}
	memmove(ex + i + 1, ex + i, (*n - i) * sizeof(*ex));
	++*n;
	ex[i].len--;
	ex[i + 1].lblk += ex[i].len;
	ex[i + 1].pblk += ex[i].len;
	ex[i + 1].len = 1;
}

/* What cannot be read again, or is not the same, ends the planning. */
START_TEST(believes_no_other_extents)
{
	static const struct rereader cases[] = {
		{ .err = EXT2_ET_SHORT_READ },
		{ .spoil = lose_one },
		{ .spoil = cut_one },
		{ .spoil = shift_one },
		{ .spoil = write_one },
		{ .spoil = overlap },
	};
	struct world *w = any_world(_i);
	struct rereader r = { .wrong_at = 0 };
	unsigned int calls, i;
	struct e4l_plan *p;

	p = plan_with(w, 0, &r, 0);
	free_plan_with(w, p);
	calls = r.full;
	for (i = 0; i < ARRAY_SIZE(cases) && calls; i++) {
		r = cases[i];
		r.wrong_at = 1 + random() % calls;
		p = plan_with(w, 0, &r, r.err ? r.err : E4L_ET_CHANGED);
		ck_assert_uint_eq(r.full, r.wrong_at);
		free_plan_with(w, p);
	}
	free_world(w);
}
END_TEST

static uint64_t free_runs(const struct world *w)
{
	uint64_t i, n = 0;

	for (i = 0; i < w->clusters; i++)
		n += w->state[i] == FREE && (!i || w->state[i - 1] != FREE);
	return n;
}

static uint64_t all_fragments(const struct world *w)
{
	uint64_t sum = 0;
	unsigned int f;

	for (f = 0; f < w->files; f++)
		sum += fragments_of(&w->file[f]);
	return sum;
}

static uint64_t all_tree_blocks(const struct world *w)
{
	uint64_t sum = 0;
	unsigned int f;

	for (f = 0; f < w->files; f++)
		sum += w->file[f].n_tree;
	return sum;
}

/* Little is free, in short runs; most of what is there may be moved. */
static struct world *fill_world(uint32_t ratio)
{
	struct world *w = new_world(150 + random() % 500, ratio,
				    5 + random() % 100);
	uint64_t pc = 0, *lc = calloc(w->files, sizeof(*lc)), n;
	unsigned int f, share = 1 + random() % 12;

	while (pc < w->clusters) {
		f = random() % 3 ? random() % w->files : random() % 4;
		n = 1 + random() % (random() % 4 ? 6 : 30);
		for (; n-- && pc < w->clusters; pc++, lc[f]++)
			add_extent(w, f, (struct e4l_extent) {
				.lblk = lc[f] * ratio, .pblk = pc * ratio,
				.len = ratio, .unwritten = random() % 8 == 0,
			});
		if (random() % share == 0)
			pc += random() % 12;
	}
	for (f = 0; f < w->files; f++) {
		w->file[f].eof = lc[f] * ratio;
		w->file[f].allowed = random() % 6 ? ALL | E4L_PLAN_ROOM :
				     random() % ((ALL | E4L_PLAN_ROOM) + 1);
	}
	free(lc);
	return w;
}

static uint64_t ideal_tree_blocks(const struct world *w)
{
	uint64_t sum = 0;
	unsigned int f;

	for (f = 0; f < w->files; f++)
		sum += e4l_ideal_tree_blocks(w->file[f].n, BLOCKSIZE);
	return sum;
}

static uint64_t count_free(const struct world *w)
{
	uint64_t i, n = 0;

	for (i = 0; i < w->clusters; i++)
		n += w->state[i] == FREE;
	return n;
}

/* The same with trees, if they fit. */
static struct world *crowded_world(uint32_t ratio)
{
	struct world *w = fill_world(ratio);

	while (ideal_tree_blocks(w) + 3 * w->files > count_free(w)) {
		free_world(w);
		w = fill_world(ratio);
	}
	add_trees(w);
	return w;
}

/* A crowded world in which a plan without room has nothing left to do. */
static struct world *settled_world(int i, struct rereader *r)
{
	struct world *w = crowded_world(i % 4 ? 1 : 4);
	unsigned int *allowed = calloc(w->files, sizeof(*allowed)), f;

	*r = (struct rereader) { .w = w };
	w->opt.reread = reread;
	w->opt.priv = r;
	for (f = 0; f < w->files; f++) {
		allowed[f] = w->file[f].allowed;
		w->file[f].allowed &= ALL;
	}
	plan_and_carry_out(w);
	for (f = 0; f < w->files; f++)
		w->file[f].allowed = allowed[f];
	free(allowed);
	return w;
}

/* What must be no worse when room was made. */
struct order {
	uint64_t fragments, tree_blocks, free_runs;
};

static struct order order_of(const struct world *w)
{
	return (struct order) {
		.fragments = all_fragments(w), .free_runs = free_runs(w),
		.tree_blocks = all_tree_blocks(w),
	};
}

static void compare_orders(const struct order *old, const struct order *new)
{
	ck_assert_uint_le(new->fragments, old->fragments);
	ck_assert_uint_le(new->tree_blocks, old->tree_blocks);
	ck_assert_uint_le(new->free_runs, old->free_runs);
}

/*
 * What room is made for has fewer fragments, nothing else has more, free space
 * is in no more runs, and the next plan finds nothing more to do.
 */
START_TEST(makes_room)
{
	struct e4l_plan_room room;
	struct order old, new;
	struct rereader r;
	struct e4l_plan *p;
	struct world *w;

	srandom(_i);
	w = settled_world(_i, &r);
	old = order_of(w);
	p = make_plan(w);
	carry_out_all(w, p);
	check_map(w);
	new = order_of(w);
	compare_orders(&old, &new);
	e4l_plan_room(p, &room);
	ck_assert_uint_le(new.fragments + room.fragments_saved, old.fragments);
	ck_assert(!room.runs == !w->steps);
	ck_assert_uint_le(room.blocks_away, w->copied);
	e4l_plan_free(p);
	plan_and_carry_out(w);
	ck_assert_uint_eq(w->steps, 0);
	free_world(w);
}
END_TEST

static bool is_odd(ext2_ino_t ino, const struct e4l_extent *ex, size_t n,
		   void *priv)
{
	return ino % 2;
}

static void limit_room(struct world *w)
{
	uint32_t ratio = w->opt.geo.cluster_blocks;

	if (random() % 2)
		w->opt.copy_budget_blocks = random() % 200;
	if (random() % 2)
		w->opt.part_blocks = (4 + random() % 20) * ratio;
	if (random() % 2)
		w->opt.room_bytes = 16 * (1 + random() % 40);
	if (random() % 4 == 0)
		w->opt.plan_bytes = 1 + random() % 8000;
	if (random() % 2)
		w->opt.may_move = is_odd;
	w->opt.long_run_blocks = (4 + random() % 16) * ratio;
	w->opt.long_blocks_kept = random() % 2 ? E4L_NO_LIMIT :
				  random() % 200 * ratio;
}

static uint64_t left_for(const struct e4l_plan *p, enum e4l_left_why why)
{
	const struct e4l_left *v;
	uint64_t sum = 0;
	size_t n, i;

	v = e4l_plan_left(p, &n);
	for (i = 0; i < n; i++)
		sum += v[i].why == why ? v[i].extents : 0;
	return sum;
}

/*
 * Two runs of one file, each in two blocks with another file's block between them,
 * and holes of one block: room must be made for each.
 */
static struct world *two_runs_world(struct rereader *r)
{
	struct world *w = new_world(24, 1, 5);
	unsigned int i;

	*r = (struct rereader) { .w = w };
	w->opt.reread = reread;
	w->opt.priv = r;
	for (i = 0; i < 4; i++) {
		add_extent(w, 0, (struct e4l_extent) {
			.lblk = i / 2 * 10 + i % 2, .pblk = 2 * i, .len = 1,
		});
		add_extent(w, 1 + i, (struct e4l_extent) {
			.pblk = 2 * i + 1, .len = 1,
		});
	}
	for (i = 9; i < w->clusters; i += 2)
		w->state[i] = USED + w->files;
	for (i = 0; i < w->files; i++) {
		w->file[i].eof = i ? 1 : 12;
		w->file[i].allowed = E4L_PLAN_MOVE | E4L_PLAN_ROOM;
	}
	return w;
}

/* Room is made for one run, whatever else the same file needs. */
START_TEST(makes_room_while_there_is_time)
{
	struct e4l_plan_room room;
	struct rereader r;
	struct world *w = two_runs_world(&r);
	struct e4l_plan *p = make_plan(w);

	e4l_plan_room(p, &room);
	ck_assert_uint_eq(room.runs, 2);
	ck_assert_uint_eq(left_for(p, E4L_LEFT_TIME), 0);
	e4l_plan_free(p);
	w->opt.enough = is_enough;
	p = make_plan(w);
	e4l_plan_room(p, &room);
	ck_assert_uint_eq(room.runs, 1);
	ck_assert_uint_eq(left_for(p, E4L_LEFT_TIME), 1);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/* A file in four blocks, for which there are three free ones, in runs of two. */
static struct world *short_runs_world(void)
{
	struct world *w = new_world(24, 1, 1);
	unsigned int i;

	for (i = 0; i < 4; i++)
		add_extent(w, 0, (struct e4l_extent) {
			.lblk = i, .pblk = 4 * i, .len = 1,
		});
	for (i = 0; i < w->clusters; i++)
		if (i % 4 && i != 18 && i != 19 && i != 22)
			w->state[i] = USED + w->files;
	for (i = 16; i < w->clusters; i += 4)
		w->state[i] = USED + w->files;
	w->file[0].eof = 4;
	w->file[0].allowed = E4L_PLAN_MOVE;
	return w;
}

/*
 * Files in two blocks, each beside those of the next, and one free run for two of
 * them: what two leave is room for the next two.  For files that still lack a run
 * it is not asked whether there is time.
 */
START_TEST(asks_for_what_may_move)
{
	enum { FILES = 256 };
	struct world *w = new_world(2 * FILES + 4, 1, FILES);
	struct rereader r = { .w = w, .enough_at = UINT_MAX };
	unsigned int f, i;

	for (f = 0; f < FILES; f++) {
		for (i = 0; i < 2; i++)
			add_extent(w, f, (struct e4l_extent) {
				.lblk = i, .pblk = i * FILES + f, .len = 1,
			});
		w->file[f].eof = 2;
		w->file[f].allowed = E4L_PLAN_MOVE;
	}
	w->opt.enough = is_enough;
	w->opt.priv = &r;
	plan_and_carry_out(w);
	ck_assert_uint_eq(all_fragments(w), FILES);
	ck_assert_uint_ge(r.asked, FILES - 4);
	ck_assert_uint_le(r.asked, 4 * FILES);
	free_world(w);
}
END_TEST

/* Where long free runs follow, what fits into none waits for one. */
START_TEST(waits_for_long_runs)
{
	struct rereader r;
	struct world *w = _i ? two_runs_world(&r) : short_runs_world();
	struct e4l_plan *p;
	unsigned int n;
	size_t steps;

	for (n = 0; n < 2; n++) {
		w->opt.free_follows = n;
		p = make_plan(w);
		e4l_plan_steps(p, &steps);
		ck_assert((steps == 0) == n);
		ck_assert_uint_eq(left_for(p, E4L_LEFT_NO_ROOM),
				  n ? (_i ? 2 : 3) : (_i ? 0 : 2));
		e4l_plan_free(p);
	}
	free_world(w);
}
END_TEST

/* With limits: each is kept, and who may not move aside moves to gain. */
START_TEST(makes_room_within_limits)
{
	const struct e4l_step *steps;
	struct order old, new;
	struct rereader r;
	struct e4l_plan *p;
	struct world *w;
	size_t n, i;

	srandom(_i);
	w = settled_world(_i, &r);
	limit_room(w);
	old = order_of(w);
	p = make_plan(w);
	carry_out_all(w, p);
	check_map(w);
	new = order_of(w);
	compare_orders(&old, &new);
	ck_assert(w->opt.copy_budget_blocks == E4L_NO_LIMIT ||
		  w->copied <= w->opt.copy_budget_blocks);
	steps = e4l_plan_steps(p, &n);
	for (i = 0; i < n; i++) {
		const struct file *f = &w->file[steps[i].ino - 1];

		CHECK(!w->opt.may_move || is_odd(steps[i].ino, NULL, 0, NULL) ||
		      fragments_of(f) < f->most_fragments);
	}
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/* Stopped anywhere, and with small transactions (or @limit), all is whole. */
static void check_some_steps(struct world *w, int i, void limit(struct world *))
{
	struct e4l_plan *p;
	size_t n;

	if (i % 2)
		w->opt.geo.txn_blocks = 9 + random() % 30;
	else
		limit(w);
	p = make_plan(w);
	e4l_plan_steps(p, &n);
	carry_out_some(w, p, n ? random() % n : 0);
	check_map(w);
	e4l_plan_free(p);
	free_world(w);
}

START_TEST(makes_room_step_by_step)
{
	struct rereader r;

	srandom(_i);
	check_some_steps(settled_world(_i, &r), _i, limit_room);
}
END_TEST

/* Without time for all of it, each plan has something, and all is done then. */
START_TEST(plans_what_there_is_time_for)
{
	unsigned int cut = 0;
	struct rereader r;
	uint64_t before;
	struct world *w;

	srandom(_i);
	w = crowded_world(_i % 4 ? 1 : 4);
	r = (struct rereader) {
		.w = w, .enough_at = _i % 8 ? random() % 20 : 0,
	};
	w->opt.reread = reread;
	w->opt.enough = is_enough;
	w->opt.priv = &r;
	do {
		before = all_fragments(w);
		cut += r.asked > r.enough_at;
		r.asked = 0;
		plan_and_carry_out(w);
		ck_assert_uint_le(all_fragments(w), before);
	} while (w->steps);
	CHECK(cut || r.enough_at);
	w->opt.enough = NULL;
	plan_and_carry_out(w);
	ck_assert_uint_eq(w->steps, 0);
	free_world(w);
}
END_TEST

/* What a plan holds, as far as can be seen from here. */
static uint64_t bytes_of(const struct e4l_plan *p)
{
	const struct e4l_step *steps;
	uint64_t sum = 0;
	size_t n, i;

	steps = e4l_plan_steps(p, &n);
	for (i = 0; i < n; i++)
		sum += sizeof(steps[i]) +
		       steps[i].n_new * sizeof(struct e4l_extent);
	return sum;
}

/*
 * Without memory for all of it, no plan is much larger than that; what cannot be
 * better may be in the way of others.
 */
START_TEST(plans_what_there_is_memory_for)
{
	uint64_t before, bytes;
	bool cut = false;
	struct e4l_plan *p;
	struct rereader r;
	struct world *w;

	srandom(_i);
	w = crowded_world(_i % 4 ? 1 : 4);
	r = (struct rereader) { .w = w };
	w->opt.reread = reread;
	w->opt.priv = &r;
	/* those of one file more can be in it */
	w->opt.plan_bytes = 1 + random() % 10000;
	do {
		before = all_fragments(w);
		p = make_plan(w);
		bytes = bytes_of(p);
		carry_out_all(w, p);
		check_map(w);
		cut |= left_for(p, E4L_LEFT_MEMORY);
		e4l_plan_free(p);
		ck_assert_uint_le(all_fragments(w), before);
		CHECK(bytes <= w->opt.plan_bytes + 30000);
	} while (w->steps);
	CHECK(cut || w->opt.plan_bytes > 2000);
	w->opt.plan_bytes = 0;
	p = make_plan(w);
	CHECK(!left_for(p, E4L_LEFT_MEMORY));
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/* No block moves twice in a plan. */
static void check_once(const struct world *w, const struct e4l_plan *p)
{
	uint64_t blocks = w->clusters * w->opt.geo.cluster_blocks, b;
	bool *fresh = calloc(blocks, sizeof(*fresh));
	const struct e4l_step *s;
	struct e4l_step_walk walk;
	struct e4l_move m;
	size_t n;

	for (s = e4l_plan_steps(p, &n); n; n--, s++) {
		walk = (struct e4l_step_walk) { 0 };
		while (e4l_step_next_move(s, &walk, &m))
			for (b = 0; b < m.len; b++)
				CHECK(!fresh[m.from + b]);
		walk = (struct e4l_step_walk) { 0 };
		while (e4l_step_next_move(s, &walk, &m))
			for (b = 0; b < m.len; b++)
				fresh[m.to + b] = true;
	}
	free(fresh);
}

/* Most files may be moved, for long free runs alone. */
static struct world *loose_world(int i, struct rereader *r)
{
	struct world *w = crowded_world(i % 4 ? 1 : 4);
	unsigned int f;

	*r = (struct rereader) { .w = w };
	w->opt.reread = reread;
	w->opt.priv = r;
	for (f = 0; f < w->files; f++)
		w->file[f].allowed = random() % 6 ? E4L_PLAN_FREE : 0;
	return w;
}

static void limit_zones(struct world *w)
{
	limit_room(w);
	if (random() % 2)
		w->opt.free_run_blocks = (2 + random() % 60) *
					 w->opt.geo.cluster_blocks;
}

/*
 * Plans and does that: no block moves twice, all is where it should be, nothing
 * is in worse order, and the longest free run is no shorter.  The caller frees
 * the plan.
 */
static struct e4l_plan *consolidate(struct world *w, struct order *old,
				    struct order *new)
{
	uint64_t longest = largest_free(w);
	struct e4l_plan *p;

	*old = order_of(w);
	p = make_plan(w);
	check_once(w, p);
	carry_out_all(w, p);
	check_map(w);
	*new = order_of(w);
	compare_orders(old, new);
	ck_assert_uint_ge(largest_free(w), longest);
	return p;
}

/*
 * Free space is in no more runs and the longest is no shorter; no file has more
 * fragments; each block moves once at most, and as many as are reported.
 */
START_TEST(consolidates_free_space)
{
	struct e4l_plan_free made;
	struct order old, new;
	struct rereader r;
	struct e4l_plan *p;
	struct world *w;

	srandom(_i);
	w = loose_world(_i, &r);
	if (_i % 3)
		limit_zones(w);
	p = consolidate(w, &old, &new);
	e4l_plan_free_runs(p, &made);
	ck_assert_uint_eq(made.blocks_away, w->copied);
	ck_assert_uint_eq(made.free_runs_before, old.free_runs);
	ck_assert_uint_eq(made.free_runs_after, new.free_runs);
	ck_assert_uint_le(w->copied, w->opt.copy_budget_blocks);
	ck_assert(!made.runs == !w->steps);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/* Where the file has the first block from @lblk on. */
static uint64_t place_of(const struct file *f, uint32_t lblk)
{
	const struct e4l_extent *x = f->ex;

	while (x->lblk + x->len <= lblk)
		x++;
	return lblk > x->lblk ? x->pblk + lblk - x->lblk : x->pblk;
}

/* What begins on a stripe, and is one at least, does so wherever it goes. */
START_TEST(keeps_stripes)
{
	struct e4l_fragments *old;
	struct rereader r;
	struct world *w;
	uint32_t stripe, ratio;
	unsigned int i;
	size_t k;

	srandom(_i);
	w = loose_world(_i, &r);
	ratio = w->opt.geo.cluster_blocks;
	stripe = 2 + random() % 3;
	w->opt.geo.stripe_blocks = stripe * ratio;
	old = calloc(w->files, sizeof(*old));
	for (i = 0; i < w->files; i++)
		ck_assert(!e4l_fragments_of(w->file[i].ex, w->file[i].n, ratio,
					    &old[i]));
	plan_and_carry_out(w);
	for (i = 0; i < w->files; i++) {
		for (k = 0; k < old[i].n; k++) {
			const struct e4l_fragment *v = &old[i].v[k];

			CHECK(v->n < stripe || v->pc % stripe ||
			      place_of(&w->file[i], v->lc * ratio) / ratio %
			      stripe == 0);
		}
		free(old[i].v);
	}
	free(old);
	free_world(w);
}
END_TEST

static errcode_t count_asked(void *priv)
{
	((struct rereader *)priv)->asked++;
	return 0;
}

/* How often a plan asks whether to go on, with one free run of @len. */
static unsigned int asked_beside(uint64_t len)
{
	struct world *w = new_world(400 + len, 1, 200);
	struct rereader r = { .w = w };
	unsigned int f;

	w->opt.reread = reread;
	w->opt.go_on = count_asked;
	w->opt.priv = &r;
	w->opt.long_run_blocks = 4;
	for (f = 0; f < w->files; f++) {
		add_extent(w, f, (struct e4l_extent) {
			.pblk = 2 * f, .len = 1,
		});
		w->file[f].eof = 1;
		w->file[f].allowed = E4L_PLAN_FREE;
	}
	e4l_plan_free(make_plan(w));
	free_world(w);
	return r.asked;
}

/*
 * Things of one length are tried once, not for each of the four that they might
 * have, with which it is asked 71 times; and where there is room for all of them,
 * no fewer are tried, with which it is asked 31 times.
 */
START_TEST(tries_what_differs)
{
	unsigned int asked = asked_beside(64);

	CHECK(asked);
	ck_assert_uint_le(asked, 10);
}
END_TEST

/* Without time to look for the best zones, the first that are found must do. */
START_TEST(consolidates_what_there_is_time_for)
{
	struct order old, new;
	struct rereader r;
	struct world *w;
	uint64_t longest;

	srandom(_i);
	w = loose_world(_i, &r);
	w->opt.enough = is_enough;
	do {
		old = order_of(w);
		longest = largest_free(w);
		r.asked = 0;
		plan_and_carry_out(w);
		ck_assert_uint_le(r.asked, 2);
		CHECK(r.asked || !w->steps);
		new = order_of(w);
		compare_orders(&old, &new);
		ck_assert_uint_ge(largest_free(w), longest);
	} while (w->steps);
	free_world(w);
}
END_TEST

START_TEST(consolidates_step_by_step)
{
	struct rereader r;

	srandom(_i);
	check_some_steps(loose_world(_i, &r), _i, limit_zones);
}
END_TEST

/* With all else that a plan does, what moves for free space moved not before. */
START_TEST(consolidates_after_all_else)
{
	struct e4l_plan_free made;
	struct order old, new;
	struct rereader r;
	struct e4l_plan *p;
	struct world *w;
	unsigned int f;

	srandom(_i);
	w = loose_world(_i, &r);
	for (f = 0; f < w->files; f++)
		w->file[f].allowed |= ALL | E4L_PLAN_ROOM;
	old = order_of(w);
	p = make_plan(w);
	carry_out_all(w, p);
	check_map(w);
	new = order_of(w);
	ck_assert_uint_le(new.fragments, old.fragments);
	ck_assert_uint_le(new.tree_blocks, old.tree_blocks);
	e4l_plan_free_runs(p, &made);
	ck_assert_uint_eq(made.free_runs_after, new.free_runs);
	ck_assert_uint_le(made.blocks_away, w->copied);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/*
 * Small files, holes as large between them, and every so often a file that stays:
 * *@bound is the longest that a free run could be.
 */
static struct world *dusty_world(struct rereader *r, uint64_t *bound)
{
	struct world *w = new_world(3000, 1, 1500);
	unsigned int apart = 200 + random() % 6000, holes = 5 + random() % 5;
	uint64_t pc = 0, free = 0, stretch = 0, since = 0, n;
	unsigned int f;

	*r = (struct rereader) { .w = w };
	w->opt.reread = reread;
	w->opt.priv = r;
	for (f = 0; f + 1 < w->files && pc + 20 < w->clusters; f++) {
		n = 1 + random() % 4;
		add_extent(w, f, (struct e4l_extent) { .pblk = pc, .len = n });
		w->file[f].eof = n;
		w->file[f].allowed = E4L_PLAN_FREE;
		if (random() % apart < n) {
			w->file[f].allowed = 0;
			since = pc + n;
		}
		pc += n;
		n = random() % holes;
		pc += n;
		free += n;
		if (pc - since > stretch)
			stretch = pc - since;
	}
	n = w->clusters - pc;
	add_extent(w, w->files - 1, (struct e4l_extent) {
		.pblk = pc, .len = n,
	});
	*bound = free < stretch ? free : stretch;
	return w;
}

/* The longest run is nine tenths of what it could be. */
START_TEST(reaches_the_bound)
{
	struct rereader r;
	struct e4l_plan *p;
	struct world *w;
	uint64_t bound;

	srandom(_i);
	w = dusty_world(&r, &bound);
	p = make_plan(w);
	check_once(w, p);
	carry_out_all(w, p);
	ck_assert_uint_ge(10 * largest_free(w), 9 * bound);
	e4l_plan_free(p);
	/* an aim that has been reached is nothing to do */
	w->opt.free_run_blocks = largest_free(w);
	plan_and_carry_out(w);
	ck_assert_uint_eq(w->steps, 0);
	free_world(w);
}
END_TEST

/* Files with holes between them that are shorter than any, and one long run. */
static struct world *porous_world(struct rereader *r)
{
	struct world *w = new_world(8400, 1, 300);
	uint64_t room = 200 + random() % 400, pc = 0, n;
	unsigned int f, gap = random() % w->files;

	*r = (struct rereader) { .w = w };
	w->opt.reread = reread;
	w->opt.priv = r;
	w->opt.long_run_blocks = 64;
	for (f = 0; f < w->files; f++) {
		n = 8 + random() % 24;
		add_extent(w, f, (struct e4l_extent) { .pblk = pc, .len = n });
		w->file[f].eof = n;
		w->file[f].allowed = E4L_PLAN_FREE;
		pc += n + (f == gap ? room : random() % 8);
	}
	ck_assert_uint_le(pc, w->clusters);
	add_extent(w, 0, (struct e4l_extent) {
		.pblk = pc, .lblk = w->file[0].eof, .len = w->clusters - pc,
	});
	w->file[0].allowed = 0;
	return w;
}

/* Where nothing fits into a hole, the long run takes in the holes. */
START_TEST(slides_over_the_holes)
{
	struct order old, new;
	struct rereader r;
	struct e4l_plan *p;
	struct world *w;

	srandom(_i);
	w = porous_world(&r);
	p = consolidate(w, &old, &new);
	ck_assert_uint_le(8 * new.free_runs, old.free_runs);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/* Small files and small holes, things that stay, and more free than that. */
static struct world *pitted_world(struct rereader *r)
{
	struct world *w = new_world(8000, 1, 600);
	uint64_t pc = 0, n;
	unsigned int f;

	*r = (struct rereader) { .w = w };
	w->opt.reread = reread;
	w->opt.priv = r;
	w->opt.long_run_blocks = 4 << random() % 5;
	for (f = 0; f < w->files; f++) {
		n = 1 + random() % 4;
		add_extent(w, f, (struct e4l_extent) { .pblk = pc, .len = n });
		w->file[f].eof = n;
		w->file[f].allowed = random() % 20 ? E4L_PLAN_FREE : 0;
		pc += n + random() % 4;
	}
	return w;
}

/* Holes that hold what lies beside longer runs are filled with it. */
START_TEST(fills_the_holes)
{
	struct order old, new;
	struct rereader r;
	struct e4l_plan *p;
	struct world *w;

	srandom(_i);
	w = pitted_world(&r);
	p = consolidate(w, &old, &new);
	ck_assert_uint_le(3 * new.free_runs, old.free_runs);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/*
 * Files of which hardly any have a hole behind them, shorter than any, and one long
 * run: from one hole to the next is more than may be copied for it.
 */
static struct world *sparse_world(struct rereader *r, uint32_t ratio)
{
	struct world *w = new_world(24000 / ratio, ratio, 600);
	uint64_t pc = 0, n;
	unsigned int f, gap = 100 + random() % 400;

	*r = (struct rereader) { .w = w };
	w->opt.reread = reread;
	w->opt.priv = r;
	w->opt.long_run_blocks = 128 * ratio;
	for (f = 0; f < w->files; f++) {
		n = (8 + random() % 24) / ratio + 1;
		add_extent(w, f, (struct e4l_extent) {
			.pblk = pc * ratio, .len = n * ratio,
		});
		w->file[f].eof = n * ratio;
		w->file[f].allowed = E4L_PLAN_FREE;
		pc += n;
		if (f == gap)
			pc += 400 + random() % 400;
		else if (f % 12 == 0)
			pc += 1 + random() % 2;
	}
	ck_assert_uint_le(pc, w->clusters);
	add_extent(w, 0, (struct e4l_extent) {
		.pblk = pc * ratio, .lblk = w->file[0].eof,
		.len = (w->clusters - pc) * ratio,
	});
	w->file[0].allowed = 0;
	return w;
}

/* They are made to fit what lies beside the long run, for little. */
START_TEST(trades_places)
{
	struct order old, new;
	struct rereader r;
	struct e4l_plan *p;
	struct world *w;

	srandom(_i);
	w = sparse_world(&r, _i % 4 ? 1 : 4);
	p = consolidate(w, &old, &new);
	ck_assert_uint_gt(old.free_runs, 40);
	ck_assert_uint_le(2 * new.free_runs, old.free_runs);
	ck_assert_uint_le(w->copied, 300 * (old.free_runs - new.free_runs));
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/*
 * After any batch, half of the longest run is still there; and what comes after a
 * stop there is no worse than what was before it.
 */
START_TEST(leaves_half_of_a_run)
{
	const struct e4l_step *steps;
	struct rereader r;
	struct e4l_plan *p;
	struct world *w;
	uint64_t longest, runs;
	size_t n, some;

	srandom(_i);
	w = sparse_world(&r, _i % 4 ? 1 : 4);
	longest = largest_free(w);
	runs = free_runs(w);
	p = make_plan(w);
	steps = e4l_plan_steps(p, &n);
	CHECK(steps[n - 1].batch);
	some = random() % n;
	while (some && steps[some - 1].batch == steps[some].batch)
		some--;
	carry_out_some(w, p, some);
	check_map(w);
	ck_assert_uint_ge(2 * largest_free(w), longest);
	e4l_plan_free(p);
	plan_and_carry_out(w);
	ck_assert_uint_ge(largest_free(w), longest);
	ck_assert_uint_lt(free_runs(w), runs);
	free_world(w);
}
END_TEST

/* An aim is reached where it can be, by one zone of its length. */
START_TEST(reaches_the_aim)
{
	struct e4l_plan_free made;
	struct rereader r;
	struct e4l_plan *p;
	struct world *w;
	uint64_t bound;

	srandom(_i);
	w = dusty_world(&r, &bound);
	w->opt.free_run_blocks = 20 + random() % (bound / 2);
	p = make_plan(w);
	carry_out_all(w, p);
	ck_assert_uint_ge(largest_free(w), w->opt.free_run_blocks);
	e4l_plan_free_runs(p, &made);
	ck_assert_uint_le(made.runs, 1);
	ck_assert_uint_le(w->copied, w->opt.free_run_blocks + 3);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/* 400 blocks, a hole behind each; and @n blocks of files in pieces, which stay. */
static struct world *striped_world(struct rereader *r, unsigned int n)
{
	struct world *w = new_world(800 + n, 1, 400 + n / 4);
	unsigned int i;

	*r = (struct rereader) { .w = w };
	w->opt.reread = reread;
	w->opt.priv = r;
	for (i = 0; i < 400; i++) {
		add_extent(w, i, (struct e4l_extent) { .pblk = 2 * i, .len = 1 });
		w->file[i].eof = 1;
		w->file[i].allowed = E4L_PLAN_FREE;
	}
	for (i = 0; i < n; i++)
		add_extent(w, 400 + i / 4, (struct e4l_extent) {
			.lblk = i % 4, .pblk = 799 + n - i, .len = 1,
		});
	return w;
}

/*
 * Files that take more than is free get one run of a third of what they take, if
 * that can be; else there is as long a one as there can be.
 */
START_TEST(leaves_the_rest_to_files)
{
	const unsigned int pieces[] = { 300, 600, 1500 };
	struct rereader r;
	struct world *w = striped_world(&r, pieces[_i]);

	w->opt.files_follow = true;
	plan_and_carry_out(w);
	if (pieces[_i] == 600) {
		ck_assert_uint_ge(largest_free(w), 200);
		ck_assert_uint_le(largest_free(w), 202);
	} else {
		ck_assert_uint_ge(largest_free(w), 360);
	}
	free_world(w);
}
END_TEST

/*
 * Free space is in no more runs than there may be, and the longest no shorter, or
 * no further from that than before, whatever is done.
 */
START_TEST(keeps_free_space_within_bounds)
{
	uint64_t ratio, runs, longest, kept;
	struct rereader r;
	struct e4l_plan *p;
	struct world *w;

	srandom(_i);
	w = _i % 4 == 0 ? loose_world(_i, &r) :
	    _i % 4 == 1 ? settled_world(_i, &r) :
			  random_world(_i % 3 ? 1 : 4);
	ratio = w->opt.geo.cluster_blocks;
	runs = free_runs(w);
	longest = largest_free(w);
	kept = random() % 2 ? longest : random() % (longest + 1);
	if (random() % 2)
		w->opt.part_blocks = (4 + random() % 20) * ratio;
	w->opt.most_free_runs = random() % 2 && runs ?
				runs : 1 + random() % (2 * runs + 1);
	w->opt.longest_kept_blocks = kept * ratio;
	p = make_plan(w);
	carry_out_all(w, p);
	check_map(w);
	e4l_plan_free(p);
	if (runs < w->opt.most_free_runs)
		runs = w->opt.most_free_runs;
	ck_assert_uint_le(free_runs(w), runs);
	ck_assert_uint_ge(largest_free(w), kept);
	free_world(w);
}
END_TEST

/*
 * A file of which one piece lies far from the others, in the only free run: whole, it
 * leaves two runs more.  They are filled with its ends, if there must be one, or it
 * must be as long as it was.
 */
START_TEST(fills_holes_with_ends)
{
	struct world *w = new_world(400, 1, 2);
	struct rereader r = { .w = w };
	struct e4l_plan_free made;
	struct e4l_plan *p;
	uint32_t i;

	w->opt.reread = reread;
	w->opt.priv = &r;
	for (i = 0; i < 400; i++)
		w->state[i] = i < 200 ? USED + 1 : FREE;
	for (i = 0; i < 4; i++)
		add_extent(w, 0, (struct e4l_extent) {
			.pblk = i ? 230 - 10 * i : 20, .lblk = 10 * i,
			.len = 10,
		});
	w->file[0].eof = 40;
	w->file[0].allowed = ALL | E4L_PLAN_FREE;
	ck_assert_uint_eq(free_runs(w), 1);
	w->opt.most_free_runs = _i == 1 ? 1 : 3;
	w->opt.longest_kept_blocks = _i == 2 ? largest_free(w) : 0;
	w->opt.bounds_at_end = true;
	p = make_plan(w);
	carry_out_all(w, p);
	e4l_plan_free_runs(p, &made);
	ck_assert_uint_eq(made.free_runs_after, free_runs(w));
	ck_assert_uint_le(free_runs(w), w->opt.most_free_runs);
	ck_assert_uint_ge(largest_free(w), w->opt.longest_kept_blocks);
	ck_assert_uint_le(w->file[0].n, _i ? 3 : 1);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/*
 * No run holds the file; in parts it could move to two, but that costs too much, or
 * leaves more free runs: that is why it stays, and not that none holds it.
 */
START_TEST(says_what_keeps_parts_back)
{
	static const enum e4l_left_why why[] = {
		E4L_LEFT_NO_ROOM, E4L_LEFT_FREE_RUNS, E4L_LEFT_COPY_BUDGET,
	};
	struct world *w = new_world(240, 1, 2);
	struct rereader r = { .w = w };
	const struct e4l_left *left;
	struct e4l_plan *p;
	uint32_t i;
	size_t n;

	w->opt.reread = reread;
	w->opt.priv = &r;
	for (i = 0; i < 240; i++)
		w->state[i] = i >= 200 && i % 20 < 10 ? FREE : USED + 1;
	for (i = 0; i < 4; i++)
		add_extent(w, 0, (struct e4l_extent) {
			.pblk = 20 + 20 * i, .lblk = 5 * i, .len = 5,
		});
	w->file[0].eof = 20;
	w->file[0].allowed = ALL | E4L_PLAN_ROOM;
	w->opt.most_free_runs = _i == 1 ? 2 : 0;
	w->opt.copy_budget_blocks = _i == 2 ? 4 : E4L_NO_LIMIT;
	p = make_plan(w);
	left = e4l_plan_left(p, &n);
	ck_assert_uint_eq(n, 1);
	ck_assert_int_eq(left->why == E4L_LEFT_CROWDED ? E4L_LEFT_NO_ROOM :
			 left->why, why[_i]);
	ck_assert_uint_eq(left->extents, _i ? 3 : 1);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/*
 * Its pieces are written and unwritten in turns, so that slices of it that end
 * elsewhere would be extents that it did not have.
 */
START_TEST(fills_no_hole_with_more_extents)
{
	struct world *w = new_world(400, 1, 2);
	struct rereader r = { .w = w };
	struct e4l_plan *p;
	uint32_t i;

	w->opt.reread = reread;
	w->opt.priv = &r;
	for (i = 0; i < 400; i++)
		w->state[i] = i < 200 && i / 7 != 15 ? USED + 1 : FREE;
	for (i = 0; i < 6; i++)
		add_extent(w, 0, (struct e4l_extent) {
			.pblk = i ? 290 - 10 * i : 20, .lblk = 10 * i,
			.len = 10, .unwritten = i % 2,
		});
	add_tree(w, 0, 150);
	w->file[0].eof = 60;
	w->file[0].allowed = (ALL & ~E4L_PLAN_ZEROOUT) | E4L_PLAN_FREE;
	w->opt.most_free_runs = free_runs(w);
	w->opt.bounds_at_end = true;
	p = make_plan(w);
	carry_out_all(w, p);
	ck_assert_uint_le(w->file[0].n, 6);
	ck_assert_uint_lt(fragments_of(&w->file[0]), 6);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/*
 * Holes that cannot be filled, before others that can: they are not tried again for
 * each of those.
 */
START_TEST(tries_holes_in_turn)
{
	enum { HOLES = 50 };
	struct world *w = new_world(10 * HOLES, 1, 1 + HOLES);
	struct rereader r = { .w = w };
	struct e4l_plan *p;
	uint32_t i;

	w->opt.reread = reread;
	w->opt.go_on = count_asked;
	w->opt.priv = &r;
	for (i = 0; i < 6 * HOLES; i++)
		w->state[i] = i % 2 && i < 2 * HOLES ? FREE : USED;
	for (i = 2 * HOLES; i < 6 * HOLES; i += 4)
		w->state[i] = w->state[i + 1] = FREE;
	for (i = 0; i < HOLES; i++) {
		add_extent(w, 1 + i, (struct e4l_extent) {
			.pblk = 6 * HOLES + 2 * i, .len = 2,
		});
		w->file[1 + i].eof = 2;
		w->file[1 + i].allowed = E4L_PLAN_FREE;
	}
	/* long enough: what moves is for the number of runs alone */
	w->opt.free_run_blocks = HOLES;
	w->opt.most_free_runs = HOLES + 1;
	w->opt.bounds_at_end = true;
	p = make_plan(w);
	carry_out_all(w, p);
	ck_assert_uint_eq(free_runs(w), HOLES + 1);
	ck_assert_uint_ge(r.asked, HOLES);
	ck_assert_uint_le(r.asked, 4 * HOLES);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/*
 * A file in pieces fits exactly between things that stay, and leaves as many holes that
 * nothing lies beside: they are filled with slices of its end, as many as must be, for
 * one fragment each and one for the run where the end was.
 */
START_TEST(fills_holes_with_slices)
{
	struct world *w = new_world(400, 1, 2);
	struct rereader r = { .w = w };
	const unsigned int pieces = 30, most = 3 + _i;
	struct e4l_plan *p;
	uint32_t i;

	w->opt.reread = reread;
	w->opt.priv = &r;
	for (i = 0; i < 400; i++)
		w->state[i] = i < 200 || i >= 200 + pieces ? USED + 1 : FREE;
	for (i = 0; i < pieces; i++)
		add_extent(w, 0, (struct e4l_extent) {
			.pblk = 20 + 3 * i, .lblk = i, .len = 1,
		});
	w->file[0].eof = pieces;
	w->file[0].allowed = ALL | E4L_PLAN_FREE;
	w->file[0].n_tree = e4l_ideal_tree_blocks(pieces, BLOCKSIZE);
	w->file[0].tree = calloc(w->file[0].n_tree, sizeof(*w->file[0].tree));
	for (i = 0; i < w->file[0].n_tree; i++) {
		w->file[0].tree[i].pblk = 150 + i;
		w->state[150 + i] = USED;
	}
	w->opt.most_free_runs = most;
	w->opt.bounds_at_end = true;
	p = make_plan(w);
	carry_out_all(w, p);
	ck_assert_uint_le(free_runs(w), most);
	ck_assert_uint_le(fragments_of(&w->file[0]), pieces + 3 - most);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/*
 * A file that has what there is of long free runs may use that, if as much is in long
 * runs at the end; what lacks then is said.
 */
START_TEST(counts_what_long_runs_lack)
{
	struct world *w = new_world(400, 1, 2);
	struct rereader r = { .w = w };
	struct e4l_plan_free made;
	struct e4l_plan *p;
	uint32_t i;

	w->opt.reread = reread;
	w->opt.priv = &r;
	for (i = 0; i < 400; i++)
		w->state[i] = i < 200 || i >= 260 ? USED + 1 : FREE;
	for (i = 0; i < 4; i++)
		add_extent(w, 0, (struct e4l_extent) {
			.pblk = 20 + 20 * i, .lblk = 10 * i, .len = 10,
		});
	w->file[0].eof = 40;
	w->file[0].allowed = ALL | E4L_PLAN_FREE;
	w->opt.long_run_blocks = 50;
	w->opt.long_blocks_kept = 60;
	w->opt.most_free_runs = 10;
	w->opt.bounds_at_end = _i;
	p = make_plan(w);
	carry_out_all(w, p);
	e4l_plan_free_runs(p, &made);
	ck_assert_uint_eq(w->file[0].n, _i ? 1 : 4);
	ck_assert_uint_eq(made.long_blocks_lacking, _i ? 60 : 0);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/*
 * The same in worlds of all kinds: nothing is lost, no file has more pieces, and the
 * longest free run is as long where it must be all the time.
 */
START_TEST(comes_back_to_few_runs)
{
	uint64_t longest;
	struct order old, new;
	struct rereader r;
	struct e4l_plan *p;
	struct world *w;
	uint64_t *pieces;
	size_t *extents;
	unsigned int f;

	srandom(_i);
	w = _i % 2 ? settled_world(_i, &r) : loose_world(_i, &r);
	pieces = calloc(w->files, sizeof(*pieces));
	extents = calloc(w->files, sizeof(*extents));
	for (f = 0; f < w->files; f++) {
		w->file[f].allowed |= ALL | E4L_PLAN_ROOM;
		pieces[f] = fragments_of(&w->file[f]);
		extents[f] = w->file[f].n;
	}
	old = order_of(w);
	longest = largest_free(w);
	w->opt.most_free_runs = 1 + random() % old.free_runs;
	w->opt.longest_kept_blocks = longest * w->opt.geo.cluster_blocks;
	w->opt.bounds_at_end = true;
	w->opt.longest_stays = _i % 4 > 1;
	p = make_plan(w);
	carry_out_all(w, p);
	check_map(w);
	if (w->opt.longest_stays)
		ck_assert_uint_ge(largest_free(w), longest);
	new = order_of(w);
	ck_assert_uint_le(new.fragments, old.fragments);
	ck_assert_uint_le(new.tree_blocks, old.tree_blocks);
	for (f = 0; f < w->files; f++) {
		CHECK(fragments_of(&w->file[f]) <= pieces[f]);
		CHECK(w->file[f].n <= extents[f]);
	}
	free(pieces);
	free(extents);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/*
 * A tree block between things that stay would be one free run more: as many extents
 * stay as need it.
 */
START_TEST(packs_as_far_as_a_tree_block_is_needed)
{
	struct world *w = new_world(400, 1, 2);
	const struct e4l_step *s;
	struct e4l_extent *ex;
	struct e4l_plan *p;
	uint32_t i;
	size_t n;

	for (i = 0; i < 400; i++)
		w->state[i] = i < 200 ? USED + 1 : FREE;
	for (i = 0; i < 40; i++)
		add_extent(w, 0, (struct e4l_extent) {
			.pblk = 20 + i, .lblk = i, .len = 1, .unwritten = i % 2,
		});
	w->opt.geo.blocksize = 4096;
	w->file[0].eof = 40;
	w->file[0].allowed = ALL;
	w->file[0].tree = calloc(1, sizeof(*w->file[0].tree));
	w->file[0].tree->pblk = 100;
	w->file[0].n_tree = 1;
	w->opt.most_free_runs = 1 + _i;
	p = make_plan(w);
	s = e4l_plan_steps(p, &n);
	ck_assert_uint_eq(n, 1);
	ck_assert_uint_eq(s->n_new, _i ? 1 : 5);
	ck_assert_uint_eq(s->n_tree, !_i);
	ck_assert_int_eq(gives(s), _i);
	ck_assert_int_eq(e4l_step_extents(w->file[0].ex, 40, s, &ex), 0);
	ck_assert(!memcmp(ex, s->new_extents, s->n_new * sizeof(*ex)));
	free(ex);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

/* Two files that claim the same blocks would give them back twice. */
START_TEST(refuses_shared_blocks)
{
	static const struct e4l_block_run run = { 50000, 50000 };
	static const struct e4l_extent ex[] = {
		{ .pblk = 100, .lblk = 0, .len = 4 },
		{ .pblk = 200, .lblk = 4, .len = 4 },
	};
	struct e4l_plan_file f = {
		.ino = 12, .allowed = ALL, .eof_blk = 8,
		.extents = ex, .n_extents = ARRAY_SIZE(ex),
	};
	struct world *w = new_world(1, 1, 1);
	struct e4l_plan *p;

	ck_assert_int_eq(e4l_plan_new(&w->opt, &p), 0);
	ck_assert_int_eq(e4l_plan_add_free(&run, p), 0);
	ck_assert_int_eq(e4l_plan_add_file(p, &f), 0);
	f.ino++;
	ck_assert_int_eq(e4l_plan_add_file(p, &f), 0);
	ck_assert_int_eq(e4l_plan_make(p), E4L_ET_BAD_ARGUMENT);
	e4l_plan_free(p);
	free_world(w);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plan");
	TCase *tc = tcase_create("plan");

	tcase_add_loop_test(tc, random_worlds, 0, 300);
	tcase_add_loop_test(tc, small_transactions, 0, 300);
	tcase_add_loop_test(tc, keeps_long_free_runs, 0, 200);
	tcase_add_loop_test(tc, takes_no_long_run_that_is_kept, 0, 6);
	tcase_add_test(tc, moves_what_no_transaction_holds);
	tcase_add_loop_test(tc, moves_in_parts, 0, 60);
	tcase_add_loop_test(tc, buys_parts, 0, 20);
	tcase_add_loop_test(tc, zeroes_in_parts, 0, 50);
	tcase_add_loop_test(tc, budgets_are_kept, 0, 60);
	tcase_add_loop_test(tc, budgets_and_transactions_are_kept, 0, 100);
	tcase_add_loop_test(tc, limits_go_together, 0, 600);
	tcase_add_loop_test(tc, zeroes_what_the_budget_is_best_spent_on, 0,
			    200);
	tcase_add_loop_test(tc, zeroes_up_to_the_length_of_entries, 0, 100);
	tcase_add_test(tc, joins_a_big_mosaic);
	tcase_add_loop_test(tc, uses_as_few_runs_as_there_are, 0, 5);
	tcase_add_test(tc, joins_many_small_files);
	tcase_add_loop_test(tc, moves_neighbours_together, 0, 10);
	tcase_add_test(tc, knows_what_to_leave_alone);
	tcase_add_loop_test(tc, does_not_move_misaligned_blocks, 0, 5);
	tcase_add_loop_test(tc, makes_room, 0, 400);
	tcase_add_test(tc, makes_room_while_there_is_time);
	tcase_add_test(tc, asks_for_what_may_move);
	tcase_add_loop_test(tc, waits_for_long_runs, 0, 2);
	tcase_add_loop_test(tc, makes_room_within_limits, 0, 400);
	tcase_add_loop_test(tc, makes_room_step_by_step, 0, 200);
	tcase_add_loop_test(tc, plans_what_there_is_time_for, 0, 100);
	tcase_add_loop_test(tc, plans_what_there_is_memory_for, 0, 100);
	tcase_add_loop_test(tc, consolidates_free_space, 0, 600);
	tcase_add_test(tc, tries_what_differs);
	tcase_add_loop_test(tc, consolidates_what_there_is_time_for, 0, 100);
	tcase_add_loop_test(tc, keeps_stripes, 0, 200);
	tcase_add_loop_test(tc, consolidates_step_by_step, 0, 200);
	tcase_add_loop_test(tc, consolidates_after_all_else, 0, 200);
	tcase_add_loop_test(tc, reaches_the_bound, 0, 60);
	tcase_add_loop_test(tc, slides_over_the_holes, 0, 40);
	tcase_add_loop_test(tc, fills_the_holes, 130, 190);
	tcase_add_loop_test(tc, trades_places, 0, 60);
	tcase_add_loop_test(tc, leaves_half_of_a_run, 0, 100);
	tcase_add_loop_test(tc, reaches_the_aim, 0, 60);
	tcase_add_loop_test(tc, leaves_the_rest_to_files, 0, 3);
	tcase_add_loop_test(tc, keeps_free_space_within_bounds, 0, 400);
	tcase_add_loop_test(tc, fills_holes_with_ends, 0, 3);
	tcase_add_loop_test(tc, says_what_keeps_parts_back, 0, 3);
	tcase_add_test(tc, fills_no_hole_with_more_extents);
	tcase_add_test(tc, tries_holes_in_turn);
	tcase_add_loop_test(tc, fills_holes_with_slices, 0, 20);
	tcase_add_loop_test(tc, counts_what_long_runs_lack, 0, 2);
	tcase_add_loop_test(tc, comes_back_to_few_runs, 0, 200);
	tcase_add_loop_test(tc, packs_as_far_as_a_tree_block_is_needed, 0, 2);
	tcase_add_test(tc, refuses_shared_blocks);
	tcase_add_loop_test(tc, remembers_what_was_forgotten, 0, 200);
	tcase_add_loop_test(tc, believes_no_other_extents, 0, 100);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
