/* SPDX-License-Identifier: GPL-2.0-only */
/* The content of a block identifies the write that produced the block. */
#ifndef GUEST_BLOCKS_H
#define GUEST_BLOCKS_H

#include <err.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static unsigned int bytes = 4096;	/* block size */

static inline char *buffer(void)
{
	char *buf = aligned_alloc(4096, 4096);

	if (!buf)
		err(1, "buffer");
	return buf;
}

/* Fills a block with @first and @second in turn. */
static inline void fill_words(char *buf, uint32_t first, uint32_t second)
{
	uint32_t words[2] = { first, second };
	unsigned int at;

	for (at = 0; at < bytes; at += sizeof(words))
		memcpy(buf + at, words, sizeof(words));
}

#endif
