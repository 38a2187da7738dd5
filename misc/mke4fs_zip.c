/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks zip archives.  Section 4.3 of PKWARE's APPNOTE.TXT describes the
 * records of a zip archive.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mke4fs_zip.h"
#include "support/say.h"

#define END_BYTES	22 /* size of the end record without its comment */
#define MAX_COMMENT	65535

static uint64_t get(const uint8_t *p, unsigned int bytes)
{
	return bytes ? p[0] | get(p + 1, bytes - 1) << 8 : 0;
}

bool zip_refuse(struct stream *s, const char *name)
{
	char p[4];

	if (stream_peek(s, p, sizeof(p)) < sizeof(p) ||
	    (memcmp(p, "PK\3\4", 4) && memcmp(p, "PK\5\6", 4) &&
	     memcmp(p, "PK\7\10", 4) && memcmp(p, "PK00", 4)))
		return false;
	say("%s: a zip archive cannot be read from a pipe, from compressed data "
	    "or after another archive: give the zip file itself to -d", name);
	return true;
}

/*
 * Returns whether the archive is the whole file of @bytes.  @p is the end
 * record, which is at byte @at.
 */
static bool is_whole(int fd, const uint8_t *p, uint64_t at, uint64_t bytes)
{
	uint64_t size = get(p + 12, 4), begin = get(p + 16, 4);
	char magic[4] = "";

	if (at + END_BYTES + get(p + 20, 2) != bytes)
		return false;
	/* the real numbers are in the 64-bit end record */
	if (size == UINT32_MAX || begin == UINT32_MAX || begin + size >= at)
		return true;
	/* The file can begin with a program that unpacks the archive. */
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
