/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "sort_index.h"

/* The radix sort treats a 32-bit key as two digits of 16 bits. */
#define DIGIT_BITS	16
#define DIGITS		(1u << DIGIT_BITS)

struct sort {
	const char *keys;
	size_t size;
	uint32_t count[DIGITS + 1];
};

static uint32_t digit_of(const struct sort *s, uint32_t i, unsigned int shift)
{
	return *(const uint32_t *)(s->keys + i * s->size) >> shift &
	       (DIGITS - 1);
}

/*
 * Copies the @n indexes at @from to @to, sorted by one digit of their keys: the
 * bits from bit @shift on.  The sort is stable.
 */
static void sort_digit(struct sort *s, const uint32_t *from, uint32_t *to,
		       uint32_t n, unsigned int shift)
{
	uint32_t i;

	memset(s->count, 0, sizeof(s->count));
	for (i = 0; i < n; i++)
		s->count[digit_of(s, from[i], shift) + 1]++;
	for (i = 0; i < DIGITS; i++)
		s->count[i + 1] += s->count[i];
	for (i = 0; i < n; i++)
		to[s->count[digit_of(s, from[i], shift)]++] = from[i];
}

errcode_t e4l_sort_index(uint32_t *v, uint32_t n, const uint32_t *keys,
			 size_t size)
{
	uint32_t *other = calloc(n + 1ull, sizeof(*other));
	struct sort *s = malloc(sizeof(*s));
	bool ok = s && other;

	if (ok) {
		s->keys = (const char *)keys;
		s->size = size;
		sort_digit(s, v, other, n, 0);
		sort_digit(s, other, v, n, DIGIT_BITS);
	}
	free(other);
	free(s);
	return ok ? 0 : ENOMEM;
}
