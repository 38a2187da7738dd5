/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner.  Pieces are moved first, as often as what the moves free makes
 * more moves possible; then runs are zeroed in the layout that results, and
 * trees are packed; and all that again for as long as something changes, since
 * tree blocks that are not needed any more are free space, too.
 */
#include "config.h"
#include <errno.h>
#include <string.h>
#include "plan_internal.h"

void e4l_next_state_run(const struct e4l_extent *ex, size_t n, size_t *i,
			struct e4l_state_run *run)
{
	*run = (struct e4l_state_run) {
		.lblk = ex[*i].lblk, .pblk = ex[*i].pblk, .len = ex[*i].len,
		.unwritten = ex[*i].unwritten,
	};
	while (++*i < n && ex[*i].unwritten == run->unwritten &&
	       ex[*i].lblk == run->lblk + run->len &&
	       ex[*i].pblk == run->pblk + run->len)
		run->len += ex[*i].len;
}

size_t e4l_pack(const struct e4l_extent *ex, size_t n, struct e4l_extent *out)
{
	struct e4l_state_run run;
	size_t i = 0, count = 0;
	uint32_t max, len;

	while (i < n) {
		e4l_next_state_run(ex, n, &i, &run);
		max = run.unwritten ? E4L_UNWRITTEN_MAX_BLOCKS :
				      E4L_WRITTEN_MAX_BLOCKS;
		for (; run.len; run.len -= len, count++) {
			len = run.len < max ? run.len : max;
			if (out)
				out[count] = (struct e4l_extent) {
					.lblk = run.lblk, .pblk = run.pblk,
					.len = len, .unwritten = run.unwritten,
				};
			run.lblk += len;
			run.pblk += len;
		}
	}
	return count;
}

/* An array of extents that grows. */
struct extents {
	struct e4l_extent *v;
	size_t n;
};

static errcode_t add_extent(struct extents *list, const struct e4l_extent *ex,
			    uint32_t at, uint32_t len, blk64_t pblk)
{
	errcode_t err = e4l_grow(&list->v, list->n, sizeof(*list->v));

	if (!err)
		list->v[list->n++] = (struct e4l_extent) {
			.lblk = ex->lblk + at, .pblk = pblk, .len = len,
			.unwritten = ex->unwritten,
		};
	return err;
}

/* Both are in logical order, so that each move is used up before the next. */
static errcode_t move_extents(const struct e4l_extent *ex, size_t n,
			      const struct e4l_step *step,
			      struct extents *out)
{
	const struct e4l_move *m = step->moves, *end = m + step->n_moves;
	uint64_t at, len, left;
	errcode_t err = 0;
	blk64_t from, to;

	for (; n && !err; n--, ex++) {
		for (at = 0; at < ex->len && !err; at += len) {
			from = to = ex->pblk + at;
			len = left = ex->len - at;
			if (m < end && from >= m->from &&
			    from < m->from + m->len) {
				left = m->from + m->len - from;
				to = m->to + (from - m->from);
				m += left <= len;
			} else if (m < end && m->from > from) {
				left = m->from - from;
			}
			len = left < len ? left : len;
			err = add_extent(out, ex, at, len, to);
		}
	}
	return err;
}

/* What is zeroed is whole extents. */
static void write_zeroed(struct extents *list, const struct e4l_step *step)
{
	const struct e4l_block_run *z = step->zero, *end = z + step->n_zero;
	size_t i;

	for (i = 0; i < list->n && z < end; i++) {
		struct e4l_extent *ex = &list->v[i];

		if (ex->pblk < z->pblk || ex->pblk >= z->pblk + z->len)
			continue;
		ex->unwritten = 0;
		z += ex->pblk + ex->len == z->pblk + z->len;
	}
}

errcode_t e4l_step_extents(const struct e4l_extent *old, size_t n_old,
			   const struct e4l_step *step,
			   struct e4l_extent **ret)
{
	struct extents list = { 0 };
	errcode_t err = move_extents(old, n_old, step, &list);

