/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks the records of pax headers that libarchive ignores or changes. */
#ifndef MKE4FS_PAX_H
#define MKE4FS_PAX_H

#include "mke4fs_source.h"
#include "mke4fs_ustar.h"

/*
 * Checks the pax headers of the current member, @entry, whose data must not
 * have been read yet.  Sets the names of @entry, and @l->path, to the names in
 * the headers.  The archive begins at byte @first of @s.
 *
 * Prints an error and returns false in three cases: a record is malformed,
 * libarchive ignores a record that has an effect, or the headers are not in the
 * last two blocks of @s.  Otherwise, sets @found to the header of the member.
 */
bool pax_take(struct load *l, struct archive *a, struct archive_entry *entry,
	      const struct stream *s, uint64_t first,
	      struct ustar_member *found);

#endif
