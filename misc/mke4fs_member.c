/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libarchive takes the real size and the sparse map of a member from fields
 * that can belong to other types, leaves out map entries beyond the size, and
 * ends a file early if the map and the stored data differ in length.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <archive_entry.h>
#include "mke4fs_member.h"

#define BLOCK_BYTES	512
#define SIZE_AT		124
#define SIZE_BYTES	12
#define TYPE_AT		156
#define MAGIC_AT	257
#define GNU_MAGIC	"ustar  "	/* with its NUL */

static uint64_t whole_blocks(uint64_t bytes)
{
	return (bytes + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES;
}

/* The size field: octal, or binary with the highest bit set. */
static uint64_t header_size(const char *h)
{
	const char *p = h + SIZE_AT, *end = p + SIZE_BYTES;
	bool is_binary = *p & 0x80;
	uint64_t n = is_binary ? *p++ & 0x7f : 0;

	while (p < end && *p == ' ' && !is_binary)
		p++;
	for (; p < end && (is_binary || (*p >= '0' && *p <= '7')); p++)
		n = is_binary ? n << 8 | (unsigned char)*p :
				n << 3 | (*p - '0');
	return n;
}

/*
 * Finds the header of the member behind its pax headers and the headers of long
 * names, between @at and @end.  Sets *@is_pax if there is a pax header.
 */
static bool find_header(const struct stream *s, uint64_t *at, uint64_t end,
			char *h, bool *is_pax)
{
	uint64_t bytes;

	*is_pax = false;
	for (; *at < end && stream_recall(s, *at, h, BLOCK_BYTES);
	     *at += bytes) {
		if (!h[TYPE_AT] || !strchr("xgXLKVA", h[TYPE_AT]))
			return true;
		*is_pax |= strchr("xgX", h[TYPE_AT]) != NULL;
		if (header_size(h) > end - *at)
			return false;
		bytes = BLOCK_BYTES + whole_blocks(header_size(h));
	}
	return false;
}

static void set_link(struct archive_entry *entry, const char *target)
{
	if (archive_entry_hardlink(entry))
		archive_entry_copy_hardlink(entry, target);
	else if (archive_entry_symlink(entry))
		archive_entry_copy_symlink(entry, target);
}

/*
 * Takes the names from the records of a pax header: "LENGTH KEY=VALUE" and a
 * newline, each.  There is a NUL at @p + @len.
 */
static void take_records(struct archive_entry *entry, char *p, size_t len)
{
	char *end = p + len, *key, *value;
	bool is_sparse = false;
	unsigned long n;

	for (; p < end; p += n) {
		n = strtoul(p, &key, 10);
		if (*key != ' ' || n > (size_t)(end - p) ||
		    p + n < key + 2 || p[n - 1] != '\n')
			return;
		p[n - 1] = '\0';
		value = strchr(++key, '=');
		if (!value)
			return;
		*value++ = '\0';
		if (!strcmp(key, "GNU.sparse.name"))
			is_sparse = true;
		if (!strcmp(key, "GNU.sparse.name") ||
		    (!strcmp(key, "path") && !is_sparse))
			archive_entry_copy_pathname(entry, value);
		else if (!strcmp(key, "linkpath"))
			set_link(entry, value);
	}
}

static bool is_ascii(const char *name)
{
	while (name && *name > 0)
		name++;
	return !name || !*name;
}

void member_names(struct archive *a, struct archive_entry *entry,
		  const struct stream *s, uint64_t first)
{
	uint64_t at = first + archive_read_header_position(a), bytes;
	uint64_t end = first + archive_filter_bytes(a, 0);
	char h[BLOCK_BYTES], *records;

	if ((archive_format(a) & ARCHIVE_FORMAT_BASE_MASK) !=
	    ARCHIVE_FORMAT_TAR || (is_ascii(archive_entry_pathname(entry)) &&
				   is_ascii(archive_entry_hardlink(entry)) &&
				   is_ascii(archive_entry_symlink(entry))))
		return;
	for (; at < end && stream_recall(s, at, h, BLOCK_BYTES) &&
	       h[TYPE_AT] && strchr("xgXLKVA", h[TYPE_AT]);
	     at += BLOCK_BYTES + whole_blocks(bytes)) {
		bytes = header_size(h);
		if (bytes > end - at)
			return;
		records = h[TYPE_AT] == 'x' || h[TYPE_AT] == 'X' ?
			  malloc(bytes + 1) : NULL;
		if (records && stream_recall(s, at + BLOCK_BYTES, records,
					     bytes)) {
			records[bytes] = '\0';
			take_records(entry, records, bytes);
		}
		free(records);
	}
}

/* Takes the type and the stored size from the header of the member. */
static void take_header(struct member *m, const struct stream *s,
			uint64_t first)
{
	uint64_t at = first + archive_read_header_position(m->a);
	uint64_t end = first + m->begin;
	char h[BLOCK_BYTES];
	bool is_pax, is_gnu;

	if (!find_header(s, &at, end, h, &is_pax))
		return;
	is_gnu = !memcmp(h + MAGIC_AT, GNU_MAGIC, sizeof(GNU_MAGIC));
	m->is_plain = is_gnu && !is_pax && h[TYPE_AT] != 'S';
	/* hard links can have a size without data */
	if (h[TYPE_AT] != '1')
		m->stored = whole_blocks(header_size(h));
	/* stored data can begin with a map, which libarchive has read */
	if (h[TYPE_AT] != 'S')
		m->mapped = end - at - BLOCK_BYTES;
}

void member_begin(struct member *m, struct archive *a,
		  struct archive_entry *entry, const struct stream *s,
		  uint64_t first)
{
	la_int64_t size = archive_entry_size(entry), offset, bytes;

	*m = (struct member) {
		.a = a, .begin = archive_filter_bytes(a, 0), .size = size,
		.is_tar = s && (archive_format(a) & ARCHIVE_FORMAT_BASE_MASK) ==
			       ARCHIVE_FORMAT_TAR,
	};
	if (!m->is_tar)
		return;
	take_header(m, s, first);
	/* libarchive hides a map of one entry that covers the file's size */
	archive_entry_set_size(entry, INT64_MAX);
	archive_entry_sparse_reset(entry);
	archive_entry_set_size(entry, size);
	while (archive_entry_sparse_next(entry, &offset, &bytes) ==
	       ARCHIVE_OK) {
		m->has_map = true;
		m->map_bytes += bytes;
	}
}

bool member_agrees(const struct member *m, uint64_t bytes, uint64_t end,
		   uint64_t *size)
{
	uint64_t read = archive_filter_bytes(m->a, 0) - m->begin;
	bool all_read;

	*size = m->is_tar && !m->is_plain ? m->size : end;
	if (!m->is_tar)
		return true;
	/* the bytes of holes are stored by Solaris only */
	all_read = read == whole_blocks(*size);
	if ((!all_read && read != whole_blocks(bytes)) ||
	    m->mapped + read < m->stored)
		return false;
	if (m->has_map)
		return !m->is_plain && bytes == m->map_bytes && end <= *size;
	return bytes == end && (bytes == *size || (!bytes && all_read));
}
