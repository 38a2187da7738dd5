/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bytes of a device or an image with a present or future filesystem: finds
 * other users, and takes locks.
 */
#ifndef E4L_HOLD_H
#define E4L_HOLD_H

#include "in_use.h"
#include "tell.h"

struct e4l_hold {
	char *device;
	char *e2fs_name;	/* name for e2fsprogs' tools, with the offset */
	uint64_t offset_bytes, end_bytes;	/* UINT64_MAX: to the end */
	bool empty;		/* an empty file */
	struct e4l_in_use *in_use;
	/* other users, when the device was examined */
	struct e4l_in_use_by others;
	int lock_fd;		/* open on @device; -1: nothing is locked */
	off_t file_bytes;	/* size of an image when it was locked */
	/* another program has changed the device while it was open */
	bool lost;
	struct e4l_teller teller;
};

/*
 * Examines @device from @offset_bytes to @end_bytes.  Reports why a file cannot
 * contain a filesystem.  *@ret is NULL after an error.  Errors:
 * E4L_ET_NOT_STORAGE, ENOMEM, and errors of opening.
 */
errcode_t e4l_hold_new(const char *device, uint64_t offset_bytes,
		       uint64_t end_bytes, const struct e4l_teller *teller,
		       struct e4l_hold **ret);

/* Frees @h and its locks.  NULL is allowed. */
void e4l_hold_free(struct e4l_hold *h);

/*
 * The mount point of a filesystem that begins at @h's offset; NULL: not
 * mounted.
 */
const char *e4l_hold_mount_point(const struct e4l_hold *h);

/*
 * Refuses a device or image in use, with a message, and locks it, to @write or
 * against writers; opens @h->lock_fd.  Errors: E4L_ET_MOUNTED, E4L_ET_IN_USE,
 * EROFS, and errors of opening.
 */
errcode_t e4l_hold_take(struct e4l_hold *h, bool write);

/*
 * Returns E4L_ET_NOT_OURS if another program uses the device after
 * e4l_hold_take(): an image can be mounted or attached, which ignores locks.
 * Prints no message.  Other errors: as e4l_in_use_find(); the use is unknown
 * then.
 */
errcode_t e4l_hold_check(struct e4l_hold *h);

#endif
