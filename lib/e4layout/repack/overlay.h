/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * overlay: a copy of an open filesystem whose writes stay in memory, to find out
 * what a change leads to.
 */
#ifndef E4L_OVERLAY_H
#define E4L_OVERLAY_H

#include "e4layout/base/internal.h"

/*
 * Makes a context *@ret for a copy of @e's filesystem, which can be changed
 * although @e may be open for reading only; @e must not be changed meanwhile.
 * If the journal is on a device of its own, that is @external, or what
 * e4l_open() has opened, and writes to it stay in memory, too: pass NULL for it
 * to everything that gets *@ret.  Memory: what is written, without the log.
 * Errors: ENOMEM, and those of libext2fs.
 */
errcode_t e4l_overlay_new(struct e4l *e, io_channel external,
			  struct e4l **ret);

/*
 * Drops all changes; if something failed with @o, e4l_detail() of the original
 * context names it.  NULL is allowed.
 */
void e4l_overlay_free(struct e4l *o);

#endif
