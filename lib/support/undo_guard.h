/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Goes between libext2fs' undo manager and what it stacks over.  That manager
 * alone protects from a change of mind and from a kill, but not from a power
 * cut or an error.  With the guard:
 *  - what the undo file records is durable before the device is written: writes
 *    wait in memory until a flush, or until there are many, and then go there
 *    together, since each time costs three flushes of the undo file;
 *  - the undo file never names what it does not hold: first the old contents,
 *    then the keys, then the header are written, with a flush after each, since
 *    e2undo -f restores whatever is named;
 *  - the undo file has the superblock as it is on the device, but between the
 *    two writes: "e2undo UNDO DEVICE" works after a kill, and refuses a
 *    filesystem that somebody has changed since;
 *  - once it is durable, and before the device is written, is looked whether
 *    somebody else has come to use the device meanwhile;
 *  - after an error in either nothing is written any more, but for the MMP
 *    block where it is let go of;
 *  - an undo file with nothing to take back is removed when it is closed.
 * After a crash, "e2undo UNDO DEVICE" and then "e2fsck -fy DEVICE" bring
 * everything back.  Only where e2undo says that the superblock does not match,
 * because the crash came between the two writes, "e2undo -f" does it; after a
 * mount or a check it would destroy the filesystem.
 */
#ifndef SUPPORT_UNDO_GUARD_H
#define SUPPORT_UNDO_GUARD_H

#include <stdbool.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

/*
 * Makes undo_io_manager record to @undo_file and stack over the guard, and this
 * over @below (normally unix_io_manager).  To be called before the filesystem is
 * opened through undo_io_manager, one at a time; @undo_file is copied.
 * Errors: EEXIST, and why else it cannot be made.
 */
errcode_t undo_guard_setup(const char *undo_file, io_manager below);

/* Whether that could be made; it is not there afterwards.  Errors as above. */
errcode_t undo_guard_try(const char *undo_file);

/*
 * Has @look called with @priv before what waits is written to the device: an
 * error of it is the end.  To be called when the filesystem is open.
 */
void undo_guard_look(errcode_t (*look)(void *priv), void *priv);

/* Why the undo file could not be written; 0: it could. */
errcode_t undo_guard_failed(void);

/* Has the device been written to, beside its MMP block? */
bool undo_guard_changed(void);

#endif
