/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pass 1: checks the fields of an inode, except for its map. */
#include "config.h"
#include <string.h>
#include "e4layout/format/dir_block.h"
#include "e4layout/format/format.h"
#include "e4layout/format/host_inode.h"
#include "check_internal.h"
#include <ext2fs/ext3_extents.h>	/* requires ext2_fs.h */

#define MIN_EXTRA_ISIZE	4	/* bytes of i_extra_isize and i_checksum_hi */

bool e4l_is_quota_inode(const struct ext2_super_block *sb, ext2_ino_t ino)
{
	return ino && (ino == sb->s_usr_quota_inum ||
		       ino == sb->s_grp_quota_inum ||
		       ino == sb->s_prj_quota_inum);
}

bool e4l_has_purpose(const struct ext2_super_block *sb, ext2_ino_t ino)
{
	return ino < EXT2_FIRST_INODE(sb) || ino == sb->s_prj_quota_inum;
}

bool e4l_inode_is_skipped(struct check *ck, ext2_ino_t ino)
{
	uint32_t per = ck->fs->super->s_inodes_per_group;
	dgrp_t group = (ino - 1) / per;
	uint32_t unused = ext2fs_bg_itable_unused(ck->fs, group);

	if (ext2fs_bg_flags_test(ck->fs, group, EXT2_BG_INODE_UNINIT))
		return true;
	/*
	 * if bg_itable_unused exceeds s_inodes_per_group, all inodes are unused
	 */
	if (ext2fs_has_group_desc_csum(ck->fs))
		return (uint64_t)(ino - 1) % per + unused >= per;
	/*
	 * without group checksums, e2fsck computes the first unused inode in
	 * 32 bits, which can overflow
	 */
	return ino >= group * per + 1 + per - unused;
}

errcode_t e4l_inode_read(struct check *ck, ext2_ino_t ino,
			 struct ext2_inode_large *inode)
{
	errcode_t err;

	memset(inode, 0, sizeof(*inode));
	err = e4l_check_noted(ck, ext2fs_read_inode_full(ck->fs, ino,
							 (struct ext2_inode *)inode,
							 sizeof(*inode)));
	return err == EXT2_ET_INODE_CSUM_INVALID ? 0 : err;
}

/*
 * Whether i_block begins with a valid extent header.  Does not test whether the
 * inode has the extents flag.
 */
static bool has_extent_header(const struct ext2_inode *inode)
{
	uint32_t i_block[EXT2_N_BLOCKS];
	const struct ext3_extent_header *h = (const void *)i_block;
	unsigned int room = (sizeof(inode->i_block) - sizeof(*h)) /
			    sizeof(struct ext3_extent);

	e4l_disk_i_block(inode, i_block);
	return ext2fs_le16_to_cpu(h->eh_magic) == EXT3_EXT_MAGIC &&
	       ext2fs_le16_to_cpu(h->eh_entries) <=
	       ext2fs_le16_to_cpu(h->eh_max) &&
	       ext2fs_le16_to_cpu(h->eh_max) <= room &&
	       ext2fs_le16_to_cpu(h->eh_max) + 2 >= room;
}

/*
 * Whether eh_max in the extent header is too small.  The scan reports all other
 * errors of the header.
 */
static bool has_small_root(const struct ext2_inode *inode)
{
	const struct ext3_extent_header *h = (const void *)inode->i_block;

	return ext2fs_le16_to_cpu(h->eh_magic) == EXT3_EXT_MAGIC &&
	       ext2fs_le16_to_cpu(h->eh_entries) <=
	       ext2fs_le16_to_cpu(h->eh_max) && !has_extent_header(inode);
}

static bool is_device(unsigned int mode)
{
	return LINUX_S_ISCHR(mode) || LINUX_S_ISBLK(mode) ||
	       LINUX_S_ISFIFO(mode) || LINUX_S_ISSOCK(mode);
}

/* ------------------------------------------------------------------- flags */

/*
 * Whether to check the extents flag of the inode.  The flag of an unused inode
 * is ignored, except in three reserved inodes that e2fsck always checks.
 */
static bool is_judged(ext2_ino_t ino, const struct ext2_inode *inode)
{
	return inode->i_links_count || ino == EXT2_BAD_INO ||
	       ino == EXT2_ROOT_INO || ino == EXT2_JOURNAL_INO;
}

/*
 * Whether the features and the file type allow the extents flag and the
 * inline-data flag of the inode.
 */
