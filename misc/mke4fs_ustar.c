/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <string.h>
#include "mke4fs_ustar.h"

#define SIZE_AT		124
#define SIZE_BYTES	12
#define TYPE_AT		156

uint64_t ustar_whole_blocks(uint64_t bytes)
{
	return (bytes + USTAR_BLOCK_BYTES - 1) / USTAR_BLOCK_BYTES *
	       USTAR_BLOCK_BYTES;
}

/*
 * Reads the size field, which is octal or, if the highest bit is set, binary.
 */
static uint64_t size_field(const char *block)
{
	const char *p = block + SIZE_AT, *end = p + SIZE_BYTES;
	bool is_binary = *p & 0x80;
	uint64_t n = is_binary ? *p++ & 0x7f : 0;

	while (p < end && *p == ' ' && !is_binary)
		p++;
	for (; p < end && (is_binary || (*p >= '0' && *p <= '7')); p++)
		n = is_binary ? n << 8 | (unsigned char)*p :
				n << 3 | (*p - '0');
	return n;
}

bool ustar_read(const struct stream *s, uint64_t at, uint64_t end,
		struct ustar *h)
{
	if (at >= end || !stream_recall(s, at, h->block, sizeof(h->block)))
		return false;
	h->type = h->block[TYPE_AT];
	h->size = size_field(h->block);
	h->next = at + USTAR_BLOCK_BYTES + ustar_whole_blocks(h->size);
	return !ustar_is_extra(h) || h->size <= end - at;
}

bool ustar_is_extra(const struct ustar *h)
{
	return h->type && strchr("xgXLKVA", h->type);
}

bool ustar_is_pax(const struct ustar *h)
{
	return h->type && strchr("xgX", h->type);
}
