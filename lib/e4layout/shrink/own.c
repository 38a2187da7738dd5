// SPDX-License-Identifier: LGPL-2.1-or-later
/* own: sets of clusters with own blocks (metadata that belongs to no inode). */
#include "config.h"
#include "e4layout/base/array.h"
#include "own.h"

static errcode_t push(struct e4l_own *own, blk64_t blk, blk64_t end)
{
	errcode_t err;

	if (blk >= end)
		return 0;
	err = e4l_grow(&own->v, own->n, sizeof(*own->v));
	if (!err)
		own->v[own->n++] = (struct e4l_own_run) { blk, end - blk };
	return err;
}

/*
 * Adds @run, rounded to clusters, to @own.  Omits blocks outside the
 * filesystem, to which descriptors can refer.
 */
static errcode_t push_clusters(ext2_filsys fs, struct e4l_own *own,
			       const struct e4l_own_run *run)
{
	blk64_t mask = EXT2FS_CLUSTER_MASK(fs), blk = run->blk & ~mask;
	blk64_t last = ext2fs_blocks_count(fs->super), end;

	if (run->blk >= last)
		return 0;
	end = run->len < last - run->blk ? run->blk + run->len : last;
	end = (end + mask) & ~mask;
	return push(own, blk, end < last ? end : last);
}

errcode_t e4l_own_add(ext2_filsys fs, dgrp_t first, dgrp_t end,
		      struct e4l_own *own)
{
	struct e4l_own_run runs[E4L_OWN_RUNS];
	errcode_t err = 0;
	size_t n, i;
	dgrp_t g;

	for (g = first; g < end && !err; g++) {
		n = e4l_own_blocks(fs, g, runs);
		for (i = 0; i < n && !err; i++)
			err = push_clusters(fs, own, &runs[i]);
	}
	return err;
}

void e4l_own_sort(struct e4l_own *own)
{
	size_t i, n = 0;

	if (own->n)
		qsort(own->v, own->n, sizeof(*own->v), e4l_u64_cmp);
	for (i = 0; i < own->n; i++) {
		struct e4l_own_run *last = n ? &own->v[n - 1] : NULL;
		const struct e4l_own_run *r = &own->v[i];

		if (!last || r->blk > last->blk + last->len)
			own->v[n++] = *r;
		else if (r->blk + r->len > last->blk + last->len)
			last->len = r->blk + r->len - last->blk;
	}
	own->n = n;
}

void e4l_own_cut(struct e4l_own *own, blk64_t end)
{
	struct e4l_own_run *last;

	while (own->n && own->v[own->n - 1].blk >= end)
		own->n--;
	if (!own->n)
		return;
	last = &own->v[own->n - 1];
	if (last->blk + last->len > end)
		last->len = end - last->blk;
}

blk64_t e4l_own_count(const struct e4l_own *own)
{
	blk64_t blocks = 0;
	size_t i;

	for (i = 0; i < own->n; i++)
		blocks += own->v[i].len;
	return blocks;
}

errcode_t e4l_own_minus(const struct e4l_own *a, const struct e4l_own *b,
			struct e4l_own *diff)
{
	blk64_t blk, end, stop;
	errcode_t err = 0;
	size_t i, k = 0;

	for (i = 0; i < a->n && !err; i++) {
		blk = a->v[i].blk;
		end = blk + a->v[i].len;
		for (; k < b->n && b->v[k].blk < end && !err; k++) {
			stop = b->v[k].blk + b->v[k].len;
			if (stop <= blk)
				continue;
			err = push(diff, blk, b->v[k].blk);
			blk = stop;
			if (stop >= end)
				break;
		}
		if (!err)
			err = push(diff, blk, end);
	}
	return err;
}

bool e4l_own_meets(const struct e4l_own *own, blk64_t blk, blk64_t len)
{
	size_t low = 0, high = own->n, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (own->v[mid].blk + own->v[mid].len <= blk)
			low = mid + 1;
		else
			high = mid;
	}
	return low < own->n && own->v[low].blk < blk + len;
}

void e4l_own_free(struct e4l_own *own)
{
	free(own->v);
	*own = (struct e4l_own) { NULL, 0 };
}
