/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * block_shares: computes how many inodes of each directory's files should be in
 * each block of the inode tables, so that each directory needs few blocks.  If
 * few inodes are free, regroup_exchange.c exchanges inode numbers to reach the
 * computed numbers.  Does no I/O.
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
	uint16_t count;		/* number of inodes that may move */
	/*
	 * result of e4l_quotas_make(): the planned number of inodes of the
	 * directory in the block, without inodes that must not move
	 */
	uint16_t quota;
	/* the block also holds inodes of the directory that must not move */
	bool fixed;
};

struct e4l_quotas {
	uint32_t dirs, blocks;		/* numbers of directories and blocks */
	uint16_t per_block;		/* number of inodes in a block */
	/*
	 * For each inode-table block: number of free inodes, plus number of
	 * inodes that may move away.  The sum is at most @per_block.
	 */
	const uint16_t *room;
	/*
	 * One cell per pair of directory and block.  The array must be
	 * allocated with e4l_grow(), because e4l_quotas_make() enlarges it.
	 */
	struct e4l_cell *cells;
	size_t n_cells;
};

/*
 * Sets the quota of each cell.  If a directory gets inodes in a block without a
 * cell of the directory, appends a cell.
 *
 * - The quotas of a directory add up to the number of its inodes that may move.
 * - The quotas of a block do not exceed @room of the block.
 * - No directory uses more blocks than before.
 * - The directory with the most inodes in a block has precedence for the whole
 *   block.  The remaining inodes of several directories share blocks.
 *
 * Time: proportional to the number of cells and blocks, times the inodes per
 * block.  Memory: 8 bytes per cell, 14 per block and 21 per directory.  Errors:
 * ENOMEM.
 */
errcode_t e4l_quotas_make(struct e4l_quotas *q);

#endif
