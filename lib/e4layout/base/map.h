/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * map: bitmaps of clusters, as arrays of 64-bit words.  A range does not
 * include its end.
 */
#ifndef E4L_MAP_H
#define E4L_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define E4L_NONE	UINT32_MAX /* not a valid cluster, item, or fragment */
#define E4L_WORD_BITS	64

/* Clusters that are contiguous on the disk. */
struct e4l_span {
	uint32_t start, len;
};

static inline uint32_t e4l_span_end(const struct e4l_span *span)
{
	return span->start + span->len;
}

static inline bool e4l_map_test(const uint64_t *map, uint32_t i)
{
	return map[i / E4L_WORD_BITS] >> i % E4L_WORD_BITS & 1;
}

void e4l_map_set(uint64_t *map, uint32_t start, uint32_t end, bool value);

/*
 * Returns the first bit of [start, end) with the value @value.  If no bit has
 * @value, returns @end.
 */
uint32_t e4l_map_next(const uint64_t *map, uint32_t start, uint32_t end,
		      bool value);

/* Returns the number of set bits in [start, end). */
uint32_t e4l_map_count(const uint64_t *map, uint32_t start, uint32_t end);

/*
 * Replaces *@run by the next run of clear bits before @end.  For the first
 * call, *@run must be { 0, 0 }.  Returns false if there are no more clear bits.
 */
static inline bool e4l_map_next_clear(const uint64_t *map, uint32_t end,
				      struct e4l_span *run)
{
	run->start = e4l_map_next(map, run->start + run->len, end, false);
	run->len = e4l_map_next(map, run->start, end, true) - run->start;
	return run->len;
}

#endif
