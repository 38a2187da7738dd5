/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The block map: what each block of a filesystem is in, reduced to a bounded
 * number of cells.
 *
 * The cells cover the filesystem in the order of the disk, without a gap.  Where
 * there are no more groups than cells, each group has the same number of cells,
 * so that no cell is in two groups; otherwise each cell has the same number of
 * whole groups.  The last cells have fewer blocks if the last group has.
 *
 * It is made of what e4l_model_build() hands out with @sees:
 *
 *	err = block_map_new(fs, BLOCK_MAP_CELLS, &map);
 *	... e4l_model_options.piece: block_map_piece(map, piece, score);
 *	... e4l_model_options.free_run: block_map_free_run(map, run);
 *	block_map_finish(map);
 *	for (i = 0; i < map->n_cells; i++)
 *		... map->cells[i].blocks[BLOCK_FREE] of block_map_blocks(map, i)
 *	block_map_free(map);
 */
#ifndef SUPPORT_BLOCK_MAP_H
#define SUPPORT_BLOCK_MAP_H

#include <e4layout/e4layout.h>

/*
 * What a block is.  With bigalloc, what content leaves of a cluster is what the
 * content is.
 */
enum block_state {
	/* in use, but not by the content of a file that the model counts: the
	 * filesystem's own, trees, attributes; and with
	 * e4l_model_options.only, everything that is not shown */
	BLOCK_OTHER,
	/* of the content of files, directories too: written, of a file that
	 * has no more fragments than it needs and no splits; */
	BLOCK_CONTIGUOUS,
	/* written, of a fragmented file; */
	BLOCK_FRAGMENTED,
	/* written, of a file with splits that is not fragmented; */
	BLOCK_SPLIT,
	/* preallocated and not written, of any file */
	BLOCK_UNWRITTEN,
	BLOCK_FREE,
};
#define BLOCK_STATES (BLOCK_FREE + 1)

/* "other", "contiguous", ...: the keys in JSON. */
extern const char *const block_state_names[BLOCK_STATES];

#define BLOCK_MAP_CELLS 8192	/* enough for a page and for a terminal */

struct block_map_cell {
	uint64_t blocks[BLOCK_STATES];
};

struct block_map {
	dgrp_t groups;
	uint32_t cells_per_group;	/* 1 if groups_per_cell is more */
	uint32_t groups_per_cell;	/* 1 if cells_per_group is more */
	size_t n_cells;			/* 1 or more, at most @max_cells */
	struct block_map_cell *cells;
	struct block_map_state *s;	/* of what is coming in */
};

/*
 * Makes a map of at most @max_cells cells (1 or more); free it with
 * block_map_free().  @fs is borrowed for as long as the map is there.  Memory:
 * some 64 bytes for each cell.
 */
errcode_t block_map_new(ext2_filsys fs, size_t max_cells,
			struct block_map **ret);

/* As e4l_model_options.piece and .free_run have them. */
void block_map_piece(struct block_map *map, const struct e4l_piece *piece,
		     const struct e4l_file_score *score);
void block_map_free_run(struct block_map *map,
			const struct e4l_block_run *run);

/* What nothing was heard of is BLOCK_OTHER.  Call it once, after the model. */
void block_map_finish(struct block_map *map);

/* The first block of cell @i; for n_cells, the end of the filesystem. */
blk64_t block_map_first(const struct block_map *map, size_t i);

/* What the cells from @i on, up to @end, have together. */
struct block_map_cell block_map_sum(const struct block_map *map, size_t i,
				    size_t end);

/* How many blocks cell @i has. */
static inline blk64_t block_map_blocks(const struct block_map *map, size_t i)
{
	return block_map_first(map, i + 1) - block_map_first(map, i);
}

/* Frees @map; NULL is allowed. */
void block_map_free(struct block_map *map);

#endif
