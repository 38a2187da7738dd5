/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* online: improves the layout of a mounted filesystem through the kernel. */
#ifndef E4LAYOUT_ONLINE_H
#define E4LAYOUT_ONLINE_H

#include <e4layout/repack.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Improves the layout of a mounted filesystem through the kernel.  @e has the
 * filesystem open for reading.  @mount_point is a directory on which the root
 * of the filesystem is mounted for writing.
 *
 * @what: E4L_REPACK_FILES, E4L_REPACK_TREES and E4L_REPACK_FREE have an effect.
 * E4L_REPACK_DRY_RUN, E4L_REPACK_DISCARD, E4L_REPACK_INODES, E4L_REPACK_SHRINK
 * and the channel of a journal are refused with E4L_ET_OPTION.
 *
 * @callbacks: progress() reports moved blocks.  stop() is called between files
 * and between the parts of a large file.
 *
 * @pace limits the speed.  @pace gets the number of bytes that were just copied
 * or zeroed, and the priv of @callbacks, and may sleep for a short time.  If
 * @pace returns true, @pace is called again with 0 bytes.  Between the calls of
 * @pace, the run releases reserved free space that other programs need.  If
 * @pace is NULL, the speed is not limited.
 *
 * The run makes one plan, as e4l_repack() does, from a scan of the device.  A
 * donor file, which has no name, reserves the free space that the plan uses.
 * The kernel exchanges blocks of the donor file with blocks of the files to
 * move (EXT4_IOC_MOVE_EXT), also while other programs write to the files.  The
 * run leaves at least 5 % of the filesystem free, and at least 1 % for users
 * other than root.  If other programs use this free space, the run releases
 * reserved space.
 *
 * Before a file is moved, the run opens the file, compares its inode with the
 * scanned inode, and reads its extents again.  skipped() is called, with the
 * reason, for each file that the kernel cannot move, and for work that requires
 * e4l_repack().  If the filesystem has the feature fast_commit, no file is
 * moved, because Linux up to 6.19 does not log an exchange of blocks in fast
 * commits.  If power failed after a later fsync(), data would be lost.
 *
 * If the kernel has EXT4_IOC_JOIN_EXTENTS, unwritten extents are zeroed within
 * @limits.  If the kernel does not have EXT4_IOC_JOIN_EXTENTS, unwritten
 * extents do not change.  Contents, sizes and times of files do not change.
 * @result->done.transactions stays 0, and @result->after is read from the
 * device after the run.  After a stopped run, a later run continues the work.
 *
 * Errors: E4L_ET_BAD_ARGUMENT (@mount_point is not the root directory of the
 * filesystem), EROFS (mounted read-only), E4L_ET_NOT_CLEAN (the superblock
 * records errors), E4L_ET_OPTION, E4L_ET_INTERRUPTED (before any change),
 * ENOMEM, and errors of e4l_scan().
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
