/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "cost.h"

errcode_t e4l_groups_add(struct e4l_groups *g, blk64_t blk, blk64_t len)
{
	blk64_t last = (blk + len - 1 - g->geo->first_blk) /
		       g->geo->group_blocks;
	blk64_t group = (blk - g->geo->first_blk) / g->geo->group_blocks;
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

uint64_t e4l_groups_cost(struct e4l_groups *g)
{
	uint32_t per = g->geo->groups_per_desc ? g->geo->groups_per_desc : 1;
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

static errcode_t add_runs(struct e4l_groups *g, const struct e4l_step *step)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < step->n_take && !err; i++)
		err = e4l_groups_add(g, step->take[i].pblk, step->take[i].len);
	for (i = 0; i < step->n_give && !err; i++)
		err = e4l_groups_add(g, step->give[i].pblk, step->give[i].len);
	return err;
}

errcode_t e4l_step_cost(const struct e4l_geometry *geo,
			const struct e4l_step *step, size_t less,
			uint64_t *blocks)
{
	struct e4l_groups g = { .geo = geo };
	size_t kept = step->n_tree - less, i;
	errcode_t err;

	err = add_runs(&g, step);
	for (i = kept; i < step->n_tree && !err; i++)
		err = e4l_groups_add(&g, step->tree[i], 1);
	*blocks = e4l_inode_cost(geo) + (step->tree_is_new ? 0 : kept) +
		  e4l_groups_cost(&g);
	free(g.v);
	return err;
}

errcode_t e4l_step_fits(const struct e4l_geometry *geo,
			const struct e4l_step *step, size_t less, bool *fits)
{
	uint64_t blocks = 0;
	errcode_t err = 0;

	if (geo->txn_blocks)
		err = e4l_step_cost(geo, step, less, &blocks);
	*fits = blocks <= geo->txn_blocks;
	return err;
}
