/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * owners: which clusters belong to somebody: sorted runs for each page of 32768
 * clusters, and a bitmap for a page with so many runs that it is smaller.
 */
#ifndef E4L_OWNERS_H
#define E4L_OWNERS_H

#include <stdint.h>
#include <et/com_err.h>

struct e4l_owners;

/* For clusters below @clusters; NULL without memory. */
struct e4l_owners *e4l_owners_new(uint64_t clusters);
void e4l_owners_free(struct e4l_owners *o);

/*
 * Claims @len clusters from @start, which must lie below the limit.  How many
 * of them had an owner already is added to *@taken, and *@first becomes the
 * first of those.  ENOMEM, or 0.
 */
errcode_t e4l_owners_claim(struct e4l_owners *o, uint64_t start, uint64_t len,
			   uint64_t *taken, uint64_t *first);

/*
 * How many of @len clusters from @start, which must lie below the limit, have
 * an owner; if any has, *@first is the first of those.
 */
uint64_t e4l_owners_count(const struct e4l_owners *o, uint64_t start,
			  uint64_t len, uint64_t *first);

/* Writes a bit for each of @n clusters from @start to @bits, whole bytes. */
void e4l_owners_bits(const struct e4l_owners *o, uint64_t start, uint32_t n,
		     uint8_t *bits);

#endif
