/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Inodes in host byte order, which libext2fs expects, and in the disk's byte
 * order, which is little-endian.  In both orders, i_block has the disk's bytes
 * if it contains an extent tree, inline data or a symbolic link.
 */
#ifndef E4L_HOST_INODE_H
#define E4L_HOST_INODE_H

#include <ext2fs/ext2fs.h>

/* Copies s_inode_size bytes from @raw, an inode as on disk, to @inode. */
void e4l_inode_to_host(ext2_filsys fs, void *inode, const void *raw);

/* Copies s_inode_size bytes from @inode, in host byte order, to @raw. */
void e4l_inode_to_disk(ext2_filsys fs, void *raw, const void *inode);

/*
 * Returns the inode @raw in host byte order.  On a big-endian machine, the
 * inode is in @space, which has s_inode_size bytes, and is valid until @space
 * is reused.
 */
const struct ext2_inode_large *e4l_host_inode(ext2_filsys fs, void *space,
					      const void *raw);

/*
 * Copies i_block of @inode, which is in host byte order, to @to as on disk.
 * Use it to examine the bytes of an i_block independently of the inode's flags.
 */
void e4l_disk_i_block(const struct ext2_inode *inode,
		      uint32_t to[EXT2_N_BLOCKS]);

#endif
