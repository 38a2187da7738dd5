/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads headers of tar archives again, after libarchive has read them. */
#ifndef MKE4FS_USTAR_H
#define MKE4FS_USTAR_H

#include "mke4fs_stream.h"

#define USTAR_BLOCK_BYTES	512

struct ustar {
	char block[USTAR_BLOCK_BYTES];
	char type;
	uint64_t size;		/* the size field, in bytes */
	uint64_t next;		/* offset of the block after the data */
};

/* The header of a member, after its pax headers and headers of long names. */
struct ustar_member {
	struct ustar h;
	uint64_t at;		/* offset of @h in the archive */
	bool is_pax;		/* the member has a pax header */
};

/* Returns @bytes rounded up to a multiple of USTAR_BLOCK_BYTES. */
uint64_t ustar_whole_blocks(uint64_t bytes);

/*
 * Reads the header at byte @at of @s.  If @at is not before @end, or if the
 * header is not in the last two blocks of @s, returns false.  Also returns
 * false if the data of a header with ustar_is_extra() extend beyond @end.
 */
bool ustar_read(const struct stream *s, uint64_t at, uint64_t end,
		struct ustar *h);

/*
 * Returns whether the header is not the header of a file: its data describe the
 * next header (a pax header, or the header of a long name).
 */
bool ustar_is_extra(const struct ustar *h);

/* Returns whether the data of the header are pax records. */
bool ustar_is_pax(const struct ustar *h);

#endif
