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
#include <time.h>
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
 * How many threads may work at once, 1 to 64.  The default is the number of
 * processors, at least 2.  Many requests are in flight in any case, since
 * ranges are announced before they are read: more threads only get in each
 * other's way.
 */
errcode_t e4l_set_threads(struct e4l *e, unsigned int threads);

/*
 * Has @guard called with @priv whenever a change of the filesystem is about to
 * begin, to be committed or to be ended, never twice at a time: an error from
 * it, E4L_ET_NOT_OURS when somebody else uses the device, is the end before
 * anything more is written.  It may see what the library cannot, which makes sure by itself that
 * the filesystem's superblock and the journal's are still what they were when
 * they were read or written last: they are not once somebody has mounted the
 * filesystem to write, or has repaired it.
 */
void e4l_set_guard(struct e4l *e, errcode_t (*guard)(void *priv), void *priv);

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
 * The fewest tree blocks for @extents leaf entries: none for four, which the
 * inode itself holds; more need a tree whose root has at most four children.
 */
uint64_t e4l_ideal_tree_blocks(uint64_t extents, uint32_t blocksize);

/* ----------------------------------------------------------------- zero-out */

/*
 * What one write into an unwritten extent makes written: @len blocks from
 * @lblk, of which the first @head and the last @tail have to be zeroed.
 */
struct e4l_zeroout {
	uint32_t lblk;
	uint32_t len;
	uint32_t head;
	uint32_t tail;
};

/*
 * The kernel's rule (ext4_ext_convert_to_initialized() in Linux 6.12 to 6.18)
 * for a write of @len blocks, at least 1, from @lblk, wholly inside the
 * unwritten extent @ex.  @max_blocks is the chunk limit, extent_max_zeroout_kb
 * in blocks; 0 means never to zero.  @eof_blk is the number of blocks up to
 * the end of the file before the write; unless @ex ends there or earlier,
 * nothing is zeroed.  Then
 *  - the tail is zeroed when the blocks from @lblk to the extent's end are no
 *    more than @max_blocks,
 *  - the head is zeroed when the blocks from the extent's start to the end of
 *    the write (and of the tail, if that is zeroed) are fewer than @max_blocks,
 *  - and neither when the write reaches the extent's end.
 * Pure.
 */
void e4l_zeroout_rule(const struct e4l_extent *ex, uint32_t lblk, uint32_t len,
		      uint32_t max_blocks, uint64_t eof_blk,
		      struct e4l_zeroout *ret);

/*
 * A file in memory whose extents change under writes as they would in the
 * kernel on a mount with dioread_lock: blocks go to a written neighbour where
 * that is possible, the rule above applies where it is not, and then entries
 * are split and merged, both within one leaf of the extent tree only.
 */
struct e4l_zeroout_file;

/*
 * @extents: @n extents in logical order, copied.  Their leaves are taken to be
 * packed, as a file that grew from start to end has them.  @eof_blk is as for
 * the rule; it grows with the writes.
 * Errors: E4L_ET_BAD_ARGUMENT (@extents out of order, overlapping or longer
 * than an entry may be; @blocksize not a filesystem's), ENOMEM.
 */
errcode_t e4l_zeroout_file_new(const struct e4l_extent *extents, size_t n,
			       uint32_t blocksize, uint64_t eof_blk,
			       struct e4l_zeroout_file **ret);
/* NULL is allowed. */
void e4l_zeroout_file_free(struct e4l_zeroout_file *f);

/* Hears of @len blocks, from @lblk in the file, that have to be zeroed. */
typedef void (*e4l_zero_fn)(blk64_t pblk, uint32_t lblk, uint32_t len,
			    void *priv);

/*
 * Writes @len blocks, at least 1, from @lblk, with the chunk limit
 * @max_blocks.  @zero may be NULL.
 * Errors: E4L_ET_BAD_ARGUMENT (part of the range is a hole; nothing has
 * changed), ENOMEM (the file is consistent, part of the range is written).
 */
errcode_t e4l_zeroout_file_write(struct e4l_zeroout_file *f, uint32_t lblk,
				 uint32_t len, uint32_t max_blocks,
				 e4l_zero_fn zero, void *priv);

/*
 * The number of extents of @f; copies them to @ret, unless that is NULL, in
 * logical order.
 */
size_t e4l_zeroout_file_extents(const struct e4l_zeroout_file *f,
				struct e4l_extent *ret);
/* -------------------------------------------------------- extent status cache */

/* What is known of a block of a file. */
enum e4l_es_state {
	E4L_ES_WRITTEN,
	E4L_ES_UNWRITTEN,
	E4L_ES_HOLE,		/* known to have no place */
	E4L_ES_DELAYED,		/* has content that has no place yet */
};

/* @len blocks of one state; on the disk, if they have a place, in one run. */
struct e4l_es {
	blk64_t pblk;		/* written and unwritten; 0 otherwise */
	uint64_t len;		/* lblk + len is 2^32 at most */
	uint32_t lblk;
	enum e4l_es_state state;
};

/*
 * Opaque: decoded extents of many inodes, under a limit of memory.  What is
 * adjacent and alike is one entry.  When the limit is reached, entries are
 * forgotten: those that have not been looked up since they came first, inode by
 * inode.  Delayed entries are known nowhere else, so they stay until they are
 * removed, whatever the limit.
 *
 * Not shared: it has no locks and is for one thread at a time.  Threads may take
 * turns, as they do in the callbacks of e4l_scan(), which never overlap; nobody
 * else may use a cache while e4l_repack() runs that it was given to.
 */
struct e4l_es_cache;

/* Error: ENOMEM.  @limit_bytes counts what malloc(3) adds to each entry. */
errcode_t e4l_es_new(uint64_t limit_bytes, struct e4l_es_cache **ret);
/* NULL is allowed. */
void e4l_es_free(struct e4l_es_cache *c);

/*
 * From now on @es is what is known of its blocks in inode @ino.  Errors, after
 * which nothing has changed: E4L_ET_BAD_ARGUMENT, ENOMEM.
 */
errcode_t e4l_es_insert(struct e4l_es_cache *c, ext2_ino_t ino,
			const struct e4l_es *es);

/*
 * Whether anything is known of block @lblk: then *@es is all of the entry that
 * has it.  Counts as a hit or a miss.
 */
bool e4l_es_lookup(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
		   struct e4l_es *es);

/*
 * The same for up to @n entries that follow one on the other, the first of which
 * has block @lblk.  Returns how many: each is a hit; fewer than @n: what follows
 * is not known, a miss, or there can be no more.
 */
size_t e4l_es_lookup_many(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
			  struct e4l_es *es, size_t n);

/*
 * Nothing is known any more of @len blocks from @lblk, delayed ones included.
 * The range may end anywhere.  Error, after which nothing has changed: ENOMEM.
 */
errcode_t e4l_es_remove(struct e4l_es_cache *c, ext2_ino_t ino, uint32_t lblk,
			uint64_t len);

/* Nothing is known any more of inode @ino; of any. */
void e4l_es_forget(struct e4l_es_cache *c, ext2_ino_t ino);
void e4l_es_forget_all(struct e4l_es_cache *c);

/*
 * Forgets up to @want entries that are not delayed, and at least one if there
 * is any.  Returns how many.
 */
uint64_t e4l_es_shrink(struct e4l_es_cache *c, uint64_t want);

struct e4l_es_stats {
	uint64_t inodes;	/* now */
	uint64_t entries;
	uint64_t reclaimable;	/* of these: not delayed */
	uint64_t active;	/* of these: in use */
	uint64_t bytes, max_bytes;	/* now; at most so far */
	uint64_t limit_bytes;
	uint64_t hits, misses;	/* so far */
	uint64_t scans;		/* e4l_es_shrink(), by the limit too */
	uint64_t visited, max_visited;	/* inodes and entries: in all scans,
					 * in one */
	uint64_t reclaimed;	/* entries */
	uint64_t scan_ns, max_scan_ns;	/* processor time, likewise */
};
void e4l_es_get_stats(const struct e4l_es_cache *c, struct e4l_es_stats *stats);

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
	/* the next piece may go on with the last run of an indirect map */
	const struct e4l_extent *extents;
	size_t n_extents;
	/* in the order in which a walk down the tree meets them */
	const struct e4l_tree_block *tree;
	size_t n_tree;
};