static bool content_flags_ok(ext2_filsys fs, ext2_ino_t ino,
			     const struct ext2_inode *inode)
{
	bool extents = ext2fs_has_feature_extents(fs->super);
	bool inlines = ext2fs_has_feature_inline_data(fs->super);
	bool is_inline = inode->i_flags & EXT4_INLINE_DATA_FL;

	if (is_inline && inode->i_flags & EXT4_EXTENTS_FL &&
	    (extents || inlines) && !is_device(inode->i_mode))
		return false;
	if (is_inline && !inlines && ino >= EXT2_FIRST_INODE(fs->super))
		return false;
	if (inode->i_flags & EXT4_EXTENTS_FL)
		return extents || !is_judged(ino, inode);
	return !extents || !has_extent_header(inode) ||
	       (!LINUX_S_ISREG(inode->i_mode) && !LINUX_S_ISDIR(inode->i_mode));
}

static void judge_flags(struct check *ck, ext2_ino_t ino, blk64_t blk,
			const struct ext2_inode *inode)
{
	struct ext2_super_block *sb = ck->fs->super;
	uint32_t flags = inode->i_flags;

	if ((flags & EXT4_CASEFOLD_FL && (!LINUX_S_ISDIR(inode->i_mode) ||
					  !ext2fs_has_feature_casefold(sb))) ||
	    !content_flags_ok(ck->fs, ino, inode))
		FOUND(ck, INODE_FLAGS, .ino = ino, .blk = blk, .got = flags);
	if (flags & EXT4_EA_INODE_FL && !LINUX_S_ISREG(inode->i_mode))
		FOUND(ck, EA_INODE_TYPE, .ino = ino, .blk = blk);
}

/* Checks the flags and the extent header of an inode that may have a map. */
static void judge_map_flags(struct check *ck, ext2_ino_t ino, blk64_t blk,
			    const struct ext2_inode *inode)
{
	uint32_t flags = inode->i_flags;

	if (flags & EXT4_EXTENTS_FL && has_small_root(inode) &&
	    inode_has_map(ck->fs, inode))
		FOUND(ck, EXTENT_HEADER, .ino = ino, .blk = blk);
	if (flags & EXT2_INDEX_FL && ino != EXT2_BAD_INO &&
	    (!LINUX_S_ISDIR(inode->i_mode) ||
	     !ext2fs_has_feature_dir_index(ck->fs->super)))
		FOUND(ck, HTREE_FLAG, .ino = ino, .blk = blk);
}

/* Whether a directory is so large that e2fsck accepts high bits in its size. */
static bool is_large_dir(const struct ext2_super_block *sb,
			 const struct ext2_inode *inode)
{
	return inode->i_blocks >= 1ULL << (29 - EXT2_BLOCK_SIZE_BITS(sb));
}

static bool has_high_bits(struct ext2_super_block *sb,
			  const struct ext2_inode *inode)
{
	if (LINUX_S_ISDIR(inode->i_mode) && inode->i_size_high &&
	    !ext2fs_has_feature_largedir(sb) && !is_large_dir(sb, inode))
		return true;
	/* l_i_file_acl_high and l_i_blocks_hi are valid only on Linux */
	if (sb->s_creator_os != EXT2_OS_LINUX)
		return false;
	return (inode->osd2.linux2.l_i_file_acl_high &&
		!ext2fs_has_feature_64bit(sb)) ||
	       (inode->osd2.linux2.l_i_blocks_hi &&
		!ext2fs_has_feature_huge_file(sb));
}

/*
 * Whether fragment fields are set.  h_i_frag and h_i_fsize exist only on the
 * Hurd: Linux has the high bits of i_blocks at the offset of h_i_frag and
 * h_i_fsize.
 */
static bool has_fragment(const struct ext2_super_block *sb,
			 const struct ext2_inode *inode)
{
	return inode->i_faddr || (sb->s_creator_os == EXT2_OS_HURD &&
				  (inode->osd2.hurd2.h_i_frag ||
				   inode->osd2.hurd2.h_i_fsize));
}

static void judge_odd_fields(struct check *ck, ext2_ino_t ino, blk64_t blk,
			     const struct ext2_inode *inode)
{
	struct ext2_super_block *sb = ck->fs->super;

	if (inode->i_flags & EXT2_IMAGIC_FL &&
	    !ext2fs_has_feature_imagic_inodes(sb))
		FOUND(ck, INODE_FLAGS, .ino = ino, .blk = blk,
		      .got = inode->i_flags);
	/* e2fsck does not check fragments and high bits of EA inodes */
	if (inode->i_flags & EXT4_EA_INODE_FL) {
		if (has_fragment(sb, inode) || has_high_bits(sb, inode))
			FOUND(ck, INODE_UNREAD, .ino = ino, .blk = blk);
		return;
	}
	if (has_fragment(sb, inode))
		FOUND(ck, INODE_FRAGMENT, .ino = ino, .blk = blk);
	if (has_high_bits(sb, inode))
		FOUND(ck, INODE_HIGH_BITS, .ino = ino, .blk = blk);
}

