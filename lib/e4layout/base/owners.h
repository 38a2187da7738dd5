/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * owners: records which clusters are claimed.  Each page of 32768 clusters has
 * a sorted array of runs or, if there are many runs, a bitmap.
 */
#ifndef E4L_OWNERS_H
#define E4L_OWNERS_H

#include <stdint.h>
#include <et/com_err.h>

struct e4l_owners;

/*
 * Creates a record for the clusters 0 to @clusters - 1.  Returns NULL if there
 * is no memory.
 */
struct e4l_owners *e4l_owners_new(uint64_t clusters);
void e4l_owners_free(struct e4l_owners *o);

/*
 * Claims the @len clusters from @start, which the record must cover.  Adds the
 * number of clusters that were claimed already to *@taken.  If *@taken changes
 * from 0, sets *@first to the first cluster that was claimed already.  Error:
 * ENOMEM; some of the clusters can then be claimed.
 */
errcode_t e4l_owners_claim(struct e4l_owners *o, uint64_t start, uint64_t len,
			   uint64_t *taken, uint64_t *first);

/*
 * Returns how many of the @len clusters from @start, which the record must
 * cover, are claimed.  If any is claimed, sets *@first to the first claimed
 * cluster.
 */
uint64_t e4l_owners_count(const struct e4l_owners *o, uint64_t start,
			  uint64_t len, uint64_t *first);

/*
 * Writes one bit for each of the @n clusters from @start to @bits: 1 if the
 * cluster is claimed.  Spare bits of the last byte are 0.
 */
void e4l_owners_bits(const struct e4l_owners *o, uint64_t start, uint32_t n,
		     uint8_t *bits);

#endif