/* Something that could not be read or believed, and was stepped over. */
struct e4l_damage {
	ext2_ino_t ino;		/* 0: none in particular */
	blk64_t blk;		/* a tree's, an inode table's, ...; 0: none */
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
	/*
	 * Groups are done up to @group of @groups, at the end up to all; may
	 * be NULL.
	 */
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

/*
 * How one file is laid out.  The words:
 *  - fragment: a maximal run contiguous in the file and on the disk, whatever
 *    the states of its extents;
 *  - split: two adjacent extents of one fragment that differ in state;
 *  - mergeable: two adjacent extents of one fragment and of one state whose
 *    lengths fit in one entry;
 *  - logical run: a maximal run contiguous in the file, so the fewest
 *    fragments that the file's blocks could have;
 *  - ideal extents: the fewest entries that could hold the blocks and states
 *    if every logical run were one fragment.
 * In an indirect-mapped file, which has no entries, an extent is a fragment,
 * there are no splits and nothing is mergeable, the ideal is one extent for
 * each logical run, and ideal_tree_blocks is tree_blocks: the number of map
 * blocks depends on which logical blocks are mapped, not on where they lie.
 */
struct e4l_file_score {
	uint64_t blocks;		/* mapped blocks */
	uint64_t unwritten_blocks;
	uint64_t extents;
	uint64_t unwritten_extents;
	uint64_t fragments;
	uint64_t logical_runs;		/* at most fragments */
	uint64_t ideal_extents;		/* at most extents */
	uint64_t splits;
	uint64_t mergeable;
	uint64_t tree_blocks;
	uint64_t ideal_tree_blocks;
	/* what the peers would say of it */
	uint64_t filefrag_extents;	/* filefrag's "extents found" */
	/* e4defrag's extents: FIEMAP joins entries of one fragment and state,
	 * at least once the kernel has them cached */
	uint64_t fiemap_extents;
	bool non_contiguous;		/* counted by e2fsck */
};

/*
 * Scores one file piece by piece; start from all zeroes.  The fields beside
 * the score belong to the functions below.
 */
struct e4l_scorer {
	struct e4l_file_score score;
	struct e4l_extent last;		/* len 0: none yet */
	uint64_t state_run_blocks;	/* one state, logically contiguous */
	blk64_t e2fsck_prev;		/* 0: none yet */
	bool discontiguous;
};

/*
 * Adds a piece.  Pieces may be cut anywhere, but each tree block must be in
 * the piece of the first extent below it or later, and after the extents
 * before it.  Pure: reads and writes nothing but its arguments.
 */
void e4l_score_piece(struct e4l_scorer *s, const struct e4l_piece *piece);

/*
 * Completes the score after the last piece of a file.  @fs gives the block
 * size and the group size and is not changed.
 *
 * non_contiguous follows e2fsck's pass 1: some block is not behind the one
 * before it in the file's order (which includes the blocks of an indirect map,
 * but not those of an extent tree; holes count for nothing), and i_blocks is
 * less than a block group; never for the resize inode and the bad blocks
 * inode.
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
 * as full.  Calls never overlap, but may come from different threads; a result
 * other than 0 ends the reading with that result.
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

/* -------------------------------------------------------------- directories */

/* One name in a directory. */
struct e4l_dirent {
	ext2_ino_t dir;		/* the directory that holds it */
	ext2_ino_t ino;		/* 1 to s_inodes_count */
	uint8_t file_type;	/* EXT2_FT_*; 0 without the filetype feature */
	uint8_t name_len;	/* 1 to 255 */
	/*
	 * Not terminated; valid during the call only.  Any bytes but '/' and
	 * NUL, and in encrypted directories, where it is the cipher text,
	 * those too.
	 */
	const char *name;
};

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
};

struct e4l_dirs_ops {
	/*
	 * Called for each entry but ".", blocks in no particular order; the
	 * entries of one block in their order.  Calls (also of the functions
	 * below) never overlap, but may come from different threads.  A
	 * result other than 0 ends the reading with that result.  May be NULL.
	 */
	errcode_t (*entry)(const struct e4l_dirent *entry, void *priv);
	/*
	 * Whether entry() is to be called.  Runs in several threads at once,
	 * and beside the other functions; NULL: for each entry.
	 */
	bool (*wanted)(const struct e4l_dirent *entry, void *priv);
	/* Called once for each directory, in no particular order; or NULL. */
	errcode_t (*locality)(const struct e4l_dir_locality *l, void *priv);
	/* Hears of what was stepped over; may be NULL. */
	errcode_t (*damage)(const struct e4l_damage *damage, void *priv);
};

/* Opaque: reads the contents of directories that a scan meets. */
struct e4l_dirs;

/*
 * Creates a reader.  @ops is copied.  If locality is asked for on a filesystem
 * without the filetype feature, reads the inode tables to learn which inodes
 * are directories (a bit for each inode).
 */
errcode_t e4l_dirs_new(struct e4l *e, const struct e4l_dirs_ops *ops,
		       void *priv, struct e4l_dirs **ret);

/*
 * Adds a piece from e4l_scan(); anything but a directory is passed over.
 * Up to 256 Ki runs of directory blocks are collected and then read in disk
 * order by several threads, so that the callbacks run now and then during this
 * function, and for the rest in e4l_dirs_finish(); for inline directories, at
 * once.  Beside that, memory is used for locality: 8 bytes for each entry of
 * up to 8 MiB of directories of several blocks, and, while a directory over
 * 8 MiB is read, a bit for each inode.  Directories that claim more blocks than
 * the filesystem has are damage.  After an error the reader can only be freed.
 */
errcode_t e4l_dirs_add_piece(struct e4l_dirs *d, const struct e4l_piece *piece);

/* Reads what is still collected.  The reader can then be used again. */
errcode_t e4l_dirs_finish(struct e4l_dirs *d);

/* Frees @d; NULL is allowed. */
void e4l_dirs_free(struct e4l_dirs *d);

/* Opaque: one full path for each of a set of inodes. */
struct e4l_names;

/*
 * Learns the names of the @n inodes @wanted, or, if @wanted is NULL, of all.
 * An inode that has several gets the one in the directory with the smallest
 * number, there the first in byte order.  Reads every directory once and,
 * when @wanted is given, their parents, level by level.  Memory: 16 bytes and
 * the name for each inode wanted (for NULL: in use) and each of their parents.
 */
errcode_t e4l_names_load(struct e4l *e, const ext2_ino_t *wanted, size_t n,
			 struct e4l_names **ret);

/*
 * The full path of @ino, from the root's "/", terminated; it belongs to @names
 * and is valid until the next call.  Names are as on disk, but in names of
 * encrypted directories, '/' and NUL become '?'.  NULL: @ino was not asked
 * for, has no name, is not connected to the root, lies over 2048 directories
 * deep, or memory is short.
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

/* -------------------------------------------------------------------- model */

/*
 * Which inodes are files here: those in use from the first that is not
 * reserved (s_first_ino), and the root directory.  The journal, resize, quota,
 * orphan-file and bad-blocks inodes are not, wherever they are; they count
 * only in e2fsck's own figures, as they do there.
 */

/* One file, as handed to e4l_model_options.file. */
struct e4l_file {
	ext2_ino_t ino;
	const struct ext2_inode_large *inode;	/* see struct e4l_piece */
	enum e4l_map map;
	unsigned int depth;
	bool damaged;
	struct e4l_file_score score;
	const char *path;	/* see e4l_names_path(); NULL if not asked for */
};

/* By what the worst files are the worst; equal ones by inode number. */
enum e4l_sort {
	E4L_SORT_EXCESS,	/* extents - ideal_extents */
	E4L_SORT_EXTENTS,
	E4L_SORT_FRAGMENTS,
	E4L_SORT_SIZE,		/* size in bytes */
};

/* Flags for e4l_model_options. */
#define E4L_MODEL_GROUPS	0x1	/* a row for each block group */
#define E4L_MODEL_FILE_PATHS	0x2	/* file() gets paths; see e4l_names */

