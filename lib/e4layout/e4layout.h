/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libe4layout: read, score and repair the layout of ext4 filesystems.
 *
 * Conventions
 *  - Block numbers and counts are in filesystem blocks, 0-based from the start
 *    of the device, unless a name says otherwise (_bytes, _clusters).
 *  - Inode numbers are 1-based, groups and logical blocks of a file 0-based.
 *  - The library never prints and never exits.  Every function that can fail
 *    returns an errcode_t (0 is success); e4l_detail() says where it happened.
 *  - Nothing here changes the caller's ext2_filsys except where stated.
 */
#ifndef E4LAYOUT_H
#define E4LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>
#include <e4layout/e4l_err.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ context */

/* Opaque: a filesystem as this library sees it. */
struct e4l;

/* Where the last failure on a context happened. */
struct e4l_detail {
	const char *doing;	/* e.g. "reading the inode table"; static text */
	ext2_ino_t ino;		/* 0: no inode is concerned */
	blk64_t blk;		/* 0: no block is concerned */
	dgrp_t group;		/* meaningful when has_group is set */
	bool has_group;
};

/*
 * Creates a context over @fs, which is borrowed: it must stay open, and must
 * not be used by the caller while one of the functions below runs, until
 * e4l_free().  @fs must have been opened with EXT2_FLAG_64BITS; opened with
 * EXT2_FLAG_THREADS as well, reads run in parallel.  Checks the geometry and
 * the device's size: after this, every block number below
 * ext2fs_blocks_count() can be read.
 * Errors: E4L_ET_TRUNCATED, E4L_ET_BAD_GEOMETRY, ENOMEM.  On an error *@ret
 * is a context all the same when memory allowed (for e4l_detail()); it can
 * only be freed.  Otherwise it is NULL.
 */
errcode_t e4l_new(ext2_filsys fs, struct e4l **ret);

/* Frees @e and what it holds, but not its filesystem.  NULL is allowed. */
void e4l_free(struct e4l *e);

/* The filesystem that was given to e4l_new(). */
ext2_filsys e4l_fs(const struct e4l *e);

/* What the last failure was about; valid until the next call on @e. */
const struct e4l_detail *e4l_detail(const struct e4l *e);

/*
 * Writes "DOING (inode N, block N, group N)" for the last failure to @buf, of
 * @size bytes, always terminated.  Returns @buf.
 */
const char *e4l_detail_text(const struct e4l *e, char *buf, size_t size);

/*
 * How many threads may work at once, 1 to 64.  The default is from the number
 * of processors, never fewer than 4, since most of them wait for the device.
 */
errcode_t e4l_set_threads(struct e4l *e, unsigned int threads);

/*
 * Asks whatever runs on @e to stop soon with E4L_ET_INTERRUPTED.  Safe to call
 * from a signal handler and from any thread; stays in force until
 * e4l_clear_interrupt().
 */
void e4l_interrupt(struct e4l *e);
void e4l_clear_interrupt(struct e4l *e);

/* Reads that were made through @e. */
struct e4l_io_stats {
	uint64_t reads;		/* calls to the io_manager */
	uint64_t bytes;		/* bytes they asked for */
	uint64_t readaheads;	/* ranges announced to the kernel beforehand */
};
void e4l_get_io_stats(const struct e4l *e, struct e4l_io_stats *stats);

/* ------------------------------------------------------------------ extents */

/* The most blocks one leaf entry holds, written and unwritten (ext4_extents.h
 * in Linux: EXT_INIT_MAX_LEN, EXT_UNWRITTEN_MAX_LEN). */
#define E4L_WRITTEN_MAX_BLOCKS		32768u
#define E4L_UNWRITTEN_MAX_BLOCKS	32767u

/*
 * One leaf entry of an extent tree, or one contiguous run of an
 * indirect-mapped file (whose length is not limited by the constants above).
 * pblk + len never exceeds the filesystem, lblk + len never exceeds 2^32, and
 * len is never 0.
 */
struct e4l_extent {
	blk64_t pblk;		/* first block on the device */
	uint32_t lblk;		/* first block in the file */
	uint32_t len : 31;	/* blocks */
	uint32_t unwritten : 1;
};

/* One block of an extent tree or of an indirect map. */
struct e4l_tree_block {
	blk64_t pblk;
	uint32_t lblk;		/* first logical block that it maps */
	uint32_t level;		/* 0: maps data; n: maps blocks of level n-1 */
};

/*
 * Entries that one extent-tree block of @blocksize bytes holds: the header and
 * each entry are 12 bytes, and the checksum's 4 bytes fit in what is left.
 */
static inline uint32_t e4l_entries_per_block(uint32_t blocksize)
{
	return (blocksize - 12) / 12;
}

/*
 * The fewest tree blocks that hold @extents leaf entries, beside the four
 * that the inode itself holds.
 */
uint64_t e4l_ideal_tree_blocks(uint64_t extents, uint32_t blocksize);

/* --------------------------------------------------------------------- scan */

/* Where an inode keeps its content. */
enum e4l_map {
	E4L_MAP_NONE,		/* no blocks: device, short symlink, empty */
	E4L_MAP_EXTENTS,	/* an extent tree */
	E4L_MAP_INDIRECT,	/* the classic block map */
	E4L_MAP_INLINE,		/* inline_data */
};

