/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * block_shares: how many inodes of which directory each block of the inode tables is
 * to hold, where hardly one is free and they must change places.  Pure.
 */
#ifndef E4L_BLOCK_SHARES_H
#define E4L_BLOCK_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <et/com_err.h>

/* What a block has of a directory. */
struct e4l_cell {
	uint32_t dir, block;
	uint16_t count;		/* of inodes that may move */
	uint16_t quota;		/* as many of them are to be here */
	bool fixed;		/* others of it are here, and stay */
};

struct e4l_quotas {
	uint32_t dirs, blocks;		/* how many */
	uint16_t per_block;
	/*
	 * Of each block: places that are free, or of inodes of @cells that may
	 * move; at most @per_block.
	 */
	const uint16_t *room;
	/* Each pair of a directory and a block once; grows by e4l_grow(). */
	struct e4l_cell *cells;
	size_t n_cells;
};

/*
 * Sets all quotas.  Behind the cells that there are come new ones, where a
 * directory has nothing yet.  A directory's quotas add up to what it has; a
 * block's are no more than its room; and no directory has a quota, or what is
 * fixed, in more blocks than it had inodes in.  Whole blocks go to the
 * directories that have most of them already; what is left of each shares blocks
 * with others.  Takes time for each cell and each block, times what is in one, and
 * 8 bytes a cell, 15 a block and 21 a directory.  Errors: ENOMEM.
 */
errcode_t e4l_quotas_make(struct e4l_quotas *q);

#endif
