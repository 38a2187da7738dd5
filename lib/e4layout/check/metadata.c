/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "e4layout/base/bits.h"
#include "e4layout/format/own_blocks.h"
#include "metadata.h"

static errcode_t add(struct check *ck, blk64_t blk, blk64_t len)
{
	struct extent_list *m = ck->metadata;
	blk64_t end = ext2fs_blocks_count(ck->fs->super);
	errcode_t err;

	if (blk >= end || !len)
		return 0;
	err = e4l_grow(&m->v, m->n, sizeof(*m->v));
	if (!err)
		m->v[m->n++] = (struct blk_run) {
			blk, len < end - blk ? len : end - blk };
	return err;
}

errcode_t e4l_claim_anyway(struct check *ck, blk64_t blk, blk64_t len)
{
	uint64_t first = EXT2FS_B2C(ck->fs, blk), taken = 0, hit;
	uint64_t last = EXT2FS_B2C(ck->fs, blk + len - 1);

	return e4l_owners_claim(ck->owners, first, last - first + 1, &taken,
				&hit);
}

/*
 * Sorts the runs of metadata blocks, claims their clusters, and merges
 * overlapping and adjacent runs.  Sets *@overlap to whether two runs share a
 * block.
 */
static errcode_t settle(struct check *ck, bool *overlap)
{
	struct extent_list *m = ck->metadata;
	size_t i, n = 0;
	errcode_t err = 0;

	*overlap = false;
	e4l_sort(m->v, m->n, sizeof(*m->v), e4l_u64_cmp);
	for (i = 0; i < m->n && !err; i++) {
		struct blk_run *last = n ? &m->v[n - 1] : NULL;

		err = e4l_claim_anyway(ck, m->v[i].blk, m->v[i].len);
		if (!last || m->v[i].blk > last->blk + last->len) {
			m->v[n++] = m->v[i];
			continue;
		}
		*overlap |= m->v[i].blk < last->blk + last->len;
		if (m->v[i].blk + m->v[i].len > last->blk + last->len)
			last->len = m->v[i].blk + m->v[i].len - last->blk;
	}
	m->n = n;
	return err;
}

errcode_t e4l_metadata_claim(struct check *ck)
{
	struct e4l_own_run runs[E4L_OWN_RUNS];
	ext2_filsys fs = ck->fs;
	errcode_t err = 0;
	bool overlap;
	size_t n, i;
	dgrp_t g;

	ck->metadata = calloc(1, sizeof(*ck->metadata));
	if (!ck->metadata)
		return ENOMEM;
	for (g = 0; g < fs->group_desc_count && !err; g++) {
		n = e4l_own_blocks(fs, g, runs);
		for (i = 0; i < n && !err; i++)
			err = add(ck, runs[i].blk, runs[i].len);
	}
	if (!err)
		err = settle(ck, &overlap);
	if (!err && overlap)
		FOUND(ck, METADATA_OVERLAP);
	return err;
}

void e4l_metadata_free(struct check *ck)
{
	if (ck->metadata)
		free(ck->metadata->v);
	free(ck->metadata);
}

/*
 * Compares a run with a block, for e4l_lower_bound().  If the run ends at or
 * before the block, returns a negative number.
 */
static int end_cmp(const void *run, const void *blk)
{
	const struct blk_run *r = run;

	return r->blk + r->len <= *(const blk64_t *)blk ? -1 : 0;
}

/* Returns the index of the first run that ends after @blk. */
static size_t find_run(const struct extent_list *m, blk64_t blk)
{
	return e4l_lower_bound(&blk, m->v, m->n, sizeof(*m->v), end_cmp);
}

bool e4l_metadata_meets(const struct check *ck, blk64_t blk, blk64_t len)
{
	const struct extent_list *m = ck->metadata;
	size_t i = find_run(m, blk);

	return i < m->n && m->v[i].blk < blk + len;
}

void e4l_metadata_bits(const struct check *ck, uint64_t first, uint32_t n,
		       uint8_t *bits)
{
	const struct extent_list *m = ck->metadata;
	ext2_filsys fs = ck->fs;
	blk64_t end = EXT2FS_C2B(fs, first + n);
	size_t i = find_run(m, EXT2FS_C2B(fs, first));

	for (; i < m->n && m->v[i].blk < end; i++) {
		uint64_t from = EXT2FS_B2C(fs, m->v[i].blk);
		uint64_t to = EXT2FS_B2C(fs, m->v[i].blk + m->v[i].len - 1);

		from = from < first ? first : from;
		to = to < first + n ? to : first + n - 1;
		e4l_bits_set(bits, from - first, to - first);
	}
}
