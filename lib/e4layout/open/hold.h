/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * hold: the range of a device or an image that contains a filesystem, or will
 * contain one.  Finds other users of the range, and locks the range.
 */
#ifndef E4L_HOLD_H
#define E4L_HOLD_H

#include "in_use.h"
#include "tell.h"

struct e4l_hold {
	char *device;
	char *e2fs_name;	/* name for e2fsprogs' tools, with the offset */
	/* @device and @e2fs_name in commands that messages recommend */
	char *device_word, *e2fs_words;
	uint64_t offset_bytes, end_bytes;	/* UINT64_MAX: to the end */
	bool empty;		/* an empty file */
	struct e4l_in_use *in_use;
	/* other users at the time of e4l_hold_new() */
	struct e4l_in_use_by others;
	int lock_fd;		/* open on @device; -1: nothing is locked */
	off_t file_bytes;	/* size of an image when it was locked */
	/* another program has changed the device while it was open */
	bool lost;
	struct e4l_teller teller;
};

/*
 * Examines @device from @offset_bytes to @end_bytes.  Errors, with a message to
 * @teller and *@ret NULL:  E4L_ET_NOT_STORAGE (neither a block device nor a
 * regular file), ENOMEM, and errors of opening.
 */
errcode_t e4l_hold_new(const char *device, uint64_t offset_bytes,
		       uint64_t end_bytes, const struct e4l_teller *teller,
		       struct e4l_hold **ret);

/* Frees @h and its locks.  NULL is allowed. */
void e4l_hold_free(struct e4l_hold *h);

/*
 * The mount point, in our own mount namespace, of a filesystem that begins at
 * @h's offset; NULL: not mounted.
 */
const char *e4l_hold_mount_point(const struct e4l_hold *h);

/*
 * The first step in advice that recommends a tool of e2fsprogs, which refuses a
 * mounted filesystem; "" if the filesystem is not mounted.
 */
const char *e4l_hold_unmount(const struct e4l_hold *h);

/*
 * Opens @h->lock_fd and locks the device or image: exclusively if @write,
 * otherwise against writers.  Errors, with a message:  E4L_ET_MOUNTED,
 * E4L_ET_IN_USE, EROFS, and errors of opening.
 */
errcode_t e4l_hold_take(struct e4l_hold *h, bool write);

/*
 * Tests, after e4l_hold_take(), whether another program has mounted the image
 * or attached it to a loop device, which ignores locks (E4L_ET_NOT_OURS), or
 * has truncated the image (E4L_ET_SHORTER).  Prints no message.  Other errors,
 * with the use unknown: those of e4l_in_use_find().
 */
errcode_t e4l_hold_check(struct e4l_hold *h);

#endif
