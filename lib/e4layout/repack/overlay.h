/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * overlay: a copy of an open filesystem whose writes stay in memory, to predict
 * the result of a change.
 */
#ifndef E4L_OVERLAY_H
#define E4L_OVERLAY_H

#include "e4layout/base/internal.h"

/*
 * Makes a context *@ret for a copy of @e's filesystem.  The copy can be changed
 * even if @e is open read-only; @e must not change as long as the copy exists.
 * Writes to an external journal, @external or the one that e4l_open() has
 * opened, stay in memory, too: pass NULL as journal to functions that get
 * *@ret.  Memory: the written blocks; a journal's log is not written.  Errors:
 * ENOMEM, and errors of libext2fs.
 */
errcode_t e4l_overlay_new(struct e4l *e, io_channel external,
			  struct e4l **ret);

/*
 * Drops all changes.  After a failure with @o, e4l_detail() of the original
 * context has the detail.  NULL is allowed.
 */
void e4l_overlay_free(struct e4l *o);

#endif
