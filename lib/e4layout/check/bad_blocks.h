/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* bad_blocks: the blocks that the bad blocks inode lists. */
#ifndef E4L_CHECK_BAD_BLOCKS_H
#define E4L_CHECK_BAD_BLOCKS_H

#include "check_internal.h"

/* Reads the list of bad blocks, and reports metadata in bad blocks. */
errcode_t e4l_pass1_bad_blocks(struct check *ck);
void e4l_bad_blocks_free(struct check *ck);

/* Whether @blk is in the list of bad blocks.  May be called by any thread. */
bool e4l_is_bad_block(const struct check *ck, blk64_t blk);

#endif
