/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bytes: lists of numbers in few bytes. */
#ifndef E4L_BYTES_H
#define E4L_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include "e4layout/base/array.h"

#define E4L_NUMBER_BYTES 10		/* of 64 bits, 7 in each, at most */

struct e4l_bytes {
	uint8_t *v;
	size_t n, max;
};

/* Makes room for three numbers.  ENOMEM: nothing has changed. */
static inline errcode_t e4l_bytes_reserve(struct e4l_bytes *o)
{
	return e4l_reserve(&o->v, o->n, &o->max, 3 * E4L_NUMBER_BYTES, 1);
}

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

#endif
