/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* repack: brings a filesystem closer to its best layout. */
#ifndef E4LAYOUT_REPACK_H
#define E4LAYOUT_REPACK_H

#include <e4layout/free_space.h>
#include <e4layout/score.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What to improve: one or more of these. */
#define E4L_REPACK_FILES	0x0001	/* each file in one fragment */
#define E4L_REPACK_TREES	0x0002	/* merge extents, zero short
					   unwritten ones, small trees */
#define E4L_REPACK_DIRS		0x0004	/* directories in few blocks */
#define E4L_REPACK_FREE		0x0008	/* free space in large extents */
#define E4L_REPACK_INODES	0x0010	/* each directory's inodes together:
					   new inode numbers */
/* All that keeps inode numbers. */
#define E4L_REPACK_DEFAULT \
	(E4L_REPACK_FILES | E4L_REPACK_TREES | E4L_REPACK_DIRS | \
	 E4L_REPACK_FREE)

/* Copy no data: only extent trees are improved. */
#define E4L_REPACK_NO_MOVE	0x0020
/*
 * Boot loaders record the blocks of immutable files, and hibernation those of
 * swap files: without these flags such files are skipped.
 */
#define E4L_REPACK_MOVE_IMMUTABLE 0x0040
#define E4L_REPACK_MOVE_SWAP	0x0080
/*
 * Renumber inodes that an overlay filesystem refers to by number: only safe if
 * it is not mounted and does not use the index.
 */
#define E4L_REPACK_RENUMBER_OVERLAY 0x0100
/*
 * Discard the blocks that the run has used and that are free when it ends.  No
 * undo file can bring them back.
 */
#define E4L_REPACK_DISCARD	0x0200
/* Plan only: nothing is written, and @e may be open for reading. */
#define E4L_REPACK_DRY_RUN	0x0400
/*
 * With E4L_REPACK_DRY_RUN: other programs write to the filesystem meanwhile, so
 * what looks damaged is passed over.
 */
#define E4L_REPACK_CHANGING	0x0800

#define E4L_NO_LIMIT	UINT64_MAX

/* What to do.  Inode bitmaps and the channel are borrowed. */
struct e4l_repack_what {
	unsigned int flags;		/* E4L_REPACK_* */
	/* Files with fewer excess extents and splits than this are skipped. */
	uint64_t min_excess;
	/*
	 * Only these inodes, and not those; NULL: all, none.  With @only, no
	 * other file moves and free space is not consolidated.
	 */
	ext2fs_inode_bitmap only, exclude;
	/* No region that is made free is longer; 0: no limit. */
	uint64_t free_run_blocks;
	/* The journal device's channel, see
	 * e4l_open(); NULL if that has opened it, or there is none. */
	io_channel journal;
	uint64_t reserved[8];
};

/* The longest unwritten extents to zero are those that the tunable
 * extent_max_zeroout_kb of the filesystem names, or 32 KiB. */
#define E4L_ZERO_AS_SET		UINT32_MAX

struct e4l_repack_limits {
	uint64_t copy_blocks;		/* in all; E4L_NO_LIMIT */
	uint64_t zero_blocks;		/* in all; E4L_NO_LIMIT */
	uint32_t zero_extent_blocks;	/* longer unwritten extents stay */
	/* For the plan, and half of it for one file; 0: no limit. */
	uint64_t mem_bytes;
	/* Data that is copied at once of a file, in blocks; 0: 16 MiB. */
	uint64_t part_blocks;
	uint64_t reserved[8];
};
#define E4L_REPACK_NO_LIMITS { \
	.copy_blocks = E4L_NO_LIMIT, .zero_blocks = E4L_NO_LIMIT, \
	.zero_extent_blocks = E4L_ZERO_AS_SET, \
}