/* What e4l_model_build() is to do.  All zeroes are valid: totals only. */
struct e4l_model_options {
	unsigned int flags;
	/*
	 * Restricts files and directories (not the free space, nor e2fsck's
	 * unused inodes) to an inode bitmap, as e4l_subtree() makes it; NULL:
	 * everything.  Borrowed.
	 */
	ext2fs_inode_bitmap only;
	size_t top;		/* how many worst files to keep */
	enum e4l_sort sort;
	uint64_t min_extents;	/* others are not among the worst, nor given
				 * to file(); they are in the totals */
	size_t max_damaged;	/* how many damages to keep; all are counted */
	/* Called for each file in inode order; see e4l_scan_ops.piece. */
	errcode_t (*file)(const struct e4l_file *file, void *priv);
	void (*progress)(dgrp_t group, dgrp_t groups, void *priv);
	void *priv;
};

struct e4l_worst_file {
	ext2_ino_t ino;
	uint16_t mode;
	enum e4l_map map;
	uint64_t size_bytes;
	struct e4l_file_score score;
	char *path;		/* NULL: it has none */
};

struct e4l_group_row {
	uint64_t blocks;		/* fewer in the last group */
	struct e4l_free_histogram free_space;	/* runs cut at its borders */
	uint32_t inodes_used;		/* by its descriptor */
	uint32_t unused_inodes_read_by_fsck;
	/* of the files whose inode is in the group */
	uint64_t files, directories;
	uint64_t fragmented, extents, fragments, ideal_extents;
};

struct e4l_model {
	struct {
		uint64_t count;
		uint64_t regular;
		uint64_t directories;
		/* more fragments than logical runs */
		uint64_t fragmented;
		/* sums of what struct e4l_file_score has */
		uint64_t blocks;
		uint64_t unwritten_blocks;
		uint64_t extents;
		uint64_t unwritten_extents;
		uint64_t fragments;
		uint64_t ideal_extents;
		uint64_t excess_extents;	/* extents - ideal_extents */
		uint64_t splits;
		uint64_t mergeable;
		uint64_t tree_blocks;
		uint64_t ideal_tree_blocks;
		uint64_t indirect_mapped;	/* files */
		uint64_t inline_data;		/* files */
	} files;
	struct {
		uint64_t count;			/* whose contents were read */
		/* sums of struct e4l_dir_locality */
		uint64_t inodes;
		uint64_t itable_blocks;
		uint64_t itable_blocks_ideal;
		/*
		 * What e2fsck reads in vain, over all groups: inodes before
		 * itable_unused (without that field: all) that are not in use.
		 */
		uint64_t unused_inodes_read_by_fsck;
	} directories;
	struct e4l_free_histogram free_space;
	/* The peers' figures for the same files (filefrag and e4defrag, which
	 * walk names, count a file with two names twice). */
	struct {
		/* filefrag, over regular files and directories */
		uint64_t filefrag_extents;
		uint64_t filefrag_fragmented;	/* files with more than one */
		/* e4defrag -c, over regular files that are not empty */
		uint64_t e4defrag_extents;
		/* e2fsck -v */
		uint64_t e2fsck_files, e2fsck_directories;
	} peers;
	struct e4l_worst_file *worst;	/* the worst first */
	size_t n_worst;
	struct e4l_damage *damaged;	/* the first, as they were met */
	size_t n_damaged;
	uint64_t damaged_count;		/* all */
	struct e4l_group_row *groups;	/* NULL unless asked for */
	dgrp_t n_groups;
};

/*
 * Reads the whole filesystem and fills *@model, whose content the caller frees
 * with e4l_model_free(), after an error too.  @options may be NULL.  Memory is
 * bounded as for e4l_scan() and e4l_dirs_add_piece(), but for what @options ask
 * for.
 */
errcode_t e4l_model_build(struct e4l *e,
			  const struct e4l_model_options *options,
			  struct e4l_model *model);

/* Frees what @model holds and clears it. */
void e4l_model_free(struct e4l_model *model);
/* ------------------------------------------------------------------ journal */

/*
 * The only way in which this library changes a filesystem's metadata: in
 * transactions, of which after a power cut, a kill or an I/O error either
 * everything or nothing is there (once a kernel or e2fsck has replayed the
 * filesystem's own journal).
 *
 *	e4l_journal_open(e, NULL, &j);
 *	while (there is work) {
 *		e4l_txn_begin(j, &t);
 *		e4l_txn_alloc(t, new, n);
 *		... write the file's data to the new blocks through fs->io ...
 *		e4l_txn_put_inode(t, ino, inode);	  pointing there
 *		e4l_txn_free(t, old, n);
 *		e4l_txn_commit(t);
 *	}
 *	e4l_journal_close(j);
 *
 * The rules, which make this safe:
 *  - Between open and close, metadata is changed through the transaction
 *    alone; not by libext2fs functions that write, nor by ext2fs_flush().
 *    fs->block_map, the group descriptors and the free counts belong to
 *    e4l_txn_alloc() and e4l_txn_free(): look, but change them nowhere else.
 *  - Data is written directly through fs->io, only to blocks that nothing on
 *    the device refers to: those that e4l_txn_alloc() of the running
 *    transaction returned (or unwritten ones, whose content nobody sees).  No
 *    flush is needed: it is durable before the transaction is.
 *  - Blocks given to e4l_txn_free() stay marked in fs->block_map until
 *    e4l_txn_commit() has returned 0, so whoever allocates from what the
 *    bitmap shows as free cannot take them too early.
 * On a filesystem without a journal the same calls write to place, data
 * before metadata; only an undo file protects such a run.
 */
struct e4l_journal;
struct e4l_txn;

/*
 * Opens the journal of @e's filesystem, which must be open for writing; loads
 * the block bitmap when it is not.  @external is a channel on the journal
 * device if the filesystem's journal is on one, else NULL; borrowed until
 * e4l_journal_close(), its block size is set to the filesystem's.  Writes
 * nothing: a journal that is opened and closed leaves no trace.
 * Errors: EXT2_ET_RO_FILSYS; E4L_ET_JOURNAL_RECOVERY, _CORRUPT, _FORMAT,
 * _NARROW, _DEVICE (@external is missing, or not this filesystem's), _ERROR;
 * ENOMEM and what reading returns.  *@ret is then NULL.
 */
errcode_t e4l_journal_open(struct e4l *e, io_channel external,
			   struct e4l_journal **ret);

/* Whether that would work, as far as a few reads tell: not the bitmaps. */
errcode_t e4l_journal_probe(struct e4l *e, io_channel external);

/* How many metadata blocks fit in one transaction, at least 400. */
uint32_t e4l_journal_capacity(const struct e4l_journal *j);

/*
 * Waits until everything is in its place, marks the journal empty, updates the
 * superblock (free counts, time of last write, kilobytes written), and frees
 * @j, also after an error; aborts a transaction that is still running.  After
 * a failed commit nothing more is written: the journal then needs recovery,
 * which is what brings everything to the state before or after that
 * transaction; the failed commit's error is returned once more.  NULL is
 * allowed.
 * In any case the caller then lets go of the filesystem by ext2fs_free(), after
 * ext2fs_mmp_stop() if that is needed; ext2fs_close() would write the
 * superblock once more, and that write can tear.
 */
errcode_t e4l_journal_close(struct e4l_journal *j);

/* Begins a transaction; one at a time (else E4L_ET_BAD_ARGUMENT). */
errcode_t e4l_txn_begin(struct e4l_journal *j, struct e4l_txn **ret);

/*
 * How many more metadata blocks fit.  Each group in which something is
 * allocated or freed takes its bitmap and its descriptor's block.
 */
uint32_t e4l_txn_room(const struct e4l_txn *t);

/*
 * Gives the transaction's own copy of block @blk, for the caller to change
 * in place (checksums included); edit_block fills it from the device when it
 * is new to the transaction, new_block with zeroes in any case.  *@data
 * belongs to the transaction and stays valid until it ends or forgets the
 * block.  Bitmaps, group descriptors and superblocks are not to be touched.
 * Errors: E4L_ET_TXN_FULL (nothing has changed, and the transaction goes on),
 * E4L_ET_BLOCK_RANGE, ENOMEM and what reading returns.
 */
