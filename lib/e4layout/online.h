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
 * @mount_point, where its root is seen, mounted for writing.  Of @what,
 * E4L_REPACK_FILES, E4L_REPACK_TREES and E4L_REPACK_FREE have an effect, and
 * E4L_REPACK_DRY_RUN, _DISCARD, _INODES and a journal's channel must not be given.
 * progress() reports blocks that are moved, and stop() is called between pieces.
 * @pace gets the callbacks' priv, and the bytes that were just copied or zeroed,
 * may take a moment, and is called again, with 0, as long as it returns true: free
 * space that others need is given back in between.  NULL: as fast as possible.
 *
 * One plan is made, as by e4l_repack(), from a scan of the device.  The free space
 * that it may use is reserved in a file without a name, with which the kernel
 * exchanges blocks of other files (EXT4_IOC_MOVE_EXT), also while others write to
 * these.  A twentieth of the filesystem stays free in any case, and a hundredth of
 * it for users other than root.  If less is left because others need space, the
 * reserved space is given back.
 * Each file is opened, is the inode that was scanned, and is asked for its extents
 * again, before it is moved.  Files that the kernel does not move are reported by
 * skipped(), with the reason, as is work that only e4l_repack() does.  With fast
 * commits, nothing is moved: Linux up to 6.19 does not log an exchange for them, so
 * that the next fsync() of the file is lost in a power cut.  Unwritten extents are
 * zeroed, as @limits say, if the kernel has EXT4_IOC_JOIN_EXTENTS, and stay
 * otherwise.  Contents, sizes and times stay.
 * result->done.transactions is not known, and result->after is what the device
 * shows afterwards.  Another run continues where this one ended.
 *
 * Errors: E4L_ET_BAD_ARGUMENT (@mount_point shows another filesystem, or not its
 * root), EROFS (it is mounted to be read), E4L_ET_OPTION, E4L_ET_INTERRUPTED
 * (before anything was changed), ENOMEM, and those of scanning.
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
