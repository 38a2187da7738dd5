/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An io_manager between libext2fs' undo manager and the device.  The undo
 * manager alone protects from unwanted changes and from a kill, but not from a
 * power failure or an I/O error.  The guard adds these rules:
 *
 * - The records of the undo file are durable before the device is written.
 *   Three flushes of the undo file are required before waiting writes are
 *   written to the device.  Writes to the device therefore wait in memory until
 *   a flush, or until many writes wait.
 *
 * - The undo file never refers to missing records, because e2undo -f restores
 *   everything that the keys refer to.  The guard writes the old contents, then
 *   the keys, and then the header, with a flush after each.
 *
 * - The undo file contains a copy of the device's superblock.  The superblock
 *   and the copy differ only while the guard writes them.  e2undo UNDO DEVICE
 *   therefore works after a kill, and refuses a filesystem that another program
 *   has changed.
 *
 * - Before the device is written, the guard checks whether another program uses
 *   the device.
 *
 * - After an error, nothing is written except the MMP block when MMP is
 *   released.
 *
 * - If the device was not changed, apart from its MMP block, the undo file is
 *   removed when it is closed.
 *
 * After a crash, e2undo UNDO DEVICE and then e2fsck -fy DEVICE restore the
 * filesystem.  If the crash came between the writes of the superblock and its
 * copy, e2undo reports that the superblock does not match, and e2undo -f
 * restores the filesystem.  After a mount or a check, e2undo -f would destroy
 * the filesystem.
 */
#ifndef SUPPORT_UNDO_GUARD_H
#define SUPPORT_UNDO_GUARD_H

#include <stdbool.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

/*
 * Makes undo_io_manager record to @undo_file and use the guard as its backing
 * manager; the guard uses @below (normally unix_io_manager).  Call this
 * function before the filesystem is opened through undo_io_manager; only one
 * filesystem can be open.  @undo_file is copied.  Errors: EEXIST, ENOMEM, and
 * errors of creating the file.
 */
errcode_t undo_guard_setup(const char *undo_file, io_manager below);

/*
 * Checks whether the undo file can be created, by creating and removing it.
 * Errors: EEXIST, and errors of creating or removing the file.
 */
errcode_t undo_guard_try(const char *undo_file);

/*
 * Sets a function that is called with @priv before waiting writes are written
 * to the device.  If @look returns an error, nothing more is written.  Call
 * this function when the filesystem is open.
 */
void undo_guard_look(errcode_t (*look)(void *priv), void *priv);

/*
 * If writing the undo file has failed, returns the error.  Otherwise, returns
 * 0.
 */
errcode_t undo_guard_failed(void);

/* Returns the path of the undo file, quoted for a shell command. */
const char *undo_guard_word(void);

/* Returns whether the device has been written to, apart from its MMP block. */
bool undo_guard_changed(void);

#endif
