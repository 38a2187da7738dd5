/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blocks that the bad-blocks inode lists. */
#ifndef E4CHECK_BAD_BLOCKS_H
#define E4CHECK_BAD_BLOCKS_H

#include "check_internal.h"

/* Reads the list, and judges which of the filesystem's own blocks it names. */
errcode_t pass1_bad_blocks(struct check *ck);
void bad_blocks_free(struct check *ck);

/* Does the list name @blk?  From any thread. */
bool is_bad_block(const struct check *ck, blk64_t blk);

#endif
