/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checksums, at the speed of the disk: the same values as libext2fs', computed
 * by ISA-L.  All return true where the filesystem has no checksum to verify.
 */
#ifndef E4L_CSUM_H
#define E4L_CSUM_H

#include "e4layout/base/internal.h"

/* CRC-32C as ext4 uses it: no inversion before or after. */
uint32_t e4l_crc32c(uint32_t crc, const void *buf, size_t len);

/* The seed of everything that belongs to one inode. */
uint32_t e4l_inode_seed(ext2_filsys fs, ext2_ino_t ino, uint32_t generation);

/* @raw is the inode as on disk, s_inode_size bytes. */
bool e4l_inode_csum_ok(ext2_filsys fs, ext2_ino_t ino, const void *raw);

/*
 * @block is a tree block as on disk; its header's eh_max must have been bounded
 * by the block's size.  @seed is from e4l_inode_seed().
 */
bool e4l_extent_block_csum_ok(ext2_filsys fs, uint32_t seed,
			      const void *block);

#endif