/* ------------------------------------------------------------ extra fields */

bool e4l_extra_isize_ok(const struct ext2_super_block *sb, unsigned int n)
{
	return !n || (n >= MIN_EXTRA_ISIZE && n % 4 == 0 &&
		      n <= EXT2_INODE_SIZE(sb) - EXT2_GOOD_OLD_INODE_SIZE);
}

/*
 * Whether a timestamp before 1970 has all epoch bits set.  Old kernels set the
 * epoch bits of such a timestamp by mistake.
 */
static bool is_wrong_epoch(uint32_t seconds, uint32_t extra)
{
	return seconds >> 31 && (extra & EXT4_EPOCH_MASK) == EXT4_EPOCH_MASK;
}

static bool has_wrong_epoch(const struct ext2_inode_large *i)
{
	return (E4L_INODE_HAS(i, i_atime_extra) &&
		is_wrong_epoch(i->i_atime, i->i_atime_extra)) ||
	       (E4L_INODE_HAS(i, i_ctime_extra) &&
		is_wrong_epoch(i->i_ctime, i->i_ctime_extra)) ||
	       (E4L_INODE_HAS(i, i_mtime_extra) &&
		is_wrong_epoch(i->i_mtime, i->i_mtime_extra)) ||
	       (E4L_INODE_HAS(i, i_crtime_extra) &&
		is_wrong_epoch(i->i_crtime, i->i_crtime_extra));
}

static void judge_extra(struct check *ck, ext2_ino_t ino, blk64_t blk,
			const struct ext2_inode_large *inode)
{
	unsigned int max = EXT2_INODE_SIZE(ck->fs->super) -
			   EXT2_GOOD_OLD_INODE_SIZE;
	unsigned int extra;

	if (!max)
		return;
	extra = inode->i_extra_isize;
	if (!e4l_extra_isize_ok(ck->fs->super, extra)) {
		FOUND(ck, INODE_EXTRA_ISIZE, .ino = ino, .blk = blk,
		      .got = extra);
		return;
	}
	if (extra + sizeof(uint32_t) < max)
		e4l_xattr_judge_ibody(ck, ino, inode);
	if (has_wrong_epoch(inode))
		FOUND(ck, INODE_TIMES, .ino = ino, .blk = blk);
}

/* ------------------------------------------------------------------- types */

/* Whether i_block contains a valid target of a symbolic link. */
static bool fast_symlink_ok(const struct ext2_inode *inode)
{
	const char *target = (const char *)inode->i_block;
	size_t len = strnlen(target, sizeof(inode->i_block));

	if (inode->i_flags & EXT4_EXTENTS_FL)
		return false;
	if (inode->i_flags & EXT4_ENCRYPT_FL)
		len = (uint8_t)target[0] + 256u * (uint8_t)target[1] + 2;
	return len < sizeof(inode->i_block) && len == inode->i_size;
}

static bool symlink_ok(struct check *ck, const struct ext2_inode_large *inode)
{
	struct ext2_inode *small = (struct ext2_inode *)inode;
	size_t len;

	if (inode->i_size_high || !inode->i_size ||
	    inode->i_flags & EXT2_INDEX_FL)
		return false;
	if (inode->i_flags & EXT4_INLINE_DATA_FL)
		return !(inode->i_flags & EXT4_EXTENTS_FL) &&
		       e4l_inline_value(inode, EXT2_INODE_SIZE(ck->fs->super),
					&len) &&
		       inode->i_size == I_BLOCK_BYTES + len;
	if (!ext2fs_is_fast_symlink(small))
		return true;	/* pass1_symlinks.c checks the target */
	if (ext2fs_has_feature_extents(ck->fs->super) &&
	    inode->i_flags & EXT4_EXTENTS_FL)
		return false;
	return fast_symlink_ok(small);
}

static bool device_ok(const struct ext2_inode *inode)
{
	unsigned int i;

	if (inode->i_flags & (EXT2_INDEX_FL | EXT4_EXTENTS_FL))
		return false;
	if (inode->i_flags & (EXT2_IMMUTABLE_FL | EXT2_APPEND_FL))
		for (i = 4; i < EXT2_N_BLOCKS; i++)
			if (inode->i_block[i])
				return false;
	return true;
}