errcode_t e4l_txn_edit_block(struct e4l_txn *t, blk64_t blk, void **data);
errcode_t e4l_txn_new_block(struct e4l_txn *t, blk64_t blk, void **data);

/* Copies block @blk as the transaction would leave it to @buf. */
errcode_t e4l_txn_read_block(struct e4l_txn *t, blk64_t blk, void *buf);

/* The transaction is not to write @blk after all. */
void e4l_txn_forget_block(struct e4l_txn *t, blk64_t blk);

/*
 * Reads or writes inode @ino: EXT2_INODE_SIZE() bytes at @inode, in host byte
 * order.  Writing sets the checksum in the copy that is written.  Errors as
 * above, and E4L_ET_ITABLE_RANGE, E4L_ET_BAD_ARGUMENT (no such inode).
 */
errcode_t e4l_txn_read_inode(struct e4l_txn *t, ext2_ino_t ino, void *inode);
errcode_t e4l_txn_put_inode(struct e4l_txn *t, ext2_ino_t ino,
			    const void *inode);

/*
 * Allocates or frees blocks [@blk, @blk + @count): bitmap, group descriptors
 * and free counts follow.  With bigalloc, whole clusters (the last one may end
 * with the filesystem).  Freeing also forgets what the transaction wanted to
 * write there, and takes effect in fs->block_map when the transaction has
 * been committed.
 * Errors: E4L_ET_BLOCK_IN_USE, E4L_ET_BLOCK_NOT_IN_USE, E4L_ET_BLOCK_RANGE,
 * E4L_ET_BITMAP_RANGE, E4L_ET_BAD_ARGUMENT (a part of a cluster),
 * E4L_ET_TXN_FULL, ENOMEM; nothing has been allocated or freed then.
 */
errcode_t e4l_txn_alloc(struct e4l_txn *t, blk64_t blk, blk64_t count);
errcode_t e4l_txn_free(struct e4l_txn *t, blk64_t blk, blk64_t count);

/*
 * Makes the transaction durable and puts its blocks in their places; frees
 * @t.  An empty transaction writes nothing.  libext2fs' inode cache is
 * dropped.  After an error the filesystem is in the state before or after
 * the transaction, or will be when the journal is replayed; the only call
 * left for @j is e4l_journal_close().
 */
errcode_t e4l_txn_commit(struct e4l_txn *t);

/*
 * Drops the transaction and takes back what it allocated: as if it had never
 * begun.  Frees @t; NULL is allowed.
 */
void e4l_txn_abort(struct e4l_txn *t);

/*
 * Makes a change that libext2fs can make in one transaction of its own: @fn
 * changes metadata by libext2fs' functions, whose writes are kept in memory
 * until it has returned 0, and then all are committed, or none.  Bitmaps are
 * loaded for it.  Data it writes itself, to @device, by the rules above: to
 * blocks that it has allocated here or that are unwritten, and never to what
 * it has freed.  @doing is for e4l_detail(); @external as for
 * e4l_journal_open().  Nothing is written to the filesystem when nothing
 * changes.
 * Errors: @fn's; ENOSPC; E4L_ET_CHANGE_QUOTA (the filesystem counts what users
 * have, and @fn changed that); those of e4l_journal_open() and
 * e4l_txn_commit().  After one, let go of the filesystem by ext2fs_free();
 * only data has been written unless it was the commit that failed.
 */
errcode_t e4l_change(struct e4l *e, io_channel external, const char *doing,
		     errcode_t (*fn)(ext2_filsys fs, io_channel device,
				     void *priv),
		     void *priv);

/* ----------------------------------------------------------------- tunables */

/*
 * Tunables kept with the filesystem, in the extended attribute
 * trusted.ext4.tunables of the root directory.  Its value is text:
 *
 *	name=value[,name=value...]
 *
 * at most E4L_TUNABLES_MAX bytes without a NUL.  A name has 1 to
 * E4L_TUNABLE_NAME_MAX of a-z, 0-9 and '_'; a value has one or more printable
 * ASCII characters other than space, ',' and '='.  No name comes twice.  An
 * empty value of the attribute means that nothing is set.  Canonical text, the
 * only kind written here, has its names in byte order and its numbers in
 * decimal.
 */
#define E4L_TUNABLES_XATTR	"trusted.ext4.tunables"
#define E4L_TUNABLES_MAX	1024u
#define E4L_TUNABLE_NAME_MAX	63u

enum e4l_tunable_type {
	E4L_TUNABLE_NUMBER,		/* min to max */
	E4L_TUNABLE_POWER_OF_TWO,	/* 0, or a power of two, min to max */
};

/* A name that a value may have, e.g. "low" for 16. */
struct e4l_tunable_word {
	const char *word;
	uint32_t number;
};

/* No default holds everywhere: the kernel derives it from the filesystem. */
#define E4L_TUNABLE_AUTO	(-1)

/* What is known of a tunable. */
struct e4l_tunable_info {
	const char *name;
	enum e4l_tunable_type type;
	uint32_t min, max;
	const struct e4l_tunable_word *words;	/* ends with a NULL word */
	const char *unit;	/* of the value, plural; "" for a switch */
	int64_t default_number;	/* the kernel's, or E4L_TUNABLE_AUTO */
	const char *since;	/* the first kernel that has it; NULL: none,
				 * it needs the patches in kernel/ */
	const char *sysfs;	/* its file in /sys/fs/ext4/DEVICE/ */
	const char *meaning;	/* one line */
};

/* The table, in byte order of the names; NULL past its end. */
const struct e4l_tunable_info *e4l_tunable_at(size_t i);

/* The row for @name, NULL when it is not known. */
const struct e4l_tunable_info *e4l_tunable_find(const char *name);

/*
 * The number that @value stands for: a decimal number without sign and
 * without leading zeros, or one of the words.
 * Error: E4L_ET_TUNABLE_RANGE, for a number that is out of the range too.
 */
errcode_t e4l_tunable_number(const struct e4l_tunable_info *info,
			     const char *value, uint32_t *number);

/*
 * Writes the values that are accepted, e.g. "0 to 4294967295", to @buf, of
 * @size bytes (160 are enough), always terminated.  Returns @buf.
 */
const char *e4l_tunable_range(const struct e4l_tunable_info *info, char *buf,
			      size_t size);

/* Opaque: what an attribute says, in canonical order. */
struct e4l_tunables;

/* One of them; the strings live until the tunable is changed or freed. */
struct e4l_tunable {
	const struct e4l_tunable_info *info;	/* NULL: unknown, kept as is */
	const char *name;
	const char *value;
	bool valid;		/* known, and the value is in the range */
	uint32_t number;	/* when valid */
};

/* An empty set, or NULL without memory. */
struct e4l_tunables *e4l_tunables_new(void);
void e4l_tunables_free(struct e4l_tunables *t);

/*
 * Reads @len bytes of the attribute's text.  Unknown names, and known ones
 * with a value that is out of the range, are kept and can be told apart.
 * Errors: E4L_ET_TUNABLES_LONG, E4L_ET_TUNABLE_SYNTAX, E4L_ET_TUNABLE_TWICE,
 * ENOMEM; then *@ret is NULL.  Otherwise the caller frees it.
 */
errcode_t e4l_tunables_parse(const void *text, size_t len,
			     struct e4l_tunables **ret);

size_t e4l_tunables_count(const struct e4l_tunables *t);

/* The tunable at @i, below the count, in canonical order. */
const struct e4l_tunable *e4l_tunables_at(const struct e4l_tunables *t,
					  size_t i);

/* The tunable of that name, or NULL. */
const struct e4l_tunable *e4l_tunables_find(const struct e4l_tunables *t,
					    const char *name);

/*
 * Sets @name, whether it was set or not.  A known one is stored as a decimal
 * number; an unknown one is refused unless @force, and then stored as it is.
 * Errors, after which nothing has changed: E4L_ET_TUNABLE_UNKNOWN,
 * E4L_ET_TUNABLE_RANGE, E4L_ET_TUNABLE_SYNTAX, E4L_ET_TUNABLES_LONG, ENOMEM.
 */