	*ret = NULL;
	if (!err) {
		write_zeroed(&list, step);
		list.n = e4l_pack(list.v, list.n, list.v);
		if (list.n != step->n_new)
			err = E4L_ET_BAD_ARGUMENT;
	}
	if (err)
		free(list.v);
	else
		*ret = list.v;
	return err;
}

static errcode_t count_long_runs(struct e4l_plan *p)
{
	uint64_t clusters = p->opt.long_run_blocks / p->opt.geo.cluster_blocks;

	return e4l_space_count(p->space, clusters);
}

errcode_t e4l_plan_new(const struct e4l_plan_options *options,
		       struct e4l_plan **ret)
{
	struct e4l_plan *p;

	*ret = NULL;
	if (!options->geo.blocksize || !options->geo.cluster_blocks ||
	    !options->geo.group_blocks || (options->cache && !options->reread) ||
	    options->geo.group_blocks % options->geo.cluster_blocks ||
	    options->part_blocks % options->geo.cluster_blocks ||
	    options->long_run_blocks % options->geo.cluster_blocks)
		return E4L_ET_BAD_ARGUMENT;
	p = calloc(1, sizeof(*p));
	if (!p)
		return ENOMEM;
	p->opt = *options;
	p->cache = options->cache;
	p->space = e4l_space_new();
	if (!p->space || (!p->cache && e4l_es_new(E4L_NO_LIMIT, &p->cache)) ||
	    (p->opt.long_run_blocks && count_long_runs(p))) {
		e4l_plan_free(p);
		return ENOMEM;
	}
	*ret = p;
	return 0;
}

void e4l_free_step(struct e4l_step *step)
{
	free(step->new_extents);
	free(step->moves);
	free(step->zero);
	free(step->take);
	free(step->give);
	free(step->tree);
}

void e4l_plan_free(struct e4l_plan *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; i < p->n_files; i++)
		free(p->files[i].tree);
	for (i = 0; i < p->n_steps; i++)
		e4l_free_step(&p->steps[i]);
	free(p->files);
	free(p->left);
	free(p->steps);
	e4l_space_free(p->space);
	if (!p->opt.cache)
		e4l_es_free(p->cache);
	free(p);
}

errcode_t e4l_plan_add_free(const struct e4l_block_run *run, void *plan)
{
	struct e4l_plan *p = plan;

	return e4l_space_add_run(p->space, run, p->opt.geo.cluster_blocks);
}

bool e4l_well_formed(const struct e4l_extent *ex, size_t n)
{
	uint64_t end = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (ex[i].lblk < end || !ex[i].len ||
		    ex[i].len > (ex[i].unwritten ? E4L_UNWRITTEN_MAX_BLOCKS :
						   E4L_WRITTEN_MAX_BLOCKS))
			return false;
		end = ex[i].lblk + (uint64_t)ex[i].len;
	}
	return end <= 1ULL << 32;
}

static errcode_t copy_tree(struct e4l_candidate *c,
			   const struct e4l_plan_file *file)
{
	size_t i;

	c->tree = calloc(c->n_tree + 1, sizeof(*c->tree));
	if (!c->tree)
		return ENOMEM;
	for (i = 0; i < c->n_tree; i++)
		c->tree[i] = file->tree[i].pblk;
	qsort(c->tree, c->n_tree, sizeof(*c->tree), e4l_u64_cmp);
	return 0;
}

uint64_t e4l_count_fragments(const struct e4l_extent *ex, size_t n,
			     uint64_t *largest)
{
	uint64_t fragments = 0, len = 0, most = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!i || ex[i].lblk != ex[i - 1].lblk + ex[i - 1].len ||
		    ex[i].pblk != ex[i - 1].pblk + ex[i - 1].len) {
			fragments++;
			len = 0;
		}
		len += ex[i].len;
		if (most < len)
			most = len;
	}
	if (largest)
		*largest = most;
	return fragments;
}

