/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dir_block: decodes and verifies a directory block, or the inline data of a
 * directory.  Formats: Documentation/filesystems/ext4/directory.rst in Linux.
 */
#ifndef E4L_DIR_BLOCK_H
#define E4L_DIR_BLOCK_H

#include "e4layout/base/internal.h"
#include "dirent.h"
#include "format.h"

/*
 * Verifies the checksum of @block, a leaf or an index block of directory @dir,
 * as on disk.  Returns true if the filesystem has no metadata checksums.
 */
bool e4l_dir_block_csum_ok(ext2_filsys fs, ext2_ino_t dir, uint32_t generation,
			   const void *block);

/*
 * Sets the checksum of @block, a leaf or an index block that has a checksum
 * field.  The old checksum need not be valid for inode @dir.
 */
void e4l_dir_block_csum_set(ext2_filsys fs, ext2_ino_t dir,
			    uint32_t generation, void *block);

/*
 * A walk over the directory entries in the @len bytes at @buf.  The caller sets
 * @off to 0.
 */
struct e4l_dir_walk {
	ext2_filsys fs;
	ext2_ino_t dir;
	bool encrypted;
	bool has_dots;		/* "." and ".." are valid entries */
	const char *buf;
	size_t len, off;
};

enum e4l_dir_step {
	DIR_END,
	DIR_ENTRY,		/* an entry was found: *@entry is set */
	/*
	 * An entry is invalid.  If the length of the entry is invalid, the walk
	 * skips all remaining bytes.  The caller may continue the walk.
	 */
	DIR_BAD,
};

/* Finds the next entry that is in use, and skips the entry ".". */
enum e4l_dir_step e4l_dir_next(struct e4l_dir_walk *w,
			       struct e4l_dirent *entry);

/* Returns whether @entry is "..". */
bool e4l_dirent_is_dotdot(const struct e4l_dirent *entry);

/*
 * Returns the value of the attribute system.data of @inode, which contains the
 * second part of an inline directory.  @bytes is the size of @inode.  If @inode
 * has no attribute system.data, returns NULL and sets *@len to 0.
 */
const char *e4l_inline_value(const struct ext2_inode_large *inode,
			     size_t bytes, size_t *len);

#endif
