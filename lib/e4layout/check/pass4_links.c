/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pass 4: compares link counts with the number of directory entries found. */
#include "config.h"
#include "check_internal.h"
#include "ea_inodes.h"

/* the highest link count; a directory with more links has a count of 1 */
#define LINK_MAX 65000

static bool is_dir(const struct check *ck, ext2_ino_t ino)
{
	return (ck->kind[ino] & KIND_TYPE) == EXT2_FT_DIR;
}

/*
 * Whether the link count of directory @ino may be 1.  If a directory gets more
 * than LINK_MAX links, the kernel sets the count to 1.  Only a directory with
 * an index can have had so many subdirectories.
 */
static bool may_be_one(struct check *ck, ext2_ino_t ino)
{
	const struct dir *dir = e4l_find_dir(ck, ino);

	return ck->links[ino] == 1 && ck->counted[ino] > 1 && dir &&
	       dir->flags & DIR_HAD_INDEX;
}

static void judge_links(struct check *ck, ext2_ino_t ino)
{
	unsigned int counted = ck->counted[ino];

	if (ck->kind[ino] & KIND_EA_INODE &&
	    e4l_ea_inode_judge(ck, ino, counted) && !counted)
		counted = 1;
	if (!counted) {
		FOUND(ck, INODE_UNATTACHED, .ino = ino);
		return;
	}
	if (is_dir(ck, ino) && counted > LINK_MAX)
		counted = 1;
	if (counted != ck->links[ino] &&
	    !(is_dir(ck, ino) && may_be_one(ck, ino)))
		FOUND(ck, INODE_LINKS, .ino = ino, .got = ck->links[ino],
		      .want = counted);
}

errcode_t e4l_pass4_links(struct check *ck)
{
	struct ext2_super_block *sb = ck->fs->super;
	uint64_t end = (uint64_t)sb->s_inodes_count + 1, ino;
	errcode_t err = e4l_ea_inodes_prepare(ck);

	if (err)
		return err;
	for (ino = next_known(ck, EXT2_ROOT_INO, end); ino < end;
	     ino = next_known(ck, ino + 1, end))
		if (!(ck->kind[ino] & KIND_NO_NAME) &&
		    ino != sb->s_orphan_file_inum &&
		    (ino == EXT2_ROOT_INO || ino >= EXT2_FIRST_INODE(sb)))
			judge_links(ck, ino);
	return 0;
}
