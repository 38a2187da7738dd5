/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dir_build: the blocks of a directory, made from its entries.  A directory is
 * linear, or an htree whose entries come in the order of their hashes: the
 * root, then the index blocks, level by level downwards, then the leaves.
 * Formats: Documentation/filesystems/ext4/directory.rst in Linux.
 */
#ifndef E4L_DIR_BUILD_H
#define E4L_DIR_BUILD_H

#include "e4layout/base/internal.h"

#define E4L_DIR_MAX_LEVELS	3

struct e4l_new_dirent {
	const char *name;
	uint8_t name_len;
	uint8_t file_type;	/* 0 without the feature */
	ext2_ino_t ino;
	uint32_t hash, minor;	/* as ext2fs_dirhash2() gives them */
};

struct e4l_dir_builder {
	ext2_filsys fs;
	ext2_ino_t ino, parent;
	uint32_t generation;
	uint8_t hash_version;	/* as the root of the index says it */
	/* Encrypted and casefolded: the hashes follow each name. */
	bool hashes_on_disk;
	unsigned int fill_percent;	/* of each leaf of an htree, 50 to 100 */
	/* The entries beside "." and "..", which are asked for several times */
	uint32_t n;
	void (*entry)(uint32_t i, struct e4l_new_dirent *entry,
		      const void *priv);
	const void *priv;
};

/* How a directory is divided into blocks. */
struct e4l_dir_shape {
	bool indexed;
	uint32_t *start;	/* [leaf]: its first entry; to be freed */
	uint32_t leaves;
	unsigned int levels;		/* of index blocks below the root */
	/* number of index blocks on each level, from the top */
	uint32_t index[E4L_DIR_MAX_LEVELS];
	uint32_t blocks;
};

/* The bytes that an entry, other than "." and "..", takes. */
unsigned int e4l_dirent_bytes(const struct e4l_dir_builder *b,
			      unsigned int name_len);

/* The bytes that a block has for entries, "." and ".." among them. */
unsigned int e4l_dir_leaf_bytes(ext2_filsys fs);

/* Whether one block holds all of them: a linear directory. */
bool e4l_dir_fits_block(const struct e4l_dir_builder *b);

/*
 * Divides the entries.  Errors: ENOMEM, E4L_ET_DIR_TOO_LARGE (the index would
 * need more levels than the filesystem allows); nothing is to be freed then.
 */
errcode_t e4l_dir_shape(const struct e4l_dir_builder *b, bool indexed,
			struct e4l_dir_shape *shape);

/*
 * Finds from an index' leaves how many index blocks it needs at each level, and
 * blocks in all.  Errors: E4L_ET_DIR_TOO_LARGE.
 */
errcode_t e4l_dir_cut_index(const struct e4l_dir_builder *b,
			    struct e4l_dir_shape *shape);

/*
 * Makes block @blk in @buf, a block of zeroes.  A linear directory may have
 * empty blocks behind those of its shape.
 */
void e4l_dir_put_block(const struct e4l_dir_builder *b,
		       const struct e4l_dir_shape *shape, uint32_t blk,
		       char *buf);

/*
 * Writes the entries [from, to) to the @end bytes of zeroes at @buf; the last
 * one, or one that is not in use, reaches to their end.
 */
void e4l_dir_put_entries(const struct e4l_dir_builder *b, uint32_t from,
			 uint32_t to, char *buf, unsigned int end);

#endif
