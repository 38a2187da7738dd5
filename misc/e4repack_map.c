/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --map: makes the block map before and after the run. */
#include "config.h"
#include "e4repack.h"

static errcode_t on_piece(const struct e4l_piece *piece,
			  const struct e4l_file_score *score, void *priv)
{
	block_map_piece(priv, piece, score);
	return 0;
}

static errcode_t on_free_run(const struct e4l_block_run *run, void *priv)
{
	block_map_free_run(priv, run);
	return 0;
}

static void on_progress(dgrp_t group, dgrp_t groups, void *priv)
{
	repacking_progress(&((struct e4repack *)priv)->repacking, false, group,
			   groups);
}

errcode_t e4repack_map(struct e4repack *r, bool progress,
		       struct block_map **ret)
{
	struct e4l_model_options opt = {
		.piece = on_piece, .free_run = on_free_run,
		.progress = progress ? on_progress : NULL, .priv = r,
	};
	struct e4l_model model;
	errcode_t err;

	if (!r->map || r->args.quiet)
		return 0;
	err = block_map_new(r->target.fs, BLOCK_MAP_CELLS, ret);
	if (err)
		return err;
	opt.sees = *ret;
	if (progress)
		progress_start(&r->progress, &r->args, "scanning");
	err = e4l_model_build(r->e, &opt, &model);
	if (progress)
		progress_end(&r->progress);
	e4l_model_free(&model);
	if (!err)
		block_map_finish(*ret);
	return err;
}
