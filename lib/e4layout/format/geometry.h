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
	uint32_t first_blk;		/* that group 0 begins with */
	uint32_t groups_per_desc;	/* in one block; 0 is 1 */
	uint32_t txn_blocks;		/* of metadata; 0: no limit */
	uint32_t quota_blocks;		/* that one step changes at most */
	uint32_t inodes_per_block;
	/*
	 * The stripe of a RAID, in whole clusters; 0: none.  Files that begin
	 * on a stripe boundary, and are at least as long as a stripe, are moved
	 * to stripe boundaries.
	 */
	uint32_t stripe_blocks;
	uint64_t blocks;		/* of the filesystem */
};

#endif
