/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What pictures need beside the model, of what the model is made of. */
#ifndef E4FRAG_LOOK_H
#define E4FRAG_LOOK_H

#include "support/block_map.h"

#define LOOK_DIRS 10

/* 0 is counted at [0], 2^(i-1) to 2^i-1 at [i]. */
#define LOOK_BUCKETS 34
struct look_histogram {
	uint64_t count[LOOK_BUCKETS];
};

struct look {
	ext2_filsys fs;
	struct block_map *map;		/* NULL: not asked for */
	/* files by extents; directories by itable blocks beyond the ideal */
	struct look_histogram extents, locality;
	/* those with the most of these, the worst first, then by number */
	struct e4l_dir_locality dirs[LOOK_DIRS];
	size_t n_dirs;
};

/* Begins; @map: the block map as well. */
errcode_t look_begin(struct look *l, ext2_filsys fs, bool map);

/* As e4l_model_options has them. */
void look_piece(struct look *l, const struct e4l_piece *piece,
		const struct e4l_file_score *score);
void look_free_run(struct look *l, const struct e4l_block_run *run);
void look_locality(struct look *l, const struct e4l_dir_locality *dir);

/* After the model. */
void look_end(struct look *l);

/* The smallest value that is counted at [i]. */
static inline uint64_t look_bucket(unsigned int i)
{
	return i ? 1ULL << (i - 1) : 0;
}

void look_free(struct look *l);

#endif
