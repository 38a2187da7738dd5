/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checksums at the speed of the disk: the same values as libext2fs', computed
 * by ISA-L.  The functions return true if the filesystem has no metadata
 * checksums.
 */
#ifndef E4L_CSUM_H
#define E4L_CSUM_H

#include "e4layout/base/internal.h"

/* CRC-32C as in ext4: without inversion before and after. */
uint32_t e4l_crc32c(uint32_t crc, const void *buf, size_t len);

/* The checksum seed of an inode's metadata. */
uint32_t e4l_inode_seed(ext2_filsys fs, ext2_ino_t ino, uint32_t generation);

/* @raw is the inode as on disk, s_inode_size bytes. */
bool e4l_inode_csum_ok(ext2_filsys fs, ext2_ino_t ino, const void *raw);

/*
 * @block is a tree block as on disk.  The caller must have checked that eh_max
 * fits into the block.  @seed is from e4l_inode_seed().
 */
bool e4l_extent_block_csum_ok(ext2_filsys fs, uint32_t seed,
			      const void *block);

#endif
