/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include "plan_world.h"
#include "e4layout/format/tree_size.h"

#define GARBAGE	UINT64_MAX

static uint64_t name_of(unsigned int f, uint64_t lblk)
{
	return (uint64_t)(f + 1) << 32 | lblk;
}

struct world *new_world(uint64_t clusters, uint32_t ratio, unsigned int files)
{
	struct world *w = calloc(1, sizeof(*w));
	uint64_t i;

	w->opt = (struct e4l_plan_options) {
		.geo = {
			.blocksize = BLOCKSIZE, .cluster_blocks = ratio,
			.group_blocks = 128 * ratio, .quota_blocks = 3,
			.blocks = clusters * ratio,
		},
		.zeroout_max_blocks = 8,
		.zeroout_budget_blocks = E4L_NO_LIMIT,
		.copy_budget_blocks = E4L_NO_LIMIT,
		.large_blocks = 16 * ratio, .free_space = true,
	};
	w->clusters = clusters;
	w->files = files;
	w->state = calloc(clusters, sizeof(*w->state));
	w->content = calloc(clusters * ratio, sizeof(*w->content));
	w->file = calloc(files + 1, sizeof(*w->file));
	for (i = 0; i < clusters * ratio; i++)
		w->content[i] = GARBAGE;
	return w;
}

void free_world(struct world *w)
{
	unsigned int i;

	for (i = 0; i < w->files; i++) {
		free(w->file[i].ex);
		free(w->file[i].tree);
	}
	free(w->state);
	free(w->content);
	free(w->file);
	free(w);
}

void add_extent(struct world *w, unsigned int f, struct e4l_extent ex)
{
	struct file *file = &w->file[f];
	struct e4l_extent *last;
	uint32_t i;

	for (i = 0; i < ex.len; i++) {
		w->state[(ex.pblk + i) / w->opt.geo.cluster_blocks] = USED + f;
		if (!ex.unwritten)
			w->content[ex.pblk + i] = name_of(f, ex.lblk + i);
	}
	last = file->n ? &file->ex[file->n - 1] : NULL;
	if (last && last->pblk + last->len == ex.pblk &&
	    last->lblk + last->len == ex.lblk &&
	    last->unwritten == ex.unwritten && random() % 8 &&
	    last->len + ex.len < E4L_UNWRITTEN_MAX_BLOCKS) {
		last->len += ex.len;
		return;
	}
	if (!(file->n & (file->n - 1)))
		file->ex = reallocarray(file->ex, file->n ? 2 * file->n : 1,
					sizeof(*file->ex));
	file->ex[file->n++] = ex;
}

/* Returns a free cluster; 0: no cluster is free. */
static uint64_t some_free(const struct world *w)
{
	uint64_t at = random() % w->clusters, i;

	for (i = 0; i < w->clusters; i++, at = (at + 1) % w->clusters)
		if (at && w->state[at] == FREE)
			return at;
	return 0;
}

void add_trees(struct world *w, unsigned int more)
{
	uint64_t at;
	size_t n;

	for (struct file *f = w->file; f < w->file + w->files; f++) {
		n = e4l_ideal_tree_blocks(f->n, BLOCKSIZE);
		if ((unsigned int)random() % 4 < more)
			n += random() % 3;
		f->tree = calloc(n + 1, sizeof(*f->tree));
		for (; f->n_tree < n; f->n_tree++) {
			at = some_free(w);
			if (!at)
				break;
			w->state[at] = USED + (f - w->file);
			f->tree[f->n_tree].pblk = at * w->opt.geo.cluster_blocks;
		}
		/* if the tree has no space, the file becomes a wall */
		if (f->n_tree < e4l_ideal_tree_blocks(f->n, BLOCKSIZE))
			f->allowed = 0;
	}
}

/* ----------------------------------------------------------------- planning */

struct e4l_plan *fill_plan(const struct world *w)
{
	uint64_t ratio = w->opt.geo.cluster_blocks, i, n;
	struct e4l_block_run run;
	struct e4l_plan *p;

