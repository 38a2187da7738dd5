/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <string.h>
#include "host_inode.h"

/*
 * Copies the whole inode first, because ext2fs_swap_inode_full() writes only
 * the fields that it swaps.  For example, ext2fs_swap_inode_full() skips the
 * bytes after the last field that i_extra_isize covers.
 */
static void copy_inode(ext2_filsys fs, void *to, const void *from, int hostorder)
{
	size_t bytes = EXT2_INODE_SIZE(fs->super);

	memcpy(to, from, bytes);
#ifdef WORDS_BIGENDIAN
	ext2fs_swap_inode_full(fs, to, (void *)from, hostorder, bytes);
#endif
}

void e4l_inode_to_host(ext2_filsys fs, void *inode, const void *raw)
{
	copy_inode(fs, inode, raw, 0);
}

void e4l_inode_to_disk(ext2_filsys fs, void *raw, const void *inode)
{
	copy_inode(fs, raw, inode, 1);
}

const struct ext2_inode_large *e4l_host_inode(ext2_filsys fs, void *space,
					      const void *raw)
{
#ifdef WORDS_BIGENDIAN
	e4l_inode_to_host(fs, space, raw);
	return space;
#else
	return raw;
#endif
}

void e4l_disk_i_block(const struct ext2_inode *inode,
		      uint32_t to[EXT2_N_BLOCKS])
{
	const uint32_t raw_flags = EXT4_EXTENTS_FL | EXT4_INLINE_DATA_FL;
	unsigned int i;

	memcpy(to, inode->i_block, sizeof(inode->i_block));
	if (inode->i_flags & raw_flags ||
	    ext2fs_is_fast_symlink((struct ext2_inode *)inode))
		return;
	for (i = 0; i < EXT2_N_BLOCKS; i++)
		to[i] = ext2fs_cpu_to_le32(to[i]);
}
