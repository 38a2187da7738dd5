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
	uint32_t from, to;	/* two different blocks */
	bool heavy;		/* this inode should not move twice */
};

/* The inode number to which a step moves an inode. */
enum e4l_trail_kind {
	E4L_TRAIL_BEGIN,	/* a free number in the destination block */
	E4L_TRAIL_ON,		/* the number that the previous step freed */
	E4L_TRAIL_AWAY,		/* any free number, temporarily */
	/*
	 * the number that the previous step freed; the inode comes from its
	 * temporary number
	 */
	E4L_TRAIL_BACK,
};

struct e4l_trail_step {
	uint32_t move;		/* index of the move */
	enum e4l_trail_kind kind;
};

/*
 * Orders all @n moves between @blocks blocks.  @vacant: the number of free
 * inodes in each block; together with the departures, they must be enough for
 * the arrivals.  If moves form a cycle and no block of the cycle has a free
 * inode, one of the inodes moves in two steps, first to a temporary number.  At
 * most one inode has a temporary number at a time, so one free inode in any
 * block is enough.  The caller frees *@steps with free(3).  Time: proportional
 * to the number of moves.  Memory: 52 bytes per move, of which *@steps takes
 * 12.  Errors: ENOMEM; EINVAL: there are too few free inodes.
 */
errcode_t e4l_trails_make(const struct e4l_trail_move *moves, size_t n,
			  const uint16_t *vacant, uint32_t blocks,
			  struct e4l_trail_step **steps, size_t *n_steps);

#endif