/* Why a file, a directory or a directory's inodes are skipped. */
enum e4l_skip {
	E4L_SKIP_NONE,
	/* as asked */
	E4L_SKIP_EXCLUDED,
	E4L_SKIP_MIN_EXCESS,
	E4L_SKIP_NOT_FILES,	/* without E4L_REPACK_FILES */
	E4L_SKIP_NOT_TREES,
	E4L_SKIP_NOT_DIRS,
	E4L_SKIP_NOT_SELECTED,	/* inodes that are not in @only */
	E4L_SKIP_NO_MOVE,
	/* by the file */
	E4L_SKIP_INDIRECT,	/* block-mapped */
	E4L_SKIP_IMMUTABLE,
	E4L_SKIP_SWAP,
	E4L_SKIP_UNREADABLE,
	E4L_SKIP_ENCRYPTED,	/* is not zeroed */
	E4L_SKIP_UNWRITTEN_LONG,	/* longer than zero_extent_blocks */
	E4L_SKIP_BEYOND_END,	/* unwritten extents beyond the end of file */
	E4L_SKIP_MISALIGNED,	/* not aligned to clusters */
	/* by free space and limits */
	E4L_SKIP_NO_SPACE,	/* no free extent is large enough */
	E4L_SKIP_FREE_SPACE,	/* free space would get worse */
	E4L_SKIP_COPY_LIMIT,
	E4L_SKIP_ZERO_LIMIT,
	E4L_SKIP_JOURNAL,	/* too large for a transaction */
	E4L_SKIP_MEMORY,
	E4L_SKIP_TIME,		/* enough() ended the planning */
	E4L_SKIP_STOPPED,	/* stop() ended the run */
	/* directories */
	E4L_SKIP_DIR_LARGE,	/* its map does not fit in the inode */
	E4L_SKIP_DIR_HOLES,
	E4L_SKIP_DIR_ENTRIES,	/* more than an index can have */
	/* inodes of a directory */
	E4L_SKIP_OWN_INODES,	/* of the filesystem itself */
	E4L_SKIP_STABLE_INODES,
	E4L_SKIP_ENCRYPTED_INODES,	/* keys depend on the number */
	E4L_SKIP_UNKNOWN_POLICY,
	E4L_SKIP_EVM,		/* security.evm signs the number */
	E4L_SKIP_OVERLAY,	/* see E4L_REPACK_RENUMBER_OVERLAY */
	E4L_SKIP_XATTR_INODES,
	E4L_SKIP_NO_INODES,	/* no free inodes close together */
	E4L_SKIP_NOT_WORTH,	/* too many inodes for what it saves */
	E4L_SKIP_LINKS,		/* other directories have names of its files */
	E4L_SKIP_INODES_FULL,	/* no free inode at all */
	/* of a mounted filesystem */
	E4L_SKIP_IO_ERROR,
	E4L_SKIP_DAMAGED,
	E4L_SKIP_CHECKSUM,
	E4L_SKIP_READ_ONLY,
	E4L_SKIP_NO_MEMORY,
	E4L_SKIP_OPEN_FILES,
	E4L_SKIP_OPEN_FILES_ALL,
	E4L_SKIP_OFFLINE_DIRS,	/* only e4l_repack() does these */
	E4L_SKIP_OFFLINE_ENCRYPTED,	/* the kernel does not move encrypted files */
	E4L_SKIP_OFFLINE_TREES,
	E4L_SKIP_NO_JOURNAL,
	E4L_SKIP_FAST_COMMIT,
	E4L_SKIP_EXECUTABLE,
	E4L_SKIP_EXECUTED,	/* running, or swapped to */
	E4L_SKIP_LEASED,
	E4L_SKIP_CHANGED,	/* renamed, removed, or written to */
	E4L_SKIP_HIDDEN,	/* below another mount */
	E4L_SKIP_PERMISSION,
	E4L_SKIP_NOT_OPENED,
	E4L_SKIP_NOT_MAPPED,	/* the kernel does not report its extents */
	E4L_SKIP_BEING_WRITTEN,
	E4L_SKIP_PAGES,		/* the kernel cannot lock its pages */
	E4L_SKIP_UNSUPPORTED,	/* by the kernel, for such a file */
	E4L_SKIP_REFUSED,	/* by the kernel, for another reason */
	E4L_SKIP_LARGE_FRAGMENTS,	/* moving them gains little */
	E4L_SKIP_RESERVE,	/* the free space is kept for others */
	E4L_SKIP_QUOTA,
	E4L_SKIP_DONOR_PERMISSION,
	E4L_SKIP_DONOR,		/* no space could be reserved */
	E4L_SKIP_DEVICE,	/* the device does not take the data */
	E4L_SKIP_PUT_BACK,	/* after a write error */
	E4L_SKIP_LOST,		/* after a write error */
	E4L_SKIP_REASONS
};

/* What an e4l_skipped is about, and what it could have saved. */
enum e4l_skip_kind {
	E4L_SKIP_FILE,		/* extents (or fragments) */
	E4L_SKIP_DIR,		/* blocks of the directory */
	E4L_SKIP_INODES,	/* inode-table blocks */
	E4L_SKIP_KINDS
};

struct e4l_skipped {
	ext2_ino_t ino;
	enum e4l_skip_kind kind;
	enum e4l_skip why;
	uint64_t saved;		/* 0: unknown */
};

/* How a filesystem, or what was selected in it, is laid out. */
struct e4l_layout {
	uint64_t files;			/* of any type */
	uint64_t fragmented_files;	/* more fragments than logical runs */
	uint64_t extents, fragments;
	uint64_t excess_fragments;	/* fragments beyond one per logical
					   run */
	uint64_t tree_blocks;
	uint64_t dir_blocks;		/* of directories, without trees */
	/* Inode-table blocks that hold each directory's inode with those of
	 * its entries, and the fewest that could. */
	uint64_t itable_blocks, itable_blocks_ideal;
	/* of the whole filesystem, whatever was selected */
	uint64_t free_blocks, free_extents, largest_free_blocks;
	uint64_t large_free_blocks;	/* in extents of E4L_LARGE_FREE_BYTES
					   and more */
	uint64_t reserved[4];
};