errcode_t e4l_tunables_set(struct e4l_tunables *t, const char *name,
			   const char *value, bool force);

/* Removes @name; true when it was set. */
bool e4l_tunables_remove(struct e4l_tunables *t, const char *name);

/*
 * Makes the changes that @spec lists, `name=value` or `^name`, separated by
 * commas.  At the first that is refused it stops, and *@where points to it in
 * @spec; those before it have been made.  Removing what is not set is no
 * error.  Errors: as e4l_tunables_set().
 */
errcode_t e4l_tunables_change(struct e4l_tunables *t, const char *spec,
			      bool force, const char **where);

/*
 * Writes the canonical text to @buf, of at least E4L_TUNABLES_MAX + 1 bytes,
 * terminated.  Returns its length.
 */
size_t e4l_tunables_text(const struct e4l_tunables *t, char *buf);

/*
 * Reads the tunables of a filesystem that is not mounted (or of a mounted one
 * as they were on disk a moment ago).  Without the attribute the set is empty.
 * Errors: those of e4l_tunables_parse(), and what libext2fs finds wrong with
 * the root directory's attributes.  *@ret is then NULL.
 */
errcode_t e4l_tunables_read(struct e4l *e, struct e4l_tunables **ret);

/*
 * The number that the filesystem keeps for @name.  *@number stays as it is
 * when there is none or none that is valid, so let it hold the default.
 * Errors: as e4l_tunables_read().
 */
errcode_t e4l_tunables_get(struct e4l *e, const char *name, uint32_t *number);

/*
 * Stores the tunables, or removes the attribute when @t is empty, in one
 * transaction of the filesystem's journal (e4l_journal_open() says what
 * @external is).  Writes nothing when the attribute is like that already.
 * Errors: ENOSPC (neither the inode nor an attribute block has room, or no
 * block is free); E4L_ET_TUNABLES_QUOTA; those of e4l_journal_open(),
 * e4l_txn_commit() and libext2fs.  After one, let go of the filesystem by
 * ext2fs_free(); nothing has been written unless it was the commit that failed.
 */
errcode_t e4l_tunables_write(struct e4l *e, io_channel external,
			     const struct e4l_tunables *t);

/*
 * The same for a mounted filesystem, through a descriptor of its root
 * directory.  What was written is durable.
 * Errors: E4L_ET_NOT_EXT4_ROOT, EPERM without CAP_SYS_ADMIN, those of
 * e4l_tunables_parse(), and errno's of fgetxattr(2) and fsetxattr(2).
 */
errcode_t e4l_tunables_read_fd(int fd, struct e4l_tunables **ret);
errcode_t e4l_tunables_write_fd(int fd, const struct e4l_tunables *t);

/* ------------------------------------------------------------------ plug_io */

/*
 * Holds writes back and issues them in the device's order as few, large ones.
 * It unplugs (issues what it holds) when flushed, when closed, when its memory
 * is full, and before a zeroout or discard that touches what it holds.  Reads
 * see what is held.  A flush is a barrier: it returns after the channel below
 * has been flushed.
 *
 * Failures.  An unplug stops at the first write that fails and returns its
 * error from the call that caused it.  What was not written stays held: reads
 * see it, and the next unplug tries it again.  A write that returns an error
 * is not held at all (with write_byte of more than 256 KiB, a first part may
 * be).  Closing with writes that still fail returns the error and gives them
 * up.  A write error that the channel below hides until its flush is returned
 * by the flush here.
 *
 * A plugged channel is for one thread at a time, whatever is below.
 */

/* Memory for held writes when nothing else is said. */
#define E4L_PLUG_LIMIT_BYTES	(64ULL << 20)

/* Opens as unix_io_manager does, plugged, with the default limit. */
extern const io_manager e4l_plug_io_manager;

/*
 * Puts a plug over @under, which belongs to it when this succeeds and is
 * closed with it.  @limit_bytes is 1 MiB to 1 TiB; memory is taken as it is
 * needed, 1.02 to 1.03 of what is held and 4 MiB.
 * Errors: E4L_ET_BAD_ARGUMENT, EXT2_ET_NO_MEMORY.
 */
errcode_t e4l_plug_io_wrap(io_channel under, uint64_t limit_bytes,
			   io_channel *ret);

/*
 * Puts a plug under an open filesystem; closing @fs closes it.  Errors as
 * above; E4L_ET_BAD_ARGUMENT also when @fs is an image of metadata.
 */
errcode_t e4l_plug_fs(ext2_filsys fs, uint64_t limit_bytes);

struct e4l_plug_stats {
	uint64_t asked;		/* writes from above */
	uint64_t asked_bytes;
	uint64_t issued;	/* writes to the channel below */
	uint64_t issued_bytes;	/* over issued: their mean size */
	uint64_t unplugs;
};
void e4l_plug_io_get_stats(io_channel plugged, struct e4l_plug_stats *stats);

/* -------------------------------------------------------------------- place */

/* Opaque: an allocator of inodes. */
struct e4l_place;

/* Flags for e4l_place_new(). */
#define E4L_PLACE_HASH_ORDER	0x1	/* in a window, by the name's hash */
#define E4L_PLACE_PACK		0x2	/* directories close up, not by Orlov */
#define E4L_PLACE_NO_READ	0x4	/* directories are not on disk yet */
#define E4L_PLACE_NO_ZERO	0x8	/* the caller writes whole tables */

/*
 * Creates an allocator over @e's filesystem, whose inode bitmap must be loaded;
 * it is borrowed until e4l_place_free().  @window is the number of inodes that
 * a new directory gets: a power of two from 16 to 4096, or 0 for none.
 * Errors: E4L_ET_BAD_ARGUMENT, EXT2_ET_NO_INODE_BITMAP, ENOMEM.
 */
errcode_t e4l_place_new(struct e4l *e, uint32_t window, unsigned int flags,
			struct e4l_place **ret);
void e4l_place_free(struct e4l_place *p);

/*
 * Finds an inode for a new file @name of @mode in the directory @parent, as
 * ext2fs_new_inode() does: it is not marked; the caller does that, with
 * ext2fs_inode_alloc_stats2(), before the next call.  @name may be NULL.
 *  - A directory gets the first empty aligned window of the group that Orlov's
 *    rule picks (Documentation/filesystems/ext4/allocators.rst in Linux).
 *  - A file gets the first free inode behind its parent's in that window (with
 *    E4L_PLACE_HASH_ORDER, the place of its hash); then one in the window that
 *    the directory grew into last, which after opening is found from the
 *    entries in the directory block that will get @name; then in a new window
 *    of twice the size, from the parent's group on.
 *  - When there is none of these, any free inode, to the last.
 * Where inode tables are not zeroed, the part up to the inode is zeroed first.
 * Errors: EXT2_ET_INODE_ALLOC_FAIL when none is free; errors of zeroing, after
 * which *@ret must not be used.
 */
errcode_t e4l_new_inode(struct e4l_place *p, ext2_ino_t parent, int mode,
			const char *name, ext2_ino_t *ret);

/*
 * Finds @n consecutive free inodes that lie in as few blocks of the inode
 * table as @n inodes can: for a directory and its files when the whole tree is
 * known.  Inode-table blocks are filled up by later, smaller windows.  Mark
 * all @n before the next call.  Errors: as above; EXT2_ET_INODE_ALLOC_FAIL
 * says that no such run is left, not that no inode is.
 */
errcode_t e4l_place_window(struct e4l_place *p, uint32_t n, ext2_ino_t *ret);

struct e4l_place_stats {
	uint64_t inodes;	/* in use more than at e4l_place_new() */
	uint64_t fsck_inodes;	/* that e2fsck has to read more than then */
	uint64_t windows;	/* given to directories */
	uint64_t grown;		/* further windows */
	uint64_t leaf_goals;	/* found beside a directory's entries */
	uint64_t fallbacks;	/* found by the ordinary search */
	uint64_t zeroed_blocks;	/* of inode tables */
};
void e4l_place_get_stats(const struct e4l_place *p,
			 struct e4l_place_stats *stats);

/* --------------------------------------------------------------------- plan */