	ck_assert_int_eq(e4l_plan_new(&w->opt, &p), 0);
	for (const struct file *f = w->file; f < w->file + w->files; f++) {
		const struct e4l_plan_file pf = {
			.ino = f - w->file + 1, .allowed = f->allowed,
			.eof_blk = f->eof, .goal = (f - w->file) % w->clusters,
			.extents = f->ex, .n_extents = f->n,
			.tree = f->tree, .n_tree = f->n_tree,
		};

		if (f->allowed)
			CHECK(!e4l_plan_add_file(p, &pf));
	}
	for (i = 0; i < w->clusters; i += n) {
		for (n = 0; i + n < w->clusters && w->state[i + n] == FREE; )
			n++;
		run = (struct e4l_block_run) { i * ratio, n * ratio };
		if (n)
			CHECK(!e4l_plan_add_free(&run, p));
		n += !n;
	}
	return p;
}

struct e4l_plan *make_plan(const struct world *w)
{
	struct e4l_plan *p = fill_plan(w);

	ck_assert_int_eq(e4l_plan_make(p), 0);
	return p;
}

/* ------------------------------------------------------------------- figures */

static uint64_t count_excess(const struct world *w, const struct file *f,
			     uint64_t *fragments)
{
	uint32_t ratio = w->opt.geo.cluster_blocks;
	uint64_t excess = 0, l_end = UINT64_MAX, p_end = 0, l, p;
	size_t i;

	for (i = 0; i < f->n; i++) {
		l = f->ex[i].lblk / ratio;
		p = f->ex[i].pblk / ratio;
		if (l_end == UINT64_MAX || l > l_end)
			++*fragments;
		else if (l - p != l_end - p_end) {
			excess++;
			++*fragments;
		}
		l_end = (f->ex[i].lblk + (uint64_t)f->ex[i].len - 1) / ratio + 1;
		p_end = p + (l_end - l);
	}
	return excess;
}

void get_figures(const struct world *w, struct figures *ret)
{
	uint64_t ratio = w->opt.geo.cluster_blocks, i, n;

	*ret = (struct figures) { 0 };
	for (const struct file *f = w->file; f < w->file + w->files; f++)
		if (f->allowed & (E4L_PLAN_MOVE | E4L_PLAN_AWAY))
			ret->excess += count_excess(w, f, &ret->fragments);
	for (i = 0; i < w->clusters; i += n + 1) {
		for (n = 0; i + n < w->clusters && w->state[i + n] == FREE; )
			n++;
		ret->extents += n > 0;
		ret->free_blocks += n * ratio;
		if (n * ratio >= w->opt.large_blocks)
			ret->large += n * ratio;
		if (n * ratio > ret->largest)
			ret->largest = n * ratio;
	}
}

uint64_t *get_view(const struct world *w, unsigned int f, uint64_t *n)
{
	const struct file *file = &w->file[f];
	uint64_t *view, k;
	size_t i;

	*n = file->n ? file->ex[file->n - 1].lblk +
		       (uint64_t)file->ex[file->n - 1].len : 0;
	view = calloc(*n + 1, sizeof(*view));
	for (i = 0; i < file->n; i++)
		for (k = 0; k < file->ex[i].len && !file->ex[i].unwritten; k++)
			view[file->ex[i].lblk + k] =
				w->content[file->ex[i].pblk + k];
	return view;
}

/* ------------------------------------------------------------------ carry out */

static void take(struct world *w, const struct e4l_block_run *run,
		 unsigned int f)
{
	uint32_t ratio = w->opt.geo.cluster_blocks;
	uint64_t c = run->pblk / ratio, end = (run->pblk + run->len) / ratio;

	CHECK(run->pblk % ratio == 0 && run->len % ratio == 0);
	for (; c < end; c++) {
		CHECK(w->was_free[c] && !w->taken[c]);
		w->taken[c] = 1;
		w->state[c] = USED + f;
	}
}

static void give(struct world *w, const struct e4l_block_run *run,
		 unsigned int f)
{
	uint32_t ratio = w->opt.geo.cluster_blocks;
	uint64_t c = run->pblk / ratio, end = (run->pblk + run->len) / ratio;

	CHECK(run->pblk % ratio == 0 && run->len % ratio == 0);
	for (; c < end; c++) {
		CHECK(w->state[c] == USED + f && !w->given[c]);
		w->given[c] = 1;
	}
}

