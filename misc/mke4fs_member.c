/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks the data of archive members, because libarchive accepts damaged
 * members.  In tar archives, libarchive takes the real size and the sparse map
 * of a member from fields that can belong to other types of members.
 * libarchive also ignores map entries beyond the size, and ends a file early if
 * the map and the stored data differ in length.  In cpio archives, libarchive
 * does not compare the checksums, and ends the target of a symbolic link at a
 * NUL byte.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <archive_entry.h>
#include "mke4fs_member.h"

#define MAGIC_AT	257
#define GNU_MAGIC	"ustar  "	/* includes the NUL at its end */

/* the checksum in the header of a cpio archive */
#define CRC_AT		102
#define CRC_DIGITS	8

/* Sets the type and the stored size from the header of the member. */
static void take_header(struct member *m, const struct ustar_member *tar,
			uint64_t end)
{
	bool is_gnu = !memcmp(tar->h.block + MAGIC_AT, GNU_MAGIC,
			      sizeof(GNU_MAGIC));

	m->is_plain = is_gnu && !tar->is_pax && tar->h.type != 'S';
	/* A hard link can have a size, but no data. */
	if (tar->h.type != '1')
		m->stored = ustar_whole_blocks(tar->h.size);
	/*
	 * The stored data can begin with a sparse map, which libarchive has
	 * already read.
	 */
	if (tar->h.type != 'S')
		m->mapped = end - tar->at - USTAR_BLOCK_BYTES;
}

/*
 * Sets m->check to the checksum in the header of the current member.  If the
 * archive is not a cpio archive with checksums, sets m->has_check to false.
 */
static void take_check(struct member *m, const struct stream *s, uint64_t first)
{
	char h[CRC_AT + CRC_DIGITS + 1] = "";
	uint64_t at = first + archive_read_header_position(m->a);

	m->has_check = archive_format(m->a) == ARCHIVE_FORMAT_CPIO_SVR4_CRC &&
		       stream_recall(s, at, h, CRC_AT + CRC_DIGITS);
	m->check = m->has_check ? strtoul(h + CRC_AT, NULL, 16) : 0;
}

void member_begin(struct member *m, struct archive *a,
		  struct archive_entry *entry, const struct stream *s,
		  uint64_t first, const struct ustar_member *tar)
{
	la_int64_t size = archive_entry_size(entry), offset, bytes;

	*m = (struct member) {
		.a = a, .begin = archive_filter_bytes(a, 0), .size = size,
		.is_tar = tar,
	};
	if (s && !tar)
		take_check(m, s, first);
	if (!tar)
		return;
	take_header(m, tar, first + m->begin);
	/*
	 * Set a large size first, because libarchive hides a map with a single
	 * entry that covers the whole size.
	 */
	archive_entry_set_size(entry, INT64_MAX);
	archive_entry_sparse_reset(entry);
	archive_entry_set_size(entry, size);
	while (archive_entry_sparse_next(entry, &offset, &bytes) ==
	       ARCHIVE_OK) {
		m->has_map = true;
		m->map_bytes += bytes;
	}
}

void member_add(struct member *m, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (; m->has_check && len; len--)
		m->sum += *p++;
}

static bool sizes_agree(const struct member *m, uint64_t bytes, uint64_t end,
			uint64_t *size)
{
	uint64_t read = archive_filter_bytes(m->a, 0) - m->begin;
	bool all_read;

	*size = m->is_tar && !m->is_plain ? m->size : end;
	if (!m->is_tar)
		return true;
	/* only the tar of Solaris stores the bytes of holes in the archive */
	all_read = read == ustar_whole_blocks(*size);
	if ((!all_read && read != ustar_whole_blocks(bytes)) ||
	    m->mapped + read < m->stored)
		return false;
	if (m->has_map)
		return !m->is_plain && bytes == m->map_bytes && end <= *size;
	/*
	 * if the whole file is a hole, libarchive 3.8 returns no sparse map
	 * and no data
	 */
	return bytes == end && (bytes == *size || !bytes);
}

const char *member_check(const struct member *m, uint64_t bytes, uint64_t end,
			 uint64_t *size)
{
	if (!sizes_agree(m, bytes, end, size))
		return "the size, the sparse map and the stored data do not "
		       "match";
	return m->has_check && m->sum != m->check ?
	       "the data do not match their checksum" : NULL;
}

bool member_is_link(struct archive *a, struct archive_entry *entry)
{
	const char *target = archive_entry_symlink(entry);

	/* Some programs count a NUL at the end of the target in the size. */
	return (archive_format(a) & ARCHIVE_FORMAT_BASE_MASK) !=
	       ARCHIVE_FORMAT_CPIO || !target ||
	       (uint64_t)archive_entry_size(entry) <= strlen(target) + 1;
}