/* These are now the extents of @c: what can be gained from it? */
static errcode_t weigh(const struct e4l_plan *p, struct e4l_candidate *c,
		       const struct e4l_extent *ex, size_t n)
{
	c->n_ex = n;
	c->n_packed = e4l_pack(ex, n, NULL);
	c->n_zero = e4l_zero_count(p, c, ex, n);
	c->fragments = e4l_count_fragments(ex, n, &c->largest);
	return e4l_move_weigh(p, c, ex, n);
}

/* Whether packing alone would make @c smaller. */
static bool is_loose(const struct e4l_plan *p, const struct e4l_candidate *c)
{
	return c->allowed & E4L_PLAN_MERGE &&
	       (c->n_packed < c->n_ex ||
		e4l_ideal_tree_blocks(c->n_packed, p->opt.geo.blocksize) <
		c->n_tree);
}

errcode_t e4l_plan_add_file(struct e4l_plan *p,
			    const struct e4l_plan_file *file)
{
	struct e4l_candidate *c;
	errcode_t err;

	if (!e4l_well_formed(file->extents, file->n_extents) ||
	    file->n_tree < e4l_ideal_tree_blocks(file->n_extents,
						 p->opt.geo.blocksize))
		return E4L_ET_BAD_ARGUMENT;
	err = e4l_grow(&p->files, p->n_files, sizeof(*p->files));
	if (err)
		return err;
	c = &p->files[p->n_files];
	*c = (struct e4l_candidate) {
		.ino = file->ino, .allowed = file->allowed,
		.eof_blk = file->eof_blk, .goal = file->goal,
		.n_tree = file->n_tree,
	};
	err = weigh(p, c, file->extents, file->n_extents);
	if (err == E4L_ET_BAD_ARGUMENT) {
		c->allowed &= ~E4L_PLAN_MOVE;
		c->left[E4L_LEFT_MISALIGNED] = c->fragments - 1;
		err = 0;
	}
	if (err || !(c->excess || c->n_zero || is_loose(p, c) ||
		     c->left[E4L_LEFT_MISALIGNED]))
		return err;
	err = copy_tree(c, file);
	if (err)
		return err;
	p->n_files++;
	return e4l_keep_extents(p, c, file->extents, file->n_extents);
}

/* The cluster of a tree block; quota and i_blocks count all of it. */
static errcode_t give_tree_block(struct e4l_plan *p, struct e4l_step *step,
				 blk64_t blk)
{
	uint32_t ratio = p->opt.geo.cluster_blocks;
	errcode_t err;

	err = e4l_grow(&step->give, step->n_give, sizeof(*step->give));
	if (!err)
		step->give[step->n_give++] = (struct e4l_block_run) {
			.pblk = blk / ratio * ratio, .len = ratio,
		};
	return err;
}

/*
 * A run for a new tree: beside the data of a file that moves to another group,
 * or, for a tree that cannot stay where it is (@must), anywhere.
 */
static bool find_tree_run(const struct e4l_plan *p, const blk64_t *tree,
			  const struct e4l_step *step, bool must,
			  uint64_t *at)
{
	uint64_t ratio = p->opt.geo.cluster_blocks;
	uint64_t group = p->opt.geo.group_blocks;
	blk64_t data = step->new_extents[0].pblk;
	struct e4l_run near = { data / ratio, group / ratio };

	if (!must && (!step->n_moves || tree[0] / group == data / group))
		return false;
	return e4l_space_fit(p->space, step->n_tree, &near, at) &&
	       (must || (*at >= near.start && *at - near.start < near.len));
}

/* The tree's blocks are what the last of the step's takes is. */
static errcode_t take_tree(struct e4l_plan *p, struct e4l_step *step,
			   uint64_t at)
{
	uint64_t ratio = p->opt.geo.cluster_blocks;
	errcode_t err;
	size_t i;

	err = e4l_space_take(p->space, at, step->n_tree);
	if (!err)
		err = e4l_grow(&step->take, step->n_take, sizeof(*step->take));
	if (err)
		return err;
	step->take[step->n_take++] = (struct e4l_block_run) {
		.pblk = at * ratio, .len = step->n_tree * ratio,
	};
	for (i = 0; i < step->n_tree; i++)
		step->tree[i] = (at + i) * ratio;
	step->tree_is_new = true;
	return 0;
}

