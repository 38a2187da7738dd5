/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * block_map: counts how the blocks of a filesystem are used, in a limited
 * number of cells.
 *
 * The cells cover the filesystem in disk order without gaps.  If there are more
 * groups than cells, each cell consists of the same number of whole groups.
 * Otherwise, each group is divided into the same number of cells, so that no
 * cell spans two groups.  At the end of the filesystem, a short group has fewer
 * cells, and the last cell can be smaller.
 *
 * Call block_map_new(), and then e4l_model_build() with block_map_piece() as
 * e4l_model_options.piece and block_map_free_run() as
 * e4l_model_options.free_run.  Then call block_map_finish(), read map->cells,
 * and call block_map_free().
 */
#ifndef SUPPORT_BLOCK_MAP_H
#define SUPPORT_BLOCK_MAP_H

#include <e4layout/e4layout.h>

/*
 * The state of a block.  With bigalloc, the unused blocks of a partly used
 * cluster have the state of the used blocks.
 */
enum block_state {
	/*
	 * Blocks in use, except for the contents of files that the model
	 * counts: metadata, extent trees and attributes.  With
	 * e4l_model_options.only, also all files that are not selected.
	 */
	BLOCK_OTHER,
	/*
	 * written, in a file or directory that has neither excess fragments nor
	 * splits
	 */
	BLOCK_CONTIGUOUS,
	/* written, in a fragmented file */
	BLOCK_FRAGMENTED,
	/* written, in a file that has splits and is not fragmented */
	BLOCK_SPLIT,
	/* preallocated and not written */
	BLOCK_UNWRITTEN,
	BLOCK_FREE,
};
#define BLOCK_STATES (BLOCK_FREE + 1)

/* The names of the states in JSON: "other", "contiguous", ... */
extern const char *const block_state_names[BLOCK_STATES];

/* enough cells for an HTML page and a terminal */
#define BLOCK_MAP_CELLS 8192

struct block_map_cell {
	uint64_t blocks[BLOCK_STATES];
};

struct block_map {
	dgrp_t groups;
	uint32_t cells_per_group;	/* 1 if groups_per_cell > 1 */
	uint32_t groups_per_cell;	/* 1 if cells_per_group > 1 */
	/* from 1 to @max_cells of block_map_new() */
	size_t n_cells;
	struct block_map_cell *cells;
	struct block_map_state *s;	/* state of block_map_piece() */
};

/*
 * Makes a map of at most @max_cells cells; @max_cells must be at least 1.  Free
 * the map with block_map_free(), before @fs is closed.  A map uses about 64
 * bytes for each cell.  Errors: ENOMEM.
 */
errcode_t block_map_new(ext2_filsys fs, size_t max_cells,
			struct block_map **ret);

/* Callbacks for e4l_model_options.piece and .free_run. */
void block_map_piece(struct block_map *map, const struct e4l_piece *piece,
		     const struct e4l_file_score *score);
void block_map_free_run(struct block_map *map,
			const struct e4l_block_run *run);

/*
 * Counts as BLOCK_OTHER all blocks that no callback has reported.  Call this
 * function once, after e4l_model_build().
 */
void block_map_finish(struct block_map *map);

/*
 * Returns the first block of cell @i.  If @i is n_cells, returns the number of
 * blocks of the filesystem.
 */
blk64_t block_map_first(const struct block_map *map, size_t i);

/* Returns the sum of the cells from @i to @end - 1. */
struct block_map_cell block_map_sum(const struct block_map *map, size_t i,
				    size_t end);

/* Returns the number of blocks in cell @i. */
static inline blk64_t block_map_blocks(const struct block_map *map, size_t i)
{
	return block_map_first(map, i + 1) - block_map_first(map, i);
}

/* Frees @map; NULL is allowed. */
void block_map_free(struct block_map *map);

#endif
