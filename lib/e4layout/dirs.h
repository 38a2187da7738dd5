/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dirs: the locality of directories, and paths of inodes. */
#ifndef E4LAYOUT_DIRS_H
#define E4LAYOUT_DIRS_H

#include <e4layout/scan.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The locality of a directory: the inode-table blocks that hold the inode of
 * the directory and the inodes of its entries.  The entry ".." and
 * subdirectories do not count.
 */
struct e4l_dir_locality {
	ext2_ino_t dir;
	uint32_t inodes;	/* inodes of the directory and its entries */
	uint32_t itable_blocks;	/* inode-table blocks that hold the inodes */
	uint32_t itable_blocks_ideal;	/* smallest possible @itable_blocks */
	uint64_t blocks;		/* blocks of the directory; 0: inline */
	uint64_t spare_blocks;	/* blocks that E4L_REPACK_DIRS would free */
	bool wants_index;		/* E4L_REPACK_DIRS would add an index */
	/* E4L_REPACK_INODES should group the inodes of the directory */
	bool spread;
};

/* A path for each inode of a set of inodes.  The members are private. */
struct e4l_names;

/*
 * Finds a path for each of the @n inodes @wanted, or, if @wanted is NULL, for
 * all inodes in use.  If an inode has several names, the path uses the
 * directory with the smallest inode number.  If this directory has several
 * names for the inode, the path uses the first name in byte order.  The paths
 * need 512 KiB of memory.  Each inode and each parent directory needs another
 * 16 bytes, and memory for its name.  The caller must free *@ret with
 * e4l_names_free() before closing @e.  Errors: E4L_ET_INTERRUPTED, ENOMEM.
 * After an error, *@ret is NULL.  Damaged directories are skipped.
 */
errcode_t e4l_names_load(struct e4l *e, const ext2_ino_t *wanted, size_t n,
			 struct e4l_names **ret);

/*
 * Returns the full path of @ino from the root's "/", terminated with NUL.  The
 * text belongs to @names and is valid until the next call.  In the names of
 * encrypted directories, '/' and NUL become '?'.
 * Returns NULL if @ino was not passed to e4l_names_load(), has no name, is not
 * connected to the root, or is more than 2048 directories deep.
 */
const char *e4l_names_path(struct e4l_names *names, ext2_ino_t ino);

/* Frees @names, which may be NULL. */
void e4l_names_free(struct e4l_names *names);

/*
 * Creates an inode bitmap of the files at @paths, an array of @n_paths paths.
 * If a file is a directory, the bitmap includes all files below the directory.
 * Paths begin at the root of the filesystem, with or without '/'; symbolic
 * links are not followed.  The caller frees *@ret with
 * ext2fs_free_inode_bitmap().  The call needs up to four bits of memory for
 * each inode of the filesystem.  Errors: E4L_ET_NO_PATH, E4L_ET_NOT_DIR, or the
 * error of a damaged directory; *@bad is then the index of the path in @paths.
 * @bad may be NULL.  Other errors: E4L_ET_INTERRUPTED, ENOMEM.
 */
errcode_t e4l_subtree(struct e4l *e, const char *const *paths, size_t n_paths,
		      size_t *bad, ext2fs_inode_bitmap *ret);

#ifdef __cplusplus
}
#endif
#endif
