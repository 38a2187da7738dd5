/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <string.h>
#include "e4frag_look.h"

errcode_t look_begin(struct look *l, ext2_filsys fs, bool map)
{
	*l = (struct look) { .fs = fs };
	return map ? block_map_new(fs, BLOCK_MAP_CELLS, &l->map) : 0;
}

static void add(struct look_histogram *h, uint64_t value)
{
	unsigned int i = value ? 64 - __builtin_clzll(value) : 0;

	h->count[i < LOOK_BUCKETS ? i : LOOK_BUCKETS - 1]++;
}

void look_piece(struct look *l, const struct e4l_piece *piece,
		const struct e4l_file_score *score)
{
	if (l->map)
		block_map_piece(l->map, piece, score);
	if (score && e4l_is_file(l->fs, piece->ino))
		add(&l->extents, score->extents);
}

void look_free_run(struct look *l, const struct e4l_block_run *run)
{
	if (l->map)
		block_map_free_run(l->map, run);
}

static uint32_t beyond(const struct e4l_dir_locality *dir)
{
	return dir->itable_blocks - dir->itable_blocks_ideal;
}

static bool worse(const struct e4l_dir_locality *x,
		  const struct e4l_dir_locality *y)
{
	return beyond(x) != beyond(y) ? beyond(x) > beyond(y) :
					x->dir < y->dir;
}

void look_locality(struct look *l, const struct e4l_dir_locality *dir)
{
	size_t i = l->n_dirs;

	add(&l->locality, beyond(dir));
	while (i && worse(dir, &l->dirs[i - 1]))
		i--;
	if (i == LOOK_DIRS || !beyond(dir))
		return;
	if (l->n_dirs < LOOK_DIRS)
		l->n_dirs++;
	memmove(&l->dirs[i + 1], &l->dirs[i],
		(l->n_dirs - i - 1) * sizeof(*l->dirs));
	l->dirs[i] = *dir;
}

void look_end(struct look *l)
{
	if (l->map)
		block_map_finish(l->map);
}

void look_free(struct look *l)
{
	block_map_free(l->map);
}
