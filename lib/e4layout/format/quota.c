// SPDX-License-Identifier: LGPL-2.1-or-later
#include "config.h"
#include "quota.h"

const uint32_t e4l_quota_magics[QUOTA_TYPES] = {
	0xd9c01f11, 0xd9c01927, 0xd9c03f14,
};

void e4l_quota_inodes(const struct ext2_super_block *sb,
		      ext2_ino_t inos[QUOTA_TYPES])
{
	inos[QUOTA_USER] = sb->s_usr_quota_inum;
	inos[QUOTA_GROUP] = sb->s_grp_quota_inum;
	inos[QUOTA_PROJECT] = sb->s_prj_quota_inum;
}

static uint32_t project_of(ext2_filsys fs, const struct ext2_inode_large *inode)
{
	if (EXT2_INODE_SIZE(fs->super) <= EXT2_GOOD_OLD_INODE_SIZE ||
	    !E4L_INODE_HAS(inode, i_projid))
		return 0;
	return inode->i_projid;
}

uint32_t e4l_quota_owner(ext2_filsys fs, const struct ext2_inode_large *inode,
			 enum e4l_quota_type type)
{
	if (type == QUOTA_PROJECT)
		return project_of(fs, inode);
	return type == QUOTA_USER ? inode_uid(*inode) : inode_gid(*inode);
}
