/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* size: computes the metadata and the free space of a smaller filesystem. */
#ifndef E4L_SHRINK_SIZE_H
#define E4L_SHRINK_SIZE_H

#include "e4layout/base/internal.h"

/* A valid size of a filesystem, and values that depend on the size. */
struct e4l_size {
	blk64_t blocks;		/* number of blocks: the new end */
	dgrp_t groups;
	ext2_ino_t inodes;
	uint32_t desc_blocks;
	uint16_t reserved_gdt;
	uint32_t first_meta_bg;
	uint32_t backup_bgs[2];	/* only with sparse_super2 */
	/*
	 * @own_blocks: number of metadata blocks of the kept groups;
	 * @file_blocks: number of blocks that inodes use.  Both include all
	 * blocks of partly used clusters.
	 */
	blk64_t own_blocks, file_blocks;
	/*
	 * number of free blocks after the shrink; if negative, the number of
	 * missing blocks
	 */
	int64_t free_blocks;
	/*
	 * Number of blocks below the new end that become free only when the
	 * size changes.  Files cannot move to these blocks.
	 */
	blk64_t late_blocks;
	/*
	 * Number of blocks, below the new end, of removed groups' bitmaps and
	 * inode tables.  e4l_shrink_prepare() moves these blocks above the end.
	 */
	blk64_t lift_blocks;
	/*
	 * @move_blocks: total length of the kept groups' bitmaps and inode
	 * tables that end above the new end.  @move_longest: length of the
	 * longest of them.  e4l_shrink_prepare() moves them below the end.
	 */
	blk64_t move_blocks, move_longest;
	/*
	 * Number of blocks in @move_blocks that are below the new end, because
	 * an inode table crosses the new end.  With bigalloc, 0.
	 */
	blk64_t split_blocks;
};

/*
 * A filesystem handle with another size, for libext2fs functions that compute
 * the positions of metadata.
 */
struct e4l_shape {
	struct struct_ext2_filsys fs;
	struct ext2_super_block sb;
};

/*
 * Sets the fields of @sb that depend on @size, except the counts of free blocks
 * and free inodes.
 */
void e4l_size_set_super(const struct e4l_size *size,
			struct ext2_super_block *sb);

/*
 * Sets *@shape to a copy of the handle @fs that has the size @size.  The copy
 * shares the group descriptors of @fs.
 */
void e4l_size_shape(ext2_filsys fs, const struct e4l_size *size,
		    struct e4l_shape *shape);

/*
 * Sets *@size to the largest valid size of at most @blocks blocks.  As with
 * resize2fs, the last group has at least its own metadata and 50 blocks.
 * Errors: E4L_ET_BAD_ARGUMENT (@blocks is larger than the filesystem or too
 * small for the first group; or the shrink would remove descriptor blocks, but
 * the filesystem has no backup of the group descriptors), E4L_ET_NO_INODES,
 * ENOMEM.  If the files do not fit, returns no error, but sets
 * size->free_blocks to a negative number.
 */
errcode_t e4l_size_for(struct e4l *e, blk64_t blocks, struct e4l_size *size);

/*
 * Finds the smallest size that leaves at least @free_blocks blocks free.  If
 * the filesystem cannot become smaller, sets *@size to the current size.
 */
errcode_t e4l_size_smallest(struct e4l *e, blk64_t free_blocks,
			    struct e4l_size *size);

#endif
