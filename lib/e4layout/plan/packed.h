/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * packed: what is long of a step, and lists of runs, in few bytes: what each number
 * is more or less than the one before.  Pure.
 */
#ifndef E4L_PACKED_H
#define E4L_PACKED_H

#include <e4layout/plan.h>
#include "runs.h"

#define E4L_NUMBER_BYTES 10		/* of 64 bits, 7 in each, at most */

struct e4l_bytes {
	uint8_t *v;
	size_t n, max;
};

/* Makes room for three numbers.  ENOMEM: nothing has changed. */
errcode_t e4l_bytes_reserve(struct e4l_bytes *o);
/*
 * Appends a number, for which there is room: seven bits in a byte, the low ones
 * first; the eighth: there is more.
 */
static inline void e4l_put_number(struct e4l_bytes *o, uint64_t number)
{
	for (; number > 0x7F; number >>= 7)
		o->v[o->n++] = number | 0x80;
	o->v[o->n++] = number;
}

/* How many bytes that takes. */
static inline size_t e4l_number_bytes(uint64_t number)
{
	return (70 - __builtin_clzll(number | 1)) / 7;
}

/* The number at *@at, behind which *@at is then. */
static inline uint64_t e4l_take_number(const uint8_t *v, size_t *at)
{
	uint64_t number = v[*at] & 0x7F;
	unsigned int shift = 7;

	for (; v[(*at)++] & 0x80; shift += 7)
		number |= (uint64_t)(v[*at] & 0x7F) << shift;
	return number;
}

/* How far @number is from @before: twice as much, and one more if it is less. */
static inline uint64_t e4l_apart(uint64_t number, uint64_t before)
{
	uint64_t apart = number - before;

	return apart << 1 ^ (apart >> 63 ? UINT64_MAX : 0);
}

/* The same for that. */
static inline void e4l_put_apart(struct e4l_bytes *o, uint64_t number,
				 uint64_t before)
{
	e4l_put_number(o, e4l_apart(number, before));
}

static inline uint64_t e4l_take_apart(const uint8_t *v, size_t *at,
				      uint64_t before)
{
	uint64_t apart = e4l_take_number(v, at);

	return before + (apart >> 1 ^ (apart & 1 ? UINT64_MAX : 0));
}

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
