/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * csum: verifies metadata checksums.  Uses ISA-L if available, because the CRC
 * of libext2fs is slower than fast disks.  Functions that verify a checksum
 * return true if the filesystem has no metadata checksums.
 */
#ifndef E4L_CSUM_H
#define E4L_CSUM_H

#include "e4layout/base/internal.h"

/*
 * Returns the CRC-32C as in ext4, which inverts neither the initial nor the
 * final value.
 */
uint32_t e4l_crc32c(uint32_t crc, const void *buf, size_t len);

/* Returns the checksum seed for metadata that belongs to inode @ino. */
uint32_t e4l_inode_seed(ext2_filsys fs, ext2_ino_t ino, uint32_t generation);

/*
 * Verifies the checksum of the inode @raw, which has s_inode_size bytes as on
 * disk.
 */
bool e4l_inode_csum_ok(ext2_filsys fs, ext2_ino_t ino, const void *raw);

/*
 * Verifies the checksum of @block, an extent tree block as on disk.  The caller
 * must have checked that eh_max entries fit in the block.  @seed is from
 * e4l_inode_seed().
 */
bool e4l_extent_block_csum_ok(ext2_filsys fs, uint32_t seed,
			      const void *block);

#endif