/* Checks that all blocks of the new map belong to the file. */
static void check_map(const struct world *w, const struct e4l_step *step,
		      unsigned int f)
{
	uint32_t ratio = w->opt.geo.cluster_blocks;
	uint64_t k;
	size_t i;

	for (i = 0; i < step->n_new; i++)
		for (k = 0; k < step->new_extents[i].len; k++) {
			uint64_t c = (step->new_extents[i].pblk + k) / ratio;

			CHECK(w->state[c] == USED + f && !w->given[c]);
		}
	for (i = 0; i < step->n_tree; i++) {
		CHECK(w->state[step->tree[i] / ratio] == USED + f);
		CHECK(!w->given[step->tree[i] / ratio]);
	}
	CHECK(step->n_tree == e4l_ideal_tree_blocks(step->n_new, BLOCKSIZE));
}

static void copy(struct world *w, const struct e4l_step *step)
{
	const struct e4l_move *m = step->moves, *end = m + step->n_moves;
	uint64_t k;
	size_t i;

	for (; m < end; m++) {
		for (k = 0; k < m->len; k++)
			w->content[m->to + k] = m->copy ?
				w->content[m->from + k] : GARBAGE;
		w->copied += m->copy ? m->len : 0;
	}
	for (i = 0; i < step->n_zero; i++) {
		for (k = 0; k < step->zero[i].len; k++)
			w->content[step->zero[i].pblk + k] = 0;
		w->zeroed += step->zero[i].len;
	}
}

static errcode_t visit(const struct e4l_step *step, void *priv)
{
	struct world *w = priv;
	unsigned int f = step->ino - 1;
	struct file *file = &w->file[f];
	size_t i;

	for (i = 0; i < step->n_take; i++)
		take(w, &step->take[i], f);
	for (i = 0; i < step->n_give; i++)
		give(w, &step->give[i], f);
	copy(w, step);
	check_map(w, step, f);
	CHECK(step->n_old == file->n);
	file->ex = reallocarray(file->ex, step->n_new + 1, sizeof(*file->ex));
	memcpy(file->ex, step->new_extents, step->n_new * sizeof(*file->ex));
	file->n = step->n_new;
	for (i = 0; i < step->n_tree; i++)
		file->tree[i].pblk = step->tree[i];
	file->n_tree = step->n_tree;
	w->steps++;
	return 0;
}

static void begin_batch(struct world *w)
{
	uint64_t c;

	for (c = 0; c < w->clusters; c++) {
		w->was_free[c] = w->state[c] == FREE;
		w->taken[c] = w->given[c] = 0;
	}
}

static void end_batch(struct world *w)
{
	uint64_t c;

	for (c = 0; c < w->clusters; c++)
		if (w->given[c])
			w->state[c] = FREE;
}

static size_t run_file(struct world *w, const struct e4l_plan_move *m, size_t n)
{
	const struct file *f = &w->file[e4l_plan_ino(w->plan, m->file) - 1];
	struct file old = { .n = f->n, .n_tree = f->n_tree };
	struct e4l_plan_now now;
	size_t k;

	for (k = 1; k < n && m[k].batch == m->batch && m[k].file == m->file; )
		k++;
	/* visit() changes the file's map */
	old.ex = calloc(f->n + 1, sizeof(*old.ex));
	memcpy(old.ex, f->ex, f->n * sizeof(*old.ex));
	old.tree = calloc(f->n_tree + 1, sizeof(*old.tree));
	memcpy(old.tree, f->tree, f->n_tree * sizeof(*old.tree));
	now = (struct e4l_plan_now) { old.ex, old.n, old.tree, old.n_tree };
	ck_assert_int_eq(e4l_plan_steps(w->plan, m, k, &now, visit, w), 0);
	free(old.ex);
	free(old.tree);
	return k;
}

void run_plan(struct world *w, struct e4l_plan *p)
{
	struct figures before, after;
	const struct e4l_plan_move *m;
	size_t n, i, k, done = 0;

	w->plan = p;
	w->was_free = calloc(w->clusters, 1);
	w->taken = calloc(w->clusters, 1);
	w->given = calloc(w->clusters, 1);
	w->copied = w->zeroed = w->steps = 0;
	get_figures(w, &before);
	m = e4l_plan_moves(p, &n);
	for (i = 0; i < n; ) {
		uint32_t batch = m[i].batch;

		begin_batch(w);
		for (; i < n && m[i].batch == batch; i += k) {
			k = run_file(w, m + i, n - i);
			if (w->stop_after && ++done == w->stop_after)
				n = i + k;
		}
		end_batch(w);
		get_figures(w, &after);
		/* an incomplete batch may increase the excess */
		CHECK(w->stop_after || after.excess <= before.excess);
	}
	free(w->was_free);
	free(w->taken);
	free(w->given);
}

