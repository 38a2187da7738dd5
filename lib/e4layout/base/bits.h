/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * bits: ranges of bits in maps as the disk has them, bit 0 the lowest of the
 * first byte.  Both ends of a range are inclusive.
 */
#ifndef E4L_BITS_H
#define E4L_BITS_H

#include <stdint.h>

/* Sets the bits @first to @last. */
void e4l_bits_set(uint8_t *map, unsigned int first, unsigned int last);

/*
 * How many of the bits @first to @last are set; if any is, *@hit (may be NULL)
 * is the first.  @map is read in whole words of 8 bytes.
 */
unsigned int e4l_bits_count(const uint8_t *map, unsigned int first,
			    unsigned int last, unsigned int *hit);

#endif
