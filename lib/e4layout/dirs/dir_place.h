/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dir_place: finds space for a rebuilt directory, preferably without
 * fragmenting free space.
 */
#ifndef E4L_DIR_PLACE_H
#define E4L_DIR_PLACE_H

#include <e4layout/repack.h>
#include "dir_maps.h"
#include "dir_space.h"

/* The location of a rebuilt directory: one run of whole clusters. */
struct e4l_dir_place {
	blk64_t to;		/* the first block of the run */
	/*
	 * True if the run consists of the directory's current blocks.  In this
	 * case, the new content must be journaled.
	 */
	bool own;
	uint64_t given;		/* number of blocks that the rebuild frees */
};

/*
 * Input of e4l_dir_place() and e4l_dir_step().  @disk has the free space that
 * remains after all rebuilds planned so far.
 */
struct e4l_dir_seek {
	ext2_filsys fs;
	const struct e4l_dir_maps *maps;
	struct e4l_disk disk;
	/* largest free extent before the first rebuild, in clusters */
	uint64_t longest;
};

/*
 * Finds space for @blocks blocks of a rebuilt directory, and removes the space
 * from the free space. e4l_space_outlook() then counts the directory's old
 * blocks as free, but other rebuilds cannot use them.  If the directory cannot
 * be rebuilt, sets *@why to the reason; otherwise, sets *@why to E4L_SKIP_NONE.
 * Errors: ENOMEM.
 */
errcode_t e4l_dir_place(const struct e4l_dir_seek *seek,
			const struct e4l_dir_map *map, uint32_t blocks,
			struct e4l_dir_place *place, enum e4l_skip *why);

/*
 * Fills in the step that rebuilds a directory at @place, without the content of
 * the blocks.  Call e4l_dir_step_free() even after an error.
 */
errcode_t e4l_dir_step(const struct e4l_dir_seek *seek,
		       const struct e4l_dir_map *map, uint32_t blocks,
		       const struct e4l_dir_place *place,
		       struct e4l_step *step);
void e4l_dir_step_free(struct e4l_step *step);

#endif
