/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "map.h"

/*
 * Returns the number of bits of [@start, @end) in the word that contains bit
 * @start.  Sets *@mask to a word in which these bits are set.
 */
static uint32_t in_word(uint32_t start, uint32_t end, uint64_t *mask)
{
	uint32_t n = E4L_WORD_BITS - start % E4L_WORD_BITS;

	if (n > end - start)
		n = end - start;
	*mask = n == E4L_WORD_BITS ? UINT64_MAX : (UINT64_C(1) << n) - 1;
	*mask <<= start % E4L_WORD_BITS;
	return n;
}

void e4l_map_set(uint64_t *map, uint32_t start, uint32_t end, bool value)
{
	uint64_t mask, *word;
	uint32_t n;

	for (; start < end; start += n) {
		n = in_word(start, end, &mask);
		word = &map[start / E4L_WORD_BITS];
		*word = value ? *word | mask : *word & ~mask;
	}
}

uint32_t e4l_map_next(const uint64_t *map, uint32_t start, uint32_t end,
		      bool value)
{
	uint64_t flip = value ? 0 : UINT64_MAX, word;
	uint32_t i = start / E4L_WORD_BITS, last = (end - 1) / E4L_WORD_BITS;

	if (start >= end)
		return end;
	word = (map[i] ^ flip) & UINT64_MAX << start % E4L_WORD_BITS;
	while (!word) {
		if (i++ == last)
			return end;
		word = map[i] ^ flip;
	}
	i = i * E4L_WORD_BITS + __builtin_ctzll(word);
	return i < end ? i : end;
}

uint32_t e4l_map_count(const uint64_t *map, uint32_t start, uint32_t end)
{
	uint32_t sum = 0, n;
	uint64_t mask;

	for (; start < end; start += n) {
		n = in_word(start, end, &mask);
		sum += __builtin_popcountll(map[start / E4L_WORD_BITS] & mask);
	}
	return sum;
}
