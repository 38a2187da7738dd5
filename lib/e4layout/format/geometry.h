/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* geometry: the sizes of a filesystem and of its journal. */
#ifndef E4L_GEOMETRY_H
#define E4L_GEOMETRY_H

#include <stdint.h>

/* Fixed sizes of a filesystem, and the limits of its transactions. */
struct e4l_geometry {
	uint32_t blocksize;		/* in bytes */
	uint32_t cluster_blocks;	/* a power of two; 1 without bigalloc */
	uint32_t group_blocks;
	uint32_t first_blk;		/* first block of group 0 */
	/* number of group descriptors in one block; 0 is treated as 1 */
	uint32_t groups_per_desc;
	/* largest number of metadata blocks in a transaction; 0: no limit */
	uint32_t txn_blocks;
	/* largest number of blocks of quota files that one step changes */
	uint32_t quota_blocks;
	uint32_t inodes_per_block;
	/*
	 * Length of a RAID stripe, a multiple of cluster_blocks; 0: no stripe.
	 * A file that is at least as long as a stripe and begins on a stripe
	 * boundary is moved only to a stripe boundary.
	 */
	uint32_t stripe_blocks;
	uint64_t blocks;		/* number of blocks of the filesystem */
};

#endif
