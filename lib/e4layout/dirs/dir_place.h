/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dir_place: finds a place for a rebuilt directory, and prefers places that do
 * not make free space worse.
 */
#ifndef E4L_DIR_PLACE_H
#define E4L_DIR_PLACE_H

#include <e4layout/repack.h>
#include "dir_maps.h"
#include "dir_space.h"

/* The place of a rebuilt directory: one run of whole clusters. */
struct e4l_dir_place {
	blk64_t to;		/* the first block */
	/*
	 * The directory already owns the blocks: the new content is journaled.
	 */
	bool own;
	uint64_t given;		/* blocks that become free */
};

/*
 * Input for finding places.  @disk has the free space that remains after all
 * rebuilds planned so far.
 */
struct e4l_dir_seek {
	ext2_filsys fs;
	const struct e4l_dir_maps *maps;
	struct e4l_disk disk;
	uint64_t longest; /* largest free extent before the first rebuild */
};

/*
 * Finds a place for @blocks blocks and takes it from free space.  The
 * directory's old blocks then count as free in e4l_space_outlook(), but are not
 * reused.  *@why: E4L_SKIP_NONE, or why there is no place.  Errors: ENOMEM.
 */
errcode_t e4l_dir_place(const struct e4l_dir_seek *seek,
			const struct e4l_dir_map *map, uint32_t blocks,
			struct e4l_dir_place *place, enum e4l_skip *why);

/*
 * Makes the step that rebuilds a directory at @place, without the content.
 * Call e4l_dir_step_free() even after an error.
 */
errcode_t e4l_dir_step(const struct e4l_dir_seek *seek,
		       const struct e4l_dir_map *map, uint32_t blocks,
		       const struct e4l_dir_place *place,
		       struct e4l_step *step);
void e4l_dir_step_free(struct e4l_step *step);

#endif
