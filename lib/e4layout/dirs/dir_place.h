/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dir_place: where a directory that is built anew goes: where it leaves free space
 * no worse than it is, if there is such a place.
 */
#ifndef E4L_DIR_PLACE_H
#define E4L_DIR_PLACE_H

#include <e4layout/repack.h>
#include "dir_maps.h"
#include "dir_space.h"

/* One run of whole clusters. */
struct e4l_dir_place {
	blk64_t to;		/* the first block */
	/* They are the directory's already: it goes there by way of the journal. */
	bool own;
	uint64_t given;		/* blocks that are free then */
};

/* What places are sought for; free space is as it is to be so far. */
struct e4l_dir_seek {
	ext2_filsys fs;
	const struct e4l_dir_maps *maps;
	struct e4l_disk disk;
	uint64_t longest;	/* free run at first */
};

/*
 * Finds room for @blocks, and takes it; what the directory has is given back.
 * *@why: there is none, or E4L_SKIP_NONE.  Errors: ENOMEM.
 */
errcode_t e4l_dir_place(const struct e4l_dir_seek *seek,
			const struct e4l_dir_map *map, uint32_t blocks,
			struct e4l_dir_place *place, enum e4l_skip *why);

/* The step for that, but for what is written; to be freed in any case. */
errcode_t e4l_dir_step(const struct e4l_dir_seek *seek,
		       const struct e4l_dir_map *map, uint32_t blocks,
		       const struct e4l_dir_place *place,
		       struct e4l_step *step);
void e4l_dir_step_free(struct e4l_step *step);

#endif
