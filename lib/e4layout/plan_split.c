/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Moves for which one transaction is too small.  What costs most is a bitmap for
 * each group that blocks leave or come to, so that the parts are chosen by
 * group: the file is left half moved after each but the last, and whole.
 */
#include "config.h"
#include <errno.h>
#include <string.h>
#include "planP.h"
#include "quota.h"

/* An inode, and what quota counts for user, group and project. */
#define FIXED_BLOCKS (1 + QUOTA_TXN_BLOCKS)

/* ---------------------------------------------------------------------- cost */

struct groups {
	const struct e4l_plan_options *opt;
	uint32_t *v;
	size_t n;
};

static errcode_t add_groups(struct groups *g, blk64_t blk, blk64_t len)
{
	blk64_t last = (blk + len - 1 - g->opt->first_blk) /
		       g->opt->group_blocks;
	blk64_t group = (blk - g->opt->first_blk) / g->opt->group_blocks;
	errcode_t err = 0;

	for (; group <= last && !err; group++) {
		if (g->n && g->v[g->n - 1] == group)
			continue;
		err = e4l_grow(&g->v, g->n, sizeof(*g->v));
		if (!err)
			g->v[g->n++] = group;
	}
	return err;
}

/* A bitmap for each, and the blocks that their descriptors are in. */
static uint64_t count_blocks(struct groups *g)
{
	uint32_t per = g->opt->groups_per_desc ? g->opt->groups_per_desc : 1;
	uint64_t blocks = 0;
	size_t i;

	if (g->n)
		qsort(g->v, g->n, sizeof(*g->v), e4l_u32_cmp);
	for (i = 0; i < g->n; i++) {
		blocks += !i || g->v[i] != g->v[i - 1];
		blocks += !i || g->v[i] / per != g->v[i - 1] / per;
	}
	return blocks;
}

static errcode_t add_runs(struct groups *g, const struct e4l_free_run *runs,
			  size_t n)
{
	errcode_t err = 0;

	for (; n && !err; n--, runs++)
		err = add_groups(g, runs->pblk, runs->len);
	return err;
}

errcode_t e4l_step_cost(const struct e4l_plan_options *opt,
			const struct e4l_file_plan *step, size_t less,
			uint64_t *blocks)
{
	struct groups g = { .opt = opt };
	size_t kept = step->n_tree - less, i;
	errcode_t err;

	err = add_runs(&g, step->take, step->n_take);
	if (!err)
		err = add_runs(&g, step->give, step->n_give);
	for (i = kept; i < step->n_tree && !err; i++)
		err = add_groups(&g, step->tree[i], 1);
	*blocks = FIXED_BLOCKS + (step->tree_is_new ? 0 : kept) +
		  count_blocks(&g);
	free(g.v);
	return err;
}

errcode_t e4l_step_fits(const struct e4l_plan *p,
			const struct e4l_file_plan *step, size_t less,
			bool *fits)
{
	uint64_t blocks = 0;
	errcode_t err = 0;

	if (p->opt.txn_blocks)
		err = e4l_step_cost(&p->opt, step, less, &blocks);
	*fits = blocks <= p->opt.txn_blocks;
	return err;
}

/* --------------------------------------------------------------------- split */

/* A part of the file, in one group before and in one after. */
struct unit {
	struct e4l_change ch;
	bool moved;			/* already */
};

struct split {
	struct e4l_plan *p;
	struct unit *units;		/* in logical order */
	size_t n_units;
	struct unit **order;		/* those that move, as they will */
	size_t n_order;
	struct e4l_pieces now;		/* after the parts so far */
	const struct e4l_extent *ex;
	size_t n_ex;
	const blk64_t *tree;
	size_t n_tree;
	struct e4l_file_plan *parts;
	size_t n_parts;
};

/* Clusters from @at to the end of the group of its first block. */
static uint64_t to_group_end(const struct e4l_plan *p, uint64_t at)
{
	uint64_t ratio = p->opt.cluster_blocks, group = p->opt.group_blocks;
	uint64_t in_group = (at * ratio - p->opt.first_blk) % group;

	return (group - in_group + ratio - 1) / ratio;
}

static errcode_t add_units(const struct e4l_change *change, void *priv)
{
	struct split *s = priv;
	struct e4l_change ch = *change;
	uint64_t left = ch.n, end;
	errcode_t err = 0;

	for (; left && !err; left -= ch.n) {
		ch.n = left;
		if (ch.from != ch.to) {
			end = to_group_end(s->p, ch.from);
			ch.n = end < ch.n ? end : ch.n;
			end = to_group_end(s->p, ch.to);
			ch.n = end < ch.n ? end : ch.n;
		}
		err = e4l_grow(&s->units, s->n_units, sizeof(*s->units));
		if (err)
			break;
		s->units[s->n_units++] = (struct unit) { .ch = ch };
		ch.lc += ch.n;
		ch.from += ch.n;
		ch.to += ch.n;
	}
	return err;
}

struct order_key {
	uint64_t window;		/* of groups, where it goes */
	struct unit *unit;
};

static int order_cmp(const void *va, const void *vb)
{
	const struct order_key *a = va, *b = vb;

	if (a->window != b->window)
		return a->window < b->window ? -1 : 1;
	return a->unit->ch.from < b->unit->ch.from ? -1 :
	       a->unit->ch.from > b->unit->ch.from;
}

/*
 * A quarter of a transaction is for the groups that blocks come to; within such
 * a window they leave group by group.
 */
