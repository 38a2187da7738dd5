/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dir_build: builds the blocks of a directory from its entries.  A directory is
 * linear or an htree.  The blocks of an htree are the root, the index blocks
 * from the highest level to the lowest, and the leaves.  The caller must sort
 * the entries of an htree by hash.  Formats:
 * Documentation/filesystems/ext4/directory.rst in Linux.
 */
#ifndef E4L_DIR_BUILD_H
#define E4L_DIR_BUILD_H

#include "e4layout/base/internal.h"

#define E4L_DIR_MAX_LEVELS	3

struct e4l_new_dirent {
	const char *name;
	uint8_t name_len;
	uint8_t file_type;	/* 0 without the filetype feature */
	ext2_ino_t ino;
	uint32_t hash, minor;	/* results of ext2fs_dirhash2() */
};

struct e4l_dir_builder {
	ext2_filsys fs;
	ext2_ino_t ino, parent;
	uint32_t generation;
	uint8_t hash_version;	/* hash version in the root of an htree */
	/*
	 * the hashes of a name are stored after the name: the directory is
	 * encrypted and casefolded
	 */
	bool hashes_on_disk;
	/* fill level of the leaves of an htree, 50 to 100 */
	unsigned int fill_percent;
	/*
	 * Number of entries except "." and "..".  entry() is called several
	 * times for each entry.
	 */
	uint32_t n;
	void (*entry)(uint32_t i, struct e4l_new_dirent *entry,
		      const void *priv);
	const void *priv;
};

/* The division of a directory into blocks. */
struct e4l_dir_shape {
	bool indexed;
	/* number of the first entry of each leaf; the caller frees the array */
	uint32_t *start;
	uint32_t leaves;
	unsigned int levels;	/* levels of index blocks below the root */
	/* number of index blocks on each level, from the top */
	uint32_t index[E4L_DIR_MAX_LEVELS];
	uint32_t blocks;
};

/* Returns the size in bytes of an entry other than "." and "..". */
unsigned int e4l_dirent_bytes(const struct e4l_dir_builder *b,
			      unsigned int name_len);

/*
 * Returns the number of bytes in a leaf that entries can use, including "."
 * and "..".
 */
unsigned int e4l_dir_leaf_bytes(ext2_filsys fs);

/* Returns whether all entries of the directory fit in one block. */
bool e4l_dir_fits_block(const struct e4l_dir_builder *b);

/*
 * Divides the entries into blocks.  If @indexed is true, the directory is an
 * htree; otherwise, it is linear.  The caller frees shape->start.  Errors, with
 * shape->start NULL: ENOMEM, E4L_ET_DIR_TOO_LARGE (the index would need more
 * levels than the filesystem allows).
 */
errcode_t e4l_dir_shape(const struct e4l_dir_builder *b, bool indexed,
			struct e4l_dir_shape *shape);

/*
 * From the number of leaves in @shape, computes the number of index blocks on
 * each level and the number of all blocks.  Errors: E4L_ET_DIR_TOO_LARGE.
 */
errcode_t e4l_dir_cut_index(const struct e4l_dir_builder *b,
			    struct e4l_dir_shape *shape);

/*
 * Builds block @blk of the directory in @buf, which must be zeroed.  If @blk is
 * beyond the end of a linear directory, builds a block without entries.
 */
void e4l_dir_put_block(const struct e4l_dir_builder *b,
		       const struct e4l_dir_shape *shape, uint32_t blk,
		       char *buf);

/*
 * Writes the entries [from, to) to the @end bytes at @buf, which must be
 * zeroed.  Extends the last entry to the end of the bytes.  If @from is equal
 * to @to, writes an unused entry.
 */
void e4l_dir_put_entries(const struct e4l_dir_builder *b, uint32_t from,
			 uint32_t to, char *buf, unsigned int end);

#endif
