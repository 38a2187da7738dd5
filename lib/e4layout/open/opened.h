/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The steps of e4l_open(), for e4check, which also opens damaged filesystems.
 */
#ifndef E4L_OPENED_H
#define E4L_OPENED_H

#include "hold.h"

/*
 * Like ext2fs_open2(), at the offset of @h.  On an error *@ret is NULL, and no
 * message is printed.
 */
errcode_t e4l_open_at(const struct e4l_hold *h, const char *io_options,
		      int flags, blk64_t super, unsigned int blocksize,
		      io_manager manager, ext2_filsys *ret);

/* Reports the error of e4l_open_at(); returns @err. */
errcode_t e4l_tell_open_error(const struct e4l_hold *h, errcode_t err);

/* Reads the superblock only, and refuses with a message. */
errcode_t e4l_peek(const struct e4l_hold *h, unsigned int flags);

/*
 * Returns the device with a tag, such as "UUID" and its value; NULL: none.
 * *@other is another device with the tag, as after copying a disk, or NULL.
 * The caller frees both.  Devices below another device, such as the paths of a
 * multipath device, are ignored.  All devices are examined: the tags that
 * libblkid and udev cache may be some seconds old.
 */
char *e4l_device_of_tag(const char *type, const char *value, char **other);

/*
 * Opens the external journal of @fs, if any, found by its UUID; else *@ret is
 * NULL.  Errors: E4L_ET_JOURNAL_DEVICE, after a message to @teller, and errors
 * of opening.
 */
errcode_t e4l_journal_find(ext2_filsys fs, const struct e4l_teller *teller,
			   int io_flags, io_channel *ret);

/* Sets the sizes of reads for the lowest device of @h. */
void e4l_read_as_suits(struct e4l *e, const struct e4l_hold *h);

/*
 * The hold and the journal that e4l_open() has opened for @e, and e4l_close()
 * closes.
 */
struct e4l_hold *e4l_hold_of(const struct e4l *e);
io_channel e4l_journal_of(const struct e4l *e);

#endif
