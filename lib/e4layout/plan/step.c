/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "packed.h"
#include "runs.h"
#include "step.h"

uint64_t e4l_step_bytes(const struct e4l_step *step)
{
	size_t extents = step->new_extents ? step->n_new : 0;
	size_t runs = step->n_zero + step->n_take + step->n_give;

	return 2 * sizeof(*step) + extents * sizeof(*step->new_extents) +
	       runs * sizeof(*step->give) +
	       step->n_tree * sizeof(*step->tree) +
	       (step->moves ? step->n_moves * sizeof(*step->moves) : 0) +
	       (step->packed ? step->packed->bytes.max : 0);
}

void e4l_step_free(struct e4l_step *step)
{
	free(step->new_extents);
	free(step->moves);
	free(step->zero);
	free(step->take);
	free(step->give);
	free(step->tree);
	e4l_packed_free(step->packed);
}

/* ------------------------------------------------------------------ extents */

/* An array of extents that grows. */
struct extents {
	struct e4l_extent *v;
	size_t n;
};

/* Appends @len blocks of @ex, from the @at'th on, which are at @pblk now. */
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
			      const struct e4l_step *step, struct extents *out)
{
	struct e4l_step_walk walk = { 0 };
	uint64_t at, len, left;
	struct e4l_move m;
	bool more = e4l_step_next_move(step, &walk, &m);
	errcode_t err = 0;
	blk64_t from, to;

	for (; n && !err; n--, ex++) {
		for (at = 0; at < ex->len && !err; at += len) {
			from = to = ex->pblk + at;
			len = left = ex->len - at;
			if (more && from >= m.from && from < m.from + m.len) {
				left = m.from + m.len - from;
				to = m.to + (from - m.from);
				if (left <= len)
					more = e4l_step_next_move(step, &walk,
								  &m);
			} else if (more && m.from > from) {
				left = m.from - from;
			}
			len = left < len ? left : len;
			err = add_extent(out, ex, at, len, to);
		}
	}
	return err;
}

static bool is_in(const struct e4l_extent *ex, const struct e4l_block_run *run)
{
	return ex->pblk >= run->pblk && ex->pblk - run->pblk < run->len;
}

/*
 * What is zeroed is whole extents, in logical order but for what was chosen
 * later, once there was a budget for it: the search goes on where it was.
 */
static void write_zeroed(struct extents *list, const struct e4l_step *step)
{
	const struct e4l_block_run *z;
	size_t i = 0, k, tried;

	for (k = 0; list->n && k < step->n_zero; k++) {
		z = &step->zero[k];
		for (tried = 0; tried < list->n && !is_in(&list->v[i], z);
		     tried++)
			i = (i + 1) % list->n;
		for (; tried < list->n && is_in(&list->v[i], z); tried++) {
			list->v[i].unwritten = 0;
			i = (i + 1) % list->n;
		}
	}
}

/* Those that the step knows itself. */
static errcode_t copy_extents(const struct e4l_step *step,
			      struct e4l_extent **ret)
{
	if (!step->new_extents && !e4l_packed_has_extents(step))
		return E4L_ET_BAD_ARGUMENT;
	*ret = calloc(step->n_new + 1, sizeof(**ret));
	if (!*ret)
		return ENOMEM;
	if (!step->new_extents)
		e4l_packed_extents(step, *ret);
	else if (step->n_new)
		memcpy(*ret, step->new_extents, step->n_new * sizeof(**ret));
	return 0;
}

errcode_t e4l_step_extents(const struct e4l_extent *old, size_t n_old,
			   const struct e4l_step *step,
			   struct e4l_extent **ret)
{
	struct extents list = { 0 };
	errcode_t err;

	*ret = NULL;
	if (!old)
		return copy_extents(step, ret);
	err = move_extents(old, n_old, step, &list);
	if (!err) {
		write_zeroed(&list, step);
		/* unless some stay apart for a tree that stays as large */
		list.n = e4l_pack(list.v, list.n, NULL) < step->n_new ?
			 e4l_merge(list.v, list.n, step->n_new) :
			 e4l_pack(list.v, list.n, list.v);
		if (list.n != step->n_new)
			err = E4L_ET_BAD_ARGUMENT;
	}
	if (err)
		free(list.v);
	else
		*ret = list.v;
	return err;
}

/* -------------------------------------------------------- moving and zeroing */