static void judge_device(struct check *ck, ext2_ino_t ino, blk64_t blk,
			 const struct ext2_inode *inode)
{
	if (EXT2_I_SIZE(inode))
		FOUND(ck, INODE_SPECIAL_SIZE, .ino = ino, .blk = blk,
		      .got = EXT2_I_SIZE(inode));
	if (inode->i_flags & (EXT4_INLINE_DATA_FL | EXT2_IMMUTABLE_FL |
			      EXT2_APPEND_FL))
		FOUND(ck, INODE_SPECIAL_FLAGS, .ino = ino, .blk = blk,
		      .got = inode->i_flags);
}

/* Returns the file type of @mode as in directory entries. */
static uint8_t entry_type(unsigned int mode)
{
	static const uint8_t types[16] = {
		[LINUX_S_IFREG >> 12] = EXT2_FT_REG_FILE,
		[LINUX_S_IFDIR >> 12] = EXT2_FT_DIR,
		[LINUX_S_IFCHR >> 12] = EXT2_FT_CHRDEV,
		[LINUX_S_IFBLK >> 12] = EXT2_FT_BLKDEV,
		[LINUX_S_IFIFO >> 12] = EXT2_FT_FIFO,
		[LINUX_S_IFSOCK >> 12] = EXT2_FT_SOCK,
		[LINUX_S_IFLNK >> 12] = EXT2_FT_SYMLINK,
	};

	return types[mode >> 12 & 0xF];
}

void e4l_inode_wrong_type(struct check *ck, ext2_ino_t ino, blk64_t blk,
			  const struct ext2_inode_large *inode,
			  enum finding_id id)
{
	bool unread = inode->i_flags & EXT4_EA_INODE_FL;

	e4l_findings_add(ck->found, unread ? F_INODE_UNREAD : id,
			 (struct finding) {
			.ino = ino, .blk = blk,
			.got = id == F_INODE_MODE ? inode->i_mode :
			       EXT2_I_SIZE(inode),
			 });
}

/*
 * Returns the file type as in directory entries.  If the inode does not match
 * its file type, reports a finding and returns 0.
 */
static uint8_t judge_type(struct check *ck, ext2_ino_t ino, blk64_t blk,
			  const struct ext2_inode_large *inode)
{
	const struct ext2_inode *small = (const struct ext2_inode *)inode;
	uint8_t type = entry_type(inode->i_mode);

	switch (type) {
	case EXT2_FT_DIR:
	case EXT2_FT_REG_FILE:
		return type;
	case EXT2_FT_SYMLINK:
		if (!symlink_ok(ck, inode)) {
			e4l_inode_wrong_type(ck, ino, blk, inode,
					     F_INODE_SYMLINK);
			return 0;
		}
		if (inode->i_flags & (EXT2_IMMUTABLE_FL | EXT2_APPEND_FL))
			FOUND(ck, INODE_SPECIAL_FLAGS, .ino = ino, .blk = blk,
			      .got = inode->i_flags);
		return type;
	case EXT2_FT_UNKNOWN:
		e4l_inode_wrong_type(ck, ino, blk, inode, F_INODE_MODE);
		return 0;
	}
	if (!device_ok(small)) {
		e4l_inode_wrong_type(ck, ino, blk, inode, F_INODE_SPECIAL);
		return 0;
	}
	judge_device(ck, ino, blk, small);
	return type;
}

/*
 * Checks that an inode with inline data has the attribute system.data, which is
 * required even if all data is in i_block.
 */
static void judge_inline(struct check *ck, ext2_ino_t ino, blk64_t blk,
			 const struct ext2_inode_large *inode)
{
	size_t len;

	if (inode->i_flags & EXT4_INLINE_DATA_FL &&
	    ext2fs_has_feature_inline_data(ck->fs->super) &&
	    ino >= EXT2_FIRST_INODE(ck->fs->super) &&
	    (!e4l_inline_value(inode, EXT2_INODE_SIZE(ck->fs->super), &len) ||
	     !e4l_xattr_ibody_readable(ck, inode)))
		FOUND(ck, INODE_INLINE, .ino = ino, .blk = blk);
}

/* ---------------------------------------------------------- reserved inodes */

/*
 * Whether a reserved inode is valid.  If @wanted is true, the inode must be a
 * regular file; otherwise, the inode must be empty.
 */
static bool purpose_ok(const struct ext2_inode *inode, bool wanted)
{
	return wanted ? LINUX_S_ISREG(inode->i_mode) :
	       !inode_holds_anything(inode);
}

