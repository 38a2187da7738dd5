/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* sort_index: sorts indexes of structs by a member of the structs. */
#ifndef E4L_SORT_INDEX_H
#define E4L_SORT_INDEX_H

#include <et/com_err.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Sorts the @n indexes at @v by their keys.  The key of index i is the 32-bit
 * number at i * @size bytes after @keys.  The time is proportional to @n.
 * Error: ENOMEM.
 */
errcode_t e4l_sort_index(uint32_t *v, uint32_t n, const uint32_t *keys,
			 size_t size);

#endif