errcode_t e4l_place_tree(struct e4l_plan *p, const blk64_t *tree, size_t n,
			 struct e4l_step *step, bool *placed)
{
	size_t need = e4l_ideal_tree_blocks(step->n_new, p->opt.geo.blocksize);
	bool must = need > n || (p->opt.geo.txn_blocks &&
				 need > p->opt.geo.txn_blocks / 2);
	errcode_t err = 0;
	uint64_t at;
	size_t i;

	step->tree = calloc(need + 1, sizeof(*step->tree));
	if (!step->tree)
		return ENOMEM;
	step->n_tree = need;
	if (need && find_tree_run(p, tree, step, must, &at))
		err = take_tree(p, step, at);
	*placed = step->tree_is_new || need <= n;
	if (err || !*placed)
		return err;
	if (!step->tree_is_new)
		memcpy(step->tree, tree, need * sizeof(*tree));
	for (i = step->tree_is_new ? 0 : need; i < n && !err; i++)
		err = give_tree_block(p, step, tree[i]);
	return err;
}

errcode_t e4l_drop_step(struct e4l_plan *p, struct e4l_step *step)
{
	uint32_t ratio = p->opt.geo.cluster_blocks;
	errcode_t err = 0;

	if (step->tree_is_new)
		err = e4l_space_add(p->space, step->tree[0] / ratio,
				    step->n_tree);
	e4l_free_step(step);
	return err;
}

static errcode_t give_runs(struct e4l_plan *p, const struct e4l_block_run *give,
			   size_t n)
{
	uint64_t ratio = p->opt.geo.cluster_blocks;
	errcode_t err = 0;

	for (; n && !err; n--, give++)
		err = e4l_space_give(p->space, give->pblk / ratio,
				     give->len / ratio);
	return err;
}

/* Of neighbours in a batch, all but the first and the last can do without. */
static void forget_extents(struct e4l_plan *p)
{
	struct e4l_step *last = &p->steps[p->n_steps - 1];

	if (p->n_steps < 3 ||
	    last->ino != last[-2].ino || last->batch != last[-2].batch ||
	    last->ino != last[-1].ino || last->batch != last[-1].batch)
		return;
	free(last[-1].new_extents);
	last[-1].new_extents = NULL;
}

/* @c is as @step leaves it. */
static errcode_t weigh_again(struct e4l_plan *p, struct e4l_candidate *c,
			     struct e4l_step *step)
{
	errcode_t err = 0;

	c->n_ex = step->n_new;
	c->fragments = step->new_fragments;
	if (step->new_extents)
		err = weigh(p, c, step->new_extents, step->n_new);
	step->new_fragments = c->fragments;
	return err;
}

static errcode_t add_step(struct e4l_plan *p, struct e4l_candidate *c,
			  struct e4l_step *step)
{
	errcode_t err = give_runs(p, step->give, step->n_give);

	if (!err)
		err = e4l_grow(&p->steps, p->n_steps, sizeof(*p->steps));
	if (err) {
		e4l_free_step(step);
		return err;
	}
	step->ino = c->ino;
	step->batch = step->n_take || c->step ? p->batch : 0;
	step->n_old = c->n_ex;
	step->old_fragments = c->fragments;
	p->steps[p->n_steps++] = *step;
	forget_extents(p);
	return weigh_again(p, c, &p->steps[p->n_steps - 1]);
}

errcode_t e4l_add_steps(struct e4l_plan *p, struct e4l_candidate *c,
			struct e4l_step *steps, size_t n)
{
	const struct e4l_step *last = &steps[n - 1];
	size_t i, n_tree = last->n_tree;
	errcode_t err = 0;

