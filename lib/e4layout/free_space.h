/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* free_space: every run of free blocks. */
#ifndef E4LAYOUT_FREE_SPACE_H
#define E4LAYOUT_FREE_SPACE_H

#include <e4layout/scan.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Calls @run for every maximal run of free blocks, in disk order, from the
 * block bitmaps on the device (which are read in large pieces; groups whose
 * bitmap is uninitialised are computed).  With bigalloc, runs are whole
 * clusters, but lengths stay in blocks.  @damage (may be NULL) hears of
 * bitmaps that cannot be read or have a wrong checksum: their groups count
 * as full.  Calls never overlap, but may come from different threads; a result
 * other than 0 ends the reading with that result.
 */
errcode_t e4l_free_space(struct e4l *e,
			 errcode_t (*run)(const struct e4l_block_run *, void *),
			 errcode_t (*damage)(const struct e4l_damage *, void *),
			 void *priv);

/* A free extent of so many bytes is large: large files fit into such extents. */
#define E4L_LARGE_FREE_BYTES (1u << 20)

/* Free runs of 2^i to 2^(i+1)-1 blocks are counted at [i]. */
#define E4L_FREE_BUCKETS 48
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
