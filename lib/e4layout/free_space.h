/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* free_space: finds free extents and counts free extents by length. */
#ifndef E4LAYOUT_FREE_SPACE_H
#define E4LAYOUT_FREE_SPACE_H

#include <e4layout/scan.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Reads the block bitmaps from the device, and calls @run for each maximal free
 * extent, in disk order.  With bigalloc, free extents are whole clusters;
 * lengths are in blocks.  @damage (may be NULL) is called for bitmaps that
 * cannot be read or have a wrong checksum.  A group with such a bitmap counts
 * as full.  Each callback gets @priv.  Calls never overlap, but can come from
 * different threads.  Errors: the error of a callback, which ends the reading;
 * E4L_ET_INTERRUPTED, ENOMEM.
 */
errcode_t e4l_free_space(struct e4l *e,
			 errcode_t (*run)(const struct e4l_block_run *, void *),
			 errcode_t (*damage)(const struct e4l_damage *, void *),
			 void *priv);

/* A free extent of at least this size in bytes counts as large. */
#define E4L_LARGE_FREE_BYTES (1u << 20)

#define E4L_FREE_BUCKETS 48

/*
 * Free extents ("runs") by length.  bucket[i] counts the free extents of 2^i to
 * 2^(i+1)-1 blocks; the last bucket also counts longer free extents.
 */
struct e4l_free_histogram {
	uint64_t blocks;
	uint64_t runs;
	uint64_t largest_blocks;
	struct {
		uint64_t runs;
		uint64_t blocks;
	} bucket[E4L_FREE_BUCKETS];
};

#ifdef __cplusplus
}
#endif
#endif