	/* never more blocks than it had before */
	memcpy(c->tree, last->tree, n_tree * sizeof(*c->tree));
	c->n_tree = n_tree;
	for (i = 0; i < n && !err; i++)
		err = add_step(p, c, &steps[i]);
	for (; i < n; i++)
		e4l_free_step(&steps[i]);
	e4l_es_forget(p->cache, c->ino);
	c->step = p->n_steps;
	p->given = true;
	/* what was worth a long run leaves less to keep, as for the next plan */
	if (e4l_space_in_long(p->space) < p->in_long)
		p->in_long = e4l_space_in_long(p->space);
	return err;
}

void e4l_leave(struct e4l_candidate *c, unsigned int flags)
{
	c->allowed &= ~flags;
	if (flags & E4L_PLAN_MOVE) {
		c->left[E4L_LEFT_TXN] += c->excess;
		c->excess = 0;
	}
	if (flags & E4L_PLAN_MERGE)
		c->left[E4L_LEFT_TXN] += c->n_ex - c->n_packed;
	if (flags & E4L_PLAN_ZEROOUT) {
		c->left[E4L_LEFT_TXN] += c->n_zero;
		c->n_zero = 0;
	}
}

static errcode_t add_left(struct e4l_plan *p, const struct e4l_candidate *c,
			  enum e4l_left_why why, uint64_t extents)
{
	errcode_t err = e4l_grow(&p->left, p->n_left, sizeof(*p->left));

	if (!err)
		p->left[p->n_left++] = (struct e4l_left) {
			.ino = c->ino, .why = why, .extents = extents,
		};
	return err;
}

/* Lists what is left of @c now that the plan is made. */
static errcode_t list_left(struct e4l_plan *p, struct e4l_candidate *c)
{
	enum e4l_left_why why;
	errcode_t err = 0;

	c->left[c->why] += c->excess;
	if (p->opt.zeroout_budget_blocks != E4L_NO_LIMIT)
		c->left[E4L_LEFT_ZEROOUT_BUDGET] = c->n_zero;
	for (why = 0; why < E4L_LEFT_REASONS && !err; why++)
		if (c->left[why])
			err = add_left(p, c, why, c->left[why]);
	return err;
}

static errcode_t list_all_left(struct e4l_plan *p)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < p->n_files && !err; i++)
		err = list_left(p, &p->files[i]);
	return err;
}

const struct e4l_left *e4l_plan_left(const struct e4l_plan *p, size_t *n)
{
	*n = p->n_left;
	return p->left;
}

uint64_t e4l_plan_longest(const struct e4l_plan *p)
{
	uint64_t at;

	return e4l_space_largest(p->space, &at) * p->opt.geo.cluster_blocks;
}

/* Makes free what the steps so far give; the next may use it. */
static errcode_t commit(struct e4l_plan *p)
{
	if (!p->given)
		return 0;
	p->given = false;
	p->batch++;
	return e4l_space_commit(p->space);
}

static int best_first(const void *va, const void *vb)
{
	const struct e4l_candidate *a = *(struct e4l_candidate *const *)va;
	const struct e4l_candidate *b = *(struct e4l_candidate *const *)vb;
	/* neither number exceeds 2^32 */
	uint64_t gain_a = a->excess * b->cost, gain_b = b->excess * a->cost;

	if (gain_a != gain_b)
		return gain_a > gain_b ? -1 : 1;
	return a->ino < b->ino ? -1 : a->ino > b->ino;
}

static int longest_first(const void *va, const void *vb)
{
	const struct e4l_candidate *a = *(struct e4l_candidate *const *)va;
	const struct e4l_candidate *b = *(struct e4l_candidate *const *)vb;

	if (a->longest != b->longest)
		return a->longest > b->longest ? -1 : 1;
	return best_first(va, vb);
}

/*
 * Puts the files to move in order: first those that the budget is best spent
 * on, of them the ones that need the longest runs before others break them;
 * then the others, best first, should something be left.
 */
