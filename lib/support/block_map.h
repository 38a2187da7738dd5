/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The block map: the use of each block of a filesystem, reduced to a bounded
 * number of cells.
 *
 * The cells cover the filesystem in disk order without gaps.  If there are at
 * most as many groups as cells, each group has the same number of cells, so
 * that no cell spans two groups; otherwise each cell has the same number of
 * whole groups.  The last cells are smaller if the last group is.
 *
 * The map is filled by the callbacks of e4l_model_build(): block_map_new();
 * block_map_piece() for e4l_model_options.piece; block_map_free_run() for
 * e4l_model_options.free_run; block_map_finish(); then read map->cells;
 * block_map_free().
 */
#ifndef SUPPORT_BLOCK_MAP_H
#define SUPPORT_BLOCK_MAP_H

#include <e4layout/e4layout.h>

/*
 * The state of a block.  With bigalloc, the unused rest of a cluster has the
 * state of the used part.
 */
enum block_state {
	/*
	 * in use, but not by the contents of a file that the model counts:
	 * metadata, extent trees, attributes; and, with e4l_model_options.only,
	 * all files that are not selected
	 */
	BLOCK_OTHER,
	/*
	 * written, in a file or directory without excess fragments and splits
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

/* The keys in JSON: "other", "contiguous", ... */
extern const char *const block_state_names[BLOCK_STATES];

#define BLOCK_MAP_CELLS 8192	/* enough for an HTML page and a terminal */

struct block_map_cell {
	uint64_t blocks[BLOCK_STATES];
};

struct block_map {
	dgrp_t groups;
	uint32_t cells_per_group;	/* 1 if groups_per_cell is more */
	uint32_t groups_per_cell;	/* 1 if cells_per_group is more */
	size_t n_cells;			/* 1 or more, at most @max_cells */
	struct block_map_cell *cells;
	struct block_map_state *s;	/* state of block_map_piece() */
};

/*
 * Makes a map of at most @max_cells (at least 1) cells; free it with
 * block_map_free().  @fs is borrowed until then.  Memory: about 64 bytes for
 * each cell.  Errors: ENOMEM.
 */
errcode_t block_map_new(ext2_filsys fs, size_t max_cells,
			struct block_map **ret);

/* Callbacks for e4l_model_options.piece and .free_run. */
void block_map_piece(struct block_map *map, const struct e4l_piece *piece,
		     const struct e4l_file_score *score);
void block_map_free_run(struct block_map *map,
			const struct e4l_block_run *run);

/*
 * Counts all blocks that no callback has reported as BLOCK_OTHER.  Call this
 * function once, after e4l_model_build().
 */
void block_map_finish(struct block_map *map);

/*
 * Returns the first block of cell @i; for n_cells, the end of the filesystem.
 */
blk64_t block_map_first(const struct block_map *map, size_t i);

/* Returns the sum of the cells from @i to before @end. */
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
