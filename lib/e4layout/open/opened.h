/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The steps of e4l_open().  e4check calls the steps one by one, because e4check
 * also opens damaged filesystems.
 */
#ifndef E4L_OPENED_H
#define E4L_OPENED_H

#include "hold.h"

/*
 * Calls ext2fs_open2() for the filesystem at the offset of @h.  After an error,
 * *@ret is NULL.  Reports no message: the caller can report the error with
 * e4l_tell_open_error().
 */
errcode_t e4l_open_at(const struct e4l_hold *h, const char *io_options,
		      int flags, blk64_t super, unsigned int blocksize,
		      io_manager manager, ext2_filsys *ret);

/* Reports @err, an error of e4l_open_at(), and returns @err. */
errcode_t e4l_tell_open_error(const struct e4l_hold *h, errcode_t err);

/*
 * Reads the superblock.  If the filesystem must not be opened with @flags
 * (E4L_OPEN_*), reports the reason and returns an error.
 */
errcode_t e4l_peek(const struct e4l_hold *h, unsigned int flags);

/*
 * Returns the name of the device whose tag @type, such as "UUID", has @value.
 * Returns NULL if there is no such device.  If a second device has the tag with
 * @value, for example because a disk was copied, sets *@other to the name of
 * the second device.  If there is only one device, sets *@other to NULL.  The
 * caller frees the result and *@other.  Ignores devices on which another device
 * is built, such as the paths of a multipath device.  All devices are examined,
 * because the tags that libblkid and udev cache can be outdated.  If no
 * readable device has the tag, the cached tags are used.  The case of a UUID is
 * ignored.
 */
char *e4l_device_of_tag(const char *type, const char *value, char **other);

/*
 * Finds the device of the external journal of @fs by its UUID and opens the
 * device.  If the journal is not external, *@ret is NULL.  Errors, with a
 * message to @teller: E4L_ET_JOURNAL_DEVICE, and errors of opening.
 */
errcode_t e4l_journal_find(ext2_filsys fs, const struct e4l_teller *teller,
			   int io_flags, io_channel *ret);

/*
 * Sets the sizes of the reads of @e according to whether @h is on a rotating
 * disk.
 */
void e4l_read_as_suits(struct e4l *e, const struct e4l_hold *h);

/*
 * Return the hold of @e and the channel of its external journal.  For a context
 * of e4l_new(), return NULL.  e4l_journal_of() returns NULL if the journal is
 * not external.  The results belong to @e.
 */
struct e4l_hold *e4l_hold_of(const struct e4l *e);
io_channel e4l_journal_of(const struct e4l *e);

#endif
