/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dir_maps: the maps of directories, from a scan, and reading directory blocks.
 */
#ifndef E4L_DIR_MAPS_H
#define E4L_DIR_MAPS_H

#include <e4layout/scan.h>
#include "e4layout/base/internal.h"

struct e4l_dir_map {
	ext2_ino_t ino;		/* must be first: see e4l_u32_cmp() */
	uint32_t generation, flags;
	uint64_t blocks;	/* from i_size; 0: inline */
	size_t extent, n_extents, tree, n_tree;
};

/* Maps of many directories.  Start with a zeroed struct. */
struct e4l_dir_maps {
	struct e4l_extent *extents;
	size_t n_extents, max_extents;
	struct e4l_tree_block *tree;
	size_t n_tree, max_tree;
};

void e4l_dir_maps_free(struct e4l_dir_maps *maps);

/*
 * Adds a piece of a directory to *@map, which the first piece initializes.
 * Pieces of a directory come in a row.  Errors: ENOMEM.
 */
errcode_t e4l_dir_maps_add(struct e4l_dir_maps *maps, struct e4l_dir_map *map,
			   const struct e4l_piece *piece, uint32_t blocksize);

/*
 * Whether the map has no holes, no unwritten blocks and no blocks beyond its
 * size.
 */
bool e4l_dir_map_is_whole(const struct e4l_dir_maps *maps,
			  const struct e4l_dir_map *map);

/* The physical block of block @lblk.  The map must be whole. */
blk64_t e4l_dir_map_pblk(const struct e4l_dir_maps *maps,
			 const struct e4l_dir_map *map, uint64_t lblk);

/*
 * Reads physically contiguous blocks into @to, at most @max, beginning with
 * block @lblk; *@n is the number of blocks.  The map must be whole.  Errors:
 * E4L_ET_DAMAGED (a checksum is wrong), and errors of reading.
 */
errcode_t e4l_dir_map_read_run(struct e4l *e, const struct e4l_dir_maps *maps,
			       const struct e4l_dir_map *map, uint64_t lblk,
			       unsigned int max, char *to, unsigned int *n);

/*
 * Reads all blocks of a directory into @to.  The map must be whole.  Errors:
 * E4L_ET_DAMAGED (a checksum is wrong), and errors of reading.
 */
errcode_t e4l_dir_map_read(struct e4l *e, const struct e4l_dir_maps *maps,
			   const struct e4l_dir_map *map, char *to);

/*
 * Finds the inode of lost+found, which must not be changed; *@ino is 0 if there
 * is none.
 */
errcode_t e4l_lost_found(struct e4l *e, ext2_ino_t *ino);

#endif
