/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <e4layout/plan.h>
#include "e4layout/base/array.h"
#include "movable.h"

static errcode_t add(struct e4l_movables *m, struct e4l_movable v)
{
	errcode_t err;

	if (m->n >= m->most)
		return 0;
	err = e4l_grow(&m->v, m->n, sizeof(*m->v));
	if (!err)
		m->v[m->n++] = v;
	return err;
}

static bool is_countable(const struct e4l_fragment *v, uint32_t ratio)
{
	return v->n <= UINT32_MAX / ratio;
}

errcode_t e4l_movables_add(struct e4l_movables *m, ext2_ino_t ino,
			   const struct e4l_extent *ex, size_t n,
			   uint32_t cluster_blocks, bool *added)
{
	struct e4l_fragments list;
	struct e4l_movable v = { .whose = ino };
	errcode_t err;

	err = e4l_fragments_of(ex, n, cluster_blocks, &list);
	*added = !err && list.n == 1;
	if (*added && is_countable(list.v, cluster_blocks)) {
		v.plain = n == 1 && !ex->lblk && !ex->unwritten;
		v.pblk = list.v->pc * cluster_blocks;
		v.blocks = v.plain ? ex->len : list.v->n * cluster_blocks;
		err = add(m, v);
	}
	free(list.v);
	return err;
}

static errcode_t add_file(struct e4l_movables *m, struct e4l_draft *d,
			  uint32_t file)
{
	uint32_t ratio = d->disk.geo->cluster_blocks;
	struct e4l_fragments list = { 0 };
	struct e4l_extent *ex;
	size_t n, i;
	errcode_t err = e4l_draft_extents(d, &d->files[file], &ex, &n);

	if (err)
		return err;
	err = e4l_fragments_of(ex, n, ratio, &list);
	if (err == E4L_ET_BAD_ARGUMENT) {
		d->files[file].rules.allowed &= ~E4L_PLAN_ROOM;
		err = 0;
	}
	for (i = 0; i < list.n && !err; i++)
		if (is_countable(&list.v[i], ratio))
			err = add(m, (struct e4l_movable) {
				.pblk = list.v[i].pc * ratio, .drafted = 1,
				.blocks = list.v[i].n * ratio, .whose = file,
			});
	free(list.v);
	free(ex);
	return err;
}

static int by_place(const void *va, const void *vb)
{
	const struct e4l_movable *a = va, *b = vb;

	return a->pblk < b->pblk ? -1 : a->pblk > b->pblk;
}

errcode_t e4l_movables_renew(struct e4l_movables *m, struct e4l_draft *d)
{
	errcode_t err = 0;
	size_t i, n = 0;

	for (i = 0; i < m->n; i++)
		if (m->v[i].blocks && !m->v[i].drafted)
			m->v[n++] = m->v[i];
	m->n = n;
	for (i = 0; i < d->n_files && !err; i++)
		if (d->files[i].rules.allowed & E4L_PLAN_ROOM)
			err = add_file(m, d, i);
	if (m->n)
		qsort(m->v, m->n, sizeof(*m->v), by_place);
	m->n_steps = d->n_steps;
	return err;
}

size_t e4l_movables_from(const struct e4l_movables *m, blk64_t pblk)
{
	const struct e4l_movable key = { .pblk = pblk };

	return e4l_lower_bound(&key, m->v, m->n, sizeof(*m->v), by_place);
}
