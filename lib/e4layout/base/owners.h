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
 * Claims the @len clusters from @start.  Adds the number of clusters that were
 * claimed already to *@taken.  If *@taken was 0 and becomes larger, sets
 * *@first to the first cluster that was claimed already.  The range must be
 * within the record.  After the error ENOMEM, some clusters of the range may be
 * claimed.
 */
errcode_t e4l_owners_claim(struct e4l_owners *o, uint64_t start, uint64_t len,
			   uint64_t *taken, uint64_t *first);

/*
 * Returns how many of the @len clusters from @start are claimed.  If the result
 * is not 0, sets *@first to the first claimed cluster.  The range must be
 * within the record.
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
