/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* size: what a smaller size means for the metadata and the free space. */
#ifndef E4L_SHRINK_SIZE_H
#define E4L_SHRINK_SIZE_H

#include "e4layout/base/internal.h"

/* A size that a filesystem can have, and what follows from it. */
struct e4l_size {
	blk64_t blocks;		/* the new end */
	dgrp_t groups;
	ext2_ino_t inodes;
	uint32_t desc_blocks;
	uint16_t reserved_gdt;
	uint32_t first_meta_bg;
	uint32_t backup_bgs[2];	/* only with sparse_super2 */
	/* in whole clusters: metadata of kept groups, and blocks of inodes */
	blk64_t own_blocks, file_blocks;
	/* free blocks after the shrink; negative: so many blocks are missing */
	int64_t free_blocks;
	/*
	 * Blocks below the end that become free only with the new size: they
	 * cannot take files before.
	 */
	blk64_t late_blocks;
	/*
	 * Tables of removed groups below the end, which e4l_shrink_prepare()
	 * moves above the end.
	 */
	blk64_t lift_blocks;
	/*
	 * Tables of kept groups above the end, which e4l_shrink_prepare() moves
	 * below the end, and the longest of them.
	 */
	blk64_t move_blocks, move_longest;
	/* the part of move_blocks below the end, in tables that cross it */
	blk64_t split_blocks;
};

/* A filesystem handle for functions that compute positions in a size. */
struct e4l_shape {
	struct struct_ext2_filsys fs;
	struct ext2_super_block sb;
};

/* Sets the fields of @sb that @size determines, but no count of free blocks. */
void e4l_size_set_super(const struct e4l_size *size,
			struct ext2_super_block *sb);

/* Makes @shape, which shares the group descriptors of @fs. */
void e4l_size_shape(ext2_filsys fs, const struct e4l_size *size,
		    struct e4l_shape *shape);

/*
 * Describes the largest valid size of at most @blocks blocks.  As with
 * resize2fs, the last group has at least its own metadata and 50 blocks.
 * Errors: E4L_ET_BAD_ARGUMENT (@blocks is larger than the filesystem, too small
 * for the first group, or leaves fewer blocks of descriptors although the
 * descriptors have no backup), E4L_ET_NO_INODES, ENOMEM.  Too few blocks for all
 * files are no error: see free_blocks.
 */
errcode_t e4l_size_for(struct e4l *e, blk64_t blocks, struct e4l_size *size);

/*
 * Finds the smallest size with @free_blocks free blocks.  If the filesystem
 * cannot become smaller, @size is its present size.
 */
errcode_t e4l_size_smallest(struct e4l *e, blk64_t free_blocks,
			    struct e4l_size *size);

#endif