static errcode_t move_order(struct e4l_plan *p, struct e4l_candidate ***ret,
			    size_t *n_ret)
{
	uint64_t left = p->opt.copy_budget_blocks;
	struct e4l_candidate **all, **order;
	size_t i, n = 0, taken = 0, rest;

	*ret = NULL;
	*n_ret = 0;
	all = calloc(p->n_files + 1, sizeof(*all));
	order = calloc(p->n_files + 1, sizeof(*order));
	if (!all || !order) {
		free(all);
		free(order);
		return ENOMEM;
	}
	for (i = 0; i < p->n_files; i++)
		if (p->files[i].excess)
			all[n++] = &p->files[i];
	qsort(all, n, sizeof(*all), best_first);
	for (i = 0, rest = 0; i < n; i++) {
		if (all[i]->cost <= left) {
			left -= left == E4L_NO_LIMIT ? 0 : all[i]->cost;
			order[taken++] = all[i];
		} else {
			all[rest++] = all[i];
		}
	}
	qsort(order, taken, sizeof(*order), longest_first);
	memcpy(order + taken, all, rest * sizeof(*all));
	free(all);
	*ret = order;
	*n_ret = n;
	return 0;
}

static errcode_t move_pass(struct e4l_plan *p, bool partial, bool *moved)
{
	struct e4l_candidate **order;
	size_t n, i;
	errcode_t err;

	*moved = false;
	err = move_order(p, &order, &n);
	for (i = 0; i < n && !err; i++)
		err = e4l_move_file(p, order[i], partial, moved);
	free(order);
	return err ? err : commit(p);
}

/* Moves until nothing is left to gain; by pieces only when no whole fits. */
static errcode_t move_all(struct e4l_plan *p, bool *changed)
{
	bool partial = false, moved;
	errcode_t err;

	for (;;) {
		err = move_pass(p, partial, &moved);
		if (err || (!moved && partial))
			return err;
		*changed |= moved;
		partial = !moved;
	}
}

/* Makes those of @ex written that are chosen in @runs, and lists them. */
static errcode_t zero_runs(struct e4l_extent *ex, size_t n_ex,
			   const struct e4l_zero_run *runs, size_t n,
			   struct e4l_step *step, uint64_t blocksize)
{
	struct e4l_state_run run;
	size_t i = 0, first;
	errcode_t err;

	while (i < n_ex && n) {
		first = i;
		e4l_next_state_run(ex, n_ex, &i, &run);
		while (n && (!runs->chosen || runs->lblk < run.lblk)) {
			runs++;
			n--;
		}
		if (!n || runs->lblk != run.lblk)
			continue;
		err = e4l_grow(&step->zero, step->n_zero, sizeof(*step->zero));
		if (err)
			return err;
		step->zero[step->n_zero++] = (struct e4l_block_run) {
			.pblk = run.pblk, .len = run.len,
		};
		step->bytes_to_zero += run.len * blocksize;
		while (first < i)
			ex[first++].unwritten = 0;
	}
	return 0;
}

/* Does without the tree blocks that @step no longer needs. */
static errcode_t shrink_tree(struct e4l_plan *p, struct e4l_candidate *c,
			     struct e4l_step *step)
{
	uint64_t need = e4l_ideal_tree_blocks(step->n_new, p->opt.geo.blocksize);
	uint32_t ratio = p->opt.geo.cluster_blocks;
	bool taken = step->tree_is_new;
	size_t given = step->n_give, i;
	errcode_t err = 0;

	for (i = need; i < step->n_tree && !err; i++) {
		if (taken) {
			err = e4l_space_add(p->space, step->tree[i] / ratio, 1);
			step->take[step->n_take - 1].len -= ratio;
		} else {
			err = give_tree_block(p, step, step->tree[i]);
		}
	}
	if (taken && !need) {
		step->n_take--;
		step->tree_is_new = false;
	}
	c->n_tree = step->n_tree = need;
	return err ? err : give_runs(p, step->give + given,
				     step->n_give - given);
}

