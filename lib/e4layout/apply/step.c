/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "make.h"
#include "e4layout/read/runs.h"

void e4l_step_free(struct e4l_step *step)
{
	free(step->new_extents);
	free(step->moves);
	free(step->zero);
	free(step->take);
	free(step->give);
	free(step->tree);
	*step = (struct e4l_step) { 0 };
}

uint64_t e4l_step_gives(const struct e4l_step *step)
{
	uint64_t blocks = 0;
	size_t i;

	for (i = 0; i < step->n_give; i++)
		blocks += step->give[i].len;
	return blocks;
}

errcode_t e4l_step_add_run(struct e4l_block_run **runs, size_t *n, blk64_t pblk,
			   blk64_t len)
{
	struct e4l_block_run *last = *n ? &(*runs)[*n - 1] : NULL;
	errcode_t err;

	if (last && last->pblk + last->len == pblk) {
		last->len += len;
		return 0;
	}
	err = e4l_grow(runs, *n, sizeof(**runs));
	if (!err)
		(*runs)[(*n)++] = (struct e4l_block_run) { pblk, len };
	return err;
}

/*
 * A walk over the pieces of extents.  A piece is a range of blocks within an
 * extent, and moves or stays as a whole.
 */
struct walk {
	const struct e4l_extent *ex;
	size_t n;
	uint32_t at; /* number of blocks of *ex that the walk has passed */
	const struct e4l_fragment *v, *end;
	uint64_t ratio;
};

/*
 * Returns the move of the piece (a range of blocks within an extent) that
 * begins @at blocks after the start of @ex.  If the piece stays, the members
 * from and to of the result are equal.  @v is the first fragment of the new
 * layout that ends after the start of the piece.  If there is no such fragment,
 * @v is NULL.
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
		stop = ((uint64_t)v->lc + v->n) * ratio;
	} else if (v) {
		stop = v->lc * ratio;
	}
	m.len = stop - pos < left ? stop - pos : left;
	return m;
}

/*
 * Sets *@m to the move of the next piece (a range of blocks within an extent).
 * Sets *@ex to the extent of the piece, and *@at to the number of blocks before
 * the piece in the extent.  At the end of the extents, returns false.
 */
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
	while (w->v < w->end && ((uint64_t)w->v->lc + w->v->n) * w->ratio <=
				w->ex->lblk + (uint64_t)w->at)
		w->v++;
	*ex = w->ex;
	*at = w->at;
	*m = next_move(w->ex, w->at, w->v < w->end ? w->v : NULL, w->ratio);
	w->at += m->len;
	return true;
}

/*
 * Adds the blocks of move @m to the new extents of @step.  The blocks begin @at
 * blocks after the start of the old extent @ex.  If the blocks can extend the
 * last new extent, extends the last new extent; otherwise, appends an extent.
 */
static errcode_t join_extent(struct e4l_step *step, const struct e4l_extent *ex,
			     uint32_t at, const struct e4l_move *m)
{
	struct e4l_extent *last = step->n_new ?
				  &step->new_extents[step->n_new - 1] : NULL;
	errcode_t err;

	if (last && last->unwritten == ex->unwritten &&
	    last->lblk + last->len == ex->lblk + at &&
	    last->pblk + last->len == m->to &&
	    last->len + m->len <= E4L_UNWRITTEN_MAX_BLOCKS) {
		last->len += m->len;
		return 0;
	}
	err = e4l_grow(&step->new_extents, step->n_new, sizeof(*last));
	if (!err)
		step->new_extents[step->n_new++] = (struct e4l_extent) {
			.lblk = ex->lblk + at, .pblk = m->to, .len = m->len,
			.unwritten = ex->unwritten,
		};
	return err;
}

static errcode_t add_move(struct e4l_step *step, const struct e4l_move *m)
{
	struct e4l_move *last = step->n_moves ?
				&step->moves[step->n_moves - 1] : NULL;
	errcode_t err;

	if (last && last->copy == m->copy &&
	    last->from + last->len == m->from && last->to + last->len == m->to) {
		last->len += m->len;
		return 0;
	}
	err = e4l_grow(&step->moves, step->n_moves, sizeof(*last));
	if (!err)
		step->moves[step->n_moves++] = *m;
	return err;
}

errcode_t e4l_step_map(const struct e4l_geometry *geo,
		       const struct e4l_extent *ex, size_t n,
		       const struct e4l_fragments *new, struct e4l_step *step)
{
	struct walk w = {
		.ex = ex, .n = n, .v = new->v, .end = new->v + new->n,
		.ratio = geo->cluster_blocks,
	};
	struct e4l_move m;
	errcode_t err = 0;
	uint32_t at;

	step->n_old = n;
	step->old_fragments = e4l_count_fragments(ex, n, NULL);
	while (!err && walk_next(&w, &ex, &at, &m)) {
		err = join_extent(step, ex, at, &m);
		if (err || m.from == m.to)
			continue;
		step->bytes_to_copy += m.copy ? m.len * geo->blocksize : 0;
		err = add_move(step, &m);
	}
	step->n_new = e4l_pack(step->new_extents, step->n_new,
			       step->new_extents);
	step->new_fragments = e4l_count_fragments(step->new_extents,
						  step->n_new, NULL);
	return err;
}

struct lists {
	struct e4l_step *step;
	uint64_t ratio;
};

static errcode_t list_shift(const struct e4l_shift *s, void *priv)
{
	struct e4l_step *step = ((struct lists *)priv)->step;
	uint64_t ratio = ((struct lists *)priv)->ratio;
	errcode_t err;

	if (s->from == s->to)
		return 0;
	err = e4l_step_add_run(&step->take, &step->n_take, s->to * ratio,
			       s->n * ratio);
	return err ? err : e4l_step_add_run(&step->give, &step->n_give,
					    s->from * ratio, s->n * ratio);
}

/*
 * Sets @old to the logical clusters that @new lists, with their current
 * physical clusters.  @old is in logical order.
 */
static errcode_t list_old(const struct e4l_geometry *geo,
			  const struct e4l_extent *ex, size_t n,
			  const struct e4l_fragments *new,
			  struct e4l_fragments *old)
{
	struct e4l_walk walk = e4l_walk_extents(ex, n, geo->cluster_blocks);
	const struct e4l_fragment *v = new->v, *end = v + new->n;
	struct e4l_fragment f;
	errcode_t err = 0;

	while (!err && v < end && e4l_next_fragment(&walk, &f)) {
		uint64_t f_end = (uint64_t)f.lc + f.n;

		for (; !err && v < end && v->lc < f_end; v++) {
			uint64_t v_end = (uint64_t)v->lc + v->n;
			uint64_t from = v->lc > f.lc ? v->lc : f.lc;
			uint64_t to = v_end < f_end ? v_end : f_end;

			if (from < to)
				err = e4l_fragments_add(old, from, f.pc +
							(from - f.lc),
							to - from);
			if (v_end > f_end)
				break;
		}
	}
	return err;
}

errcode_t e4l_step_exchange(const struct e4l_geometry *geo,
			    const struct e4l_extent *ex, size_t n,
			    const struct e4l_fragments *new,
			    struct e4l_step *step)
{
	struct lists lists = { .step = step, .ratio = geo->cluster_blocks };
	struct e4l_fragments old = { 0 };
	errcode_t err = list_old(geo, ex, n, new, &old);

	if (!err)
		err = e4l_each_shift(e4l_walk_list(&old), new, list_shift,
				     &lists);
	free(old.v);
	return err;
}
