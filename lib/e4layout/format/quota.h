/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * quota: the quota files of a filesystem with the quota feature.  The format is
 * vfsv1: a radix tree of four levels over blocks of 1 KiB
 * (include/linux/quota.h, fs/quota/quota_tree.c and quotaio_v2.h in Linux).
 */
#ifndef E4L_FORMAT_QUOTA_H
#define E4L_FORMAT_QUOTA_H

#include "format.h"

#define QUOTA_BLOCK		1024u
#define QUOTA_ROOT_BLOCK	1
#define QUOTA_VERSION		1		/* version of vfsv1 */
/* size of the header of a block of entries */
#define QUOTA_HEADER_BYTES	16
#define QUOTA_ENTRY_BYTES	72
#define QUOTA_PER_BLOCK		((QUOTA_BLOCK - QUOTA_HEADER_BYTES) / \
				 QUOTA_ENTRY_BYTES)

/* Offsets in a quota file. */
#define QUOTA_AT_MAGIC		0
#define QUOTA_AT_VERSION	4
/* offset of the grace times of blocks and inodes, which are in seconds */
#define QUOTA_AT_GRACE		8
/* offset of the number of blocks in the file */
#define QUOTA_AT_BLOCKS		20
/* offset of the number of the first unused block */
#define QUOTA_AT_FREE_BLOCK	24
/* offset of the number of the first block with an unused entry */
#define QUOTA_AT_FREE_ENTRY	28
/*
 * QUOTA_AT_ENTRIES is the offset, in a block of entries, of the number of
 * entries.  QUOTA_AT_ID, QUOTA_AT_INODES and QUOTA_AT_BYTES are offsets in an
 * entry.
 */
#define QUOTA_AT_ENTRIES	8
#define QUOTA_AT_ID		0
#define QUOTA_AT_INODES		24
#define QUOTA_AT_BYTES		48

enum e4l_quota_type { QUOTA_USER, QUOTA_GROUP, QUOTA_PROJECT, QUOTA_TYPES };

extern const uint32_t e4l_quota_magics[QUOTA_TYPES];

/*
 * Sets inos[TYPE] to the inode number of the quota file for TYPE, or to 0 if
 * the filesystem has no quota file for TYPE.
 */
void e4l_quota_inodes(const struct ext2_super_block *sb,
		      ext2_ino_t inos[QUOTA_TYPES]);

/*
 * Returns the user, group or project ID whose usage includes @inode.  @inode
 * has s_inode_size bytes in host byte order.
 */
uint32_t e4l_quota_owner(ext2_filsys fs, const struct ext2_inode_large *inode,
			 enum e4l_quota_type type);

/*
 * Returns the index of the reference that leads to the entry of @id, in the
 * tree block on @level (0: the root) of a quota file.
 */
static inline unsigned int e4l_quota_index(uint32_t id, int level)
{
	return id >> (24 - 8 * level) & 255;
}
#define QUOTA_LEVELS 4

#endif
