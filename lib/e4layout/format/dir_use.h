/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dir_use: whether a directory is worth rebuilding. */
#ifndef E4L_DIR_USE_H
#define E4L_DIR_USE_H

#include "dir_build.h"

#define E4L_DIR_FILL_PERCENT	80	/* fill level of rebuilt leaves */

struct e4l_dir_use {
	ext2_filsys fs;
	uint64_t blocks;	/* current number of blocks */
	uint64_t bytes;		/* size of all entries except "." and ".." */
	unsigned int longest;	/* size of the longest of these entries */
	bool indexed;
};

/* Counts an entry of @bytes, as from e4l_dirent_bytes(). */
static inline void e4l_dir_use_add(struct e4l_dir_use *u, unsigned int bytes)
{
	u->bytes += bytes;
	if (u->longest < bytes)
		u->longest = bytes;
}

/* Whether the entries do not fit in one block, so that an index is needed. */
bool e4l_dir_wants_index(const struct e4l_dir_use *u);

/* Whether the directory needs an index, but is linear. */
bool e4l_dir_is_outgrown(const struct e4l_dir_use *u);

/* Whether the leaves are sparse, as after the removal of many entries. */
bool e4l_dir_is_sparse(const struct e4l_dir_use *u);

/*
 * The maximum number of blocks of the rebuilt directory, for any order of its
 * entries; 0: an index cannot hold the entries.
 */
uint64_t e4l_dir_most_blocks(const struct e4l_dir_use *u);

#endif
