/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * packed: what is long of a step, and lists of runs, in few bytes: what each number
 * is more or less than the one before.  Pure.
 */
#ifndef E4L_PACKED_H
#define E4L_PACKED_H

#include <e4layout/plan.h>

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
	uint8_t *v;			/* moves, then: */
	size_t give_at, extents_at;	/* bytes of it */
	bool has_extents;
};

/*
 * Packs the moves of @step, what it gives and, if it has them, its new extents,
 * all of which are freed.  Neither may be changed from then on.  ENOMEM: nothing
 * has changed.
 */
errcode_t e4l_step_pack(struct e4l_step *step);
/* NULL is allowed. */
void e4l_packed_free(struct e4l_packed *packed);

/* Whether it has new extents; those, step->n_new of them, to @ex. */
bool e4l_packed_has_extents(const struct e4l_step *step);
void e4l_packed_extents(const struct e4l_step *step, struct e4l_extent *ex);

#endif