/*
 * A piece of an inode in use.  Most inodes come in one piece, with first and
 * last set; a file with very many extents comes in several, in logical order,
 * so that no file has to fit in memory.
 */
struct e4l_piece {
	ext2_ino_t ino;
	bool first, last;
	bool damaged;		/* something of its map was stepped over */
	enum e4l_map map;
	unsigned int depth;	/* levels of tree blocks: 0 = all in the inode */
	/*
	 * The inode in host byte order; s_inode_size bytes are valid.  Like the
	 * arrays it belongs to the scan and is valid during the call only.
	 */
	const struct ext2_inode_large *inode;
	const struct e4l_extent *extents;
	size_t n_extents;
	/* in the order in which a walk down the tree meets them */
	const struct e4l_tree_block *tree;
	size_t n_tree;
};

/* Something that could not be read or believed, and was stepped over. */
struct e4l_damage {
	ext2_ino_t ino;		/* 0: none in particular */
	blk64_t blk;		/* the tree or inode-table block; 0: none */
	errcode_t why;
};

struct e4l_scan_ops {
	/*
	 * Called for each piece in inode order.  Calls never overlap, but may
	 * come from different threads.  A result other than 0 ends the scan
	 * with that result.
	 */
	errcode_t (*piece)(const struct e4l_piece *piece, void *priv);
	/* Likewise for damage, before the piece it concerns; may be NULL. */
	errcode_t (*damage)(const struct e4l_damage *damage, void *priv);
	/* Groups are done up to @group of @groups; may be NULL. */
	void (*progress)(dgrp_t group, dgrp_t groups, void *priv);
};

/* Flags for e4l_scan(). */
#define E4L_SCAN_NO_MAPS	0x1	/* inodes only: no extents, no tree */
#define E4L_SCAN_DIRS		0x2	/* directories only */

/*
 * Streams every inode in use (link count above 0), in inode order, with its
 * extents.  @only, when not NULL, is an inode bitmap (ext2fs) that restricts
 * the scan; only the inode-table blocks that hold its inodes are read.
 * Memory is bounded by a constant per thread, whatever the filesystem holds.
 * Damage does not end the scan; a result of 0 means that the end was reached.
 */
errcode_t e4l_scan(struct e4l *e, unsigned int flags, ext2fs_inode_bitmap only,
		   const struct e4l_scan_ops *ops, void *priv);

/* -------------------------------------------------------------------- score */

/* How one file is laid out; the words are defined in doc/architecture.md. */
struct e4l_file_score {
	uint64_t blocks;		/* mapped blocks */
	uint64_t unwritten_blocks;
	uint64_t extents;
	uint64_t unwritten_extents;
	uint64_t fragments;
	uint64_t ideal_extents;
	uint64_t splits;
	uint64_t mergeable;
	uint64_t tree_blocks;
	uint64_t ideal_tree_blocks;
	/* what the peers would say of it */
	uint64_t filefrag_extents;	/* filefrag's "extents found" */
	bool non_contiguous;		/* counted by e2fsck */
};

/* Scores one file piece by piece; start from all zeroes. */
struct e4l_scorer {
	struct e4l_file_score score;
	struct e4l_extent last;		/* len 0: none yet */
	uint32_t state_run_blocks;	/* same state, logically contiguous */
	bool state_run_unwritten;
	bool discontiguous;
	blk64_t e2fsck_prev;
};

/* Adds a piece.  Pure: reads and writes nothing but its arguments. */
void e4l_score_piece(struct e4l_scorer *s, const struct e4l_piece *piece);

/*
 * Completes the score after the last piece of a file.  @fs gives the block
 * size and the group size and is not changed.
 */
void e4l_score_finish(struct e4l_scorer *s, const struct e4l_piece *last,
		      ext2_filsys fs);

/* --------------------------------------------------------------- free space */

/* One maximal run of free blocks. */
struct e4l_free_run {
	blk64_t pblk;
	blk64_t len;
};

/*
 * Calls @run for every maximal run of free blocks, in disk order, from the
 * block bitmaps on the device (which are read in large pieces; groups whose
 * bitmap is uninitialised are computed).  With bigalloc, runs are whole
 * clusters, but lengths stay in blocks.  @damage (may be NULL) hears of
 * bitmaps that cannot be read or have a wrong checksum: their groups count
 * as full.  Calls come from the calling thread.
 */
errcode_t e4l_free_space(struct e4l *e,
			 errcode_t (*run)(const struct e4l_free_run *, void *),
			 errcode_t (*damage)(const struct e4l_damage *, void *),
			 void *priv);

/* Free runs of 2^i to 2^(i+1)-1 blocks are counted at [i]. */
#define E4L_FREE_BUCKETS 48
struct e4l_free_histogram {
	uint64_t blocks;
	uint64_t runs;
	uint64_t largest_blocks;
	struct {
		uint64_t runs;
		uint64_t blocks;
	} bucket[E4L_FREE_BUCKETS];
};

/* Adds a run of @len blocks, at least 1.  Pure. */
void e4l_free_histogram_add(struct e4l_free_histogram *h, uint64_t len);

#ifdef __cplusplus
}
#endif
#endif