/* Appends an extent, or makes the last one longer, not over any limit. */
static errcode_t join_extent(struct extents *list, const struct e4l_extent *ex,
			     uint32_t at, uint32_t len, blk64_t pblk)
{
	struct e4l_extent *last = list->n ? &list->v[list->n - 1] : NULL;

	if (!last || last->unwritten != ex->unwritten ||
	    last->lblk + last->len != ex->lblk + at ||
	    last->pblk + last->len != pblk ||
	    last->len + len > E4L_UNWRITTEN_MAX_BLOCKS)
		return add_extent(list, ex, at, len, pblk);
	last->len += len;
	return 0;
}

/* What was one extent for each fragment is a few once it is packed. */
static void pack_new(struct e4l_step *step)
{
	struct e4l_extent *v = step->new_extents;

	step->n_new = e4l_pack(v, step->n_new, v);
	if (step->n_new)
		v = reallocarray(v, step->n_new, sizeof(*v));
	if (v)
		step->new_extents = v;
}

/*
 * What is behind the first @at blocks of @ex, as far as it moves or stays in one
 * piece; @v, the first of the fragments then that ends behind it, or NULL.
 */
static struct e4l_move next_move(const struct e4l_extent *ex, uint32_t at,
				 const struct e4l_fragment *v, uint64_t ratio)
{
	uint64_t pos = ex->lblk + (uint64_t)at, left = ex->len - at;
	struct e4l_move m = {
		.from = ex->pblk + at, .to = ex->pblk + at,
		.copy = !ex->unwritten,
	};
	uint64_t stop = pos + left;

	if (v && v->lc * ratio <= pos) {
		m.to = v->pc * ratio + (pos - v->lc * ratio);
		stop = (v->lc + v->n) * ratio;
	} else if (v) {
		stop = v->lc * ratio;
	}
	m.len = stop - pos < left ? stop - pos : left;
	return m;
}

/* A walk over @n extents, as far as each moves or stays in one piece. */
struct walk {
	const struct e4l_extent *ex;
	size_t n;
	uint32_t at;			/* blocks of *ex that were walked over */
	const struct e4l_fragment *v, *end;
	uint64_t ratio;
};

static struct walk walk_over(const struct e4l_geometry *geo,
			     const struct e4l_extent *ex, size_t n,
			     const struct e4l_fragments *new)
{
	return (struct walk) {
		.ex = ex, .n = n, .v = new->v, .end = new->v + new->n,
		.ratio = geo->cluster_blocks,
	};
}

/* The next piece: @m, @at blocks behind the start of *@ex. */
static bool walk_next(struct walk *w, const struct e4l_extent **ex,
		      uint32_t *at, struct e4l_move *m)
{
	if (w->n && w->at == w->ex->len) {
		w->at = 0;
		w->ex++;
		w->n--;
	}
	if (!w->n)
		return false;
	while (w->v < w->end && (w->v->lc + w->v->n) * w->ratio <=
				w->ex->lblk + (uint64_t)w->at)
		w->v++;
	*ex = w->ex;
	*at = w->at;
	*m = next_move(w->ex, w->at, w->v < w->end ? w->v : NULL, w->ratio);
	w->at += m->len;
	return true;
}

errcode_t e4l_step_map(const struct e4l_geometry *geo,
		       const struct e4l_extent *ex, size_t n,
		       const struct e4l_fragments *new, struct e4l_step *step)
{
	struct walk w = walk_over(geo, ex, n, new);
	struct extents list = { 0 };
	struct e4l_move m;
	errcode_t err = 0;
	uint32_t at;

	while (!err && walk_next(&w, &ex, &at, &m)) {
		err = join_extent(&list, ex, at, m.len, m.to);
		if (m.from != m.to && m.copy)
			step->bytes_to_copy += m.len * geo->blocksize;
	}
	step->new_extents = list.v;
	step->n_new = list.n;
	pack_new(step);
	return err;
}

static errcode_t add_run(struct e4l_block_run **runs, size_t *n, blk64_t pblk,
			 blk64_t len)
{
	errcode_t err = e4l_grow(runs, *n, sizeof(**runs));

	if (!err)
		(*runs)[(*n)++] = (struct e4l_block_run) { pblk, len };
	return err;
}

/* The same, but a run that goes on where the last ends makes that longer. */
static errcode_t join_taken(struct e4l_step *step, blk64_t pblk, blk64_t len)
{
	struct e4l_block_run *last = step->n_take ?
				     &step->take[step->n_take - 1] : NULL;

	if (!last || last->pblk + last->len != pblk)
		return add_run(&step->take, &step->n_take, pblk, len);
	last->len += len;
	return 0;
}

struct lists {
	struct e4l_step *step;
	struct e4l_packing packing;
	uint64_t ratio;
};

