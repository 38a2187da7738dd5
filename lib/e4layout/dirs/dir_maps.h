/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dir_maps: where directories lie, from a scan, and their blocks. */
#ifndef E4L_DIR_MAPS_H
#define E4L_DIR_MAPS_H

#include <e4layout/scan.h>
#include "e4layout/base/internal.h"

struct e4l_dir_map {
	ext2_ino_t ino;		/* first: see e4l_u32_cmp() */
	uint32_t generation, flags;
	uint64_t blocks;	/* by its size; 0: it is inline */
	size_t extent, n_extents, tree, n_tree;
};

/* Of many directories; starts zeroed. */
struct e4l_dir_maps {
	struct e4l_extent *extents;
	size_t n_extents, max_extents;
	struct e4l_tree_block *tree;
	size_t n_tree, max_tree;
};

void e4l_dir_maps_free(struct e4l_dir_maps *maps);

/*
 * Adds a piece of a directory to *@map, which the first piece sets; pieces of
 * one come in a row.  Errors: ENOMEM.
 */
errcode_t e4l_dir_maps_add(struct e4l_dir_maps *maps, struct e4l_dir_map *map,
			   const struct e4l_piece *piece, uint32_t blocksize);

/* Each block is there, written, and where its number says. */
bool e4l_dir_map_is_whole(const struct e4l_dir_maps *maps,
			  const struct e4l_dir_map *map);

/* Where block @lblk of a whole one is. */
blk64_t e4l_dir_map_pblk(const struct e4l_dir_maps *maps,
			 const struct e4l_dir_map *map, uint64_t lblk);

/*
 * Reads blocks of a whole one from @lblk on, as many as are side by side, but no
 * more than @max, to @to; *@n says how many.  Errors: E4L_ET_DAMAGED (a checksum
 * is wrong), and those of reading.
 */
errcode_t e4l_dir_map_read_run(struct e4l *e, const struct e4l_dir_maps *maps,
			       const struct e4l_dir_map *map, uint64_t lblk,
			       unsigned int max, char *to, unsigned int *n);

/* Reads all of its blocks to @to.  Errors: the same. */
errcode_t e4l_dir_map_read(struct e4l *e, const struct e4l_dir_maps *maps,
			   const struct e4l_dir_map *map, char *to);

/* lost+found, which is to stay as it is; *@ino is 0: there is none. */
errcode_t e4l_lost_found(struct e4l *e, ext2_ino_t *ino);

#endif
