/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Growing and sorted arrays, and comparison functions for qsort(3). */
#ifndef E4L_ARRAY_H
#define E4L_ARRAY_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <et/com_err.h>

/*
 * Allocate an array of @n elements of @size bytes; e4l_array_zalloc() also
 * zeroes the array.  Return NULL if there is no memory, or if the size in bytes
 * does not fit in size_t.  @n may have been read from the disk.
 */
static inline void *e4l_array_alloc(uint64_t n, size_t size)
{
	return (size_t)n == n ? reallocarray(NULL, n, size) : NULL;
}

static inline void *e4l_array_zalloc(uint64_t n, size_t size)
{
	return (size_t)n == n ? calloc(n, size) : NULL;
}

/*
 * Reserves one more element in the array at *@array, of @n elements of @size
 * bytes.  The capacity is not stored: the capacity is always the smallest power
 * of two that is not less than @n.  Therefore only e4l_grow() may allocate the
 * array.  The caller can pass 0 as @n to fill the array again.  If there is no
 * memory, returns ENOMEM, and the array is unchanged.
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

/*
 * Reserves @more elements in the array at *@array, of @n elements of @size
 * bytes and a capacity of *@max elements.  If the caller sets @n to 0, the
 * array keeps its capacity.  If there is no memory, returns ENOMEM, and the
 * array is unchanged.
 */
static inline errcode_t e4l_reserve(void *array, size_t n, size_t *max,
				    size_t more, size_t size)
{
	size_t room = (n + more) / 2 * 3 + 64;
	void *v;

	if (*max - n >= more)
		return 0;
	memcpy(&v, array, sizeof(v));
	v = reallocarray(v, room, size);
	if (!v)
		return ENOMEM;
	memcpy(array, &v, sizeof(v));
	*max = room;
	return 0;
}

/* Like qsort(3), but @array may be NULL if @n is 0. */
static inline void e4l_sort(void *array, size_t n, size_t size,
			    int (*compare)(const void *a, const void *b))
{
	if (n)
		qsort(array, n, size, compare);
}

/*
 * Appends @n_add elements from @add to the array at *@array, of *@n elements of
 * @size bytes and a capacity of *@max elements.  If there is no memory, returns
 * ENOMEM, and the array is unchanged.
 */
static inline errcode_t e4l_append(void *array, size_t *n, size_t *max,
				   const void *add, size_t n_add, size_t size)
{
	errcode_t err = e4l_reserve(array, *n, max, n_add, size);
	char *v;

	if (err)
		return err;
	memcpy(&v, array, sizeof(v));
	if (n_add)
		memcpy(v + *n * size, add, n_add * size);
	*n += n_add;
	return 0;
}

/*
 * Returns the index of the first element that is not less than @key in a sorted
 * array.  If all elements are less than @key, returns @n.  The first argument
 * of @cmp is the element, the second is @key.
 */
static inline size_t e4l_lower_bound(const void *key, const void *array,
				     size_t n, size_t size,
				     int (*cmp)(const void *, const void *))
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (cmp((const char *)array + mid * size, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* For qsort(3): compares two integers, or two structs by their first member. */
static inline int e4l_u32_cmp(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static inline int e4l_u64_cmp(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

#endif
