/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "block_map.h"

const char *const block_state_names[BLOCK_STATES] = {
	[BLOCK_OTHER] = "other",
	[BLOCK_CONTIGUOUS] = "contiguous",
	[BLOCK_FRAGMENTED] = "fragmented",
	[BLOCK_SPLIT] = "split",
	[BLOCK_UNWRITTEN] = "unwritten",
	[BLOCK_FREE] = "free",
};

struct block_map_state {
	ext2_filsys fs;
	/*
	 * @written has the number of written blocks of the current file in each
	 * cell.  @touched lists the cells with such blocks.  The state of the
	 * blocks is known only when the last piece of the file arrives.
	 */
	uint64_t *written;
	size_t *touched, n_touched;
	/*
	 * @end is the block after the last extent of the current file, or 0
	 * before the first extent.  @unwritten is true if the last extent is
	 * unwritten.
	 */
	blk64_t end;
	bool unwritten;
};

/* -------------------------------------------------------------------- cells */

/* Returns the cell that contains block @blk. */
static size_t cell_of(const struct block_map *map, blk64_t blk)
{
	ext2_filsys fs = map->s->fs;
	dgrp_t group = ext2fs_group_of_blk2(fs, blk);

	if (map->groups_per_cell > 1)
		return group / map->groups_per_cell;
	blk -= ext2fs_group_first_block2(fs, group);
	return (size_t)group * map->cells_per_group +
	       blk * map->cells_per_group / fs->super->s_blocks_per_group;
}

blk64_t block_map_first(const struct block_map *map, size_t i)
{
	ext2_filsys fs = map->s->fs;
	uint64_t k = map->cells_per_group;
	blk64_t first = fs->super->s_first_data_block +
			(uint64_t)(i / k) * map->groups_per_cell *
			fs->super->s_blocks_per_group +
			(i % k * fs->super->s_blocks_per_group + k - 1) / k;

	return i < map->n_cells ? first : ext2fs_blocks_count(fs->super);
}

/*
 * Determines the size of the cells.  If a group has several cells, their number
 * is a power of two, so that all cells have the same size.
 */
static void divide(struct block_map *map, size_t max_cells)
{
	ext2_filsys fs = map->s->fs;
	uint32_t n = 1;

	map->groups = fs->group_desc_count;
	map->groups_per_cell = map->groups > max_cells ?
			       (map->groups - 1) / max_cells + 1 : 1;
	while (2ULL * n * map->groups <= max_cells &&
	       2ULL * n <= fs->super->s_blocks_per_group)
		n *= 2;
	map->cells_per_group = n;
	map->n_cells = cell_of(map, ext2fs_blocks_count(fs->super) - 1) + 1;
}

/*
 * Splits @len blocks from @blk at the cell boundaries, and calls @add for each
 * part.
 */
static void spread(struct block_map *map, blk64_t blk, blk64_t len,
		   void (*add)(struct block_map *map, size_t cell, blk64_t n,
			       enum block_state state),
		   enum block_state state)
{
	ext2_filsys fs = map->s->fs;
	blk64_t end = blk + len, next;
	size_t i;

	if (blk < fs->super->s_first_data_block)
		blk = fs->super->s_first_data_block;
	if (end > ext2fs_blocks_count(fs->super))
		end = ext2fs_blocks_count(fs->super);
	if (blk >= end)
		return;
	for (i = cell_of(map, blk); blk < end; blk = next, i++) {
		next = block_map_first(map, i + 1);
		if (next > end)
			next = end;
		add(map, i, next - blk, state);
	}
}

static void add_now(struct block_map *map, size_t cell, blk64_t n,
		    enum block_state state)
{
	map->cells[cell].blocks[state] += n;
}

static void add_written(struct block_map *map, size_t cell, blk64_t n,
			enum block_state state)
{
	struct block_map_state *s = map->s;

	if (!s->written[cell])
		s->touched[s->n_touched++] = cell;
	s->written[cell] += n;
}

/* -------------------------------------------------------------------- files */

static void add_content(struct block_map *map, blk64_t blk, blk64_t end,
			bool unwritten)
{
	if (end > blk)
		spread(map, blk, end - blk, unwritten ? add_now : add_written,
		       BLOCK_UNWRITTEN);
}

