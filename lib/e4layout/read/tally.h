/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * tally: parses directory blocks for readers such as dirs.c, reports the
 * entries, and counts the locality of each directory.
 *
 * A batch of directories is read in rounds of consecutive directories.  Several
 * threads parse the blocks of a round in any order, each thread into its own
 * part.  Parts are merged one at a time.  The locality of directories is
 * counted at the end of a round.
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
	uint64_t blocks;		/* number of blocks in this batch */
	/*
	 * statistics of the directory, including the blocks of earlier batches
	 */
	struct e4l_dir_use use;
	bool encrypted;
	bool has_hashes;	/* entries have hashes after the names */
	/*
	 * the directory cannot be rebuilt, because it is damaged, has holes, or
	 * has no extents
	 */
	bool stays;
	bool begun;	/* the directory began in an earlier batch */
	bool last;			/* the directory ends in this batch */
};

struct e4l_tally {
	struct e4l *e;
	struct e4l_dirs_ops ops;
	void *priv;
	pthread_mutex_t lock;		/* held during callbacks */
	struct e4l_tally_dir *dirs;	/* the directories of the batch */
	size_t n_dirs;
	/*
	 * inode of lost+found; until an entry "lost+found" is found, the number
	 * that mke2fs uses
	 */
	ext2_ino_t lost_found;
	/*
	 * bitmap of directories, to count locality without the filetype
	 * feature; NULL if not needed
	 */
	uint8_t *is_dir;
	/*
	 * the current round has one directory, which is too large for @pairs or
	 * only partly in the batch
	 */
	bool huge;
	uint64_t *pairs;	/* (index in dirs) << 32 | inode */
	size_t n_pairs;
	uint8_t *seen;	/* bitmap of the inodes in a huge directory */
};

/* The results of parsing the blocks of one job. */
struct e4l_tally_part {
	struct e4l_tally *t;
	struct {
		uint32_t dir;
		struct e4l_dir_use use;
		bool damaged;
	} blocks[E4L_PART_BLOCKS];
	size_t n_blocks;
	/* inode of the directory, then inodes of the entries in a block */
	ext2_ino_t *inos;
	size_t n_inos;
	uint64_t *pairs;
	size_t n_pairs;
	struct e4l_dir_locality done[E4L_PART_BLOCKS];
	size_t n_done;
	struct e4l_damage *damage;
	size_t n_damage;
	struct e4l_dir_use *use;	/* statistics of the current block */
	unsigned int hash_bytes; /* size of the hash after each name */
	ext2_ino_t lost_found;	/* inode of lost+found; 0: not found */
	errcode_t err;	/* if not 0, no more blocks are parsed */
};

/* Initializes @t.  @ops and @priv are described at e4l_dirs_new(). */
errcode_t e4l_tally_init(struct e4l_tally *t, struct e4l *e,
			 const struct e4l_dirs_ops *ops, void *priv);
/* Frees the content of @t, including the batch.  @t may be all zeroes. */
void e4l_tally_release(struct e4l_tally *t);

/*
 * Adds a directory to the end of the batch, t->dirs.  The caller sets the
 * member blocks.
 */
errcode_t e4l_tally_add(struct e4l_tally *t, ext2_ino_t ino,
			uint32_t generation, uint32_t flags);

/*
 * Begins a round with t->dirs[@first] and sets *@n to the number of directories
 * in the round.  The caller passes the blocks of these directories to
 * e4l_part_block().
 */
errcode_t e4l_tally_begin(struct e4l_tally *t, size_t first, size_t *n);
/*
 * Ends the round of the @n directories from t->dirs[@first] on.  The caller
 * must have merged the results of all jobs (struct e4l_tally_part).
 */
errcode_t e4l_tally_end(struct e4l_tally *t, size_t first, size_t n);

/* Initializes @part, which must be zeroed. */
errcode_t e4l_part_init(struct e4l_tally_part *part, struct e4l_tally *t);
void e4l_part_release(struct e4l_tally_part *part);

/* Empties @part before the first e4l_part_block() of a job. */
void e4l_part_begin(struct e4l_tally_part *part);

/*
 * Parses block @blk, which is logical block @lblk of the directory
 * part->t->dirs[@index].  @block is the content of the block on disk, or NULL
 * if the block cannot be read.  After e4l_part_begin(), at most E4L_PART_BLOCKS
 * blocks may be parsed with @part.
 */
void e4l_part_block(struct e4l_tally_part *part, uint32_t index, uint32_t lblk,
		    blk64_t blk, const void *block);

/* Parses the inline directory @ino, which is not in a batch. */
void e4l_part_inline(struct e4l_tally_part *part, ext2_ino_t ino,
		     const struct ext2_inode_large *inode);

/*
 * Merges @part into part->t, and reports damage and localities.  Two threads
 * must not call e4l_part_take() at the same time.
 */
errcode_t e4l_part_take(struct e4l_tally_part *part);

/*
 * Returns the locality of the directory @dir.  @inos has @n inodes, in any
 * order, possibly repeated: @dir, and the inodes of all entries except
 * subdirectories.  Sorts @inos.
 */
struct e4l_dir_locality e4l_count_locality(ext2_filsys fs, ext2_ino_t dir,
					   ext2_ino_t *inos, size_t n);

#endif