static bool bad_blocks_inode_ok(const struct ext2_inode *inode)
{
	return !inode->i_mode && !inode->i_uid && !inode->i_gid &&
	       !inode->i_links_count && !inode->i_file_acl &&
	       !(inode->i_flags & EXT4_INLINE_DATA_FL);
}

/*
 * Whether a reserved inode is valid: the boot loader inode, the resize inode,
 * or an unused reserved inode.
 */
static bool other_reserved_ok(ext2_ino_t ino, const struct ext2_inode *inode)
{
	if (ino == EXT2_BOOT_LOADER_INO)
		return !LINUX_S_ISDIR(inode->i_mode);
	return !inode->i_mode || (ino == EXT2_RESIZE_INO &&
				  LINUX_S_ISREG(inode->i_mode));
}

/* Whether the filesystem has the quota file @ino. */
static bool wants_quota_inode(struct ext2_super_block *sb, ext2_ino_t ino)
{
	return ext2fs_has_feature_quota(sb) && e4l_is_quota_inode(sb, ino);
}

/*
 * Checks a reserved inode, except for its map.  Returns false if the inode also
 * needs the checks of an ordinary inode.
 */
static bool judge_reserved(struct check *ck, ext2_ino_t ino, blk64_t blk,
			   const struct ext2_inode *inode)
{
	struct ext2_super_block *sb = ck->fs->super;
	bool ok, done = true;

	if (ino == EXT2_BAD_INO) {
		ok = bad_blocks_inode_ok(inode);
	} else if (ino == EXT2_ROOT_INO) {
		return false;
	} else if (ino == EXT2_JOURNAL_INO) {
		done = sb->s_journal_inum == ino;
		ok = purpose_ok(inode, done);
	} else if (ino == EXT4_USR_QUOTA_INO || ino == EXT4_GRP_QUOTA_INO ||
		   ino == sb->s_prj_quota_inum) {
		done = wants_quota_inode(sb, ino);
		ok = purpose_ok(inode, done);
	} else if (ino == sb->s_orphan_file_inum) {
		done = ext2fs_has_feature_orphan_file(sb);
		ok = purpose_ok(inode, done);
	} else if (ino < EXT2_FIRST_INODE(sb)) {
		ok = other_reserved_ok(ino, inode);
	} else {
		return false;
	}
	if (!ok)
		FOUND(ck, INODE_RESERVED, .ino = ino, .blk = blk);
	return done;
}

/* -------------------------------------------------------------- whole inode */

static uint8_t judge_used(struct check *ck, ext2_ino_t ino, blk64_t blk,
			  const struct ext2_inode_large *inode)
{
	const struct ext2_inode *small = (const struct ext2_inode *)inode;
	uint8_t kind = KIND_USED;

	if (ino == EXT2_ROOT_INO && !LINUX_S_ISDIR(inode->i_mode))
		FOUND(ck, INODE_ROOT, .ino = ino, .blk = blk);
	if (inode->i_dtime)
		FOUND(ck, INODE_DTIME, .ino = ino, .blk = blk);
	judge_inline(ck, ino, blk, inode);
	judge_odd_fields(ck, ino, blk, small);
	judge_extra(ck, ino, blk, inode);
	kind |= judge_type(ck, ino, blk, inode);
	if (inode->i_flags & EXT4_ENCRYPT_FL)
		kind |= KIND_ENCRYPTED;
	if (inode->i_flags & EXT4_EA_INODE_FL)
		kind |= KIND_EA_INODE;
	/* imagic inodes are opened by number, and need no directory entry */
	if (inode->i_flags & EXT2_IMAGIC_FL)
		kind |= KIND_NO_NAME;
	return kind;
}

bool e4l_inode_judge(struct check *ck, ext2_ino_t ino, blk64_t blk,
		     const struct ext2_inode_large *inode)
{
	const struct ext2_inode *small = (const struct ext2_inode *)inode;
	bool done;

	judge_flags(ck, ino, blk, small);
	done = judge_reserved(ck, ino, blk, small);
	if (done ||
	    (ino < EXT2_FIRST_INODE(ck->fs->super) && ino != EXT2_ROOT_INO) ||
	    (!inode->i_links_count && e4l_has_purpose(ck->fs->super, ino)))
		ck->kind[ino] = KIND_USED | KIND_NO_NAME;
	if (!done && !inode->i_links_count)
		return false;
	judge_map_flags(ck, ino, blk, small);
	if (done)
		return true;
	ck->links[ino] = inode->i_links_count;
	ck->kind[ino] |= judge_used(ck, ino, blk, inode);
	return true;
}
