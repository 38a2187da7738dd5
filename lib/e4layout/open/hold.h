/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * hold: finds other users of a filesystem on a device or in an image, and locks
 * the device or image.
 */
#ifndef E4L_HOLD_H
#define E4L_HOLD_H

#include "in_use.h"
#include "tell.h"

struct e4l_hold {
	char *device;
	char *e2fs_name; /* name for e2fsprogs: DEVICE?offset=BYTES */
	/* @device and @e2fs_name, quoted for a shell */
	char *device_word, *e2fs_words;
	/*
	 * byte range on @device; end_bytes UINT64_MAX means the end of @device
	 */
	uint64_t offset_bytes, end_bytes;
	bool empty;		/* the image is an empty file */
	struct e4l_in_use *in_use;
	/* other users at the time of e4l_hold_new() */
	struct e4l_in_use_by others;
	int lock_fd;		/* open on @device; -1: nothing is locked */
	off_t file_bytes;	/* size of an image when it was locked */
	/* e4l_hold_check() has found another user, or a truncated image */
	bool lost;
	struct e4l_teller teller;
};

/*
 * Creates a hold for the bytes of @device from @offset_bytes to @end_bytes, and
 * finds other users of these bytes.  Errors, with a message to @teller and
 * *@ret NULL: E4L_ET_NOT_STORAGE (neither a block device nor a regular file),
 * ENOMEM, and errors of opening.
 */
errcode_t e4l_hold_new(const char *device, uint64_t offset_bytes,
		       uint64_t end_bytes, const struct e4l_teller *teller,
		       struct e4l_hold **ret);

/* Releases the locks of @h and frees @h.  @h may be NULL. */
void e4l_hold_free(struct e4l_hold *h);

/*
 * Returns the mount point, in the program's mount namespace, of the filesystem
 * that begins at the offset of @h.  If the filesystem is not mounted, returns
 * NULL.
 */
const char *e4l_hold_mount_point(const struct e4l_hold *h);

/*
 * Returns the first words of advice to run a tool of e2fsprogs: "unmount the
 * filesystem and " if the filesystem is mounted, otherwise "". The tools refuse
 * a mounted filesystem.
 */
const char *e4l_hold_unmount(const struct e4l_hold *h);

/*
 * Opens @h->lock_fd and locks the device or image.  If @write is true, the lock
 * excludes all other programs; otherwise, other programs can still read.
 * Errors, with a message:  E4L_ET_MOUNTED, E4L_ET_IN_USE, EROFS, and errors of
 * opening.
 */
errcode_t e4l_hold_take(struct e4l_hold *h, bool write);

/*
 * Tests whether another program uses the device or image in spite of the locks
 * of e4l_hold_take().  Reports no message.  Errors: E4L_ET_NOT_OURS (mounted,
 * or attached to a loop device), E4L_ET_SHORTER (the image was truncated), and
 * errors of e4l_in_use_find() (it is unknown whether another program uses the
 * device or image).
 */
errcode_t e4l_hold_check(struct e4l_hold *h);

#endif
