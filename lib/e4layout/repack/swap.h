/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * swap: detects swap files by their signature.  A swap file must not be moved:
 * the kernel accesses its blocks by number.
 */
#ifndef E4L_SWAP_H
#define E4L_SWAP_H

#include <e4layout/repack.h>
#include "e4layout/base/io_pool.h"

/* A possible swap file, and the result. */
struct e4l_swap_file {
	const struct e4l_extent *extents;
	size_t n_extents;
	uint64_t size_bytes;
	enum e4l_skip why;	/* E4L_SKIP_SWAP, _UNREADABLE, or _NONE */
};

/* Whether a file of @size_bytes can be a swap file. */
bool e4l_swap_fits(uint64_t size_bytes);

/*
 * Reads the signatures of the @n @files together, in disk order.  @scratch has
 * E4L_GATHER_BYTES.  Errors: ENOMEM.
 */
errcode_t e4l_swap_ask(struct e4l *e, struct e4l_swap_file *files, size_t n,
		       void *scratch);

#endif
