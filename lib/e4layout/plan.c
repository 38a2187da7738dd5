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
#include "planP.h"

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

errcode_t e4l_plan_new(const struct e4l_plan_options *options,
		       struct e4l_plan **ret)
{
	struct e4l_plan *p;

	*ret = NULL;
	if (!options->blocksize || !options->cluster_blocks ||
	    !options->group_blocks ||
	    options->group_blocks % options->cluster_blocks)
		return E4L_ET_BAD_ARGUMENT;
	p = calloc(1, sizeof(*p));
	if (!p)
		return ENOMEM;
	p->opt = *options;
	p->space = e4l_space_new();
	if (!p->space) {
		free(p);
		return ENOMEM;
	}
	*ret = p;
	return 0;
}

void e4l_free_step(struct e4l_file_plan *step)
{
	free(step->old_extents);
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
	for (i = 0; i < p->n_files; i++) {
		free(p->files[i].ex);
		free(p->files[i].tree);
	}
	for (i = 0; i < p->n_steps; i++)
		e4l_free_step(&p->steps[i]);
	free(p->files);
	free(p->steps);
	e4l_space_free(p->space);
	free(p);
}

errcode_t e4l_plan_add_free(const struct e4l_free_run *run, void *plan)
{
	struct e4l_plan *p = plan;
	uint64_t ratio = p->opt.cluster_blocks;
	uint64_t start = (run->pblk + ratio - 1) / ratio;
	uint64_t end = (run->pblk + run->len) / ratio;

	return start < end ? e4l_space_add(p->space, start, end - start) : 0;
}

static bool well_formed(const struct e4l_extent *ex, size_t n)
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

static int by_number(const void *va, const void *vb)
{
	blk64_t a = *(const blk64_t *)va, b = *(const blk64_t *)vb;

	return a < b ? -1 : a > b;
}

static errcode_t copy_file(struct e4l_candidate *c,
			   const struct e4l_plan_file *file)
{
	size_t i;

	*c = (struct e4l_candidate) {
		.ino = file->ino, .allowed = file->allowed,
		.eof_blk = file->eof_blk, .goal = file->goal,
		.n_ex = file->n_extents, .n_tree = file->n_tree,
	};
	c->ex = calloc(c->n_ex + 1, sizeof(*c->ex));
	c->tree = calloc(c->n_tree + 1, sizeof(*c->tree));
	if (!c->ex || !c->tree)
		return ENOMEM;
	if (c->n_ex)
		memcpy(c->ex, file->extents, c->n_ex * sizeof(*c->ex));
	for (i = 0; i < c->n_tree; i++)
		c->tree[i] = file->tree[i].pblk;
	qsort(c->tree, c->n_tree, sizeof(*c->tree), by_number);
	return 0;
}

/* Whether packing alone would make @c smaller. */
static bool is_loose(const struct e4l_plan *p, const struct e4l_candidate *c)
{
	size_t packed = e4l_pack(c->ex, c->n_ex, NULL);

	return packed < c->n_ex ||
	       e4l_ideal_tree_blocks(packed, p->opt.blocksize) < c->n_tree;
}

/* Whether anything may be gained from the file with index @index. */
static errcode_t is_candidate(struct e4l_plan *p, size_t index, bool *yes)
{
	struct e4l_candidate *c = &p->files[index];
	struct e4l_zero_run *runs = NULL;
	size_t n = 0;
	errcode_t err;

	err = e4l_move_weigh(p, c);
	if (err == E4L_ET_BAD_ARGUMENT) {
		c->allowed &= ~E4L_PLAN_MOVE;
		err = 0;
	}
	if (!err)
		err = e4l_zero_collect(p, index, &runs, &n);
	*yes = c->excess || n || (c->allowed & E4L_PLAN_MERGE &&
				  is_loose(p, c));
	free(runs);
	return err;
}

errcode_t e4l_plan_add_file(struct e4l_plan *p,
			    const struct e4l_plan_file *file)
{
	struct e4l_candidate *c;
	bool yes = false;
	errcode_t err;

	if (!well_formed(file->extents, file->n_extents) ||
	    file->n_tree < e4l_ideal_tree_blocks(file->n_extents,
						 p->opt.blocksize))
		return E4L_ET_BAD_ARGUMENT;
	err = e4l_grow(&p->files, p->n_files, sizeof(*p->files));
	if (err)
		return err;
	c = &p->files[p->n_files];
	err = copy_file(c, file);
	if (!err)
		err = is_candidate(p, p->n_files, &yes);
	if (!err && yes) {
		p->n_files++;
		return 0;
	}
	free(c->ex);
	free(c->tree);
	return err;
}

