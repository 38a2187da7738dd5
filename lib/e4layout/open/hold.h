/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The bytes of a device or an image that hold, or are going to hold, a
 * filesystem: who else uses them, and what keeps others away.
 */
#ifndef E4L_HOLD_H
#define E4L_HOLD_H

#include "in_use.h"
#include "tell.h"

struct e4l_hold {
	char *device;
	char *e2fs_name;	/* for e2fsprogs' tools: with the offset */
	uint64_t offset_bytes, end_bytes;	/* UINT64_MAX: all there are */
	bool empty;		/* a file of no bytes */
	struct e4l_in_use *in_use;
	struct e4l_in_use_by others;	/* who used it when it was looked at */
	int lock_fd;		/* open on @device; -1: nothing is locked */
	off_t file_bytes;	/* of an image, when it was locked */
	bool lost;		/* somebody else was seen to use it since */
	struct e4l_teller teller;
};

/*
 * Looks at @device, from @offset_bytes up to @end_bytes.  Says of what cannot
 * hold a filesystem why not; *@ret is NULL then.
 * Errors: E4L_ET_NOT_STORAGE, ENOMEM, and why it cannot be opened.
 */
errcode_t e4l_hold_new(const char *device, uint64_t offset_bytes,
		       uint64_t end_bytes, const struct e4l_teller *teller,
		       struct e4l_hold **ret);

/* Frees @h, and lets others come.  NULL is allowed. */
void e4l_hold_free(struct e4l_hold *h);

/* Where a filesystem that begins where @h does is mounted; NULL: nowhere. */
const char *e4l_hold_mount_point(const struct e4l_hold *h);

/*
 * Refuses, with a sentence, what somebody else uses, and keeps away who asks
 * for locks, to @write or to have nobody else do so; opens @h->lock_fd.
 * Errors: E4L_ET_MOUNTED, E4L_ET_IN_USE, EROFS, and why it cannot be opened.
 */
errcode_t e4l_hold_take(struct e4l_hold *h, bool write);

/*
 * E4L_ET_NOT_OURS when somebody else has come to use what was taken: an image
 * is not safe from being mounted or attached, since who does that asks for no
 * lock.  Says nothing.
 * Errors besides: as e4l_in_use_find(); then it is not known.
 */
errcode_t e4l_hold_check(struct e4l_hold *h);

#endif
