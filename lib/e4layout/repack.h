/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* repack: improves the layout of a filesystem. */
#ifndef E4LAYOUT_REPACK_H
#define E4LAYOUT_REPACK_H

#include <e4layout/free_space.h>
#include <e4layout/score.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Flags for e4l_repack_what.flags.  Each flag from E4L_REPACK_FILES to
 * E4L_REPACK_INODES selects a part of the layout to improve.
 */
#define E4L_REPACK_FILES	0x0001	/* defragment files */
/*
 * E4L_REPACK_TREES: merge extents, zero short unwritten extents, and use fewer
 * tree blocks.
 */
#define E4L_REPACK_TREES	0x0002
#define E4L_REPACK_DIRS		0x0004	/* rebuild and defragment directories */
#define E4L_REPACK_FREE		0x0008	/* consolidate free space */
/*
 * E4L_REPACK_INODES: renumber inodes, to group the inodes of each directory's
 * files.
 */
#define E4L_REPACK_INODES	0x0010
/* The default: improve all parts of the layout without renumbering inodes. */
#define E4L_REPACK_DEFAULT \
	(E4L_REPACK_FILES | E4L_REPACK_TREES | E4L_REPACK_DIRS | \
	 E4L_REPACK_FREE)

/* Do not copy data: improve extent trees only. */
#define E4L_REPACK_NO_MOVE	0x0020
/*
 * Also move immutable files and swap files.  By default, these files are
 * skipped, because boot loaders record the blocks of immutable files, and
 * hibernation records the blocks of swap files.
 */
#define E4L_REPACK_MOVE_IMMUTABLE 0x0040
#define E4L_REPACK_MOVE_SWAP	0x0080
/*
 * Also renumber inodes referenced by overlayfs.  Renumbering is safe only if
 * the overlay is not mounted and does not use the index.
 */
#define E4L_REPACK_RENUMBER_OVERLAY 0x0100
/*
 * At the end of the run, discard the free blocks that the run has allocated or
 * freed.  An undo file cannot restore the content of discarded blocks.
 */
#define E4L_REPACK_DISCARD	0x0200
/*
 * Make a plan, but write nothing; the filesystem may be open for reading only.
 */
#define E4L_REPACK_DRY_RUN	0x0400
/*
 * Other programs may write to the filesystem during the run: skip files with
 * inconsistent metadata instead of ending the run.  Requires
 * E4L_REPACK_DRY_RUN.
 */
#define E4L_REPACK_CHANGING	0x0800

/*
 * Make the filesystem smaller after all other changes: see
 * e4l_repack_what.shrink_blocks.  E4L_REPACK_SHRINK cannot be combined with
 * E4L_REPACK_NO_MOVE, E4L_REPACK_CHANGING, @only or @exclude.
 */
#define E4L_REPACK_SHRINK	0x1000

#define E4L_NO_LIMIT	UINT64_MAX

/* The work of e4l_repack().  The inode bitmaps and the channel are borrowed. */
struct e4l_repack_what {
	unsigned int flags;		/* E4L_REPACK_* */
	/*
	 * Skip a file if its excess extents and splits together are fewer than
	 * min_excess.
	 */
	uint64_t min_excess;
	/*
	 * Inode bitmaps: the run changes only inodes that are in @only and not
	 * in @exclude.  If @only is NULL, all inodes are selected.  If @only is
	 * not NULL, files outside @only are not moved, and free space is not
	 * consolidated.  If @exclude is NULL, no inode is excluded.
	 */
	ext2fs_inode_bitmap only, exclude;
	/*
	 * Largest size of a region that is evacuated to get a large free
	 * extent; 0: no limit.
	 */
	uint64_t free_run_blocks;
	/*
	 * Channel of an external journal's device.  NULL if e4l_open() has
	 * opened the device, or if the journal is not external.
	 */
	io_channel journal;
	/*
	 * With E4L_REPACK_SHRINK: shrink_blocks is the new number of blocks,
	 * which is rounded down if the last group would be too short.  If
	 * shrink_blocks is 0, the new size is the smallest size with
	 * shrink_free_blocks free blocks.
	 */
	uint64_t shrink_blocks, shrink_free_blocks;
	/*
	 * With E4L_REPACK_SHRINK: maximum length of an internal journal in
	 * blocks, rounded up to a cluster.  A longer journal is made shorter.
	 * 0: the length does not change.
	 */
	uint64_t shrink_journal_blocks;
	uint64_t reserved[5];
};

