/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dir_maps: collects the block maps of directories during a scan, and reads
 * directory blocks.
 */
#ifndef E4L_DIR_MAPS_H
#define E4L_DIR_MAPS_H

#include <e4layout/scan.h>
#include "e4layout/base/internal.h"

struct e4l_dir_map {
	ext2_ino_t ino;		/* must be first, for e4l_u32_cmp() */
	uint32_t generation, flags;
	/* length in blocks, from i_size; 0 if the directory has inline data */
	uint64_t blocks;
	size_t extent, n_extents, tree, n_tree;
};

/*
 * The block maps of many directories.  The caller must zero the struct first.
 */
struct e4l_dir_maps {
	struct e4l_extent *extents;
	size_t n_extents, max_extents;
	struct e4l_tree_block *tree;
	size_t n_tree, max_tree;
};

void e4l_dir_maps_free(struct e4l_dir_maps *maps);

/*
 * Adds a piece of a directory to *@map.  The first piece of a directory
 * initializes *@map.  All pieces of a directory must be added before the first
 * piece of the next directory.  Errors: ENOMEM.
 */
errcode_t e4l_dir_maps_add(struct e4l_dir_maps *maps, struct e4l_dir_map *map,
			   const struct e4l_piece *piece, uint32_t blocksize);

/*
 * Returns whether the map has a written block for each block up to i_size, and
 * no blocks beyond i_size.
 */
bool e4l_dir_map_is_whole(const struct e4l_dir_maps *maps,
			  const struct e4l_dir_map *map);

/*
 * Returns the physical block of logical block @lblk of a directory.
 * e4l_dir_map_is_whole() must be true for @map.
 */
blk64_t e4l_dir_map_pblk(const struct e4l_dir_maps *maps,
			 const struct e4l_dir_map *map, uint64_t lblk);

/*
 * Reads blocks of a directory into @to, beginning with logical block @lblk.
 * Stops after @max blocks, or at the end of the extent, and sets *@n to the
 * number of blocks read. e4l_dir_map_is_whole() must be true for @map.  Errors:
 * E4L_ET_DAMAGED (a checksum is wrong), and read errors.
 */
errcode_t e4l_dir_map_read_run(struct e4l *e, const struct e4l_dir_maps *maps,
			       const struct e4l_dir_map *map, uint64_t lblk,
			       unsigned int max, char *to, unsigned int *n);

/*
 * Reads all blocks of a directory into @to.  e4l_dir_map_is_whole() must be
 * true for @map.  Errors: E4L_ET_DAMAGED (a checksum is wrong), and read
 * errors.
 */
errcode_t e4l_dir_map_read(struct e4l *e, const struct e4l_dir_maps *maps,
			   const struct e4l_dir_map *map, char *to);

/*
 * Looks up lost+found, a directory that repacking must not change.  Sets *@ino
 * to the inode number of lost+found, or to 0 if lost+found does not exist.
 */
errcode_t e4l_lost_found(struct e4l *e, ext2_ino_t *ino);

#endif
