/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pass 1: symbolic links whose target is in a block.  Compares the size of each
 * link with the length of the target.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/io_pool.h"
#include "check_internal.h"

#define BATCH 4096

static size_t target_bytes(const struct symlink_use *link, const void *block,
			   size_t room)
{
	const uint8_t *p = block;

	return link->encrypted ? p[0] + 256u * p[1] + 2 : strnlen(block, room);
}

static void visit(const struct e4l_want *want, const void *block,
		  errcode_t why, void *priv)
{
	struct check *ck = priv;
	const struct symlink_use *link = &ck->symlinks[want->slot];
	size_t len = block ? target_bytes(link, block, ck->fs->blocksize) : 0;

	e4l_check_noted(ck, why);
	if (!block || len >= ck->fs->blocksize || len != link->size)
		FOUND(ck, INODE_SYMLINK, .ino = link->ino, .blk = link->blk,
		      .got = link->size);
}

errcode_t e4l_pass1_symlinks(struct check *ck)
{
	struct e4l_want *wants = malloc(BATCH * sizeof(*wants));
	void *scratch = malloc(E4L_GATHER_BYTES);
	size_t done, n;

	for (done = 0; wants && scratch && done < ck->n_symlinks; done += n) {
		for (n = 0; n < BATCH && done + n < ck->n_symlinks; n++)
			wants[n] = (struct e4l_want) {
				.blk = ck->symlinks[done + n].blk,
				.slot = done + n,
			};
		e4l_gather(ck->e, wants, n, scratch, visit, ck);
	}
	free(scratch);
	free(wants);
	return wants && scratch ? 0 : ENOMEM;
}
