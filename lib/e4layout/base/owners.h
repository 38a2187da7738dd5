/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * owners: records which clusters are claimed.  Each page of 32768 clusters has
 * a sorted array of runs, or a bitmap if that is smaller.
 */
#ifndef E4L_OWNERS_H
#define E4L_OWNERS_H

#include <stdint.h>
#include <et/com_err.h>

struct e4l_owners;

/* Creates a record for clusters below @clusters; NULL: no memory. */
struct e4l_owners *e4l_owners_new(uint64_t clusters);
void e4l_owners_free(struct e4l_owners *o);

/*
 * Claims @len clusters from @start, all below the limit.  Adds the number of
 * clusters that were claimed before to *@taken, and sets *@first to the first
 * of them, if any.  Returns ENOMEM, or 0.
 */
errcode_t e4l_owners_claim(struct e4l_owners *o, uint64_t start, uint64_t len,
			   uint64_t *taken, uint64_t *first);

/*
 * Returns how many of the @len clusters from @start are claimed.  All of them
 * must be below the limit.  If any is claimed, *@first is the first of these.
 */
uint64_t e4l_owners_count(const struct e4l_owners *o, uint64_t start,
			  uint64_t len, uint64_t *first);

/*
 * Writes whole bytes to @bits, with one bit for each of the @n clusters from
 * @start: 1 if the cluster is claimed.
 */
void e4l_owners_bits(const struct e4l_owners *o, uint64_t start, uint32_t n,
		     uint8_t *bits);

#endif
