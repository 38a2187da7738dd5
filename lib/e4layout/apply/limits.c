/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "cost.h"
#include "e4layout/format/tree_size.h"
#include "e4layout/read/fragments.h"
#include "e4layout/read/runs.h"
#include "limits.h"

/*
 * Number of metadata blocks, without tree blocks, that the smallest possible
 * step may change.
 */
#define LEAST_TXN	24

/*
 * Returns whether all changes of the file can be divided into steps that each
 * fit into a transaction.
 */
static bool fits_txn(const struct e4l_geometry *geo,
		     const struct e4l_plan_file *file)
{
	uint64_t need = e4l_ideal_tree_blocks(
				e4l_pack(file->extents, file->n_extents, NULL),
				geo->blocksize);
	/*
	 * a step that frees a tree block changes a bitmap and a descriptor
	 * block
	 */
	uint64_t spare = 2 * (file->n_tree - need);
	uint64_t groups = geo->blocks / geo->group_blocks + 1;

	if (spare > 2 * groups)
		spare = 2 * groups;
	return !geo->txn_blocks || file->n_tree + spare + LEAST_TXN +
				   geo->quota_blocks <= geo->txn_blocks;
}

/*
 * Returns the maximum number of extents that the file has after a move of all
 * blocks into one fragment.
 */
static size_t count_states(const struct e4l_plan_file *file)
{
	uint64_t blocks = 0;
	size_t n = 1, i;

	for (i = 0; i < file->n_extents; i++) {
		blocks += file->extents[i].len;
		n += i && file->extents[i].unwritten !=
			  file->extents[i - 1].unwritten;
	}
	return n + blocks / (E4L_UNWRITTEN_MAX_BLOCKS / 2);
}

/*
 * Sets *@fits to whether all blocks of the file may be moved into one fragment
 * by one transaction.  The move writes a small tree, but changes the bitmaps of
 * all groups with old or new blocks.
 */
static errcode_t fits_at_once(const struct e4l_geometry *geo,
			      const struct e4l_plan_file *file, bool *fits)
{
	struct e4l_groups g = { .geo = geo };
	const struct e4l_extent *ex = file->extents;
	uint64_t blocks = 0, cost;
	errcode_t err = 0;
	size_t i;

	/* only a file without holes can become one fragment */
	*fits = file->allowed & E4L_PLAN_MOVE;
	for (i = 0; i < file->n_extents && !err; i++) {
		*fits &= ex[i].lblk == ex[0].lblk + blocks;
		blocks += ex[i].len;
		err = e4l_groups_add(&g, ex[i].pblk, ex[i].len);
	}
	for (i = 0; i < file->n_tree && !err; i++)
		err = e4l_groups_add(&g, file->tree[i].pblk, 1);
	cost = LEAST_TXN + geo->quota_blocks + e4l_groups_cost(&g) +
	       2 * (blocks / geo->group_blocks + 2) +
	       e4l_ideal_tree_blocks(count_states(file), geo->blocksize);
	*fits &= cost <= geo->txn_blocks;
	free(g.v);
	return err;
}

errcode_t e4l_limit_to_txn(const struct e4l_geometry *geo,
			   struct e4l_plan_file *file)
{
	bool fits;
	errcode_t err;

	if (fits_txn(geo, file))
		return 0;
	err = fits_at_once(geo, file, &fits);
	file->allowed = fits ? E4L_PLAN_MOVE | E4L_PLAN_AT_ONCE : 0;
	return err;
}
