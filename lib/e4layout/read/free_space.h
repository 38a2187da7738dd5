/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* free_space: counts free extents by length. */
#ifndef E4L_FREE_SPACE_H
#define E4L_FREE_SPACE_H

#include <e4layout/free_space.h>

/* Adds a free extent of @len blocks to @h.  @len must not be 0. */
void e4l_free_histogram_add(struct e4l_free_histogram *h, uint64_t len);

#endif