static errcode_t give_tree_block(struct e4l_plan *p, struct e4l_file_plan *step,
				 blk64_t blk)
{
	uint32_t ratio = p->opt.cluster_blocks;
	errcode_t err;

	err = e4l_grow(&step->give, step->n_give, sizeof(*step->give));
	if (err)
		return err;
	step->give[step->n_give++] = (struct e4l_free_run) {
		.pblk = blk / ratio * ratio, .len = ratio,
	};
	return e4l_space_give(p->space, blk / ratio, 1);
}

/*
 * Where the tree of a file that moves to another group goes: beside its data,
 * if there is a run for all of it.  False: it stays where it is.
 */
static errcode_t new_tree(struct e4l_plan *p, const struct e4l_candidate *c,
			  struct e4l_file_plan *step, bool *done)
{
	uint64_t ratio = p->opt.cluster_blocks, at, i;
	uint64_t group = p->opt.group_blocks;
	blk64_t data = step->new_extents[0].pblk;
	struct e4l_run near = { data / ratio, group / ratio };
	errcode_t err;

	*done = false;
	if (!step->n_moves || !step->n_tree ||
	    c->tree[0] / group == data / group ||
	    !e4l_space_fit(p->space, step->n_tree, &near, &at) ||
	    at < near.start || at - near.start >= near.len)
		return 0;
	err = e4l_space_take(p->space, at, step->n_tree);
	if (!err)
		err = e4l_grow(&step->take, step->n_take, sizeof(*step->take));
	if (err)
		return err;
	step->take[step->n_take++] = (struct e4l_free_run) {
		.pblk = at * ratio, .len = step->n_tree * ratio,
	};
	for (i = 0; i < step->n_tree; i++)
		step->tree[i] = (at + i) * ratio;
	*done = true;
	return 0;
}

/* Decides on the tree's blocks and gives back those that are not needed. */
static errcode_t place_tree(struct e4l_plan *p, struct e4l_candidate *c,
			    struct e4l_file_plan *step)
{
	size_t i, kept = 0;
	errcode_t err;
	bool done;

	step->n_tree = e4l_ideal_tree_blocks(step->n_new, p->opt.blocksize);
	step->tree = calloc(step->n_tree + 1, sizeof(*step->tree));
	if (!step->tree)
		return ENOMEM;
	err = new_tree(p, c, step, &done);
	if (!err && !done) {
		kept = step->n_tree;
		memcpy(step->tree, c->tree, kept * sizeof(*step->tree));
	}
	for (i = kept; i < c->n_tree && !err; i++)
		err = give_tree_block(p, step, c->tree[i]);
	memcpy(c->tree, step->tree, step->n_tree * sizeof(*c->tree));
	c->n_tree = step->n_tree;
	return err;
}

static errcode_t give_runs(struct e4l_plan *p, const struct e4l_file_plan *step)
{
	uint64_t ratio = p->opt.cluster_blocks;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < step->n_give && !err; i++)
		err = e4l_space_give(p->space, step->give[i].pblk / ratio,
				     step->give[i].len / ratio);
	return err;
}

errcode_t e4l_add_step(struct e4l_plan *p, struct e4l_candidate *c,
		       struct e4l_file_plan *step)
{
	struct e4l_extent *now = calloc(step->n_new + 1, sizeof(*now));
	errcode_t err = now ? give_runs(p, step) : ENOMEM;

	if (!err)
		err = place_tree(p, c, step);
	if (!err)
		err = e4l_grow(&p->steps, p->n_steps, sizeof(*p->steps));
	if (err) {
		free(now);
		e4l_free_step(step);
		return err;
	}
	memcpy(now, step->new_extents, step->n_new * sizeof(*now));
	step->ino = c->ino;
	step->batch = step->n_moves || c->step ? p->batch : 0;
	step->old_extents = c->ex;
	step->n_old = c->n_ex;
	c->ex = now;
	c->n_ex = step->n_new;
	p->steps[p->n_steps++] = *step;
	c->step = p->n_steps;
	p->given = true;
	return 0;
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
	errcode_t err = 0;

	all = calloc(p->n_files + 1, sizeof(*all));
	order = calloc(p->n_files + 1, sizeof(*order));
	if (!all || !order)
		err = ENOMEM;
	for (i = 0; i < p->n_files && !err; i++) {
		err = e4l_move_weigh(p, &p->files[i]);
		if (p->files[i].excess)
			all[n++] = &p->files[i];
	}
	if (err)
		goto out;
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
out:
	free(all);
	if (err) {
		free(order);
		order = NULL;
	}
	*ret = order;
	*n_ret = n;
	return err;
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
			   struct e4l_file_plan *step, uint64_t blocksize)
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
		step->zero[step->n_zero++] = (struct e4l_free_run) {
			.pblk = run.pblk, .len = run.len,
		};
		step->bytes_to_zero += run.len * blocksize;
		while (first < i)
			ex[first++].unwritten = 0;
	}
	return 0;
}