/*
 * Counts the unused blocks at the end of the last extent's cluster.  These
 * blocks get the state of the last extent's blocks.
 */
static void end_cluster(struct block_map *map)
{
	struct block_map_state *s = map->s;
	blk64_t mask = EXT2FS_CLUSTER_MASK(s->fs);

	if (s->end & mask)
		add_content(map, s->end, (s->end | mask) + 1, s->unwritten);
	s->end = 0;
}

static void add_extent(struct block_map *map, const struct e4l_extent *x)
{
	struct block_map_state *s = map->s;
	blk64_t mask = EXT2FS_CLUSTER_MASK(s->fs);
	blk64_t blk = x->pblk & ~mask;

	if (s->end > blk && s->end <= x->pblk)
		/* @x begins in the cluster in which the last extent ends */
		blk = s->end;
	else if (s->end != x->pblk)
		end_cluster(map);
	add_content(map, blk, x->pblk + x->len, x->unwritten);
	s->end = x->pblk + x->len;
	s->unwritten = x->unwritten;
}

static enum block_state state_of(const struct e4l_file_score *score)
{
	if (score->fragments > score->logical_runs)
		return BLOCK_FRAGMENTED;
	return score->splits ? BLOCK_SPLIT : BLOCK_CONTIGUOUS;
}

void block_map_piece(struct block_map *map, const struct e4l_piece *piece,
		     const struct e4l_file_score *score)
{
	struct block_map_state *s = map->s;
	size_t i;

	if (!e4l_is_file(s->fs, piece->ino))
		return;
	for (i = 0; i < piece->n_extents; i++)
		add_extent(map, &piece->extents[i]);
	if (!piece->last)
		return;
	end_cluster(map);
	for (i = 0; i < s->n_touched; i++) {
		add_now(map, s->touched[i], s->written[s->touched[i]],
			state_of(score));
		s->written[s->touched[i]] = 0;
	}
	s->n_touched = 0;
}

void block_map_free_run(struct block_map *map, const struct e4l_block_run *run)
{
	spread(map, run->pblk, run->len, add_now, BLOCK_FREE);
}

struct block_map_cell block_map_sum(const struct block_map *map, size_t i,
				    size_t end)
{
	struct block_map_cell sum = { 0 };
	int state;

	for (; i < end && i < map->n_cells; i++)
		for (state = 0; state < BLOCK_STATES; state++)
			sum.blocks[state] += map->cells[i].blocks[state];
	return sum;
}

/*
 * In a damaged filesystem, the callbacks can report more blocks for a cell than
 * the cell contains.  The cell then has no BLOCK_OTHER.
 */
void block_map_finish(struct block_map *map)
{
	uint64_t known;
	blk64_t all;
	size_t i;
	int k;

	for (i = 0; i < map->n_cells; i++) {
		all = block_map_blocks(map, i);
		known = 0;
		for (k = BLOCK_OTHER + 1; k < BLOCK_STATES; k++)
			known += map->cells[i].blocks[k];
		if (known < all)
			map->cells[i].blocks[BLOCK_OTHER] = all - known;
	}
}

/* ------------------------------------------------------------------- public */

errcode_t block_map_new(ext2_filsys fs, size_t max_cells,
			struct block_map **ret)
{
	struct block_map *map = calloc(1, sizeof(*map));

	*ret = NULL;
	if (map)
		map->s = calloc(1, sizeof(*map->s));
	if (!map || !map->s)
		goto no_memory;
	map->s->fs = fs;
	divide(map, max_cells);
	map->cells = calloc(map->n_cells, sizeof(*map->cells));
	map->s->written = calloc(map->n_cells, sizeof(*map->s->written));
	map->s->touched = calloc(map->n_cells, sizeof(*map->s->touched));
	if (!map->cells || !map->s->written || !map->s->touched)
		goto no_memory;
	*ret = map;
	return 0;
no_memory:
	block_map_free(map);
	return ENOMEM;
}

void block_map_free(struct block_map *map)
{
	if (!map)
		return;
	if (map->s) {
		free(map->s->written);
		free(map->s->touched);
	}
	free(map->s);
	free(map->cells);
	free(map);
}
