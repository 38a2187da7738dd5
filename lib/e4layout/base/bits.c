/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <string.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>
#include "bits.h"

void e4l_bits_set(uint8_t *map, unsigned int first, unsigned int last)
{
	unsigned int i = first;

	for (; i <= last && i % 8; i++)
		map[i / 8] |= 1 << i % 8;
	if (i + 8 <= last + 1)
		memset(map + i / 8, 0xFF, (last + 1 - i) / 8);
	for (i += i <= last ? (last + 1 - i) / 8 * 8 : 0; i <= last; i++)
		map[i / 8] |= 1 << i % 8;
}

/*
 * Sums the set bits of @word in fields of 2, 4 and 8 bits (Warren, "Hacker's
 * Delight", 5-1).  On processors without a popcount instruction,
 * __builtin_popcount() would call a slower library function.
 */
static unsigned int count_ones(uint64_t word)
{
	const uint64_t twos = 0x3333333333333333, fours = 0x0F0F0F0F0F0F0F0F;

	word -= word >> 1 & 0x5555555555555555;
	word = (word & twos) + (word >> 2 & twos);
	word = (word + (word >> 4)) & fours;
	return word * 0x0101010101010101 >> 56;
}

/*
 * Returns the 64-bit word of @map that contains bit @i, shifted right so that
 * bit @i becomes bit 0.
 */
static uint64_t word_from(const uint8_t *map, unsigned int i)
{
	uint64_t word;

	memcpy(&word, map + i / 64 * 8, sizeof(word));
	return ext2fs_le64_to_cpu(word) >> i % 64;
}

unsigned int e4l_bits_count(const uint8_t *map, unsigned int first,
			    unsigned int last, unsigned int *hit)
{
	unsigned int in_word, n = 0;
	uint64_t word, i;

	for (i = first; i <= last; i += in_word) {
		in_word = 64 - i % 64;
		word = word_from(map, i);
		if (last - i + 1 < in_word)
			word &= (1ULL << (last - i + 1)) - 1;
		if (!word)
			continue;
		if (hit && !n)
			*hit = i + __builtin_ctzll(word);
		n += count_ones(word);
	}
	return n;
}