static errcode_t list_shift(const struct e4l_shift *s, void *priv)
{
	struct lists *l = priv;
	errcode_t err;

	if (s->from == s->to)
		return 0;
	err = join_taken(l->step, s->to * l->ratio, s->n * l->ratio);
	return err ? err :
	       e4l_pack_given(l->step, &l->packing, &(struct e4l_block_run) {
				s->from * l->ratio, s->n * l->ratio });
}

errcode_t e4l_step_move(const struct e4l_geometry *geo,
			const struct e4l_extent *ex, size_t n,
			struct e4l_walk old,
			const struct e4l_fragments *new, struct e4l_step *step)
{
	struct lists lists = { .step = step, .ratio = geo->cluster_blocks };
	struct walk w = walk_over(geo, ex, n, new);
	struct e4l_move m;
	errcode_t err = 0;
	uint32_t at;

	while (!err && walk_next(&w, &ex, &at, &m))
		if (m.from != m.to)
			err = e4l_pack_move(step, &lists.packing, &m);
	if (!err)
		err = e4l_each_shift(old, new, list_shift, &lists);
	return err ? err : e4l_packing_end(step, &lists.packing);
}

errcode_t e4l_step_zero(const struct e4l_geometry *geo, struct e4l_extent *ex,
			size_t n_ex, const struct e4l_zero_run *runs, size_t n,
			struct e4l_step *step)
{
	const struct e4l_zero_run *end = runs + n;
	struct e4l_state_run run;
	size_t i = 0, first = 0;
	errcode_t err;

	for (; e4l_next_state_run(ex, n_ex, &i, &run); first = i) {
		while (runs < end && (!runs->chosen || runs->lblk < run.lblk))
			runs++;
		if (runs == end)
			break;
		if (runs->lblk != run.lblk)
			continue;
		err = add_run(&step->zero, &step->n_zero, run.pblk, run.len);
		if (err)
			return err;
		step->bytes_to_zero += run.len * geo->blocksize;
		while (first < i)
			ex[first++].unwritten = 0;
	}
	return 0;
}

/* --------------------------------------------------------------------- tree */

/* The cluster of a tree block; quota and i_blocks count all of it. */
static errcode_t give_tree_block(const struct e4l_disk *disk,
				 struct e4l_step *step, blk64_t blk)
{
	size_t packed = step->packed ? step->packed->n_give : 0;
	size_t n = step->n_give - packed;
	uint32_t ratio = disk->geo->cluster_blocks;
	errcode_t err;

	err = add_run(&step->give, &n, blk / ratio * ratio, ratio);
	step->n_give = packed + n;
	return err;
}

/*
 * A run for a new tree: beside the data of a file that moves to another group,
 * or, for a tree that cannot stay where it is (@must), anywhere.
 */
static bool find_tree_run(const struct e4l_disk *disk, const blk64_t *tree,
			  blk64_t data, const struct e4l_step *step, bool must,
			  uint64_t *at)
{
	uint64_t ratio = disk->geo->cluster_blocks;
	uint64_t group = disk->geo->group_blocks;
	struct e4l_run near = { data / ratio, group / ratio };

	if (!must && (disk->trees_stay || !step->n_moves ||
		      tree[0] / group == data / group))
		return false;
	return e4l_space_fit(disk->space, step->n_tree, &near, at) &&
	       (must || (*at >= near.start && *at - near.start < near.len));
}

/* The tree's blocks are what the last of the step's takes is. */
static errcode_t take_tree(const struct e4l_disk *disk, struct e4l_step *step,
			   uint64_t at)
{
	uint64_t ratio = disk->geo->cluster_blocks;
	errcode_t err;
	size_t i;

	err = e4l_space_take(disk->space, at, step->n_tree);
	if (!err)
		err = add_run(&step->take, &step->n_take, at * ratio,
			      step->n_tree * ratio);
	if (err)
		return err;
	for (i = 0; i < step->n_tree; i++)
		step->tree[i] = (at + i) * ratio;
	step->tree_is_new = true;
	return 0;
}

