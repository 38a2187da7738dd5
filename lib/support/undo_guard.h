/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Goes between libext2fs' undo manager and what it stacks over.  That manager
 * alone protects from a change of mind and from a kill, but not from a power
 * cut or an error.  With the guard:
 *  - what the undo file records is durable before the device is written;
 *  - the undo file never names what it does not hold: first the old contents,
 *    then the keys, then the header are written, with a flush after each, since
 *    e2undo -f restores whatever is named;
 *  - after an error in the undo file nothing is written any more, neither there
 *    nor to the device.
 * The cost is three flushes of the undo file before each write to the device
 * of something that was not recorded yet: write large pieces.  After a crash,
 * "e2undo -f UNDO DEVICE" and then "e2fsck -fy DEVICE" bring everything back.
 */
#ifndef SUPPORT_UNDO_GUARD_H
#define SUPPORT_UNDO_GUARD_H

#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

/*
 * Makes undo_io_manager record to @undo_file and stack over the guard, and this
 * over @below (normally unix_io_manager).  To be called once, before the
 * filesystem is opened through undo_io_manager; @undo_file is copied.
 */
errcode_t undo_guard_setup(const char *undo_file, io_manager below);

#endif
