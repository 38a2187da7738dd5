/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* loads: counts the transactions that the steps of a plan take. */
#include "config.h"
#include "maps_work.h"
#include "e4layout/apply/cost.h"
#include "e4layout/base/array.h"

/*
 * A struct e4l_load in compact form: m->groups has the @n_groups block groups
 * of the load, from index @groups on.
 */
struct e4l_maps_load {
	uint32_t batch, ino, blocks, n_groups;
	uint64_t bytes;
	size_t groups;
};

/*
 * Sorts steps by batch.  Steps of one batch stay in the order in which they
 * were noted.
 */
static int by_batch(const void *va, const void *vb)
{
	const struct e4l_maps_load *a = va, *b = vb;

	if (a->batch != b->batch)
		return a->batch < b->batch ? -1 : 1;
	return a->groups < b->groups ? -1 : a->groups > b->groups;
}

errcode_t e4l_maps_note_load(const struct e4l_step *step, void *priv)
{
	struct e4l_maps *m = priv;
	struct e4l_repack_cost *planned = &m->run->result->planned;
	struct e4l_load load;
	errcode_t err = e4l_step_load(&m->opt.geo, step, 0, &load);
	const struct e4l_maps_load l = {
		.batch = step->batch, .ino = step->ino, .blocks = load.blocks,
		.bytes = load.bytes, .n_groups = load.groups.n,
		.groups = m->n_groups,
	};

	if (!err)
		err = e4l_append(&m->groups, &m->n_groups, &m->max_groups,
				 load.groups.v, load.groups.n,
				 sizeof(*m->groups));
	free(load.groups.v);
	if (!err)
		err = e4l_append(&m->loads, &m->n_loads, &m->max_loads, &l, 1,
				 sizeof(l));
	planned->copied_blocks += step->bytes_to_copy / m->opt.geo.blocksize;
	planned->zeroed_blocks += step->bytes_to_zero / m->opt.geo.blocksize;
	return err;
}

errcode_t e4l_maps_count_transactions(struct e4l_maps *m)
{
	struct e4l_packer packer;
	errcode_t err = e4l_packer_begin(&packer, &m->opt.geo,
					 m->opt.geo.txn_blocks,
					 m->opt.part_blocks);
	size_t i;
	bool full;

	e4l_sort(m->loads, m->n_loads, sizeof(*m->loads), by_batch);
	for (i = 0; i < m->n_loads && !err; i++) {
		const struct e4l_maps_load *l = &m->loads[i];
		const struct e4l_load load = {
			.batch = l->batch, .ino = l->ino, .blocks = l->blocks,
			.bytes = l->bytes, .groups.n = l->n_groups,
			.groups.v = m->groups + l->groups,
		};

		e4l_packer_add(&packer, &load, &full);
	}
	m->run->result->planned.transactions += packer.transactions;
	e4l_packer_free(&packer);
	return err;
}
