/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which clusters belong to somebody: sorted runs for each page of 32768
 * clusters, and a bitmap for a page with so many runs that it is smaller.
 */
#ifndef E4CHECK_OWNERS_H
#define E4CHECK_OWNERS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>

struct owners;

/* For clusters below @clusters; NULL without memory. */
struct owners *owners_new(uint64_t clusters);
void owners_free(struct owners *o);

/*
 * Claims @len clusters from @start, which must lie below the limit.  How many
 * of them had an owner already is added to *@taken, and *@first becomes the
 * first of those.  ENOMEM, or 0.
 */
errcode_t owners_claim(struct owners *o, uint64_t start, uint64_t len,
		       uint64_t *taken, uint64_t *first);

/* Sets the bits @first to @last, both inclusive. */
void bits_set(uint8_t *map, unsigned int first, unsigned int last);

/* Writes a bit for each of @n clusters from @start to @bits, whole bytes. */
void owners_bits(const struct owners *o, uint64_t start, uint32_t n,
		 uint8_t *bits);

#endif