/* What may be done to a file. */
#define E4L_PLAN_MERGE		0x1	/* pack its extents and its tree */
#define E4L_PLAN_ZEROOUT	0x2	/* zero short unwritten runs */
#define E4L_PLAN_MOVE		0x4	/* put fragments together */

#define E4L_NO_LIMIT		UINT64_MAX

struct e4l_plan_options {
	uint32_t blocksize;		/* in bytes */
	uint32_t cluster_blocks;	/* 1 without bigalloc */
	uint32_t group_blocks;
	/*
	 * The longest unwritten run that may be zeroed; 0: none.  Runs over
	 * E4L_UNWRITTEN_MAX_BLOCKS are never zeroed.
	 */
	uint32_t zeroout_max_blocks;
	uint64_t zeroout_budget_blocks;	/* over all files; or E4L_NO_LIMIT */
	uint64_t copy_budget_blocks;	/* likewise; unwritten blocks are free */
	/*
	 * The most metadata blocks that one step may change (0: no limit), the
	 * block that group 0 begins with, and how many groups' descriptors are
	 * in one block (0 is 1).
	 */
	uint32_t txn_blocks;
	uint32_t first_blk;
	uint32_t groups_per_desc;
	/*
	 * How many blocks make a long free run (0: none is), whole clusters,
	 * and how many must be free in such runs for others to be used freely:
	 * see e4l_plan_make().
	 */
	uint64_t long_run_blocks;
	uint64_t long_blocks_kept;
	/*
	 * Where extents are kept until there is a step for their file; borrowed.
	 * NULL: in a cache of the planner's own, without limit.
	 */
	struct e4l_es_cache *cache;
	/*
	 * Finds a file's extents once more, as they were added, when @cache has
	 * forgotten some: an array that is freed by free(3).  Must not be NULL
	 * when @cache is not.
	 */
	errcode_t (*reread)(ext2_ino_t ino, struct e4l_extent **extents,
			    size_t *n, void *priv);
	void *priv;
};

/* A file as it is now. */
struct e4l_plan_file {
	ext2_ino_t ino;
	unsigned int allowed;		/* E4L_PLAN_* */
	uint64_t eof_blk;		/* blocks up to the end of the file */
	blk64_t goal;			/* a block of the inode's group */
	const struct e4l_extent *extents;	/* in logical order */
	size_t n_extents;
	const struct e4l_tree_block *tree;	/* its tree blocks, any order */
	size_t n_tree;
};

struct e4l_move {
	blk64_t from;
	blk64_t to;
	blk64_t len;
	bool copy;			/* false: unwritten, nothing to copy */
};

/*
 * One step: what to do to one file at once.  Extents and moves are in logical
 * order.  The step is whole in itself: whoever carries it out allocates @take, copies
 * and zeroes, replaces the tree by one of @new_extents in the blocks @tree (in
 * the order of e4l_tree_build()), and frees @give.
 */
struct e4l_file_plan {
	ext2_ino_t ino;
	/*
	 * Steps of one batch do not depend on each other.  They may use what
	 * steps of earlier batches give, so that those must be durable first.
	 */
	unsigned int batch;
	struct e4l_extent *new_extents;
	size_t n_old, n_new;		/* extents */
	uint64_t old_fragments, new_fragments;
	struct e4l_move *moves;
	size_t n_moves;
	struct e4l_free_run *zero;	/* unwritten now, written then */
	size_t n_zero;
	struct e4l_free_run *take, *give;	/* whole clusters */
	size_t n_take, n_give;
	blk64_t *tree;
	size_t n_tree;
	/* All of @tree is the end of @take: nobody refers to it before. */
	bool tree_is_new;
	uint64_t fragments_saved;	/* of clusters */
	uint64_t bytes_to_copy;
	uint64_t bytes_to_zero;
};

/* Opaque: files and free space, and what to do about them. */
struct e4l_plan;

/*
 * Creates a planner.  It does no I/O and knows only what it is told.  Errors:
 * E4L_ET_BAD_ARGUMENT (a size is 0, the group is not whole clusters, or what is
 * forgotten could not be found again), ENOMEM.
 */
errcode_t e4l_plan_new(const struct e4l_plan_options *options,
		       struct e4l_plan **ret);
/* NULL is allowed. */
void e4l_plan_free(struct e4l_plan *p);

/*
 * Adds a run of free blocks, which must not overlap another; fits
 * e4l_free_space().  Clusters that are not whole are left out.
 */
errcode_t e4l_plan_add_free(const struct e4l_free_run *run, void *plan);

/*
 * Adds a file.  If there is something to gain from it, its extents go to the
 * cache, in place of what that knew of the inode; otherwise it is forgotten:
 * memory is used for candidates only.  A file whose blocks
 * are not aligned with their clusters, as bigalloc demands, is not moved.
 * Errors: E4L_ET_BAD_ARGUMENT (extents out of order, overlapping or longer than
 * an entry may be; fewer tree blocks than the extents need), ENOMEM.
 */
errcode_t e4l_plan_add_file(struct e4l_plan *p,
			    const struct e4l_plan_file *file);

/*
 * Makes the plan, once.  What it promises:
 *  - Moving: no contiguous logical run of a file that may be moved is left in
 *    several fragments while there is a free run that holds it, unless the copy
 *    budget is used up or long free runs are kept.  A run that fits nowhere is
 *    put in the fewest free runs that hold it or joined piecewise, whichever
 *    leaves fewer fragments, if it loses one and at least a quarter of them
 *    (rounded down) by it.  A fragment stays where it is if the rest fits
 *    beside it.  Under a budget, files come first that lose most fragments per
 *    block copied.  No file ever gets more extents.
 *  - Free space: in runs of long_run_blocks and more, as much is free after
 *    each batch as before the plan, or long_blocks_kept if that is less, but
 *    for what was taken by files that save a fragment for every two clusters
 *    that are moved: whoever writes as much next, into runs of two clusters or
 *    more, gets no more fragments than were saved.  A file that would lessen
 *    them otherwise is put into shorter runs, or stays.
 *  - Zeroing: runs are zeroed whole or not at all.  As long as no extent grows
 *    over E4L_WRITTEN_MAX_BLOCKS by it, the result has the fewest extents that
 *    the budget can buy, and the fewest blocks zeroed for them.  The argument:
 *    unwritten runs of one fragment never touch each other, so that zeroing one
 *    saves two extents between two written neighbours and one beside a single
 *    neighbour, whatever happens to the others; among equals the shortest are
 *    best, and all splits of the budget between the two kinds are tried.  Where
 *    an extent would grow longer, runs that save nothing are left out and their
 *    cost is spent elsewhere; the result can then miss the best by as many
 *    extents as there are full ones.
 *  - Transactions: no step changes more than txn_blocks metadata blocks.  A move
 *    that would is cut into several steps, of which each leaves the file whole;
 *    files for which that cannot be done are left alone: e4l_plan_left().
 *  - What is already ideal is not touched, and a plan for the result, with no
 *    budget, is empty.
 * What the plan is does not depend on what the cache could keep.
 * Errors: E4L_ET_BAD_ARGUMENT (blocks that are given back are free already:
 * files share blocks, or the bitmaps are wrong), E4L_ET_CHANGED (a file's
 * extents are not found again as they were added), those of reread(), ENOMEM.
 * After an error the planner can only be freed.
 */
errcode_t e4l_plan_make(struct e4l_plan *p);

/* How often reread() was called so far. */
uint64_t e4l_plan_reread(const struct e4l_plan *p);

/*
 * The steps, by batch and then by what they gain per byte copied or zeroed;
 * they belong to @p.
 */
const struct e4l_file_plan *e4l_plan_steps(const struct e4l_plan *p,
					   size_t *n);

/* Why a plan leaves something of a file that could be better. */
enum e4l_left_why {
	E4L_LEFT_NO_ROOM,	/* no free run is long enough */
	E4L_LEFT_LONG_RUNS,	/* it would cost long free runs */
	E4L_LEFT_COPY_BUDGET,
	E4L_LEFT_ZEROOUT_BUDGET,
	E4L_LEFT_TXN,		/* no transactions of txn_blocks hold it */
	E4L_LEFT_MISALIGNED,	/* its blocks do not fit into clusters */
	E4L_LEFT_REASONS
};

