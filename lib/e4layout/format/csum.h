/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * csum: verifies metadata checksums.  Uses ISA-L if available, because the
 * CRC-32C of libext2fs is slower than fast disks.  If the filesystem has no
 * metadata checksums, functions that verify a checksum return true.
 */
#ifndef E4L_CSUM_H
#define E4L_CSUM_H

#include "e4layout/base/internal.h"

/*
 * Returns the CRC-32C of @len bytes, starting from @crc.  As in ext4, neither
 * @crc nor the result is inverted.
 */
uint32_t e4l_crc32c(uint32_t crc, const void *buf, size_t len);

/* Returns the checksum seed for metadata that belongs to inode @ino. */
uint32_t e4l_inode_seed(ext2_filsys fs, ext2_ino_t ino, uint32_t generation);

/*
 * Verifies the checksum of the inode @raw, which has s_inode_size bytes as on
 * disk.  Returns true if the checksum is right, or if the filesystem has no
 * metadata checksums.
 */
bool e4l_inode_csum_ok(ext2_filsys fs, ext2_ino_t ino, const void *raw);

/*
 * Verifies the checksum of @block, an extent tree block as on disk.  The caller
 * must have checked that the block has space for eh_max entries.  @seed is the
 * result of e4l_inode_seed() for the owner of the block.  Returns true if the
 * checksum is right, or if the filesystem has no metadata checksums.
 */
bool e4l_extent_block_csum_ok(ext2_filsys fs, uint32_t seed,
			      const void *block);

#endif
