/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* change: changes of metadata, in transactions. */
#ifndef E4L_CHANGE_H
#define E4L_CHANGE_H

#include <e4layout/context.h>

/*
 * This library changes a filesystem's metadata in transactions only, of which
 * after a power cut, a kill or an I/O error either everything or nothing is
 * there (once a kernel or e2fsck has replayed the filesystem's own journal).  On
 * a filesystem without a journal the same is written to place, data before
 * metadata; only an undo file protects such a run.
 *
 * If the journal is on a device of its own, that is what e4l_open() has opened,
 * or @external, a channel on it, which is borrowed, and whose block size is set
 * to the filesystem's; else @external is NULL.
 */

/*
 * Whether a transaction could be made, as far as a few reads tell: not the
 * bitmaps.  The filesystem need not be open for writing.  Errors:
 * E4L_ET_JOURNAL_RECOVERY, _CORRUPT, _FORMAT, _NARROW, _DEVICE (the device is
 * missing, or not this filesystem's), _ERROR; ENOMEM and what reading returns.
 */
errcode_t e4l_journal_probe(struct e4l *e, io_channel external);

/* What became of it where blocks that are not needed any more are discarded. */
struct e4l_discarded {
	uint64_t blocks;
	/* after which no more were; EXT2_ET_UNIMPLEMENTED: nothing can be */
	errcode_t err;
};

/*
 * Makes a change that libext2fs can make in one transaction of its own: @fn
 * changes metadata by libext2fs' functions, whose writes are kept in memory
 * until it has returned 0, and then all are committed, or none.  Bitmaps are
 * loaded for it.  Data it writes itself, to @device, which is durable before the
 * change is: only to blocks that it has allocated here or that are unwritten,
 * and never to what it has freed.  @doing is for e4l_detail().  Nothing is
 * written to the filesystem when nothing changes.
 * The filesystem is checked first, see e4l_check(): E4L_ET_DAMAGED.
 * Errors: @fn's; ENOSPC; E4L_ET_CHANGE_QUOTA (the filesystem counts what users
 * have, and @fn changed that); those of e4l_journal_probe(), and of reading and
 * writing.  After one, let go of the filesystem by e4l_close() or
 * ext2fs_free(); only data has been written unless it was the commit that
 * failed, which recovery then completes or drops.
 */
errcode_t e4l_change(struct e4l *e, io_channel external, const char *doing,
		     errcode_t (*fn)(ext2_filsys fs, io_channel device,
				     void *priv),
		     void *priv);

#endif