struct e4l_left {
	ext2_ino_t ino;
	enum e4l_left_why why;
	uint64_t extents;	/* or fragments, that it could have less */
};

/* What the plan leaves, for each reason a file once; it belongs to @p. */
const struct e4l_left *e4l_plan_left(const struct e4l_plan *p, size_t *n);
/* The longest free run, in blocks, once the plan is carried out. */
uint64_t e4l_plan_longest(const struct e4l_plan *p);

/* ------------------------------------------------------------------- repack */

/* E4L_PLAN_* are for files; this is to merge and move directories. */
#define E4L_REPACK_DIRS		0x10
/*
 * Files of these kinds are left alone unless these say otherwise: boot loaders
 * record where immutable files lie, hibernation where a swap file does.
 */
#define E4L_REPACK_MOVE_IMMUTABLE 0x20
#define E4L_REPACK_MOVE_SWAP	0x40

struct e4l_repack_options {
	unsigned int flags;	/* E4L_PLAN_* and E4L_REPACK_* */
	bool dry_run;		/* plan only: nothing is written */
	uint32_t zeroout_max_blocks;	/* see struct e4l_plan_options */
	uint64_t zeroout_budget_blocks;	/* E4L_NO_LIMIT: none */
	uint64_t copy_budget_blocks;	/* E4L_NO_LIMIT: none */
	/* Files with fewer excess extents and splits than this are left. */
	uint64_t min_excess;
	/* Only these inodes, and not those; NULL: all, none.  Borrowed. */
	ext2fs_inode_bitmap only, exclude;
	/* The journal device's channel, see e4l_journal_open(). */
	io_channel journal;
	/*
	 * Keeps the extents of files that could be better, within its limit,
	 * until there is a plan; what it forgets is read again, and the result
	 * is the same.  It knows nothing of a file that is in the plan then.
	 * Borrowed; NULL: one without limit.
	 */
	struct e4l_es_cache *cache;
	/*
	 * A file that could have as many @extents less is left alone, or so
	 * far; @why is static text.  A file may be left for several reasons.
	 * NULL is allowed, as for the next two.
	 */
	void (*skipped)(ext2_ino_t ino, const char *why, uint64_t extents,
			void *priv);
	/* @done of @total groups scanned, or blocks written. */
	void (*progress)(bool writing, uint64_t done, uint64_t total,
			 void *priv);
	/*
	 * Asked between steps: true ends the work after the transaction.  Asked
	 * @inside one whenever piece_blocks (0: 256 MiB) were copied or zeroed
	 * or 2 s have passed: true drops that transaction, of which nothing but
	 * free and unwritten blocks has been written.  Asked before a file is
	 * read again, too: E4L_ET_INTERRUPTED, no plan.
	 */
	bool (*stop)(bool inside, void *priv);
	uint64_t piece_blocks;
	void *priv;
};

struct e4l_repack_result {
	uint64_t files_planned, files_done;
	uint64_t files_skipped;		/* calls of skipped() */
	uint64_t longest_free_blocks;	/* a run, when the plan is done */
	/* Of all the files that were considered; what the plan, or what has
	 * been done of it, leaves. */
	uint64_t extents_before, extents_after;
	uint64_t fragments_before, fragments_after;
	uint64_t tree_blocks_before, tree_blocks_after;
	uint64_t planned_copy_blocks, planned_zero_blocks;
	uint64_t copied_blocks, zeroed_blocks;
	uint64_t transactions;
	uint64_t files_reread;	/* to make the plan */
	bool stopped;		/* by stop(): another run goes on */
};

/*
 * Repairs the layout of a filesystem that is open for writing, exclusively
 * (or, with dry_run, for reading): scans, makes a plan, and carries it out in
 * transactions of the filesystem's own journal.  Before anything is written,
 * every block of every inode must have been found to belong to it alone and to
 * be in use; anything that cannot be read or believed ends the run.
 * Contents, sizes, times, owners, attributes and unwritten ranges stay as they
 * are.
 * Errors: E4L_ET_DAMAGED, E4L_ET_BLOCK_SHARED, E4L_ET_BLOCK_NOT_IN_USE: the
 * filesystem must be checked first; E4L_ET_QUOTA: so must its quota files, which
 * follow what trees take less; E4L_ET_CHANGED: a file was not the same when it
 * was read again.  Otherwise those of the journal, of reading and
 * writing.  After an error *@result tells what was done before, and the caller
 * must let go of the filesystem by ext2fs_free() (see e4l_journal_close()).
 */
errcode_t e4l_repack(struct e4l *e, const struct e4l_repack_options *options,
		     struct e4l_repack_result *result);

/* --------------------------------------------------------------------- tree */

/* Opaque: what will be in an image; entries are told apart by numbers. */
struct e4l_tree;

#define E4L_TREE_ROOT 1u	/* always there; 0 is no entry */

/* A stretch of a file's content.  What is between stretches is a hole. */
struct e4l_tree_piece {
	uint64_t offset;	/* in the file, bytes; ascending, no overlaps */
	uint64_t bytes;
	uint64_t pos;		/* in the data file: e4l_tree_set_data_fd() */
	bool unwritten;		/* preallocated: has a place, reads as zeroes */
};

/*
 * @name as getxattr(2) has it; ACLs in that function's format, or as ext4
 * stores them.
 */
struct e4l_tree_xattr {
	const char *name;
	const void *value;
	size_t size;
};

/* One file of any kind.  Everything that is pointed to is copied. */
struct e4l_entry {
	uint32_t mode;		/* as in stat(2) */
	uint32_t uid, gid;
	uint64_t size;		/* regular file, symlink */
	uint64_t rdev;		/* device */
	uint64_t pos;		/* regular file without pieces: in the data */
	struct timespec mtime, atime, ctime;
	const char *target;	/* symlink: size bytes */
	const struct e4l_tree_piece *pieces;	/* NULL: all is data */
	size_t n_pieces;
	const struct e4l_tree_xattr *xattrs;	/* other namespaces than ext4's
						 * are left out */
	size_t n_xattrs;
	bool from_ext4;		/* what follows counts */
	struct timespec crtime;
	uint32_t flags;		/* EXT2_*_FL, EXT4_*_FL: the user's own */
	uint32_t generation;
	uint32_t projid;
};

/* Creates a tree with a root that has no owner, time or attribute yet. */
errcode_t e4l_tree_new(struct e4l_tree **ret);
void e4l_tree_free(struct e4l_tree *t);

/*
 * Adds @name, of @len bytes, to the directory @parent; *@id is the new entry.
 * Whether the name is there already is not looked at: see e4l_tree_find();
 * planning refuses duplicates.  Memory: 104 bytes, the name, and what an image
 * needs of it.  Errors: E4L_ET_NAME_TOO_LONG, E4L_ET_BAD_NAME (empty, dots, a
 * slash, or @parent is no directory), E4L_ET_BAD_SYMLINK, E4L_ET_BAD_ACL,
 * E4L_ET_XATTR_TOO_LARGE, E4L_ET_TREE_TOO_LARGE, ENOMEM; the tree stays as it
 * was, and e4l_tree_where() says which entry it was.
 */
errcode_t e4l_tree_add(struct e4l_tree *t, uint32_t parent, const char *name,
		       size_t len, const struct e4l_entry *entry, uint32_t *id);

/* Replaces all but the name; directories stay such, others never become one. */
errcode_t e4l_tree_set(struct e4l_tree *t, uint32_t id,
		       const struct e4l_entry *entry);

/*
 * Adds @name, or replaces what has it: a directory in place of a directory
 * keeps what is in it; otherwise the old entry goes as in e4l_tree_remove().
 */
errcode_t e4l_tree_put(struct e4l_tree *t, uint32_t parent, const char *name,
		       size_t len, const struct e4l_entry *entry, uint32_t *id);

/*
 * Takes a name, not the root's, and all below it out of the tree.  Other names
 * of the same file stay.  Planning renumbers the entries that are left.
 */
void e4l_tree_remove(struct e4l_tree *t, uint32_t id);

