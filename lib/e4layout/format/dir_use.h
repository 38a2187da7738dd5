/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dir_use: decides whether a directory is worth rebuilding. */
#ifndef E4L_DIR_USE_H
#define E4L_DIR_USE_H

#include "dir_build.h"

/* fill level of the leaves of a rebuilt htree, in percent */
#define E4L_DIR_FILL_PERCENT	80

struct e4l_dir_use {
	ext2_filsys fs;
	uint64_t blocks;	/* current number of blocks */
	uint64_t bytes; /* total size of all entries except "." and ".." */
	/* size in bytes of the longest entry except "." and ".." */
	unsigned int longest;
	bool indexed;
};

/* Adds an entry.  @bytes is the result of e4l_dirent_bytes(). */
static inline void e4l_dir_use_add(struct e4l_dir_use *u, unsigned int bytes)
{
	u->bytes += bytes;
	if (u->longest < bytes)
		u->longest = bytes;
}

/*
 * Returns whether the directory needs an index: the filesystem has the
 * dir_index feature, and the entries fill more than E4L_DIR_FILL_PERCENT of one
 * block.
 */
bool e4l_dir_wants_index(const struct e4l_dir_use *u);

/* Returns whether the directory needs an index, but has none. */
bool e4l_dir_is_outgrown(const struct e4l_dir_use *u);

/*
 * Returns whether the leaves of a directory are less than half full, for
 * example after the removal of many entries.
 */
bool e4l_dir_is_sparse(const struct e4l_dir_use *u);

/*
 * Returns the maximum number of blocks of the rebuilt directory for any order
 * of its entries, or 0 if an index cannot hold the entries.
 */
uint64_t e4l_dir_most_blocks(const struct e4l_dir_use *u);

#endif