static errcode_t sort_units(struct split *s)
{
	const struct e4l_plan_options *opt = &s->p->opt;
	uint64_t window = (opt->txn_blocks / 4 + 1) *
			  (opt->group_blocks / opt->cluster_blocks);
	struct order_key *keys = calloc(s->n_units + 1, sizeof(*keys));
	size_t i;

	s->order = calloc(s->n_units + 1, sizeof(*s->order));
	if (!keys || !s->order) {
		free(keys);
		return ENOMEM;
	}
	for (i = 0; i < s->n_units; i++)
		if (s->units[i].ch.from != s->units[i].ch.to)
			keys[s->n_order++] = (struct order_key) {
				s->units[i].ch.to / window, &s->units[i],
			};
	qsort(keys, s->n_order, sizeof(*keys), order_cmp);
	for (i = 0; i < s->n_order; i++)
		s->order[i] = keys[i].unit;
	free(keys);
	return 0;
}

/* How many units from @first on change bitmaps of at most @room blocks. */
static errcode_t count_units(const struct split *s, size_t first,
			     uint64_t room, size_t *n)
{
	uint64_t ratio = s->p->opt.cluster_blocks;
	size_t low = 0, high = s->n_order - first, mid, i;
	errcode_t err = 0;

	while (low < high && !err) {
		struct groups g = { .opt = &s->p->opt };

		mid = low + (high - low + 1) / 2;
		for (i = first; i < first + mid && !err; i++) {
			err = add_groups(&g, s->order[i]->ch.from * ratio, 1);
			if (!err)
				err = add_groups(&g, s->order[i]->ch.to * ratio,
						 1);
		}
		if (count_blocks(&g) <= room)
			low = mid;
		else
			high = mid - 1;
		free(g.v);
	}
	*n = low;
	return err;
}

/* Where the file's pieces are, with the units that are marked moved. */
static errcode_t list_pieces(const struct split *s, struct e4l_pieces *ret)
{
	errcode_t err = 0;
	size_t i;

	*ret = (struct e4l_pieces) { 0 };
	for (i = 0; i < s->n_units && !err; i++) {
		const struct unit *u = &s->units[i];

		err = e4l_push_piece(ret, u->ch.lc,
				     u->moved ? u->ch.to : u->ch.from, u->ch.n);
	}
	return err;
}

/* Makes a part of @n units from @first on, if that fits. */
static errcode_t try_part(struct split *s, size_t first, size_t n, bool *fits)
{
	struct e4l_file_plan step = { 0 };
	struct e4l_pieces then;
	errcode_t err;
	bool placed;
	size_t i;

	*fits = false;
	for (i = first; i < first + n; i++)
		s->order[i]->moved = true;
	err = list_pieces(s, &then);
	if (!err)
		err = e4l_make_move(s->p, s->ex, s->n_ex, &s->now, &then,
				    &step);
	if (!err)
		err = e4l_place_tree(s->p, s->tree, s->n_tree, &step, &placed);
	if (!err && placed)
		err = e4l_step_fits(s->p, &step, 0, fits);
	if (!err && *fits)
		err = e4l_grow(&s->parts, s->n_parts, sizeof(*s->parts));
	if (err || !*fits) {
		free(then.v);
		for (i = first; i < first + n; i++)
			s->order[i]->moved = false;
		if (err)
			e4l_free_step(&step);
		return err ? err : e4l_drop_step(s->p, &step);
	}
	s->parts[s->n_parts++] = step;
	s->ex = step.new_extents;
	s->n_ex = step.n_new;
	s->tree = step.tree;
	s->n_tree = step.n_tree;
	free(s->now.v);
	s->now = then;
	return 0;
}

/* Makes one part more, as large as possible; *@n is 0 if there is none. */
static errcode_t next_part(struct split *s, size_t first, size_t *n)
{
	uint64_t limit = s->p->opt.txn_blocks;
	uint64_t fixed = FIXED_BLOCKS +
			 (s->n_tree > limit / 2 ? 0 : s->n_tree);
	errcode_t err;
	bool fits;

	*n = 0;
	if (fixed >= limit)
		return 0;
	err = count_units(s, first, limit - fixed, n);
	for (; !err && *n; *n = *n * 3 / 4) {
		err = try_part(s, first, *n, &fits);
		if (fits)
			break;
	}
	return err;
}

static errcode_t drop_parts(struct split *s)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < s->n_parts && !err; i++)
		err = e4l_drop_step(s->p, &s->parts[i]);
	for (; i < s->n_parts; i++)
		e4l_free_step(&s->parts[i]);
	s->n_parts = 0;
	return err;
}

errcode_t e4l_split_move(struct e4l_plan *p, const struct e4l_moving *m,
			 uint64_t saved, bool *done)
{
	struct split s = {
		.p = p, .ex = m->ex, .n_ex = m->n_ex, .tree = m->c->tree,
		.n_tree = m->c->n_tree,
	};
	size_t first = 0, n = 1;
	errcode_t err;

	err = e4l_each_change(&m->old, &m->new, add_units, &s);
	if (!err)
		err = list_pieces(&s, &s.now);
	if (!err)
		err = sort_units(&s);
	for (; !err && n && first < s.n_order; first += n)
		err = next_part(&s, first, &n);
	*done = !err && n;
	if (*done) {
		s.parts[s.n_parts - 1].fragments_saved = saved;
		err = e4l_add_steps(p, m->c, s.parts, s.n_parts);
	} else if (err) {
		drop_parts(&s);
	} else {
		err = drop_parts(&s);
	}
	free(s.parts);
	free(s.units);
	free(s.order);
	free(s.now.v);
	return err;
}
