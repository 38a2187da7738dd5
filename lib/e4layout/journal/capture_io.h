/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * capture_io: keeps the writes of libext2fs in memory, so that the library can
 * commit many writes in one transaction, or drop the writes.
 */
#ifndef E4L_CAPTURE_IO_H
#define E4L_CAPTURE_IO_H

#include "e4layout/base/internal.h"

/*
 * A block that libext2fs has written during the capture, with the new content.
 * The device still has the old content.
 */
struct capture_block {
	blk64_t blk;
	uint8_t *data;
};

struct capture {
	ext2_filsys fs;
	io_channel below;	/* fs->io before and after the capture */
	io_channel io;		/* fs->io during the capture */
	struct capture_block *blocks;
	size_t n;
	errcode_t err;		/* error of the last failed read */
	blk64_t bad;		/* block number of the last failed read */
};

/*
 * Begins to capture writes of libext2fs.  *@ret keeps the blocks that are
 * written through @fs.  Reads through @fs return the new content of these
 * blocks.  Writes to the superblock are dropped.
 */
errcode_t e4l_capture_start(ext2_filsys fs, struct capture **ret);

/* Ends the capture and restores fs->io.  @c keeps the captured blocks. */
void e4l_capture_stop(struct capture *c);

/* Ends a running capture, and frees @c.  NULL is allowed. */
void e4l_capture_free(struct capture *c);

#endif