/* Gives the last step of @c other new extents, which it takes over. */
static errcode_t amend_step(struct e4l_plan *p, struct e4l_candidate *c,
			    struct e4l_extent *ex, size_t n)
{
	struct e4l_step *step = &p->steps[c->step - 1];
	errcode_t err;

	free(step->new_extents);
	step->new_extents = ex;
	step->n_new = n;
	p->given = true;
	err = weigh(p, c, ex, n);
	return err ? err : shrink_tree(p, c, step);
}

/* A step of its own; *@done is false if no transaction holds it. */
static errcode_t pack_anew(struct e4l_plan *p, struct e4l_candidate *c,
			   struct e4l_step *step, bool *done)
{
	errcode_t err;
	bool placed;

	*done = false;
	err = e4l_place_tree(p, c->tree, c->n_tree, step, &placed);
	if (!err && placed)
		err = e4l_step_fits(p, step, 0, done);
	if (!err && *done)
		return e4l_add_steps(p, c, step, 1);
	if (!err)
		return e4l_drop_step(p, step);
	e4l_free_step(step);
	return err;
}

/* As part of the last step so far, likewise; takes over @ex. */
static errcode_t pack_amending(struct e4l_plan *p, struct e4l_candidate *c,
			       struct e4l_extent *ex, size_t n, bool *done)
{
	struct e4l_step *step = &p->steps[c->step - 1];
	size_t need = e4l_ideal_tree_blocks(n, p->opt.geo.blocksize);
	errcode_t err;

	err = e4l_step_fits(p, step, step->tree_is_new ? 0 :
				     step->n_tree - need, done);
	if (!err && *done)
		return amend_step(p, c, ex, n);
	free(ex);
	return err;
}

/*
 * Packs one file, after zeroing what has been chosen of it, as part of its last
 * step so far if it has one and @amend; leaves it if no transaction holds that.
 */
static errcode_t pack_file(struct e4l_plan *p, struct e4l_candidate *c,
			   const struct e4l_zero_run *runs, size_t n,
			   bool amend, bool *done)
{
	struct e4l_step fresh = { 0 };
	struct e4l_step *step = amend ? &p->steps[c->step - 1] : &fresh;
	uint64_t zeroed = step->bytes_to_zero;
	size_t n_zero = step->n_zero, n_ex;
	struct e4l_extent *ex;
	errcode_t err;

	err = e4l_get_extents(p, c, &ex, &n_ex);
	if (err)
		return err;
	err = zero_runs(ex, n_ex, runs, n, step, p->opt.geo.blocksize);
	if (err) {
		free(ex);
		return err;
	}
	n_ex = e4l_pack(ex, n_ex, ex);
	fresh.new_extents = ex;
	fresh.n_new = n_ex;
	err = amend ? pack_amending(p, c, ex, n_ex, done) :
		      pack_anew(p, c, &fresh, done);
	if (err || *done)
		return err;
	if (amend) {
		step->n_zero = n_zero;
		step->bytes_to_zero = zeroed;
	}
	e4l_leave(c, E4L_PLAN_MERGE | E4L_PLAN_ZEROOUT);
	return 0;
}

static uint64_t count_chosen(const struct e4l_zero_run *runs, size_t n)
{
	uint64_t blocks = 0;

	for (; n; n--, runs++)
		blocks += runs->chosen ? runs->len : 0;
	return blocks;
}

/* How many of the @n @runs, one at least, zero @most blocks. */
static size_t count_part(const struct e4l_zero_run *runs, size_t n,
			 uint64_t most)
{
	uint64_t blocks = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		blocks += runs[i].chosen ? runs[i].len : 0;
		if (i && blocks > most)
			break;
	}
	return i;
}

/* The same as pack_file(), in several steps if there is much to zero. */
static errcode_t pack_in_parts(struct e4l_plan *p, struct e4l_candidate *c,
			       const struct e4l_zero_run *runs, size_t n)
{
	uint64_t most = e4l_part_blocks(p, c);
	bool amend = c->step, done = false;
	errcode_t err;
	size_t part;

	do {
		part = count_part(runs, n, most);
		err = pack_file(p, c, runs, part, amend, &done);
		if (done && p->opt.zeroout_budget_blocks != E4L_NO_LIMIT)
			p->opt.zeroout_budget_blocks -= count_chosen(runs,
								     part);
		runs += part;
		n -= part;
		amend = false;
	} while (!err && done && count_chosen(runs, n));
	return err;
}