/*
 * Value for e4l_repack_limits.zero_extent_blocks: use the filesystem's tunable
 * extent_max_zeroout_kb, or 32 KiB if the tunable is not set.
 */
#define E4L_ZERO_AS_SET		UINT32_MAX

struct e4l_repack_limits {
	/* largest number of blocks to copy, or E4L_NO_LIMIT */
	uint64_t copy_blocks;
	/* largest number of blocks to zero, or E4L_NO_LIMIT */
	uint64_t zero_blocks;
	/* length of the longest unwritten extent that is zeroed */
	uint32_t zero_extent_blocks;
	/*
	 * Largest amount of memory for the plan; 0: no limit.  A single file
	 * can use up to half of mem_bytes.
	 */
	uint64_t mem_bytes;
	/* Largest number of blocks copied at once; 0: 16 MiB. */
	uint64_t part_blocks;
	uint64_t reserved[8];
};
#define E4L_REPACK_NO_LIMITS { \
	.copy_blocks = E4L_NO_LIMIT, .zero_blocks = E4L_NO_LIMIT, \
	.zero_extent_blocks = E4L_ZERO_AS_SET, \
}

/* Why a repack skips an object: see enum e4l_skip_kind. */
enum e4l_skip {
	E4L_SKIP_NONE,
	/* Reasons to skip an object because of the caller's options: */
	E4L_SKIP_EXCLUDED,
	E4L_SKIP_MIN_EXCESS,
	E4L_SKIP_NOT_FILES,	/* E4L_REPACK_FILES is not set */
	E4L_SKIP_NOT_TREES,
	E4L_SKIP_NOT_DIRS,
	E4L_SKIP_NOT_SELECTED,	/* an inode is not in @only */
	E4L_SKIP_NO_MOVE,
	/* Reasons to skip a file because of its properties: */
	E4L_SKIP_INDIRECT,	/* the file is block-mapped */
	E4L_SKIP_IMMUTABLE,
	E4L_SKIP_SWAP,
	E4L_SKIP_UNREADABLE,
	/* unwritten extents of encrypted files are not zeroed */
	E4L_SKIP_ENCRYPTED,
	E4L_SKIP_UNWRITTEN_LONG,	/* an unwritten extent is too long */
	E4L_SKIP_BEYOND_END,	/* unwritten extents beyond end of file */
	E4L_SKIP_MISALIGNED,	/* extents are not aligned to clusters */
	/* Reasons to skip an object because of free space or a limit: */
	E4L_SKIP_NO_SPACE,	/* no free extent is large enough */
	E4L_SKIP_FREE_SPACE,	/* free space would be more fragmented */
	E4L_SKIP_COPY_LIMIT,
	E4L_SKIP_ZERO_LIMIT,
	E4L_SKIP_JOURNAL,	/* the change is too large for a transaction */
	E4L_SKIP_MEMORY,
	E4L_SKIP_TIME,		/* enough() ended the planning */
	E4L_SKIP_STOPPED,	/* stop() ended the run */
	/* Reasons not to compact a directory: */
	/* the extents of the directory do not fit in the inode */
	E4L_SKIP_DIR_LARGE,
	E4L_SKIP_DIR_HOLES,
	/* the directory has more entries than an index can hold */
	E4L_SKIP_DIR_ENTRIES,
	/* Reasons not to renumber the inodes of the files in a directory: */
	E4L_SKIP_OWN_INODES,	/* the inodes belong to the filesystem itself */
	E4L_SKIP_STABLE_INODES,
	/* encryption keys depend on the inode number */
	E4L_SKIP_ENCRYPTED_INODES,
	E4L_SKIP_UNKNOWN_POLICY,
	E4L_SKIP_EVM,		/* security.evm signs the inode number */
	E4L_SKIP_OVERLAY,	/* see E4L_REPACK_RENUMBER_OVERLAY */
	E4L_SKIP_XATTR_INODES,
	E4L_SKIP_NO_INODES,	/* free inodes are too far apart */
	/* the gain is too small for the number of renumbered inodes */
	E4L_SKIP_NOT_WORTH,
	/* other directories have hard links to the files */
	E4L_SKIP_LINKS,
	E4L_SKIP_INODES_FULL,	/* the filesystem has no free inode */
	/* Reasons that only a repack of a mounted filesystem reports: */
	E4L_SKIP_IO_ERROR,
	E4L_SKIP_DAMAGED,
	E4L_SKIP_CHECKSUM,
	E4L_SKIP_READ_ONLY,
	E4L_SKIP_NO_MEMORY,
	E4L_SKIP_OPEN_FILES,
	E4L_SKIP_OPEN_FILES_ALL,
	E4L_SKIP_OFFLINE_DIRS,	/* only e4l_repack() repacks directories */
	E4L_SKIP_OFFLINE_ENCRYPTED,	/* the kernel does not move encrypted files */
	E4L_SKIP_OFFLINE_TREES,
	E4L_SKIP_NO_JOURNAL,
	E4L_SKIP_FAST_COMMIT,
	E4L_SKIP_EXECUTABLE,
	E4L_SKIP_EXECUTED,	/* the file is executed, or in use as swap */
	E4L_SKIP_LEASED,
	E4L_SKIP_CHANGED,	/* the file was renamed or removed */
	E4L_SKIP_HIDDEN,	/* another mount hides the file */
	E4L_SKIP_PERMISSION,
	E4L_SKIP_NOT_OPENED,
	E4L_SKIP_NOT_MAPPED,	/* the kernel does not report the extents */
	E4L_SKIP_BEING_WRITTEN,
	/* the kernel cannot lock the pages of the file */
	E4L_SKIP_PAGES,
	E4L_SKIP_UNSUPPORTED,	/* the kernel does not support this file */
	E4L_SKIP_REFUSED,	/* the kernel refuses for another reason */
	E4L_SKIP_OTHER_RUN,	/* another run has reserved the free space */
	/* the remaining free space is reserved for other programs */
	E4L_SKIP_RESERVE,
	E4L_SKIP_QUOTA,
	E4L_SKIP_DONOR_PERMISSION,
	E4L_SKIP_FILE_SIZE,	/* RLIMIT_FSIZE prevents reserving space */
	E4L_SKIP_DONOR,		/* no space could be reserved */
	E4L_SKIP_DEVICE,	/* the device could not write the data */
	E4L_SKIP_PUT_BACK, /* write error; data was moved back */
	E4L_SKIP_LOST,		/* write error; moving data back failed */
	E4L_SKIP_REASONS
};

