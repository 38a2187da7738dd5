/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of the data of members that libarchive does not make. */
#ifndef MKE4FS_MEMBER_H
#define MKE4FS_MEMBER_H

#include "mke4fs_stream.h"

/* The size and the sparse map of a regular file, as libarchive reports them. */
struct member {
	struct archive *a;
	uint64_t begin;		/* offset of the data in the archive */
	uint64_t size;
	bool is_tar;
	/* the type has neither a size of its own nor a sparse map */
	bool is_plain;
	/* bytes of blocks by the header, and those that were read as a map */
	uint64_t stored, mapped;
	bool has_map;
	uint64_t map_bytes;	/* total length of the map's entries */
	/* the header of a cpio archive has the sum of the bytes, @check */
	bool has_check;
	uint32_t check, sum;
};

/*
 * Describes @entry, whose data have not been read.  The archive begins at byte
 * @first of @s; NULL: a zip archive.
 */
void member_begin(struct member *m, struct archive *a,
		  struct archive_entry *entry, const struct stream *s,
		  uint64_t first);

/* Adds @len bytes of the data to the checksum. */
void member_add(struct member *m, const void *data, size_t len);

/*
 * Compares the member with its data: @bytes in total, the last of them before
 * offset @end of the file.  Sets *@size to the size of the file.  Returns NULL,
 * or the text of an error.
 */
const char *member_check(const struct member *m, uint64_t bytes, uint64_t end,
			 uint64_t *size);

/*
 * Whether libarchive has read the whole target of a symbolic link.  In cpio
 * archives, libarchive ends the target at a NUL byte.
 */
bool member_is_link(struct archive *a, struct archive_entry *entry);

#endif