/* What a run costs. */
struct e4l_repack_cost {
	uint64_t copied_blocks;		/* of files and directories moved */
	uint64_t zeroed_blocks;
	uint64_t dir_blocks;		/* of directories that are built anew */
	uint64_t inodes;		/* that get new numbers */
	uint64_t transactions;
	uint64_t discarded_blocks;	/* planned: at most */
	uint64_t reserved[2];
};

struct e4l_skips {
	uint64_t count, saved;
};

struct e4l_repack_result {
	/* @after: as planned until the run has ended. */
	struct e4l_layout before, after;
	struct e4l_repack_cost planned, done;
	/* Files that are moved or whose trees are written; directories that
	 * are built anew; directories whose inodes are regrouped. */
	uint64_t files_planned, files_done;
	uint64_t dirs_planned, dirs_done, indexes_planned;
	uint64_t inode_dirs_planned, inode_dirs_done;
	struct e4l_skips skips[E4L_SKIP_KINDS][E4L_SKIP_REASONS];
	/* Free extents that skipped files and directories need: the smallest
	 * and the largest; 0: none do. */
	uint64_t least_lacking_blocks, most_lacking_blocks;
	bool stopped;			/* by stop(): another run continues */
	errcode_t discard_err;	/* EXT2_ET_UNIMPLEMENTED: not supported */
	/* Of a mounted filesystem: files that failed, and the last errno. */
	uint64_t files_failed, failure;
	uint64_t reserved[8];
};

/* All may be NULL; each gets @priv. */
struct e4l_repack_callbacks {
	void (*skipped)(const struct e4l_skipped *s, void *priv);
	/* The plan is made: @result->planned and ->after, and nothing is
	 * written yet.  Not called when nothing is to be done. */
	void (*planned)(const struct e4l_repack_result *result, void *priv);
	/* @done of @total groups scanned, or blocks and inodes written. */
	void (*progress)(bool writing, uint64_t done, uint64_t total,
			 void *priv);
	/*
	 * True ends the run.  Called while it plans: E4L_ET_INTERRUPTED, and
	 * nothing is written.  Called between steps: the run ends after the
	 * transaction.  Called @inside a transaction that copies and zeroes
	 * more than 16 parts, after each of them or after 2 s: the transaction
	 * is dropped, and only free and unwritten blocks have been written.
	 */
	bool (*stop)(bool inside, void *priv);
	/* Called while it plans, once something is in the plan: true ends the
	 * planning, and what is planned is done. */
	bool (*enough)(void *priv);
	void *priv;
	uint64_t reserved[8];
};

/*
 * Improves the layout of a filesystem that is open for writing, exclusively
 * (or, with E4L_REPACK_DRY_RUN, for reading).  Unless this is a dry run, the
 * filesystem is checked first, if the last e4l_check() has not found it free of
 * errors.  One plan is made for all of it:
 *
 * 1. directories are compacted, and with E4L_REPACK_INODES inodes regrouped,
 *     in memory;
 * 2. files, trees and free space are planned for the resulting state; 3.
 * planned() is called; 4. all of it is carried out in transactions of the
 * filesystem's own journal.
 *
 * Free space never gets worse: neither the largest free extent, nor the share
 * of free space in large ones.  Before anything is written, every block of
 * every inode must have been found to belong to it alone and to be in use;
 * anything that cannot be read or believed ends the run.  Contents, sizes,
 * times, owners, attributes and unwritten ranges stay as they are.  @limits and
 * @callbacks may be NULL.
 *
 * Errors:  E4L_ET_OPTION; E4L_ET_DAMAGED, E4L_ET_BLOCK_SHARED,
 * E4L_ET_BLOCK_NOT_IN_USE: the filesystem must be checked first; E4L_ET_QUOTA:
 * its quota files must; E4L_ET_CHANGED: a file was not the same when it was
 * read again; E4L_ET_INTERRUPTED: stop() ended the planning.  Otherwise those
 * of the journal, of reading and writing.  After an error @result->done tells
 * what was committed before, and the caller must let go of the filesystem by
 * e4l_close() or ext2fs_free().
 */
errcode_t e4l_repack(struct e4l *e, const struct e4l_repack_what *what,
		     const struct e4l_repack_limits *limits,
		     const struct e4l_repack_callbacks *callbacks,
		     struct e4l_repack_result *result);

#ifdef __cplusplus
}
#endif
#endif
