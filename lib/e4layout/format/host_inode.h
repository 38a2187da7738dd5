/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Converts inodes between host byte order, which libext2fs expects, and the
 * byte order on disk, which is little-endian.  If i_block contains an extent
 * tree, inline data or the target of a symbolic link, i_block is not converted.
 */
#ifndef E4L_HOST_INODE_H
#define E4L_HOST_INODE_H

#include <ext2fs/ext2fs.h>

/*
 * Converts the inode @raw, as on disk, to host byte order, and writes the
 * result to @inode.  An inode has s_inode_size bytes.
 */
void e4l_inode_to_host(ext2_filsys fs, void *inode, const void *raw);

/*
 * Converts @inode, in host byte order, to the byte order on disk, and writes
 * the result to @raw.  An inode has s_inode_size bytes.
 */
void e4l_inode_to_disk(ext2_filsys fs, void *raw, const void *inode);

/*
 * Returns the inode @raw in host byte order.  On a little-endian machine,
 * returns @raw.  On a big-endian machine, converts the inode into @space, which
 * has s_inode_size bytes, and returns @space.
 */
const struct ext2_inode_large *e4l_host_inode(ext2_filsys fs, void *space,
					      const void *raw);

/*
 * Copies i_block of @inode, which is in host byte order, to @to as on disk.
 * Callers use e4l_disk_i_block() to examine the bytes of i_block independently
 * of the inode's flags.
 */
void e4l_disk_i_block(const struct ext2_inode *inode,
		      uint32_t to[EXT2_N_BLOCKS]);

#endif
