/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lies in and below each directory, as du(1) adds it up. */
#ifndef E4FRAG_DIRS_H
#define E4FRAG_DIRS_H

#include <e4layout/e4layout.h>

/*
 * Sums over a directory and all that is below it; a file with several names
 * counts where e4l_names_path() finds it.  In a damaged filesystem, what is
 * below a directory that is not connected to the root counts there.
 */
struct subtree {
	ext2_ino_t ino;
	uint32_t open;			/* directories in it, not added yet */
	uint64_t files;			/* of any type */
	uint64_t blocks, extents, fragments, ideal_extents, splits;
};

/* Opaque. */
struct dirs;

/*
 * Reads all directories, or those in @only (NULL: all), to learn where each
 * file is.  Memory: 4 bytes for each inode, in units of 1024 that have one in
 * use, and 56 for each directory; at the end 8 more for each of these.
 */
errcode_t dirs_new(struct e4l *e, ext2fs_inode_bitmap only, struct dirs **ret);

/* As e4l_model_options.piece has them. */
void dirs_piece(struct dirs *d, const struct e4l_piece *piece,
		const struct e4l_file_score *score);

/* After the model: adds up, and keeps the @top subtrees that are the worst. */
errcode_t dirs_finish(struct dirs *d, enum e4l_sort sort, size_t top);

/* How many were kept; the @i-th, and its path, or NULL: it has none. */
size_t dirs_count(const struct dirs *d);
const struct subtree *dirs_at(const struct dirs *d, size_t i);
const char *dirs_path(const struct dirs *d, size_t i);

/* Frees @d; NULL is allowed. */
void dirs_free(struct dirs *d);

#endif
