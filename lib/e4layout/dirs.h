/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* dirs: the locality of directories; paths of inodes. */
#ifndef E4LAYOUT_DIRS_H
#define E4LAYOUT_DIRS_H

#include <e4layout/scan.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How many inode-table blocks must be read to see all that one directory
 * holds: those of its own inode and of its entries' other than "..", and other
 * than subdirectories.
 */
struct e4l_dir_locality {
	ext2_ino_t dir;
	uint32_t inodes;		/* distinct */
	uint32_t itable_blocks;		/* distinct */
	uint32_t itable_blocks_ideal;	/* if the inodes were side by side */
	uint64_t blocks;		/* of its own; 0: it is inline */
	/*
	 * What e4l_compact_dirs() is good for: it could have so many blocks
	 * fewer, at least; it has outgrown the linear form.
	 */
	uint64_t spare_blocks;
	bool wants_index;
	/*
	 * What e4l_regroup_inodes() is good for: the inodes lie so far from
	 * each other that a window of them would make a difference; a file
	 * here and there may lie elsewhere.  Never with stable_inodes.
	 */
	bool spread;
};

/* Opaque: one full path for each of a set of inodes. */
struct e4l_names;

/*
 * Learns the names of the @n inodes @wanted, or, if @wanted is NULL, of all.
 * An inode that has several gets the one in the directory with the smallest
 * number, there the first in byte order.  Reads every directory once and,
 * when @wanted is given, their parents, level by level.  Memory: 16 bytes and
 * the name for each inode wanted (for NULL: in use) and each of their parents,
 * and 512 KiB.
 */
errcode_t e4l_names_load(struct e4l *e, const ext2_ino_t *wanted, size_t n,
			 struct e4l_names **ret);

/*
 * The full path of @ino, from the root's "/", terminated; it belongs to @names
 * and is valid until the next call.  Names are as on disk, but in names of
 * encrypted directories, '/' and NUL become '?'.  NULL: @ino was not asked
 * for, has no name, is not connected to the root, or lies over 2048 directories
 * deep.
 */
const char *e4l_names_path(struct e4l_names *names, ext2_ino_t ino);

/* Frees @names; NULL is allowed. */
void e4l_names_free(struct e4l_names *names);

/*
 * Finds @paths (from the root, with or without a leading '/'; symbolic links
 * are not followed) and makes an inode bitmap of them and everything below
 * them, that the caller frees with ext2fs_free_inode_bitmap().  Directories
 * are read level by level.  Memory: two bits for each inode of the filesystem.
 * Errors: E4L_ET_NO_PATH, E4L_ET_NOT_DIR, or what is damaged where the path
 * leads, with its index in *@bad (which may be NULL).
 */
errcode_t e4l_subtree(struct e4l *e, const char *const *paths, size_t n_paths,
		      size_t *bad, ext2fs_inode_bitmap *ret);

#ifdef __cplusplus
}
#endif
#endif