/* -------------------------------------------------------------- random worlds */

/*
 * Appends @len clusters to file @f, from logical cluster *@lc on.  Uses the
 * first free clusters from *@at on.  Some clusters get holes.  Advances *@lc
 * and *@at.
 */
static void grow(struct world *w, unsigned int f, uint32_t *lc, uint32_t len,
		 uint64_t *at)
{
	uint32_t ratio = w->opt.geo.cluster_blocks, i, n;

	for (; len; len--, ++*lc, *at = (*at + 1) % w->clusters) {
		bool unwritten = random() % 6 == 0;

		while (w->state[*at] != FREE)
			*at = (*at + 1) % w->clusters;
		for (i = 0; i < ratio; i += n) {
			n = ratio == 1 || random() % 3 ? ratio - i :
			    1 + random() % (ratio - i);
			if (i && random() % 5 == 0)
				continue;	/* leave a hole */
			add_extent(w, f, (struct e4l_extent) {
				.lblk = *lc * ratio + i,
				.pblk = *at * ratio + i, .len = n,
				.unwritten = unwritten,
			});
		}
	}
}

static void delete_file(struct world *w, unsigned int f, uint64_t *used)
{
	uint64_t c;

	for (c = 0; c < w->clusters; c++)
		if (w->state[c] == USED + f) {
			w->state[c] = FREE;
			--*used;
		}
	free(w->file[f].ex);
	w->file[f] = (struct file) { 0 };
}

static uint32_t random_length(uint32_t most)
{
	uint32_t len = 1;

	while (len < most && random() % 10 < 7)
		len = len * 2 + random() % 2;
	return len < most ? len : most;
}

static void add_walls(struct world *w, unsigned int walls, uint64_t *used)
{
	uint64_t most = w->clusters / 64 / (walls + 1) + 1, at, len;

	w->state[0] = WALL;
	++*used;
	while (walls--) {
		at = random() % w->clusters;
		for (len = 1 + random() % most; len && at < w->clusters;
		     len--, at++)
			if (w->state[at] == FREE) {
				w->state[at] = WALL;
				++*used;
			}
	}
}

/*
 * Adds files, with runs of at most @most clusters, until about @aim clusters
 * are in use.  *@used is the number of used clusters.
 */
static void fill_up(struct world *w, uint64_t aim, uint32_t most, uint64_t *used)
{
	uint64_t at = random() % w->clusters;
	unsigned int f = 0;
	uint32_t len, lc;

	while (f < w->files) {
		if (w->file[f].n) {
			f++;
			continue;
		}
		len = random_length(most);
		if (*used + len > aim)
			return;
		if (random() % 8 == 0)
			at = random() % w->clusters;
		lc = random() % 4 ? 0 : random() % 8;
		grow(w, f, &lc, len, &at);
		*used += len;
		if (random() % 8 == 0 && *used + len < aim) {
			lc += 1 + random() % 4;	/* leave a hole */
			grow(w, f, &lc, len / 2 + 1, &at);
			*used += len / 2 + 1;
		}
		w->file[f].eof = random() % 3 ? lc * w->opt.geo.cluster_blocks :
			random() % (lc * w->opt.geo.cluster_blocks + 1);
	}
}

struct world *aged_world(uint64_t clusters, uint32_t ratio, unsigned int full,
			 uint32_t most, unsigned int walls)
{
	const unsigned int all = E4L_PLAN_PACK | E4L_PLAN_ZEROOUT |
				 E4L_PLAN_MOVE | E4L_PLAN_AWAY;
	struct world *w = new_world(clusters, ratio, clusters);
	uint64_t used = 0, aim = clusters * full / 100;
	unsigned int f, round;

	add_walls(w, walls, &used);
	for (round = 0; round < 6; round++) {
		for (f = 0; round && f < w->files; f++)
			if (w->file[f].n && random() % 5 == 0)
				delete_file(w, f, &used);
		fill_up(w, aim, most, &used);
	}
	for (f = 0; f < w->files; f++)
		w->file[f].allowed = all;
	add_trees(w, 1);
	return w;
}
