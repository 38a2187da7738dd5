/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The steps of e4l_open(), for e4check, which also opens damaged filesystems.
 */
#ifndef E4L_OPENED_H
#define E4L_OPENED_H

#include "hold.h"

/*
 * Opens the filesystem at the offset of @h, as ext2fs_open2() does.  After an
 * error, *@ret is NULL, and no message is printed.
 */
errcode_t e4l_open_at(const struct e4l_hold *h, const char *io_options,
		      int flags, blk64_t super, unsigned int blocksize,
		      io_manager manager, ext2_filsys *ret);

/* Reports the error of e4l_open_at(); returns @err. */
errcode_t e4l_tell_open_error(const struct e4l_hold *h, errcode_t err);

/*
 * Reads the superblock, and refuses, with a message, a filesystem that cannot
 * be opened with @flags (E4L_OPEN_*).
 */
errcode_t e4l_peek(const struct e4l_hold *h, unsigned int flags);

/*
 * Returns the name of the device whose tag @type, such as "UUID", has @value;
 * NULL: no such device.  *@other is a second device with the tag, as after
 * copying a disk, or NULL.  The caller frees both names.  Devices below another
 * device, such as the paths of a multipath device, are ignored.  All devices
 * are examined, because the tags that libblkid and udev cache can be outdated.
 * The case of a UUID is ignored.
 */
char *e4l_device_of_tag(const char *type, const char *value, char **other);

/*
 * Finds the external journal of @fs by its UUID and opens it.  If the journal
 * is not external, *@ret is NULL.  Errors, with a message to @teller:
 * E4L_ET_JOURNAL_DEVICE, and errors of opening.
 */
errcode_t e4l_journal_find(ext2_filsys fs, const struct e4l_teller *teller,
			   int io_flags, io_channel *ret);

/* Sets the sizes of reads of @e to suit the lowest device below @h. */
void e4l_read_as_suits(struct e4l *e, const struct e4l_hold *h);

/*
 * The hold and the external journal that e4l_open() has opened for @e; they
 * belong to @e.  NULL: not opened.
 */
struct e4l_hold *e4l_hold_of(const struct e4l *e);
io_channel e4l_journal_of(const struct e4l *e);

#endif
