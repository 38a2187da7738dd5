/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * packed: what is long of a step, and lists of runs, in few bytes: what each number
 * is more or less than the one before.  Pure.
 */
#ifndef E4L_PACKED_H
#define E4L_PACKED_H

#include <e4layout/plan.h>
#include "runs.h"

struct e4l_bytes {
	uint8_t *v;
	size_t n, max;
};

/* Makes room for three numbers.  ENOMEM: nothing has changed. */
errcode_t e4l_bytes_reserve(struct e4l_bytes *o);
/* Appends a number, or how far it is from another, for which there is room. */
void e4l_put_number(struct e4l_bytes *o, uint64_t number);
void e4l_put_apart(struct e4l_bytes *o, uint64_t number, uint64_t before);
/* The number at *@at, behind which *@at is then. */
uint64_t e4l_take_number(const uint8_t *v, size_t *at);
uint64_t e4l_take_apart(const uint8_t *v, size_t *at, uint64_t before);

struct e4l_packed {
	struct e4l_bytes bytes;		/* moves, then: */
	size_t give_at, extents_at;	/* bytes of it */
	size_t n_give;			/* runs that are in it, the first given */
	bool has_extents;
};

/* What a step moves and gives while it is packed; 0 at first. */
struct e4l_packing {
	struct e4l_move move;		/* the last ones, which may go on */
	struct e4l_block_run run;
	blk64_t from, to, given;	/* where those before end */
};

/*
 * Appends moves to @step, which has none that are not packed, and then, from the
 * first call of the second on, runs that it gives.  What goes on where the last
 * ends makes that longer.  e4l_packing_end() comes behind all of them.
 */
errcode_t e4l_pack_move(struct e4l_step *step, struct e4l_packing *k,
			const struct e4l_move *m);
errcode_t e4l_pack_given(struct e4l_step *step, struct e4l_packing *k,
			 const struct e4l_block_run *run);
errcode_t e4l_packing_end(struct e4l_step *step, struct e4l_packing *k);
/* NULL is allowed. */
void e4l_packed_free(struct e4l_packed *packed);

/*
 * Appends to the new extents of a step, whose moves are packed, those of @run;
 * @last is the run before, or all 0.
 */
errcode_t e4l_pack_extent_run(struct e4l_step *step,
			      const struct e4l_state_run *last,
			      const struct e4l_state_run *run);
/* Does without them. */
void e4l_packed_drop_extents(struct e4l_step *step);
/* Whether it has new extents; those, step->n_new of them, to @ex. */
bool e4l_packed_has_extents(const struct e4l_step *step);
void e4l_packed_extents(const struct e4l_step *step, struct e4l_extent *ex);

#endif
