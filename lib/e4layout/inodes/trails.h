/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * trails: orders moves of inodes between blocks of the inode tables so that
 * each inode finds a free place.  Does no I/O.
 */
#ifndef E4L_TRAILS_H
#define E4L_TRAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <et/com_err.h>

struct e4l_trail_move {
	uint32_t from, to;	/* two different blocks */
	bool heavy;		/* avoid moving this inode twice */
};

/* The destination of a move. */
enum e4l_trail_kind {
	E4L_TRAIL_BEGIN,	/* a free place of the destination block */
	E4L_TRAIL_ON,		/* the place that the previous step has left */
	E4L_TRAIL_AWAY,		/* any free place, temporarily */
	/*
	 * from the temporary place to the place that the previous step has left
	 */
	E4L_TRAIL_BACK,
};

struct e4l_trail_step {
	uint32_t move;		/* index of the move */
	enum e4l_trail_kind kind;
};

/*
 * Orders all @n moves between @blocks blocks.  @vacant: the number of free
 * places in each block, which together with the departures must be enough for
 * the arrivals.  If moves form a cycle and no block of the cycle has a free
 * place, one of the inodes takes two steps, the first to a temporary place; at
 * most one inode is in a temporary place at a time, so one free place anywhere
 * is enough.  The caller frees *@steps with free(3).  Time: proportional to the
 * number of moves.  Memory: 52 bytes per move, of which *@steps takes 12.
 * Errors: ENOMEM; EINVAL: there are too few free places.
 */
errcode_t e4l_trails_make(const struct e4l_trail_move *moves, size_t n,
			  const uint16_t *vacant, uint32_t blocks,
			  struct e4l_trail_step **steps, size_t *n_steps);

#endif
