/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of pax headers that libarchive ignores or changes. */
#ifndef MKE4FS_PAX_H
#define MKE4FS_PAX_H

#include "mke4fs_source.h"
#include "mke4fs_stream.h"

/*
 * Checks the pax headers of the current member, @entry, whose data have not
 * been read, and sets the names of @entry and @l->path as the headers have them.
 * The archive begins at byte @first of @s.  Returns false, after printing an
 * error, if a record is malformed, or libarchive ignores it although it has an
 * effect.
 *
 * Headers that are not among the last bytes of @s are not read.
 */
bool pax_take(struct load *l, struct archive *a, struct archive_entry *entry,
	      const struct stream *s, uint64_t first);

#endif
