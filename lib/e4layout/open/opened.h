/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The steps of e4l_open(), for e4check, which opens what is damaged, too. */
#ifndef E4L_OPENED_H
#define E4L_OPENED_H

#include "hold.h"

/*
 * As ext2fs_open2(), at the offset of @h.  On an error *@ret is NULL, and
 * nothing has been said.
 */
errcode_t e4l_open_at(const struct e4l_hold *h, const char *io_options,
		      int flags, blk64_t super, unsigned int blocksize,
		      io_manager manager, ext2_filsys *ret);

/* Says why that did not work; returns @err. */
errcode_t e4l_tell_open_error(const struct e4l_hold *h, errcode_t err);

/* Reads the superblock alone, to refuse what it says with a sentence. */
errcode_t e4l_peek(const struct e4l_hold *h, unsigned int flags);

/*
 * Returns the device with a tag, as "UUID" and its value; NULL: there is none.
 * *@other is another device that has the tag, as after a copy of a disk, or
 * NULL.  Both are to be freed.  A device that another one is made of, as the
 * paths of a multipath device, does not count.  All devices are looked at: what
 * libblkid and udev remember of tags may be some seconds old.
 */
char *e4l_device_of_tag(const char *type, const char *value, char **other);

/*
 * Opens the device of @fs's journal, if it has one, found by its UUID; *@ret is
 * NULL otherwise.  Errors: E4L_ET_JOURNAL_DEVICE, after a sentence to @teller,
 * and why it cannot be opened.
 */
errcode_t e4l_journal_find(ext2_filsys fs, const struct e4l_teller *teller,
			   int io_flags, io_channel *ret);

/* Has @e read as suits the device that the bytes of @h are on in the end. */
void e4l_read_as_suits(struct e4l *e, const struct e4l_hold *h);

/* What e4l_open() has opened for @e, and e4l_close() closes. */
struct e4l_hold *e4l_hold_of(const struct e4l *e);
io_channel e4l_journal_of(const struct e4l *e);

#endif
