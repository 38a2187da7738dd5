/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * trails: orders moves of inodes between blocks of the inode tables so that
 * each move finds a free inode number.  Does no I/O.
 */
#ifndef E4L_TRAILS_H
#define E4L_TRAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <et/com_err.h>

struct e4l_trail_move {
	uint32_t from, to;	/* two different blocks, as indexes */
	bool heavy; /* moving the inode is expensive: do not move it twice */
};

/* The inode number to which a step moves an inode. */
enum e4l_trail_kind {
	E4L_TRAIL_BEGIN,	/* a free number in the destination block */
	E4L_TRAIL_ON,		/* the number that the previous step freed */
	/* any free number, which the inode has only temporarily */
	E4L_TRAIL_AWAY,
	/*
	 * the number that the previous step freed; before this step, the inode
	 * has the temporary number of E4L_TRAIL_AWAY
	 */
	E4L_TRAIL_BACK,
};

struct e4l_trail_step {
	uint32_t move;		/* index of the move in the caller's array */
	enum e4l_trail_kind kind;
};

/*
 * Orders all @n moves between @blocks blocks.  vacant[block] is the number of
 * free inodes in a block.  If the free inodes and the inodes that leave a block
 * are fewer than the inodes that arrive, fails with EINVAL.
 *
 * If moves form a cycle and no block of the cycle has a free inode, one of the
 * inodes moves in two steps, first to a temporary number.  At most one inode
 * has a temporary number at a time, so one free inode in any block is enough.
 *
 * The caller frees *@steps with free(3).  Time: proportional to the number of
 * moves.  Memory: 52 bytes per move; *@steps takes 12 of them.  Errors: ENOMEM,
 * EINVAL.
 */
errcode_t e4l_trails_make(const struct e4l_trail_move *moves, size_t n,
			  const uint16_t *vacant, uint32_t blocks,
			  struct e4l_trail_step **steps, size_t *n_steps);

#endif