/* The kind of a skipped object, which sets the unit of e4l_skipped.saved. */
enum e4l_skip_kind {
	E4L_SKIP_FILE,	/* a file; @saved counts extents or fragments */
	E4L_SKIP_DIR,		/* a directory; @saved counts blocks */
	/* the inodes of a directory's files; @saved: inode-table blocks */
	E4L_SKIP_INODES,
	E4L_SKIP_KINDS
};

struct e4l_skipped {
	ext2_ino_t ino;
	enum e4l_skip_kind kind;
	enum e4l_skip why;
	/* how many units a repack could save; 0: unknown */
	uint64_t saved;
};

/* The layout of a filesystem, or of the selected inodes. */
struct e4l_layout {
	uint64_t files;			/* number of files of any type */
	/* number of files with more fragments than logical runs */
	uint64_t fragmented_files;
	uint64_t extents, fragments;
	uint64_t excess_fragments;	/* fragments - logical runs */
	uint64_t tree_blocks;
	/* blocks of directories, not counting tree blocks */
	uint64_t dir_blocks;
	/* sums over directories, see struct e4l_dir_locality */
	uint64_t itable_blocks, itable_blocks_ideal;
	/* Free space of the whole filesystem: */
	uint64_t free_blocks, free_extents, largest_free_blocks;
	/* number of blocks in free extents of at least E4L_LARGE_FREE_BYTES */
	uint64_t large_free_blocks;
	uint64_t reserved[4];
};

