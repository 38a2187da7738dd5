/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* change: changes metadata in transactions. */
#ifndef E4L_CHANGE_H
#define E4L_CHANGE_H

#include <e4layout/context.h>

/*
 * The library changes a filesystem's metadata only in transactions.  After a
 * power failure, a kill or an I/O error, each transaction is on disk completely
 * or not at all, once a kernel or e2fsck has replayed the filesystem's own
 * journal.  A filesystem without a journal is changed in place, data before
 * metadata; only an undo file protects such a run.
 *
 * Functions with a parameter @external: for an external journal, @external is a
 * channel on the journal device.  The caller keeps the channel; its block size is
 * set to the filesystem's.  NULL: use the journal device that e4l_open() opened,
 * or the filesystem has no external journal.
 */

/*
 * Whether a transaction is possible, as far as a few reads can show; the
 * bitmaps are not read.  The filesystem need not be open for writing.  Errors:
 * E4L_ET_JOURNAL_RECOVERY, _CORRUPT, _FORMAT, _NARROW, _DEVICE (the device is
 * missing, or belongs to another filesystem), _ERROR; ENOMEM, and errors of
 * reading.
 */
errcode_t e4l_journal_probe(struct e4l *e, io_channel external);

/* Result of discarding freed blocks. */
struct e4l_discarded {
	uint64_t blocks;
	/*
	 * ended the discards; EXT2_ET_UNIMPLEMENTED: the device does not
	 * support discard
	 */
	errcode_t err;
};

/*
 * Makes a change in one transaction of its own.  @fn changes metadata with
 * libext2fs functions.  Their writes are kept in memory until @fn has returned
 * 0, and are then committed together.  Bitmaps are loaded before.  @fn may
 * write data directly to @device: only to blocks that @fn has allocated or that
 * are unwritten, and never to blocks that @fn has freed.  The data are durable
 * before the commit.  @doing is the text for e4l_detail().  If @fn changes
 * nothing, nothing is written.  The filesystem is checked first, see
 * e4l_check(): E4L_ET_DAMAGED.  Errors: @fn's; ENOSPC; E4L_ET_CHANGE_QUOTA (the
 * filesystem has quotas, and @fn changed the usage); errors of
 * e4l_journal_probe(), of reading and of writing.  After an error, close the
 * filesystem with e4l_close() or ext2fs_free().  Only data have been written
 * then, unless the commit failed, which recovery completes or drops.
 */
errcode_t e4l_change(struct e4l *e, io_channel external, const char *doing,
		     errcode_t (*fn)(ext2_filsys fs, io_channel device,
				     void *priv),
		     void *priv);

#endif
