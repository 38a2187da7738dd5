/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The C library's heap; include config.h before. */
#ifndef SUPPORT_HEAP_H
#define SUPPORT_HEAP_H

#ifdef HAVE_MALLOPT
#include <malloc.h>
#endif

/*
 * Makes malloc() take blocks of @bytes or more from the kernel, and give them back
 * when they are freed.  glibc would raise the limit with each block that is freed,
 * and the heap would grow with the holes of large blocks.  A C library without
 * mallopt(), such as musl, has a fixed limit.
 */
static inline void heap_set_large(int bytes)
{
#ifdef HAVE_MALLOPT
	mallopt(M_MMAP_THRESHOLD, bytes);
#endif
}

#endif
