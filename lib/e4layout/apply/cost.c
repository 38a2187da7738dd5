/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "cost.h"

/* most bytes that a transaction with several steps may copy and zero */
#define TXN_BYTES	(64u << 20)

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

	e4l_sort(g->v, g->n, sizeof(*g->v), e4l_u32_cmp);
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

errcode_t e4l_step_load(const struct e4l_geometry *geo,
			const struct e4l_step *step, uint32_t more,
			struct e4l_load *load)
{
	*load = (struct e4l_load) {
		.batch = step->batch, .ino = step->ino,
		.blocks = geo->quota_blocks + more +
			  (step->tree_is_new ? 0 : step->n_tree),
		.bytes = step->bytes_to_copy + step->bytes_to_zero,
		.groups.geo = geo,
	};
	return add_runs(&load->groups, step);
}

uint64_t e4l_load_cost(struct e4l_load *load)
{
	return 1 + load->blocks + e4l_groups_cost(&load->groups);
}

errcode_t e4l_step_cost(const struct e4l_geometry *geo,
			const struct e4l_step *step, uint64_t *blocks)
{
	struct e4l_load load;
	errcode_t err = e4l_step_load(geo, step, 0, &load);

	*blocks = e4l_load_cost(&load);
	free(load.groups.v);
	return err;
}

errcode_t e4l_step_fits(const struct e4l_geometry *geo,
			const struct e4l_step *step, bool *fits)
{
	uint64_t blocks = 0;
	errcode_t err = 0;

	if (geo->txn_blocks)
		err = e4l_step_cost(geo, step, &blocks);
	*fits = blocks <= geo->txn_blocks;
	return err;
}

static uint64_t count_groups(const struct e4l_geometry *geo)
{
	return geo->blocks / geo->group_blocks + 1;
}

errcode_t e4l_packer_begin(struct e4l_packer *p,
			   const struct e4l_geometry *geo, uint64_t capacity,
			   uint64_t part_blocks)
{
	uint64_t parts = part_blocks * geo->blocksize * TXN_PARTS;

	*p = (struct e4l_packer) {
		.geo = geo, .capacity = capacity,
		.most_bytes = parts && parts < TXN_BYTES ? parts : TXN_BYTES,
		.group = calloc(count_groups(geo), sizeof(*p->group)),
		.desc = calloc(count_groups(geo), sizeof(*p->desc)),
	};
	return p->group && p->desc ? 0 : ENOMEM;
}

void e4l_packer_free(struct e4l_packer *p)
{
	free(p->group);
	free(p->desc);
}

void e4l_packer_end(struct e4l_packer *p)
{
	p->open = false;
}

/*
 * Returns the number of blocks that a step with @load adds to transaction
 * number @txn.  If @note is true, also records that transaction @txn changes
 * the groups and the inode block of the step.
 */
static uint64_t blocks_in(struct e4l_packer *p, const struct e4l_load *load,
			  uint32_t txn, bool note)
{
	uint32_t per = p->geo->groups_per_desc ? p->geo->groups_per_desc : 1;
	uint32_t inode_block = (load->ino - 1) / p->geo->inodes_per_block;
	uint64_t blocks = load->blocks;
	size_t i;

	blocks += !p->open || p->inode_block != inode_block;
	for (i = 0; i < load->groups.n; i++) {
		uint32_t g = load->groups.v[i];

		blocks += p->group[g] != txn;
		blocks += p->desc[g / per] != txn;
		if (note)
			p->group[g] = p->desc[g / per] = txn;
	}
	if (note)
		p->inode_block = inode_block;
	return blocks;
}

void e4l_packer_add(struct e4l_packer *p, const struct e4l_load *load,
		    bool *full)
{
	*full = p->open &&
		(load->batch != p->batch || p->bytes + load->bytes > p->most_bytes ||
		 p->blocks + blocks_in(p, load, p->transactions, false) >
		 p->capacity);
	if (*full || !p->open) {
		p->open = false;
		p->transactions++;
		p->batch = load->batch;
		p->blocks = p->bytes = 0;
	}
	p->blocks += blocks_in(p, load, p->transactions, true);
	p->bytes += load->bytes;
	p->open = true;
}
