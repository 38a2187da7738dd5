/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of archive members that libarchive does not make. */
#ifndef MKE4FS_MEMBER_H
#define MKE4FS_MEMBER_H

#include "mke4fs_ustar.h"

/* The size, the sparse map and the checksum of a regular file in an archive. */
struct member {
	struct archive *a;
	uint64_t begin;		/* offset of the data in the archive */
	uint64_t size;
	bool is_tar;
	/* the member's type allows neither a real size nor a sparse map */
	bool is_plain;
	/*
	 * @stored: size of the stored data according to the header, in whole
	 * blocks; @mapped: bytes of the stored data that libarchive read as a
	 * sparse map
	 */
	uint64_t stored, mapped;
	bool has_map;
	uint64_t map_bytes;	/* total length of the map's entries */
	/*
	 * the header of the cpio archive has a checksum, @check, which must
	 * equal the sum of the bytes
	 */
	bool has_check;
	uint32_t check, sum;
};

/*
 * Describes @entry, whose data must not have been read yet.  The archive begins
 * at byte @first of @s; for a zip archive, @s is NULL.  @tar is the header that
 * pax_take() found in a tar archive; for other archives, it is NULL.
 */
void member_begin(struct member *m, struct archive *a,
		  struct archive_entry *entry, const struct stream *s,
		  uint64_t first, const struct ustar_member *tar);

/* Adds the next @len bytes of the member's data to the checksum. */
void member_add(struct member *m, const void *data, size_t len);

/*
 * Compares the member with the data that were read.  @bytes is the number of
 * bytes read, and @end is the offset in the file after the last byte read.
 * Sets *@size to the size of the file.  If the member matches the data, returns
 * NULL.  Otherwise, returns the text of an error.
 */
const char *member_check(const struct member *m, uint64_t bytes, uint64_t end,
			 uint64_t *size);

/*
 * Returns whether libarchive has read the whole target of a symbolic link.  In
 * cpio archives, libarchive ends the target at a NUL byte.
 */
bool member_is_link(struct archive *a, struct archive_entry *entry);

#endif
