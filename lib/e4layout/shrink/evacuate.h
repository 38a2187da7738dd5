/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * evacuate: moves everything that belongs to inodes out of a part of the
 * filesystem, in transactions of the filesystem's own journal: data, tree blocks,
 * indirect blocks, attribute blocks, and the blocks of the quota files and of the
 * orphan file, but not the journal and the blocks of the resize inode.
 */
#ifndef E4L_EVACUATE_H
#define E4L_EVACUATE_H

#include "e4layout/apply/run.h"

struct e4l_evacuation {
	/*
	 * The @n_empty ranges that must not have blocks of inodes at the end:
	 * whole clusters, sorted, not adjacent.  Blocks outside these ranges
	 * receive the content.
	 */
	const struct e4l_block_run *empty;
	size_t n_empty;
	/*
	 * Whether a file with blocks in the ranges may be moved.  @inode is in
	 * host byte order.  NULL: every file may be moved.
	 */
	bool (*may_move)(ext2_ino_t ino, const struct ext2_inode_large *inode,
			 const struct e4l_extent *extents, size_t n,
			 void *priv);
	void *priv;
};

struct e4l_evacuated {
	uint64_t files;		/* inodes with moved blocks */
	uint64_t blocks;	/* moved blocks, also unwritten blocks */
	uint64_t transactions;
	uint64_t fragments_before, fragments_after; /* of the moved files */
	/* after ENOSPC: number of blocks that found no place */
	uint64_t lacking_blocks;
	bool stopped;		/* stop() ended the run */
	uint64_t discarded_blocks;
	errcode_t discard_err;
};

/*
 * Moves the content out of @what->empty.  A file gets more fragments only if no
 * free extent is large enough for a fragment.  On an overlay, the content of
 * regular files is not copied.  Errors: ENOSPC (see lacking_blocks);
 * E4L_ET_SHRINK_PINNED (may_move() returned false; the detail has the inode, or
 * the bad block list or the journal has blocks there); E4L_ET_TXN_FULL: a change does not fit into a
 * transaction; errors of e4l_journal_open(), of reading and of writing.
 */
errcode_t e4l_evacuate(struct e4l *e, struct e4l_repack_run *run,
		       const struct e4l_evacuation *what,
		       struct e4l_evacuated *result);

#endif
