/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What planning a whole image asks of an allocator of inodes. */
#ifndef E4L_PLACE_INTERNAL_H
#define E4L_PLACE_INTERNAL_H

#include <e4layout/place.h>

/*
 * Finds @n consecutive free inodes that lie in as few blocks of the inode
 * table as @n inodes can: for a directory and its files when the whole tree is
 * known.  Inode-table blocks are filled up by later, smaller windows.  Mark
 * all @n before the next call.  Errors: as above; EXT2_ET_INODE_ALLOC_FAIL
 * says that no such run is left, not that no inode is.
 */
errcode_t e4l_place_window(struct e4l_place *p, uint32_t n, ext2_ino_t *ret);

struct e4l_place_stats {
	uint64_t inodes;	/* in use more than at e4l_place_new() */
	uint64_t fsck_inodes;	/* that e2fsck has to read more than then */
	uint64_t windows;	/* that groups share; E4L_PLACE_PACK: first ones */
	uint64_t grown;		/* own windows of directories */
	uint64_t leaf_goals;	/* found beside a directory's entries */
	uint64_t fallbacks;	/* found by the ordinary search */
	uint64_t zeroed_blocks;	/* of inode tables */
	uint64_t reserved[4];
};
void e4l_place_get_stats(const struct e4l_place *p,
			 struct e4l_place_stats *stats);

#endif
