/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of the C library's heap. Include config.h first. */
#ifndef SUPPORT_HEAP_H
#define SUPPORT_HEAP_H

#ifdef HAVE_MALLOPT
#include <malloc.h>
#endif

/*
 * Makes malloc() allocate blocks of @bytes or more with mmap(), so that free()
 * returns them to the kernel.  By default, glibc adapts the limit: after a
 * block from mmap() is freed, blocks up to its size come from the heap, and
 * stay in the process.  C libraries without mallopt(), such as musl, have a
 * fixed limit.
 */
static inline void heap_set_large(int bytes)
{
#ifdef HAVE_MALLOPT
	mallopt(M_MMAP_THRESHOLD, bytes);
#endif
}

#endif
