/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dir_block: what one block of a directory, or the inline part of one, says
 * once it has been bounded.  Formats: Documentation/filesystems/ext4/
 * directory.rst in Linux.
 */
#ifndef E4L_DIR_BLOCK_H
#define E4L_DIR_BLOCK_H

#include "e4layout/base/internal.h"
#include "dirent.h"
#include "format.h"

/*
 * @block, of directory @dir, is a leaf or an index block as on disk.  True
 * where the filesystem has no such checksums.
 */
bool e4l_dir_block_csum_ok(ext2_filsys fs, ext2_ino_t dir, uint32_t generation,
			   const void *block);

/* Sets it, in a block whose checksum was right for some number. */
void e4l_dir_block_csum_set(ext2_filsys fs, ext2_ino_t dir,
			    uint32_t generation, void *block);

/* A walk over the entries in @len bytes; start with @off 0. */
struct e4l_dir_walk {
	ext2_filsys fs;
	ext2_ino_t dir;
	bool encrypted;
	bool has_dots;		/* the part where ".." may be */
	const char *buf;
	size_t len, off;
};

enum e4l_dir_step {
	DIR_END,
	DIR_ENTRY,		/* *@entry is set */
	DIR_BAD,		/* an entry, or all that is left, makes no
				 * sense; the walk can go on */
};

/* The next entry in use but ".". */
enum e4l_dir_step e4l_dir_next(struct e4l_dir_walk *w,
			       struct e4l_dirent *entry);

/* Is it ".."? */
bool e4l_dirent_is_dotdot(const struct e4l_dirent *entry);

/*
 * Finds the second part of an inline directory, in the value of the inode's
 * attribute system.data: @inode has @bytes.  NULL if there is none, and *@len
 * is then 0.
 */
const char *e4l_inline_value(const struct ext2_inode_large *inode,
			     size_t bytes, size_t *len);

#endif
