/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* free_space: counting free extents by length. */
#ifndef E4L_FREE_SPACE_H
#define E4L_FREE_SPACE_H

#include <e4layout/free_space.h>

/* Adds a run of @len blocks, at least 1.  Pure. */
void e4l_free_histogram_add(struct e4l_free_histogram *h, uint64_t len);

#endif
