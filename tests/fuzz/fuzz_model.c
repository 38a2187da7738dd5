/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzz target: builds the whole model of a mutated image with all paths, and
 * the model of one subtree.
 */
#include <stdlib.h>
#include <string.h>
#include <e4layout/e4layout.h>
#include "mem_io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
	if (!ok)
		abort();
}

static errcode_t file(const struct e4l_file *f, void *priv)
{
	const struct e4l_file_score *s = &f->score;

	require(s->ideal_extents <= s->extents);
	require(s->logical_runs <= s->fragments);
	require(s->fragments <= s->extents);
	require(s->splits + s->mergeable + s->fragments <= s->extents);
	require(!f->path || *f->path == '/');
	return 0;
}

static void check_model(ext2_filsys fs, const struct e4l_model *m)
{
	size_t i;

	require(m->free_space.blocks <= ext2fs_blocks_count(fs->super));
	require(m->directories.itable_blocks >=
		m->directories.itable_blocks_ideal);
	require(m->n_damaged <= m->damaged_count);
	for (i = 0; i + 1 < m->n_worst; i++)
		require(m->worst[i].score.fragments >=
			m->worst[i + 1].score.fragments);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct e4l_model_options options = {
		.flags = E4L_MODEL_GROUPS | E4L_MODEL_FILE_PATHS, .top = 3,
		.sort = E4L_SORT_FRAGMENTS, .max_damaged = 5, .file = file,
	};
	const char *paths[] = { "/d", "/big" };
	struct e4l_model model;
	ext2_filsys fs;
	struct e4l *e;

	e = mem_io_open(data, size, &fs);
	if (!e)
		return 0;
	e4l_set_threads(e, 1);
	if (!e4l_model_build(e, &options, &model))
		check_model(fs, &model);
	e4l_model_free(&model);
	options.flags = 0;
	if (!e4l_subtree(e, paths, 2, NULL, &options.only) &&
	    !e4l_model_build(e, &options, &model)) {
		check_model(fs, &model);
		e4l_model_free(&model);
	}
	ext2fs_free_inode_bitmap(options.only);
	mem_io_close(e, fs);
	return 0;
}
