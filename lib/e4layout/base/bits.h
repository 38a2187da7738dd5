/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bits: ranges of bits in on-disk bitmaps, where bit 0 is the lowest bit of the
 * first byte.  A range includes its first and its last bit.
 */
#ifndef E4L_BITS_H
#define E4L_BITS_H

#include <stdint.h>

/* Sets the bits @first to @last. */
void e4l_bits_set(uint8_t *map, unsigned int first, unsigned int last);

/*
 * Returns the number of set bits from @first to @last.  If @hit is not NULL and
 * a bit in the range is set, sets *@hit to the number of the first set bit.
 * The size of @map must be a multiple of 8 bytes.
 */
unsigned int e4l_bits_count(const uint8_t *map, unsigned int first,
			    unsigned int last, unsigned int *hit);

#endif
