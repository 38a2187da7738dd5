/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * block_shares: assigns inodes of directories to blocks of the inode tables, if
 * hardly any inode is free and inodes have to change places.  Does no I/O.
 */
#ifndef E4L_BLOCK_SHARES_H
#define E4L_BLOCK_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <et/com_err.h>

/* The inodes of one directory in one block. */
struct e4l_cell {
	uint32_t dir, block;
	uint16_t count;		/* inodes that may move */
	/* result: the number of movable inodes that the block should hold */
	uint16_t quota;
	/* the block also holds inodes of the directory that must not move */
	bool fixed;
};

struct e4l_quotas {
	uint32_t dirs, blocks;		/* numbers of directories and blocks */
	uint16_t per_block;
	/*
	 * Per block: the sum of its free inodes and of the inodes in @cells
	 * that may move; at most @per_block.
	 */
	const uint16_t *room;
	/* One cell per pair of directory and block; grows by e4l_grow(). */
	struct e4l_cell *cells;
	size_t n_cells;
};

/*
 * Sets all quotas, and appends cells for blocks that are new to a directory.  A
 * directory's quotas add up to the number of its inodes that may move, a
 * block's quotas do not exceed its room, and no directory has a quota or fixed
 * inodes in more blocks than before.  A whole block goes to the directory that
 * already has the most inodes in it; several directories share blocks for their
 * remaining inodes.  Time: proportional to the number of cells and blocks,
 * times the inodes per block.  Memory: 8 bytes per cell, 14 per block and 21
 * per directory.  Errors: ENOMEM.
 */
errcode_t e4l_quotas_make(struct e4l_quotas *q);

#endif
