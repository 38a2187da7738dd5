/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * block_shares: assigns the inodes of directories to blocks of the inode
 * tables, for an exchange of inodes.  An exchange is needed if few inodes are
 * free.  Does no I/O.
 */
#ifndef E4L_BLOCK_SHARES_H
#define E4L_BLOCK_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <et/com_err.h>

/* The inodes of one directory in one block of the inode tables. */
struct e4l_cell {
	uint32_t dir, block;
	uint16_t count;		/* inodes that may move */
	/*
	 * result: number of movable inodes of the directory that the block
	 * should hold
	 */
	uint16_t quota;
	/* the block also holds inodes of the directory that must not move */
	bool fixed;
};

struct e4l_quotas {
	uint32_t dirs, blocks;		/* numbers of directories and blocks */
	uint16_t per_block;		/* number of inodes in a block */
	/*
	 * For each block: number of free inodes, plus number of inodes in
	 * @cells that may move.  The sum is at most @per_block.
	 */
	const uint16_t *room;
	/*
	 * One cell per pair of directory and block.  e4l_quotas_make() enlarges
	 * the array with e4l_grow().
	 */
	struct e4l_cell *cells;
	size_t n_cells;
};

/*
 * Sets all quotas, and appends a cell for each block that is new to a
 * directory.  The quotas of a directory add up to the number of its movable
 * inodes.  The quotas of a block do not exceed @room of the block.  No directory
 * has quotas or fixed inodes in more blocks than before.  A whole block goes to
 * the directory that already has the most inodes in the block; several
 * directories share blocks for their remaining inodes.  Time: proportional to
 * the number of cells and blocks, times the inodes per block.  Memory: 8 bytes
 * per cell, 14 per block and 21 per directory.  Errors: ENOMEM.
 */
errcode_t e4l_quotas_make(struct e4l_quotas *q);

#endif
