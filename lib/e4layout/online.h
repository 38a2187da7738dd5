/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* online: improves the layout of a mounted filesystem through the kernel. */
#ifndef E4LAYOUT_ONLINE_H
#define E4LAYOUT_ONLINE_H

#include <e4layout/repack.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Improves the layout of the filesystem that @e has open for reading, through
 * @mount_point, where its root is mounted for writing.  Of @what,
 * E4L_REPACK_FILES, E4L_REPACK_TREES and E4L_REPACK_FREE have an effect;
 * E4L_REPACK_DRY_RUN, _DISCARD, _INODES and a journal's channel must not be
 * given. progress() reports moved blocks, and stop() is called between pieces.
 * @pace limits the speed: it gets the callbacks' priv and the number of bytes
 * that were just copied or zeroed, and may wait for a moment.  While it returns
 * true, it is called again with 0 bytes; between the calls, reserved free space
 * that other programs need is released.  NULL: as fast as possible.
 *
 * One plan is made, as by e4l_repack(), from a scan of the device.  The free
 * space that the plan uses is reserved in a file without a name.  The kernel
 * exchanges its blocks with blocks of other files (EXT4_IOC_MOVE_EXT), also
 * while other programs write to these files.  A twentieth of the filesystem
 * always stays free, and a hundredth of it for users other than root.  If less
 * is left because other programs need space, the reserved space is released.
 * Before a file is moved, it is opened, its inode is compared with the scanned
 * one, and its extents are read again.  Files that the kernel does not move are
 * reported by skipped() with the reason, like work that requires e4l_repack().
 * With fast commits, nothing is moved: Linux up to 6.19 does not log an
 * exchange for them, so that a power failure loses the next fsync() of the
 * file.  Unwritten extents are zeroed, as @limits permit, if the kernel has
 * EXT4_IOC_JOIN_EXTENTS, and are kept otherwise.  Contents, sizes and times
 * stay the same. result->done.transactions is unknown, and result->after is
 * read from the device after the run.  A later run continues where this run has
 * ended.
 *
 * Errors: E4L_ET_BAD_ARGUMENT (another filesystem is mounted at @mount_point,
 * or not its root), EROFS (mounted read-only), E4L_ET_OPTION,
 * E4L_ET_INTERRUPTED (before any change), ENOMEM, and those of scanning.
 */
errcode_t e4l_online(struct e4l *e, const char *mount_point,
		     const struct e4l_repack_what *what,
		     const struct e4l_repack_limits *limits,
		     const struct e4l_repack_callbacks *callbacks,
		     bool (*pace)(uint64_t bytes, void *priv),
		     struct e4l_repack_result *result);

#ifdef __cplusplus
}
#endif
#endif
