/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums over the files in and below each directory, as du(1) reports them. */
#ifndef E4FRAG_DIRS_H
#define E4FRAG_DIRS_H

#include <e4layout/e4layout.h>

/*
 * Sums over a directory and everything below it.  A file with several names
 * counts only in the directory of the name that e4l_names_path() returns.  In a
 * damaged filesystem, directories that cannot be reached from the root
 * directory are also counted.
 */
struct subtree {
	ext2_ino_t ino;
	/* number of subdirectories whose sums have not been added yet */
	uint32_t open;
	uint64_t files;			/* number of files of any type */
	uint64_t blocks, extents, fragments, ideal_extents, splits;
};

struct dirs;

/*
 * Finds the directory of each file by reading all directories.  If @only is not
 * NULL, reads only the directories in @only.  Memory: 56 bytes for each
 * directory, and 4 KiB for each unit of 1024 inodes that contains a used inode.
 * dirs_finish() needs 8 more bytes for each directory.
 */
errcode_t dirs_new(struct e4l *e, ext2fs_inode_bitmap only, struct dirs **ret);

/* A callback for e4l_model_options.piece: adds a file to its directory. */
void dirs_piece(struct dirs *d, const struct e4l_piece *piece,
		const struct e4l_file_score *score);

/*
 * Adds the sums of each directory to the sums of its parent, and keeps the @top
 * worst subtrees.  Call this function after e4l_model_build().
 */
errcode_t dirs_finish(struct dirs *d, enum e4l_sort sort, size_t top);

/*
 * dirs_count() returns the number of worst subtrees that dirs_finish() has
 * selected.  dirs_at() returns number @i of these subtrees; number 0 is the
 * worst.  dirs_path() returns the path of subtree number @i, or NULL if the
 * path is unknown.
 */
size_t dirs_count(const struct dirs *d);
const struct subtree *dirs_at(const struct dirs *d, size_t i);
const char *dirs_path(const struct dirs *d, size_t i);

/* Frees @d; NULL is allowed. */
void dirs_free(struct dirs *d);

#endif
