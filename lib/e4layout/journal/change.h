/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* change: makes changes of metadata in transactions. */
#ifndef E4L_CHANGE_H
#define E4L_CHANGE_H

#include <e4layout/context.h>

/*
 * The library changes a filesystem's metadata only in transactions.  If a power
 * failure, a kill or an I/O error interrupts the library, the kernel or e2fsck
 * replays the filesystem's journal.  After the replay, each transaction is on
 * disk completely or not at all.  A filesystem without a journal is changed in
 * place, data before metadata.  Only an undo file protects a run that changes a
 * filesystem without a journal.
 *
 * Some functions have a parameter @external: the channel of an external
 * journal's device.  The functions borrow the channel and set its block size to
 * the block size of the filesystem.  If the journal is not external, or if
 * e4l_open() has opened the device, @external is NULL.
 */

/*
 * Tests whether e4l_journal_open() would succeed.  The filesystem may be open
 * for reading only, and bitmaps are not read.  Errors: E4L_ET_JOURNAL_RECOVERY,
 * _CORRUPT, _FORMAT, _NARROW, _DEVICE (the device is missing, or belongs to
 * another filesystem), _ERROR; E4L_ET_GROUP_COUNT; ENOMEM, and read errors.
 */
errcode_t e4l_journal_probe(struct e4l *e, io_channel external);

/* The result of discarding blocks. */
struct e4l_discarded {
	uint64_t blocks;
	/*
	 * 0, or the error that ended the discards; EXT2_ET_UNIMPLEMENTED: the
	 * device does not support discard
	 */
	errcode_t err;
};

/*
 * Makes a change in one transaction.  First checks the filesystem, as
 * e4l_check() does, and loads the bitmaps.  Then calls @fn, which changes
 * metadata with functions of libext2fs.  The writes of libext2fs are kept in
 * memory.  If @fn returns 0, the writes are committed in one transaction.  If
 * @fn changes nothing, nothing is written.
 *
 * @fn may write data directly to @device, but only to unwritten blocks and to
 * blocks that @fn has allocated, never to blocks that @fn has freed.  The data
 * are durable before the commit.  After an error, e4l_detail() returns the text
 * @doing.
 *
 * Errors: the errors of @fn; E4L_ET_DAMAGED (the check has found errors);
 * ENOSPC; E4L_ET_CHANGE_QUOTA (the filesystem has quotas, and @fn has changed
 * the usage); errors of e4l_journal_open(), read errors and write errors.
 * After an error, the caller must close the filesystem with e4l_close() or
 * ext2fs_free().  If the commit failed, a replay of the journal leaves all
 * changes or no change.  After other errors, no metadata has been written.
 */
errcode_t e4l_change(struct e4l *e, io_channel external, const char *doing,
		     errcode_t (*fn)(ext2_filsys fs, io_channel device,
				     void *priv),
		     void *priv);

#endif
