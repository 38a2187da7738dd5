/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Collects data for charts, in addition to the data of the model. */
#ifndef E4FRAG_LOOK_H
#define E4FRAG_LOOK_H

#include "support/block_map.h"

#define LOOK_DIRS 10

/* Bucket 0 counts the value 0, and bucket i the values 2^(i-1) to 2^i - 1. */
#define LOOK_BUCKETS 34
struct look_histogram {
	uint64_t count[LOOK_BUCKETS];
};

struct look {
	ext2_filsys fs;
	struct block_map *map;		/* NULL: not requested */
	/*
	 * histograms: files by number of extents, and directories by number of
	 * inode-table blocks beyond the smallest possible number
	 */
	struct look_histogram extents, locality;
	/*
	 * The directories with the most inode-table blocks beyond the smallest
	 * possible number, the worst first.  Directories with equally many
	 * blocks are sorted by inode number.
	 */
	struct e4l_dir_locality dirs[LOOK_DIRS];
	size_t n_dirs;
};

/* Initializes @l. If @map is true, also collects the block map. */
errcode_t look_begin(struct look *l, ext2_filsys fs, bool map);

/* Callbacks for e4l_model_options. */
void look_piece(struct look *l, const struct e4l_piece *piece,
		const struct e4l_file_score *score);
void look_free_run(struct look *l, const struct e4l_block_run *run);
void look_locality(struct look *l, const struct e4l_dir_locality *dir);

/* Completes the block map.  Call look_end() after e4l_model_build(). */
void look_end(struct look *l);

/* Returns the smallest value that bucket @i of a histogram counts. */
static inline uint64_t look_bucket(unsigned int i)
{
	return i ? 1ULL << (i - 1) : 0;
}

void look_free(struct look *l);

#endif