/* Adds a further name of @id, which is not a directory. */
errcode_t e4l_tree_link(struct e4l_tree *t, uint32_t parent, const char *name,
			size_t len, uint32_t id);

/*
 * Gives @id, a regular file, and all its other names the content that @entry
 * says (size, pos, pieces); the rest of @entry is not looked at.
 */
errcode_t e4l_tree_set_content(struct e4l_tree *t, uint32_t id,
			       const struct e4l_entry *entry);

/* *@id is the entry called @name in @parent, 0 when there is none. */
errcode_t e4l_tree_find(struct e4l_tree *t, uint32_t parent, const char *name,
			size_t len, uint32_t *id);

/*
 * Loads the directory @path into a new tree, with @threads threads, 1 to 64.
 * The content of files is read when the image is written, at the sizes that
 * they have now: what a file has grown by is left out, one that has shrunk is
 * an error (E4L_ET_FILE_SHRANK).  Sockets, fifos, devices, hard links, holes,
 * extended attributes and ACLs are kept.  Errors are errno's;
 * e4l_tree_where() says which file.
 */
errcode_t e4l_tree_load_dir(struct e4l_tree *t, const char *path,
			    unsigned int threads);

/* Flags for e4l_tree_load_fs(). */
#define E4L_LOAD_GENERATION	0x1	/* keep the inodes' generations */

/* How to load a filesystem that is damaged: without what cannot be copied. */
struct e4l_load_damage {
	ext2fs_inode_bitmap inodes;	/* that are left out */
	ext2fs_inode_bitmap sharing;	/* whoever has a block of these, too */
	/* Called for each name that is left out, and why. */
	void (*left_out)(const char *path, errcode_t why, void *priv);
	void *priv;
};

/*
 * Loads @e's filesystem, which begins @offset_bytes into its device, into a new
 * tree: everything that ext4 keeps of a file, preallocated stretches and those
 * behind the end of file included.  The device itself is then the data, for
 * e4l_tree_set_data_fd(), and must not change.  Memory, beside the tree: 4
 * bytes for each inode of the filesystem.
 * Errors: those of e4l_tree_add() and of libext2fs, E4L_ET_DIR_CORRUPT,
 * E4L_ET_DANGLING, E4L_ET_EXTENT_RANGE, E4L_ET_EXTENT_ORDER,
 * E4L_ET_INTERRUPTED; e4l_tree_where() says which file.  With @damage (may be
 * NULL) what fails so is left out: a file, a directory with all below it, or
 * the rest of a directory; the root must be sound.
 */
errcode_t e4l_tree_load_fs(struct e4l_tree *t, struct e4l *e,
			   uint64_t offset_bytes, unsigned int flags,
			   const struct e4l_load_damage *damage);

/* Where the content of files is, when it is not in a directory; borrowed. */
void e4l_tree_set_data_fd(struct e4l_tree *t, int fd);

/* Calls @map for the owner and group of each entry. */
void e4l_tree_map_owners(struct e4l_tree *t,
			 void (*map)(uint32_t *uid, uint32_t *gid, void *priv),
			 void *priv);

/* Changes one entry's owner and group, or its permissions (07777). */
void e4l_tree_set_owner(struct e4l_tree *t, uint32_t id, uint32_t uid,
			uint32_t gid);
void e4l_tree_set_perms(struct e4l_tree *t, uint32_t id, uint32_t perms);

/*
 * Gives an entry an attribute, or takes it away when the value is empty.
 * Errors: those of e4l_tree_add() on attributes.
 */
errcode_t e4l_tree_set_xattr(struct e4l_tree *t, uint32_t id,
			     const struct e4l_tree_xattr *x);

/* No entry has attributes any more. */
void e4l_tree_drop_xattrs(struct e4l_tree *t);

/*
 * Calls @map for the users and groups that ACLs name, one at a time (the other
 * number counts for nothing), and for the users that file capabilities belong
 * to.  Errors, after which nothing is mapped: E4L_ET_BAD_ACL,
 * E4L_ET_ACL_MERGED, ENOMEM; e4l_tree_where() says which file.
 */
errcode_t e4l_tree_map_ids(struct e4l_tree *t,
			   void (*map)(uint32_t *uid, uint32_t *gid,
				       void *priv), void *priv);

/*
 * Files of a higher priority (-32767 to 32767; 0 for those that get none) come
 * first on the disk; a directory's is that of all it holds.
 * Errors: E4L_ET_NO_PATH, E4L_ET_BAD_ARGUMENT.
 */
errcode_t e4l_tree_set_priority(struct e4l_tree *t, const char *path,
				int priority);

/*
 * The tunables that the image will keep: an attribute of the root as others
 * are.  Errors: those of e4l_tunables_parse(), when the source's are damaged;
 * setting replaces them all the same.
 */
errcode_t e4l_tree_get_tunables(const struct e4l_tree *t,
				struct e4l_tunables **ret);
errcode_t e4l_tree_set_tunables(struct e4l_tree *t,
				const struct e4l_tunables *tunables);

/* The entries, further names included, and those removed until planning. */
uint32_t e4l_tree_entries(const struct e4l_tree *t);

/* The path in the source that the last failure was about; may be empty. */
const char *e4l_tree_where(const struct e4l_tree *t);

/* ----------------------------------------------------------------- populate */

/* Opaque: an image that is planned to the last block. */
struct e4l_populate;

#define E4L_WINDOW_EXACT UINT32_MAX

struct e4l_populate_options {
	uint64_t offset_bytes;	/* of the filesystem on the device */
	uint32_t window;	/* as e4l_place_new(), or E4L_WINDOW_EXACT */
	unsigned int threads;	/* at most 24 are used; 2 MiB each */
	int64_t now;		/* of what the image itself needs */
	bool clamp_times;	/* no time after now, and reproducible ones */
};

/* Where the image goes. */
struct e4l_populate_target {
	int fd;			/* for writing */
	int direct_fd;		/* the same with O_DIRECT, or -1 */
	/* Blocks done of all; from any thread, one at a time; may be NULL. */
	void (*progress)(uint64_t done, uint64_t total, void *priv);
	void *priv;
};

struct e4l_populate_stats {
	uint64_t wanted_blocks, free_blocks;
	uint64_t wanted_inodes, free_inodes;	/* wanted: with the root */
	uint64_t roomy_inodes;		/* a filesystem of so many has room */
					/* for what the window asks for */
	uint64_t writes;		/* calls */
	uint64_t written_blocks;
};

/*
 * Plans how @e's filesystem, new from mke2fs, opened for writing, its bitmaps
 * loaded, gets the content of @t.  Nothing is written; the bitmaps and counts
 * of the filesystem change in memory, so that after an error, or without
 * e4l_populate_write(), it must be closed without flushing (ext2fs_free()).
 * Both are borrowed until e4l_populate_free(), which *@ret needs after an
 * error too (it may be NULL); @t can be planned again then.
 * Errors: E4L_ET_NO_SPACE, E4L_ET_NO_INODES (the statistics say how much is
 * wanted), E4L_ET_CANNOT_POPULATE, E4L_ET_NOT_EMPTY, E4L_ET_NEEDS_FEATURE,
 * E4L_ET_DUPLICATE_NAME, E4L_ET_DIR_TOO_LARGE, E4L_ET_TOO_MANY_LINKS,
 * E4L_ET_FILE_TOO_LARGE, E4L_ET_XATTR_TOO_LARGE, E4L_ET_BAD_SYMLINK, ENOMEM.
 */
errcode_t e4l_populate_plan(struct e4l *e, struct e4l_tree *t,
			    const struct e4l_populate_options *options,
			    struct e4l_populate **ret);

/*
 * Writes all content, directories and inodes with large writes to @target;
 * closing the filesystem then writes its bitmaps, descriptors and superblocks.
 * Nothing is synced.  After an error the device's content is useless.
 */
errcode_t e4l_populate_write(struct e4l_populate *p,
			     const struct e4l_populate_target *target);

void e4l_populate_get_stats(const struct e4l_populate *p,
			    struct e4l_populate_stats *stats);
void e4l_populate_free(struct e4l_populate *p);

#ifdef __cplusplus
}
#endif
#endif
