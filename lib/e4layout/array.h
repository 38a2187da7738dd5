/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Arrays that grow, and orders of numbers for qsort(3) and bsearch(3). */
#ifndef E4L_ARRAY_H
#define E4L_ARRAY_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <et/com_err.h>

/*
 * Makes room for one element more in the array at *@array, of @n elements of
 * @size bytes.  Its room is the power of two that holds what it has, so that an
 * array belongs to this function alone; it may be emptied and filled again.
 * ENOMEM: it is as it was.
 */
static inline errcode_t e4l_grow(void *array, size_t n, size_t size)
{
	void *v;

	if (n & (n - 1))
		return 0;
	memcpy(&v, array, sizeof(v));
	v = reallocarray(v, n ? 2 * n : 1, size);
	if (!v)
		return ENOMEM;
	memcpy(array, &v, sizeof(v));
	return 0;
}

static inline int e4l_u32_cmp(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Also for structs whose first member is the key. */
static inline int e4l_u64_cmp(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

#endif