errcode_t e4l_step_put_tree(const struct e4l_disk *disk, const blk64_t *tree,
			    size_t n, blk64_t data, struct e4l_step *step,
			    bool *placed)
{
	size_t need = e4l_ideal_tree_blocks(step->n_new, disk->geo->blocksize);
	uint32_t txn_blocks = disk->geo->txn_blocks;
	bool must = need > n || (txn_blocks && need > txn_blocks / 2);
	errcode_t err = 0;
	uint64_t at;
	size_t i;

	step->tree = calloc(need + 1, sizeof(*step->tree));
	if (!step->tree)
		return ENOMEM;
	step->n_tree = need;
	if (need && find_tree_run(disk, tree, data, step, must, &at))
		err = take_tree(disk, step, at);
	*placed = step->tree_is_new || need <= n;
	if (err || !*placed)
		return err;
	if (!step->tree_is_new)
		memcpy(step->tree, tree, need * sizeof(*tree));
	for (i = step->tree_is_new ? 0 : need; i < n && !err; i++)
		err = give_tree_block(disk, step, tree[i]);
	return err;
}

errcode_t e4l_step_drop(const struct e4l_disk *disk, struct e4l_step *step)
{
	errcode_t err = 0;

	if (step->tree_is_new)
		err = e4l_space_add(disk->space, step->tree[0] /
				    disk->geo->cluster_blocks, step->n_tree);
	e4l_step_free(step);
	return err;
}

errcode_t e4l_step_try(const struct e4l_disk *disk, const struct e4l_step *step,
		       errcode_t (*change)(struct e4l_space *s, uint64_t start,
					   uint64_t len))
{
	uint64_t ratio = disk->geo->cluster_blocks;
	struct e4l_step_walk walk = { 0 };
	struct e4l_block_run run;
	errcode_t err = 0;

	while (!err && e4l_step_next_given(step, &walk, &run))
		err = change(disk->space, run.pblk / ratio, run.len / ratio);
	return err;
}

/* What free space will be with @steps. */
static errcode_t look_ahead(const struct e4l_disk *disk,
			    const struct e4l_step *steps, size_t n,
			    struct e4l_outlook *ret)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < n && !err; i++)
		err = e4l_step_try(disk, &steps[i], e4l_space_try_give);
	*ret = e4l_space_outlook(disk->space);
	for (i = 0; i < n && !err; i++)
		err = e4l_step_try(disk, &steps[i], e4l_space_untry_give);
	return err;
}

bool e4l_disk_allows(const struct e4l_disk *disk,
		     const struct e4l_outlook *before,
		     const struct e4l_outlook *now)
{
	return (!disk->most_runs || now->runs <= disk->most_runs ||
		now->runs <= before->runs) &&
	       (now->longest >= disk->least_longest ||
		now->longest >= before->longest);
}

errcode_t e4l_steps_allowed(const struct e4l_disk *disk,
			    const struct e4l_outlook *before,
			    const struct e4l_step *steps, size_t n,
			    bool *allowed)
{
	struct e4l_outlook now;
	errcode_t err;

	*allowed = true;
	if (!disk->most_runs && !disk->least_longest)
		return 0;
	err = look_ahead(disk, steps, n, &now);
	*allowed = !err && e4l_disk_allows(disk, before, &now);
	return err;
}

uint64_t e4l_step_gives(const struct e4l_step *step)
{
	struct e4l_step_walk walk = { 0 };
	struct e4l_block_run run;
	uint64_t blocks = 0;

	while (e4l_step_next_given(step, &walk, &run))
		blocks += run.len;
	return blocks;
}

errcode_t e4l_step_give(const struct e4l_disk *disk,
			const struct e4l_step *step, size_t first)
{
	uint64_t ratio = disk->geo->cluster_blocks;
	struct e4l_step_walk walk = { 0 };
	struct e4l_block_run run;
	errcode_t err = 0;
	size_t i;

	for (i = 0; !err && e4l_step_next_given(step, &walk, &run); i++)
		if (i >= first)
			err = e4l_space_give(disk->space, run.pblk / ratio,
					     run.len / ratio);
	return err;
}

errcode_t e4l_step_shrink_tree(const struct e4l_disk *disk,
			       struct e4l_step *step)
{
	size_t need = e4l_ideal_tree_blocks(step->n_new, disk->geo->blocksize);
	uint32_t ratio = disk->geo->cluster_blocks;
	bool taken = step->tree_is_new;
	size_t given = step->n_give, i;
	errcode_t err = 0;

	for (i = need; i < step->n_tree && !err; i++) {
		if (taken) {
			err = e4l_space_add(disk->space, step->tree[i] / ratio,
					    1);
			step->take[step->n_take - 1].len -= ratio;
		} else {
			err = give_tree_block(disk, step, step->tree[i]);
		}
	}
	if (taken && !need) {
		step->n_take--;
		step->tree_is_new = false;
	}
	step->n_tree = need;
	return err ? err : e4l_step_give(disk, step, given);
}
