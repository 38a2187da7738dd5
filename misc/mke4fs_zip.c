/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records are those of PKWARE's APPNOTE.TXT, 4.3. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mke4fs_zip.h"

#define END_BYTES	22 /* size of the last record, without its comment */
#define MAX_COMMENT	65535
#define MAX_RECORD	46

static uint64_t get(const uint8_t *p, unsigned int bytes)
{
	return bytes ? p[0] | get(p + 1, bytes - 1) << 8 : 0;
}

/*
 * The size of the record at the position of @s; 0: not a record of the central
 * directory.
 */
static uint64_t record_bytes(struct stream *s, bool *is_last)
{
	uint8_t p[MAX_RECORD] = { 0 };

	*is_last = false;
	if (stream_peek(s, p, sizeof(p)) < 4 || memcmp(p, "PK", 2))
		return 0;
	switch (get(p + 2, 2)) {
	case 0x0201:	/* a file */
		return 46 + get(p + 28, 2) + get(p + 30, 2) + get(p + 32, 2);
	case 0x0505:	/* a signature */
		return 6 + get(p + 4, 2);
	case 0x0606:	/* the end, with 64-bit numbers */
		return get(p + 4, 8) > UINT32_MAX ? 0 : 12 + get(p + 4, 8);
	case 0x0706:	/* the position of the 64-bit end */
		return 20;
	case 0x0605:
		*is_last = true;
		return END_BYTES + get(p + 20, 2);
	default:
		return 0;
	}
}

bool zip_skip_directory(struct stream *s)
{
	bool is_last = false;
	uint64_t bytes;

	while (!is_last && (bytes = record_bytes(s, &is_last)))
		if (!stream_skip(s, bytes))
			return false;
	return !s->err;
}

/*
 * Whether the archive is complete.  @p: the last record, at byte @at of a file
 * of @bytes.
 */
static bool is_whole(int fd, const uint8_t *p, uint64_t at, uint64_t bytes)
{
	uint64_t size = get(p + 12, 4), begin = get(p + 16, 4);
	char magic[4] = "";

	if (at + END_BYTES + get(p + 20, 2) != bytes)
		return false;
	/* the numbers are in the 64-bit end record */
	if (size == UINT32_MAX || begin == UINT32_MAX || begin + size >= at)
		return true;
	/* a program that unpacks the archive may precede it */
	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       memcmp(magic, "PK\3\4", sizeof(magic));
}

bool zip_is_whole(int fd, uint64_t bytes)
{
	size_t len = bytes < END_BYTES + MAX_COMMENT ? bytes :
						       END_BYTES + MAX_COMMENT;
	uint8_t *buf = malloc(len + 1);
	bool whole = true;
	size_t at;

	if (!buf || len < END_BYTES ||
	    pread(fd, buf, len, bytes - len) != (ssize_t)len)
		goto out;
	for (at = len - END_BYTES + 1; at--;) {
		if (memcmp(buf + at, "PK\5\6", 4))
			continue;
		whole = is_whole(fd, buf + at, bytes - len + at, bytes);
		break;
	}
out:
	free(buf);
	return whole;
}
