/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * trails: in which order inodes move from block to block of the inode tables so
 * that each finds a free place.  Pure.
 */
#ifndef E4L_TRAILS_H
#define E4L_TRAILS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <et/com_err.h>

struct e4l_trail_move {
	uint32_t from, to;	/* blocks, which differ */
	bool heavy;		/* it is not to move twice if others can */
};

/* Where a move goes. */
enum e4l_trail_kind {
	E4L_TRAIL_BEGIN,	/* to a free place of its block */
	E4L_TRAIL_ON,		/* to the place that the step before left */
	E4L_TRAIL_AWAY,		/* to any free place, which it leaves again */
	E4L_TRAIL_BACK,		/* from there, as E4L_TRAIL_ON */
};

struct e4l_trail_step {
	uint32_t move;		/* index */
	enum e4l_trail_kind kind;
};

/*
 * Orders all @n moves between @blocks blocks.  @vacant: how many places are free
 * in each; together with those that leave a block they are enough for those that
 * come.  If moves go round and no block that they touch has a free place, one
 * of them takes two steps, and never two at a time: then one free place is needed
 * anywhere.  *@steps, by malloc(3), is the caller's.  Takes time for each move,
 * and 52 bytes, 12 of which are *@steps.  Errors: ENOMEM; EINVAL, there is not enough room.
 */
errcode_t e4l_trails_make(const struct e4l_trail_move *moves, size_t n,
			  const uint16_t *vacant, uint32_t blocks,
			  struct e4l_trail_step **steps, size_t *n_steps);

#endif