static errcode_t pack_all(struct e4l_plan *p, bool *changed)
{
	struct e4l_zero_run *runs = NULL;
	size_t n = 0, i, k, first;
	errcode_t err = 0;

	for (i = 0; i < p->n_files && !err; i++)
		err = e4l_zero_collect(p, i, &runs, &n);
	if (!err)
		err = e4l_zero_choose(p, runs, n);
	for (i = 0, k = 0; i < p->n_files && !err; i++) {
		for (first = k; k < n && runs[k].file == i; )
			k++;
		if (!count_chosen(runs + first, k - first) &&
		    !is_loose(p, &p->files[i]))
			continue;
		*changed = true;
		err = pack_in_parts(p, &p->files[i], runs + first, k - first);
	}
	free(runs);
	return err ? err : commit(p);
}

/* A step and what its file's steps of the batch, which are neighbours, gain. */
struct ranked {
	const struct e4l_step *step;
	double worth;
};

static double worth(const struct e4l_step *step, size_t n)
{
	double gain = 0, cost = 1;

	for (; n; n--, step++) {
		gain += (double)step->n_old - step->n_new +
			step->fragments_saved;
		cost += step->bytes_to_copy + step->bytes_to_zero;
	}
	return gain / cost;
}

static int in_order(const void *va, const void *vb)
{
	const struct ranked *a = va, *b = vb;

	if (a->step->batch != b->step->batch)
		return a->step->batch < b->step->batch ? -1 : 1;
	if (a->worth != b->worth)
		return a->worth > b->worth ? -1 : 1;
	if (a->step->ino != b->step->ino)
		return a->step->ino < b->step->ino ? -1 : 1;
	return a->step < b->step ? -1 : a->step > b->step;
}

static errcode_t sort_steps(struct e4l_plan *p)
{
	struct ranked *ranked = calloc(p->n_steps + 1, sizeof(*ranked));
	struct e4l_step *steps = calloc(p->n_steps + 1, sizeof(*steps));
	size_t i, k, n;

	if (!ranked || !steps) {
		free(ranked);
		free(steps);
		return ENOMEM;
	}
	for (i = 0; i < p->n_steps; i += n) {
		const struct e4l_step *step = &p->steps[i];

		for (n = 1; i + n < p->n_steps && step[n].ino == step->ino &&
			    step[n].batch == step->batch; n++)
			;
		for (k = 0; k < n; k++)
			ranked[i + k] = (struct ranked) {
				.step = step + k,
				.worth = k ? ranked[i].worth : worth(step, n),
			};
	}
	qsort(ranked, p->n_steps, sizeof(*ranked), in_order);
	for (i = 0; i < p->n_steps; i++)
		steps[i] = *ranked[i].step;
	free(ranked);
	free(p->steps);
	p->steps = steps;
	return 0;
}

errcode_t e4l_plan_make(struct e4l_plan *p)
{
	bool changed;
	errcode_t err;

	p->in_long = e4l_space_in_long(p->space);
	if (p->in_long > p->opt.long_blocks_kept / p->opt.geo.cluster_blocks)
		p->in_long = p->opt.long_blocks_kept / p->opt.geo.cluster_blocks;
	do {
		changed = false;
		err = move_all(p, &changed);
		if (!err)
			err = pack_all(p, &changed);
	} while (changed && !err);
	if (!err)
		err = list_all_left(p);
	return err ? err : sort_steps(p);
}

uint64_t e4l_plan_reread(const struct e4l_plan *p)
{
	return p->reread;
}

const struct e4l_step *e4l_plan_steps(const struct e4l_plan *p, size_t *n)
{
	*n = p->n_steps;
	return p->steps;
}
