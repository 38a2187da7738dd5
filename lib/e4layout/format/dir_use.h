/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dir_use: when a directory is worth being built anew. */
#ifndef E4L_DIR_USE_H
#define E4L_DIR_USE_H

#include "dir_build.h"

#define E4L_DIR_FILL_PERCENT	80	/* of leaves that are built anew */

struct e4l_dir_use {
	ext2_filsys fs;
	uint64_t blocks;	/* that it has */
	uint64_t bytes;		/* of entries other than "." and ".." */
	unsigned int longest;	/* of these */
	bool indexed;
};

/* Counts an entry, as e4l_dirent_bytes() has it. */
static inline void e4l_dir_use_add(struct e4l_dir_use *u, unsigned int bytes)
{
	u->bytes += bytes;
	if (u->longest < bytes)
		u->longest = bytes;
}

/* Whether it is to have an index: one block does not hold its entries. */
bool e4l_dir_wants_index(const struct e4l_dir_use *u);

/* Whether it is to have an index, and has none. */
bool e4l_dir_is_outgrown(const struct e4l_dir_use *u);

/* Whether the leaves are so empty that the directory has lost entries. */
bool e4l_dir_is_sparse(const struct e4l_dir_use *u);

/*
 * The most blocks that it has once it is built anew, in whatever order its
 * entries come; 0: it has too many of them.
 */
uint64_t e4l_dir_most_blocks(const struct e4l_dir_use *u);

#endif
