/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keeps what libext2fs writes in memory, so that a change which it makes in
 * many writes can be put into one transaction, or be dropped.
 */
#ifndef E4L_CAPTURE_IO_H
#define E4L_CAPTURE_IO_H

#include "e4layout/base/internal.h"

/* The new content of a block that differs from what the device has. */
struct capture_block {
	blk64_t blk;
	uint8_t *data;
};

struct capture {
	ext2_filsys fs;
	io_channel below;	/* fs->io before and after */
	io_channel io;		/* fs->io meanwhile */
	struct capture_block *blocks;
	size_t n;
	errcode_t err;		/* of the last read that failed, */
	blk64_t bad;		/* and where */
};

/*
 * From now on writes through @fs go to *@ret and reads see them.  What is
 * written to the superblock is dropped.
 */
errcode_t e4l_capture_start(ext2_filsys fs, struct capture **ret);

/* Puts the device back under the filesystem; the blocks stay in @c. */
void e4l_capture_stop(struct capture *c);

/* Frees @c, stopped or not; NULL is allowed. */
void e4l_capture_free(struct capture *c);

#endif
