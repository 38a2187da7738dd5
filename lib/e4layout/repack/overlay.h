/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * overlay: a copy of an open filesystem.  Writes to the copy stay in memory, to
 * predict the result of a change.
 */
#ifndef E4L_OVERLAY_H
#define E4L_OVERLAY_H

#include "e4layout/base/internal.h"

/*
 * Creates a context *@ret for a copy of @e's filesystem.  The copy can be
 * changed even if @e is open read-only; @e must not change while the copy
 * exists.
 *
 * @external is the external journal.  If @external is NULL, uses the external
 * journal that e4l_open() has opened, if any.  Functions that get *@ret must
 * get NULL as their external journal.
 *
 * All blocks that are written to the copy or to its external journal stay in
 * memory.  Transactions of the copy are not written to the log.
 *
 * Errors: ENOMEM, and errors of libext2fs.
 */
errcode_t e4l_overlay_new(struct e4l *e, io_channel external,
			  struct e4l **ret);

/* A block that was written to a copy. */
struct e4l_overlay_block {
	blk64_t blk;
	const void *data;	/* borrowed from the copy */
};

/*
 * Lists the written blocks of @o in ascending order.  The caller frees *@ret.
 * Errors: ENOMEM.
 */
errcode_t e4l_overlay_blocks(struct e4l *o, struct e4l_overlay_block **ret,
			     size_t *n);

/*
 * Frees @o and drops all its changes.  If an operation on @o has failed, copies
 * the error detail (e4l_detail()) to the original context.  NULL is allowed.
 */
void e4l_overlay_free(struct e4l *o);

#endif