/* The cost of a run. */
struct e4l_repack_cost {
	/* data blocks of relocated files and directories */
	uint64_t copied_blocks;
	uint64_t zeroed_blocks;
	uint64_t dir_blocks;		/* blocks of rebuilt directories */
	uint64_t inodes;		/* renumbered inodes */
	uint64_t transactions;
	uint64_t discarded_blocks;	/* an upper bound in a plan */
	uint64_t reserved[2];
};

struct e4l_skips {
	uint64_t count, saved;
};

/*
 * The result of E4L_REPACK_SHRINK.  Until the run ends, the members have the
 * planned values.
 */
struct e4l_shrink_result {
	uint64_t old_blocks, new_blocks;	/* size of the filesystem */
	/* the smallest possible size; 0: the run has not determined the size */
	uint64_t smallest_blocks;
	uint64_t free_blocks;	/* free blocks of the smaller filesystem */
	uint32_t old_inodes, new_inodes;
	uint64_t renumbered;	/* inodes that get new numbers */
	/*
	 * Why a smaller size is not possible: E4L_ET_SHRINK_PINNED or
	 * E4L_ET_SHRINK_NUMBER, because of an inode; E4L_ET_TXN_FULL, because of
	 * the size of the journal; 0, because of lack of space.
	 */
	errcode_t limit;
	uint32_t limit_inode;
};

struct e4l_repack_result {
	/* Until the run ends, @after is the planned layout. */
	struct e4l_layout before, after;
	struct e4l_repack_cost planned, done;
	/* number of files that move or get a new extent tree */
	uint64_t files_planned, files_done;
	/*
	 * number of rebuilt directories; @indexes_planned: number of rebuilt
	 * directories that get an index
	 */
	uint64_t dirs_planned, dirs_done, indexes_planned;
	/*
	 * number of directories for which the inodes of the files are grouped
	 */
	uint64_t inode_dirs_planned, inode_dirs_done;
	struct e4l_skips skips[E4L_SKIP_KINDS][E4L_SKIP_REASONS];
	/*
	 * Lengths of the shortest and of the longest free extent that a file or
	 * directory needs that was skipped with E4L_SKIP_NO_SPACE.  0: no file
	 * or directory was skipped with this reason.
	 */
	uint64_t least_lacking_blocks, most_lacking_blocks;
	/* whether stop() ended the run; a later run continues the work */
	bool stopped;
	/*
	 * error of a failed discard, or 0; EXT2_ET_UNIMPLEMENTED: the device
	 * does not support discard
	 */
	errcode_t discard_err;
	/*
	 * Mounted filesystems only: number of files that could not be moved
	 * because of an error, and the errno of the last error.
	 */
	uint64_t files_failed, failure;
	struct e4l_shrink_result shrink;
	uint64_t reserved[2];
};

