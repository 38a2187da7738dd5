/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * swap: detects swap files by their signature.  A swap file must not be moved,
 * because hibernation records the physical blocks of swap files.
 */
#ifndef E4L_SWAP_H
#define E4L_SWAP_H

#include <e4layout/repack.h>
#include "e4layout/base/io_pool.h"

/* A possible swap file, and the result of e4l_swap_ask(). */
struct e4l_swap_file {
	const struct e4l_extent *extents;
	size_t n_extents;
	uint64_t size_bytes;
	/*
	 * E4L_SKIP_SWAP: the file is a swap file; E4L_SKIP_UNREADABLE: a
	 * signature could not be read; E4L_SKIP_NONE: the file is not a swap
	 * file
	 */
	enum e4l_skip why;
};

/* Whether a file of @size_bytes can be a swap file. */
bool e4l_swap_fits(uint64_t size_bytes);

/*
 * Checks which of the @n @files are swap files, and sets the member why of each
 * file.  Reads the blocks of all files in disk order.  @scratch must have
 * E4L_GATHER_BYTES.  Errors: ENOMEM.
 */
errcode_t e4l_swap_ask(struct e4l *e, struct e4l_swap_file *files, size_t n,
		       void *scratch);

#endif
