/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Headers of tar archives, in a stream that libarchive has read. */
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

/* @bytes rounded up to whole blocks. */
uint64_t ustar_whole_blocks(uint64_t bytes);

/*
 * Reads the header at byte @at of @s.  False: the header does not end before
 * @end, or is not among the last bytes of @s.
 */
bool ustar_read(const struct stream *s, uint64_t at, uint64_t end,
		struct ustar *h);

/* Whether the header only describes the header that follows its data. */
bool ustar_is_extra(const struct ustar *h);

/* Whether the data of the header are records of pax. */
bool ustar_is_pax(const struct ustar *h);

#endif