/* Whether the step took new blocks for its tree: always in its last take. */
static bool took_tree(const struct e4l_file_plan *step)
{
	return step->n_tree && step->n_take &&
	       step->take[step->n_take - 1].pblk == step->tree[0];
}

/* Does without the tree blocks that @step no longer needs. */
static errcode_t shrink_tree(struct e4l_plan *p, struct e4l_candidate *c,
			     struct e4l_file_plan *step)
{
	uint64_t need = e4l_ideal_tree_blocks(step->n_new, p->opt.blocksize);
	uint32_t ratio = p->opt.cluster_blocks;
	bool taken = took_tree(step);
	errcode_t err = 0;
	size_t i;

	for (i = need; i < step->n_tree && !err; i++) {
		if (taken) {
			err = e4l_space_add(p->space, step->tree[i] / ratio, 1);
			step->take[step->n_take - 1].len -= ratio;
		} else {
			err = give_tree_block(p, step, step->tree[i]);
		}
	}
	if (taken && !need)
		step->n_take--;
	c->n_tree = step->n_tree = need;
	return err;
}

/* Gives the last step of @c other new extents, which it takes over. */
static errcode_t amend_step(struct e4l_plan *p, struct e4l_candidate *c,
			    struct e4l_extent *ex, size_t n)
{
	struct e4l_file_plan *step = &p->steps[c->step - 1];

	free(step->new_extents);
	step->new_extents = ex;
	step->n_new = n;
	memcpy(c->ex, ex, n * sizeof(*ex));	/* never more than before */
	c->n_ex = n;
	p->given = true;
	return shrink_tree(p, c, step);
}

/* Packs one file, after zeroing what has been chosen of it. */
static errcode_t pack_file(struct e4l_plan *p, struct e4l_candidate *c,
			   const struct e4l_zero_run *runs, size_t n)
{
	struct e4l_file_plan fresh = { 0 };
	struct e4l_file_plan *step = c->step ? &p->steps[c->step - 1] : &fresh;
	struct e4l_extent *ex;
	size_t n_ex;
	errcode_t err;

	ex = calloc(c->n_ex + 1, sizeof(*ex));
	if (!ex)
		return ENOMEM;
	memcpy(ex, c->ex, c->n_ex * sizeof(*ex));
	err = zero_runs(ex, c->n_ex, runs, n, step, p->opt.blocksize);
	if (err) {
		free(ex);
		return err;
	}
	n_ex = e4l_pack(ex, c->n_ex, ex);
	if (c->step)
		return amend_step(p, c, ex, n_ex);
	fresh.new_extents = ex;
	fresh.n_new = n_ex;
	return e4l_add_step(p, c, &fresh);
}

static errcode_t pack_all(struct e4l_plan *p, bool *changed)
{
	struct e4l_zero_run *runs = NULL;
	size_t n = 0, i, k, first;
	uint64_t blocks;
	errcode_t err = 0;

	for (i = 0; i < p->n_files && !err; i++)
		err = e4l_zero_collect(p, i, &runs, &n);
	if (!err)
		err = e4l_zero_choose(p, runs, n);
	for (i = 0, k = 0; i < p->n_files && !err; i++) {
		first = k;
		for (blocks = 0; k < n && runs[k].file == i; k++)
			if (runs[k].chosen)
				blocks += runs[k].len;
		if (!blocks && !(p->files[i].allowed & E4L_PLAN_MERGE &&
				 is_loose(p, &p->files[i])))
			continue;
		*changed = true;
		if (p->opt.zeroout_budget_blocks != E4L_NO_LIMIT)
			p->opt.zeroout_budget_blocks -= blocks;
		err = pack_file(p, &p->files[i], runs + first, k - first);
	}
	free(runs);
	return err ? err : commit(p);
}

static double worth(const struct e4l_file_plan *step)
{
	double gain = (double)(step->n_old - step->n_new) +
		      step->fragments_saved;

	return gain / (1 + step->bytes_to_copy + step->bytes_to_zero);
}

static int in_order(const void *va, const void *vb)
{
	const struct e4l_file_plan *a = va, *b = vb;
	double worth_a = worth(a), worth_b = worth(b);

	if (a->batch != b->batch)
		return a->batch < b->batch ? -1 : 1;
	if (worth_a != worth_b)
		return worth_a > worth_b ? -1 : 1;
	return a->ino < b->ino ? -1 : a->ino > b->ino;
}

errcode_t e4l_plan_make(struct e4l_plan *p)
{
	bool changed;
	errcode_t err;

	do {
		changed = false;
		err = move_all(p, &changed);
		if (!err)
			err = pack_all(p, &changed);
	} while (changed && !err);
	if (p->n_steps)
		qsort(p->steps, p->n_steps, sizeof(*p->steps), in_order);
	return err;
}

const struct e4l_file_plan *e4l_plan_steps(const struct e4l_plan *p,
					   size_t *n)
{
	*n = p->n_steps;
	return p->steps;
}