/* Each callback gets @priv and may be NULL. */
struct e4l_repack_callbacks {
	void (*skipped)(const struct e4l_skipped *s, void *priv);
	/*
	 * Called when the plan is complete and before anything is written.
	 * @result->planned and @result->after are set.  Not called if the plan
	 * is empty.
	 */
	void (*planned)(const struct e4l_repack_result *result, void *priv);
	/*
	 * If @writing is true, @done of @total blocks and inodes are written.
	 * If @writing is false, @done of @total block groups are scanned.
	 */
	void (*progress)(bool writing, uint64_t done, uint64_t total,
			 void *priv);
	/*
	 * Returns true to end the run.  If stop() returns true during planning,
	 * the run returns E4L_ET_INTERRUPTED, and nothing is written.  If
	 * stop() returns true between steps, the run ends after the current
	 * transaction.  If a transaction copies and zeroes more than 16 *
	 * part_blocks blocks, stop() is also called within the transaction,
	 * with @inside true: after every part_blocks blocks, and at least every
	 * 2 seconds.  If stop() returns true within a transaction, the
	 * transaction is dropped and the run ends; only free and unwritten
	 * blocks were written.
	 */
	bool (*stop)(bool inside, void *priv);
	/*
	 * Called during planning as soon as the plan is not empty.  If enough()
	 * returns true, planning ends, and the run executes the plan so far.
	 */
	bool (*enough)(void *priv);
	void *priv;
	uint64_t reserved[8];
};

/*
 * Improves the layout of a filesystem.  With E4L_REPACK_DRY_RUN, the filesystem
 * can be open for reading.  Without E4L_REPACK_DRY_RUN, the filesystem must be
 * open for writing, exclusively, and is checked first unless the last
 * e4l_check() has found no errors.  The run has these steps:
 *
 * 1. directories are rebuilt and, with E4L_REPACK_INODES, inodes are grouped,
 *    in memory;
 * 2. files, trees and free space are planned for the resulting state;
 * 3. planned() is called;
 * 4. the changes are written in transactions of the filesystem's own journal.
 *
 * If the plan saves no extents, neither the largest free extent nor the total
 * size of large free extents (of at least E4L_LARGE_FREE_BYTES) shrinks.  If
 * the plan saves extents, the largest free extent may lose a tenth of its size,
 * and the total size of large free extents may shrink, too.  With
 * E4L_REPACK_FREE, the total size may shrink to 95 % of free space.  Without
 * E4L_REPACK_FREE, the total size may shrink to 90 % of the previous total
 * size.
 *
 * Before any write, the run tests that each block of each inode is allocated in
 * the block bitmap, and belongs to one inode only.  An unreadable or damaged
 * structure ends the run.  Contents, sizes, times, owners and attributes of
 * files do not change.  Short unwritten ranges are zeroed as @limits permits.
 * @limits and @callbacks may be NULL.
 *
 * With E4L_REPACK_SHRINK, the run then moves all blocks beyond the new end,
 * renumbers the inodes beyond the last kept group, and then makes the
 * filesystem smaller.  The whole run is simulated in memory first, and the
 * result is checked, so that a lack of space is known before anything is
 * written.  After the run, the filesystem of @e has the new size; the caller
 * closes the filesystem and may truncate the image.  If the filesystem already
 * has at most shrink_blocks blocks, nothing is changed.  After an error, and if
 * stop() ended the run, @result->shrink has the old size.  Errors of
 * E4L_REPACK_SHRINK: E4L_ET_SHRINK_SIZE: the filesystem cannot be made as small
 * as shrink_blocks, and @result->shrink has the smallest size;
 * E4L_ET_SHRINK_PINNED, E4L_ET_SHRINK_NUMBER: the detail has the inode;
 * E4L_ET_JOURNAL_SHORT: shrink_journal_blocks is too small.
 *
 * Errors: E4L_ET_OPTION; E4L_ET_DAMAGED, E4L_ET_BLOCK_SHARED,
 * E4L_ET_BLOCK_NOT_IN_USE: the filesystem must be checked first; E4L_ET_QUOTA:
 * the quota files must be checked first; E4L_ET_CHANGED: a file changed between
 * two reads; E4L_ET_INTERRUPTED: stop() ended the planning.  Other errors:
 * errors of the journal, of reading and of writing.  After an error,
 * @result->done counts the committed changes, and the caller must close the
 * filesystem with e4l_close() or ext2fs_free().
 */
errcode_t e4l_repack(struct e4l *e, const struct e4l_repack_what *what,
		     const struct e4l_repack_limits *limits,
		     const struct e4l_repack_callbacks *callbacks,
		     struct e4l_repack_result *result);

#ifdef __cplusplus
}
#endif
#endif
