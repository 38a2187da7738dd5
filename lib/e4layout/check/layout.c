/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "layout.h"
#include "e4layout/read/dirs.h"

/*
 * The smallest number of splits to report.  A split is a change between written
 * and unwritten extents.  A few splits are normal: a file with a preallocated
 * tail has one.  Only zeroing removes splits.
 */
#define MOSAIC_SPLITS	4

void e4l_layout_judge_file(struct check *ck, const struct e4l_piece *last,
			   struct e4l_scorer *scorer)
{
	const struct e4l_file_score *s = &scorer->score;
	ext2_ino_t ino = last->ino;

	if (last->map != E4L_MAP_EXTENTS ||
	    (ck->kind[ino] & KIND_NO_NAME && ino != EXT2_ROOT_INO))
		return;
	e4l_score_finish(scorer, last, ck->fs);
	if (s->tree_blocks > s->ideal_tree_blocks)
		FOUND(ck, TREE_NOT_MINIMAL, .ino = ino, .got = s->tree_blocks,
		      .want = s->ideal_tree_blocks);
	if (s->mergeable)
		FOUND(ck, EXTENTS_MERGEABLE, .ino = ino, .got = s->mergeable);
	if (s->splits >= MOSAIC_SPLITS)
		FOUND(ck, MOSAIC, .ino = ino, .got = s->splits);
	if (s->fragments > s->logical_runs)
		FOUND(ck, FRAGMENTED, .ino = ino, .got = s->fragments,
		      .want = s->logical_runs);
}

static errcode_t on_locality(const struct e4l_dir_locality *l, void *priv)
{
	struct check *ck = priv;

	if (l->spare_blocks)
		FOUND(ck, DIR_SPARSE, .ino = l->dir, .got = l->blocks,
		      .want = l->blocks - l->spare_blocks);
	else if (l->wants_index)
		FOUND(ck, DIR_LINEAR, .ino = l->dir, .got = l->blocks);
	if (l->spread)
		FOUND(ck, DIR_SPREAD, .ino = l->dir, .got = l->itable_blocks,
		      .want = l->itable_blocks_ideal);
	return 0;
}

errcode_t e4l_layout_tally(struct check *ck, struct e4l_tally *t)
{
	static const struct e4l_dirs_ops ops = { .locality = on_locality };

	return e4l_tally_init(t, ck->e, &ops, ck);
}

void e4l_layout_judge_tunables(struct check *ck)
{
	struct e4l_tunables *t;
	size_t i;

	if (e4l_check_noted(ck, e4l_tunables_read(ck->e, &t))) {
		FOUND(ck, TUNABLES, .ino = EXT2_ROOT_INO);
		return;
	}
	for (i = 0; i < e4l_tunables_count(t); i++) {
		const struct e4l_tunable *one = e4l_tunables_at(t, i);

		if (one->info && !one->valid)
			FOUND(ck, TUNABLES, .ino = EXT2_ROOT_INO);
	}
	e4l_tunables_free(t);
}
