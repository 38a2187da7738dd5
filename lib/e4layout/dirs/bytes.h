/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bytes: a list of integers that needs few bytes for small integers. */
#ifndef E4L_BYTES_H
#define E4L_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct e4l_bytes {
	uint8_t *v;
	size_t n;
};

/*
 * Appends @number as base-128 digits, the low 7 bits first.  Bit 7 of a byte is
 * set if more bytes follow.  @o must have space for all bytes.
 */
static inline void e4l_put_number(struct e4l_bytes *o, uint64_t number)
{
	for (; number > 0x7F; number >>= 7)
		o->v[o->n++] = number | 0x80;
	o->v[o->n++] = number;
}

/* Returns the number of bytes that e4l_put_number() appends for @number. */
static inline size_t e4l_number_bytes(uint64_t number)
{
	return (70 - __builtin_clzll(number | 1)) / 7;
}

/*
 * Decodes the number that begins at index *@at of @v, and sets *@at to the
 * index after the number.
 */
static inline uint64_t e4l_take_number(const uint8_t *v, size_t *at)
{
	uint64_t number = v[*at] & 0x7F;
	unsigned int shift = 7;

	for (; v[(*at)++] & 0x80; shift += 7)
		number |= (uint64_t)(v[*at] & 0x7F) << shift;
	return number;
}

/*
 * Returns @number - @before in zigzag encoding, which maps small differences of
 * either sign to small unsigned integers.
 */
static inline uint64_t e4l_apart(uint64_t number, uint64_t before)
{
	uint64_t apart = number - before;

	return apart << 1 ^ (apart >> 63 ? UINT64_MAX : 0);
}

/*
 * e4l_put_apart() appends the difference between @number and @before.
 * e4l_take_apart() decodes the difference and returns @number.  @before must be
 * equal in both calls.
 */
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
