/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tally: what blocks of directories say, whoever reads them.  Entries are
 * handed out, and counted for the locality of their directory.
 *
 * Directories come in batches, and are read in rounds of some that follow each
 * other.  Threads look at blocks of a round in any order, each with a part of
 * its own; parts are taken one at a time, and what they hold is counted at the
 * round's end.
 */
#ifndef E4L_TALLY_H
#define E4L_TALLY_H

#include <e4layout/dirs.h>
#include "dirs.h"
#include "e4layout/base/internal.h"
#include "e4layout/format/dir_use.h"

#define E4L_PART_BLOCKS	64

/* A directory of the batch. */
struct e4l_tally_dir {
	ext2_ino_t ino;
	uint32_t generation;
	uint64_t blocks;		/* in this batch */
	struct e4l_dir_use use;		/* blocks: by its map */
	bool encrypted;
	bool has_hashes;		/* after its names */
	bool stays;			/* as it is: see judge_use() */
	bool begun;			/* it began in an earlier batch */
	bool last;			/* it ends in this one */
};

struct e4l_tally {
	struct e4l *e;
	struct e4l_dirs_ops ops;
	void *priv;
	pthread_mutex_t lock;		/* held around callbacks */
	struct e4l_tally_dir *dirs;	/* the batch */
	size_t n_dirs;
	ext2_ino_t lost_found;		/* where mke2fs makes it, or is named */
	uint8_t *is_dir;		/* a bit for each inode, if needed */
	/* the round */
	bool huge;			/* it is one directory, too long */
	uint64_t *pairs;		/* index of the directory, inode */
	size_t n_pairs;
	uint8_t *seen;			/* by the huge one; a bit per inode */
};

/* What one thread finds in some blocks. */
struct e4l_tally_part {
	struct e4l_tally *t;
	struct {
		uint32_t dir;
		struct e4l_dir_use use;
		bool damaged;
	} blocks[E4L_PART_BLOCKS];
	size_t n_blocks;
	ext2_ino_t *inos;		/* the directory, what a block holds */
	size_t n_inos;
	uint64_t *pairs;
	size_t n_pairs;
	struct e4l_dir_locality done[E4L_PART_BLOCKS];
	size_t n_done;
	struct e4l_damage *damage;
	size_t n_damage;
	struct e4l_dir_use *use;	/* of the block at hand */
	unsigned int hash_bytes;	/* of each of its entries */
	ext2_ino_t lost_found;		/* if it is named there */
	errcode_t err;			/* once it is set, nothing is added */
};

/* As e4l_dirs_new(). */
errcode_t e4l_tally_init(struct e4l_tally *t, struct e4l *e,
			 const struct e4l_dirs_ops *ops, void *priv);
/* Frees what is in @t, with the batch; all zeroes are allowed. */
void e4l_tally_release(struct e4l_tally *t);

/* Adds an empty directory to the batch: the last of t->dirs. */
errcode_t e4l_tally_add(struct e4l_tally *t, ext2_ino_t ino,
			uint32_t generation, uint32_t flags);

/*
 * A round begins with t->dirs[@first]: it has *@n directories, whose blocks are
 * then to be looked at; and it ends.
 */
errcode_t e4l_tally_begin(struct e4l_tally *t, size_t first, size_t *n);
errcode_t e4l_tally_end(struct e4l_tally *t, size_t first, size_t n);

/* @part starts zeroed. */
errcode_t e4l_part_init(struct e4l_tally_part *part, struct e4l_tally *t);
void e4l_part_release(struct e4l_tally_part *part);

/* Empties @part. */
void e4l_part_begin(struct e4l_tally_part *part);

/*
 * Block @blk, the @lblk-th of t->dirs[@index]; @block: as on disk, or NULL if
 * it cannot be read.  At most E4L_PART_BLOCKS.
 */
void e4l_part_block(struct e4l_tally_part *part, uint32_t index, uint32_t lblk,
		    blk64_t blk, const void *block);

/* The inline directory @ino, that is in no batch: likewise. */
void e4l_part_inline(struct e4l_tally_part *part, ext2_ino_t ino,
		     const struct ext2_inode_large *inode);

/* Takes what is in @part; one at a time. */
errcode_t e4l_part_take(struct e4l_tally_part *part);

/*
 * The locality of directory @dir that needs the @n inodes @inos, its own among
 * them, perhaps some several times: sorts them.
 */
struct e4l_dir_locality e4l_count_locality(ext2_filsys fs, ext2_ino_t dir,
					   ext2_ino_t *inos, size_t n);

#endif
