/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* open: opens and closes a filesystem safely. */
#ifndef E4LAYOUT_OPEN_H
#define E4LAYOUT_OPEN_H

#include <e4layout/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Flags for e4l_open().  If neither E4L_OPEN_ALONE nor E4L_OPEN_WRITE is given,
 * the filesystem is opened for reading, in any state, even if mounted.  If
 * another program changes the filesystem during a call, the filesystem can
 * appear damaged.
 */
#define E4L_OPEN_ALONE		0x01	/* to read; refuse a device in use */
#define E4L_OPEN_WRITE		0x02	/* to write; refuse a device in use */
/*
 * E4L_OPEN_UNPROTECTED, E4L_OPEN_UNDO and E4L_OPEN_PLAN require E4L_OPEN_WRITE.
 */
#define E4L_OPEN_UNPROTECTED	0x04	/* allow a filesystem without journal */
/*
 * E4L_OPEN_UNDO: the member manager of struct e4l_open_options is an io_manager
 * that writes an undo file for e2undo(8).
 */
#define E4L_OPEN_UNDO		0x08
/*
 * E4L_OPEN_PLAN: refuse the states that E4L_OPEN_WRITE refuses, but open the
 * filesystem for reading.
 */
#define E4L_OPEN_PLAN		0x10

/* Options of e4l_open().  Pointers must stay valid until e4l_close(). */
struct e4l_open_options {
	unsigned int flags;		/* E4L_OPEN_* */
	uint64_t offset_bytes;		/* byte offset of the filesystem */
	/* byte offset of the partition's end; 0: no limit */
	uint64_t end_bytes;
	io_manager manager;		/* NULL: unix_io_manager */
	const char *io_options;		/* options of @manager; NULL: none */
	/*
	 * Called with the reason and the remedy before e4l_open() or
	 * e4l_close() returns an error.  @sentence is meant to be printed after
	 * "DEVICE: ", for example "mounted on /srv: first run umount /srv".
	 * The sentence has no newline and is valid during the call.  say() may
	 * be NULL.
	 */
	void (*say)(const char *sentence, errcode_t err, void *priv);
	void *priv;
	uint64_t reserved[16];
};

/*
 * Opens the filesystem on @device, a block device or an image file, and creates
 * a context that owns the open filesystem.  If @options is NULL, opens the
 * filesystem for reading.
 *
 * With E4L_OPEN_ALONE or E4L_OPEN_WRITE, e4l_open() refuses a device that is
 * mounted in a visible mount namespace, attached to a loop device, or locked by
 * another program.  e4l_open() also detects use through partitions, loop
 * devices and links.  e4l_open() locks the device or image until e4l_close().
 * e4l_open() uses the locks of flock(2) and the locks of qemu.
 *
 * With E4L_OPEN_WRITE, e4l_open() also opens the device exclusively, which
 * fails if the device is used for swap space, RAID or LVM.  With
 * E4L_OPEN_WRITE, e4l_open() refuses a filesystem that multiple mount
 * protection reports as in use.  With E4L_OPEN_WRITE, e4l_open() also refuses a
 * filesystem with an unknown feature, a journal to be replayed, recorded
 * errors, or orphaned inodes.  A filesystem without a journal is refused unless
 * E4L_OPEN_UNPROTECTED or E4L_OPEN_UNDO is given.  With E4L_OPEN_WRITE, the
 * device of an external journal is found by its UUID and opened, too.
 * e4l_open() does not check inodes, directories and bitmaps.  Functions that
 * change the filesystem check all metadata first, see e4l_check().
 *
 * E4L_OPEN_WRITE with E4L_OPEN_PLAN refuses the same states as E4L_OPEN_WRITE,
 * but opens the filesystem for reading.
 *
 * Errors: E4L_ET_MOUNTED, E4L_ET_IN_USE, EBUSY, EXT2_ET_MMP_*, EROFS: the
 * device is in use or not writable; E4L_ET_NOT_STORAGE, EXT2_ET_BAD_MAGIC,
 * E4L_ET_IS_JOURNAL, E4L_ET_TRUNCATED, E4L_ET_UNKNOWN_FEATURE: not a supported
 * filesystem; E4L_ET_JOURNAL_RECOVERY, E4L_ET_NOT_CLEAN, E4L_ET_BLOCK_SHARED,
 * EXT2_ET_RO_FILSYS: e2fsck has to run first; E4L_ET_NO_JOURNAL,
 * E4L_ET_JOURNAL_DEVICE, E4L_ET_UNDO_JOURNAL, E4L_ET_AT_OFFSET: nothing would
 * protect a change; E4L_ET_OPTION, E4L_ET_BAD_ARGUMENT: wrong options; errors
 * of e4l_new(), ext2fs_open2() and the system.  After an error, *@ret is NULL,
 * and nothing is open, locked or written.
 */
errcode_t e4l_open(const char *device, const struct e4l_open_options *options,
		   struct e4l **ret);

/*
 * Closes the filesystem and frees @e, even if closing fails.  @e is from
 * e4l_open() or NULL.  The caller must first free all objects that were created
 * with @e.  Changes that libext2fs has not yet written are dropped.  Errors: as
 * for close(2) and ext2fs_mmp_stop().  If multiple mount protection could not
 * be released, say() also gets E4L_ET_MMP_KEPT.
 */
errcode_t e4l_close(struct e4l *e);

/*
 * Returns the mount point of the filesystem at the time of e4l_open(), or NULL
 * if the filesystem was not mounted in the caller's mount namespace.  The text
 * belongs to @e.
 */
const char *e4l_mount_point(const struct e4l *e);

/*
 * Tests whether a filesystem that was opened with E4L_OPEN_ALONE or
 * E4L_OPEN_WRITE is still unused by other programs.  Functions that change a
 * filesystem call e4l_still_ours() before and after each transaction.  Errors:
 * E4L_ET_NOT_OURS: another program has mounted or changed the filesystem;
 * E4L_ET_SHORTER: the image was truncated; ENOMEM, EMFILE, ENFILE: the test
 * could not be made.
 */
errcode_t e4l_still_ours(struct e4l *e);

#ifdef __cplusplus
}
#endif
#endif
