/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * evacuate: moves the blocks of inodes out of a part of the filesystem, in
 * transactions of the filesystem's own journal.  Data, tree blocks, indirect
 * blocks and attribute blocks move, and so do quota files and the orphan file.
 * The journal and the blocks of the resize inode do not move.
 */
#ifndef E4L_EVACUATE_H
#define E4L_EVACUATE_H

#include "e4layout/apply/run.h"

struct e4l_evacuation {
	/*
	 * The range to evacuate, in whole clusters.  The content of the range
	 * moves to free blocks outside the range.
	 */
	struct e4l_block_run empty;
	/*
	 * Whether a file with blocks in the range may be moved.  @inode is in
	 * host byte order.  If may_move is NULL, every file may be moved.
	 */
	bool (*may_move)(ext2_ino_t ino, const struct ext2_inode_large *inode,
			 const struct e4l_extent *extents, size_t n,
			 void *priv);
	void *priv;
};

struct e4l_evacuated {
	uint64_t files;		/* inodes with moved blocks */
	uint64_t blocks;	/* moved blocks, including unwritten blocks */
	uint64_t transactions;
	/*
	 * numbers of fragments of the moved files, before and after the moves
	 */
	uint64_t fragments_before, fragments_after;
	/*
	 * after ENOSPC, the number of blocks for which there is no free space
	 */
	uint64_t lacking_blocks;
	bool stopped;		/* stop() ended the run */
	uint64_t discarded_blocks;
	errcode_t discard_err;
};

/*
 * Moves the content out of @what->empty.  A file gets more fragments only if no
 * free extent is large enough for a fragment.  On an overlay, the content of
 * regular files is not copied.  Errors: ENOSPC (result->lacking_blocks is set);
 * E4L_ET_SHRINK_PINNED (the inode of the error detail cannot be moved:
 * may_move() returned false, its blocks are not aligned to clusters, or it is
 * the bad block inode or the journal); E4L_ET_TXN_FULL (a change does not fit
 * into a transaction); errors of e4l_journal_open(), read errors and write
 * errors.
 */
errcode_t e4l_evacuate(struct e4l *e, struct e4l_repack_run *run,
		       const struct e4l_evacuation *what,
		       struct e4l_evacuated *result);

#endif
