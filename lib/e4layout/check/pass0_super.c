/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pass 0: the superblock, its copies and the group descriptors. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "e4layout/base/io_pool.h"
#include "e4layout/format/quota.h"
#include "check_internal.h"

#define MAX_DESC_SIZE	1024
/* number of descriptor blocks that one e4l_gather() call compares */
#define COPY_BLOCKS	64
/* allowed difference between clocks, in seconds */
#define FUDGE_SECONDS	86400

/* ---------------------------------------------------------------- geometry */

/* The value and the valid range of a superblock field. */
struct bound {
	uint64_t value, min, max;
	bool power_of_two;	/* @value must be 0 or a power of two */
};

static bool bound_ok(const struct bound *b)
{
	return b->value >= b->min && b->value <= b->max &&
	       (!b->power_of_two || !(b->value & (b->value - 1)));
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Whether all fields of the superblock are within their ranges.  If not, the
 * check ends, because no other structure can be found.
 */
static bool geometry_ok(ext2_filsys fs)
{
	struct ext2_super_block *sb = fs->super;
	uint64_t blocks = ext2fs_blocks_count(sb);
	uint64_t bits = 8ULL * fs->blocksize;
	uint32_t per_block = EXT2_INODES_PER_BLOCK(sb);
	bool one = !sb->s_log_block_size && EXT2FS_CLUSTER_RATIO(fs) == 1;
	const struct bound bounds[] = {
		{ sb->s_first_data_block, one, one, false },
		{ sb->s_clusters_per_group, 8,
		  least(bits, EXT2_MAX_CLUSTERS_PER_GROUP(sb)), false },
		{ sb->s_blocks_per_group, 8,
		  EXT2_MAX_BLOCKS_PER_GROUP(sb), false },
		{ sb->s_inodes_per_group, per_block,
		  least((uint64_t)per_block * (sb->s_blocks_per_group - 4),
			EXT2_MAX_INODES_PER_GROUP(sb)), false },
		{ ext2fs_r_blocks_count(sb), 0, blocks / 2, false },
		{ sb->s_reserved_gdt_blocks, 0, fs->blocksize / 4, false },
		{ sb->s_desc_size, 0, MAX_DESC_SIZE, true },
	};
	size_t i;

	for (i = 0; i < sizeof(bounds) / sizeof(*bounds); i++)
		if (!bound_ok(&bounds[i]))
			return false;
	return true;
}

/* ------------------------------------------------------------ consistency */

static bool features_ok(struct ext2_super_block *sb)
{
	bool csum = ext2fs_has_feature_metadata_csum(sb);

	return !(csum && ext2fs_has_feature_gdt_csum(sb)) &&
	       !(!csum && ext2fs_has_feature_csum_seed(sb)) &&
	       !(ext2fs_has_feature_64bit(sb) &&
		 !ext2fs_has_feature_extents(sb)) &&
	       !(ext2fs_has_feature_resize_inode(sb) &&
		 ext2fs_has_feature_meta_bg(sb));
}

/*
 * Whether the superblock may have @ino as the number of a quota file: 0 (no
 * file), a reserved quota inode, or an inode that is not reserved.
 */
static bool quota_inum_ok(const struct ext2_super_block *sb, ext2_ino_t ino)
{
	return !ino || ino == EXT4_USR_QUOTA_INO ||
	       ino == EXT4_GRP_QUOTA_INO ||
	       (ino > EXT4_REPLICA_INO && ino <= sb->s_inodes_count);
}

static void judge_quota_inums(struct check *ck)
{
	struct ext2_super_block *sb = ck->fs->super;
	ext2_ino_t inums[QUOTA_TYPES];
	enum e4l_quota_type type;

	e4l_quota_inodes(sb, inums);
	for (type = 0; type < QUOTA_TYPES; type++)
		if (!quota_inum_ok(sb, inums[type]))
			FOUND(ck, SUPER_QUOTA_INODE, .got = inums[type]);
}

static void judge_state(struct check *ck)
{
	struct ext2_super_block *sb = ck->fs->super;
	uint64_t limit = (uint64_t)time(NULL) + FUDGE_SECONDS;

	if (sb->s_mtime > limit || sb->s_wtime > limit)
		FOUND(ck, SUPER_TIME);
	if (sb->s_state & EXT2_ERROR_FS)
		FOUND(ck, SUPER_STATE);
	if (sb->s_last_orphan)
		FOUND(ck, ORPHAN_LIST, .got = sb->s_last_orphan);
}

errcode_t e4l_pass0_super(struct check *ck)
{
	struct ext2_super_block *sb = ck->fs->super;

	if (!geometry_ok(ck->fs)) {
		FOUND(ck, SUPER_FIELD);
		return E4L_ET_BAD_GEOMETRY;
	}
	if (EXT2_INODE_SIZE(sb) > EXT2_GOOD_OLD_INODE_SIZE &&
	    (!e4l_extra_isize_ok(sb, sb->s_want_extra_isize) ||
	     !e4l_extra_isize_ok(sb, sb->s_min_extra_isize)))
		FOUND(ck, SUPER_EXTRA_ISIZE, .got = sb->s_want_extra_isize);
	if (!features_ok(sb))
		FOUND(ck, SUPER_FEATURES);
	if (sb->s_rev_level == EXT2_GOOD_OLD_REV &&
	    (sb->s_feature_compat || sb->s_feature_ro_compat ||
	     sb->s_feature_incompat))
		FOUND(ck, SUPER_REVISION);
	if (sb->s_reserved_gdt_blocks && !ext2fs_has_feature_resize_inode(sb))
		FOUND(ck, SUPER_RESERVED_GDT, .got = sb->s_reserved_gdt_blocks);
	judge_quota_inums(ck);
	judge_state(ck);
	return 0;
}

/* ------------------------------------------------------------------ groups */

/*
 * Sets *@first and *@last to the range of blocks where the bitmaps and the
 * inode table of @group may be.
 */
static void group_range(ext2_filsys fs, dgrp_t group, blk64_t *first,
			blk64_t *last)
{
	if (ext2fs_has_feature_flex_bg(fs->super)) {
		*first = fs->super->s_first_data_block;
		*last = ext2fs_blocks_count(fs->super) - 1;
	} else {
		*first = ext2fs_group_first_block2(fs, group);
		*last = ext2fs_group_last_block2(fs, group);
	}
}

static void judge_places(struct check *ck, dgrp_t g)
{
	ext2_filsys fs = ck->fs;
	const blk64_t bitmaps[] = {
		ext2fs_block_bitmap_loc(fs, g), ext2fs_inode_bitmap_loc(fs, g),
	};
	blk64_t itable = ext2fs_inode_table_loc(fs, g), first, last;
	int i;

	group_range(fs, g, &first, &last);
	for (i = 0; i < 2; i++)
		if (bitmaps[i] < first || bitmaps[i] > last || !bitmaps[i])
			FOUND(ck, GROUP_BITMAP_LOC, IN_GROUP(g),
			      .got = bitmaps[i]);
	if (itable < first || itable > last || !itable ||
	    last - itable < fs->inode_blocks_per_group - 1)
		FOUND(ck, GROUP_ITABLE_LOC, IN_GROUP(g), .got = itable);
}

static void judge_unused(struct check *ck, dgrp_t g, uint32_t unused)
{
	uint32_t free_inodes = ext2fs_bg_free_inodes_count(ck->fs, g);
	uint32_t per = ck->fs->super->s_inodes_per_group;

	if (!g && unused > per)
		FOUND(ck, GROUP_ROOT_UNUSED, IN_GROUP(g), .got = unused);
	else if (unused > free_inodes || unused > per)
		FOUND(ck, GROUP_ITABLE_UNUSED, IN_GROUP(g), .got = unused,
		      .want = free_inodes < per ? free_inodes : per);
}

static void judge_flags(struct check *ck, dgrp_t g)
{
	ext2_filsys fs = ck->fs;
	bool block_uninit = ext2fs_bg_flags_test(fs, g, EXT2_BG_BLOCK_UNINIT);
	bool inode_uninit = ext2fs_bg_flags_test(fs, g, EXT2_BG_INODE_UNINIT);
	uint32_t unused = ext2fs_bg_itable_unused(fs, g);

	if (g + 1 == fs->group_desc_count && block_uninit)
		FOUND(ck, GROUP_UNINIT_LAST, IN_GROUP(g));
	if (ext2fs_has_group_desc_csum(fs))
		judge_unused(ck, g, unused);
	else if (block_uninit || inode_uninit || unused)
		FOUND(ck, GROUP_UNINIT, IN_GROUP(g));
}

errcode_t e4l_pass0_groups(struct check *ck)
{
	dgrp_t g;

	for (g = 0; g < ck->fs->group_desc_count; g++) {
		judge_places(ck, g);
		judge_flags(ck, g);
		if (!ext2fs_group_desc_csum_verify(ck->fs, g))
			FOUND(ck, GROUP_CSUM, IN_GROUP(g));
	}
	return 0;
}

/* ----------------------------------------------------------------- backups */

/*
 * Whether the copy of the superblock has the magic number, the block and inode
 * counts, the block size and the UUID of the original.
 */
static bool backup_super_ok(struct ext2_super_block *sb,
			    const struct ext2_super_block *copy)
{
	return ext2fs_le16_to_cpu(copy->s_magic) == EXT2_SUPER_MAGIC &&
	       ext2fs_le32_to_cpu(copy->s_blocks_count) ==
	       sb->s_blocks_count &&
	       ext2fs_le32_to_cpu(copy->s_blocks_count_hi) ==
	       sb->s_blocks_count_hi &&
	       ext2fs_le32_to_cpu(copy->s_inodes_count) ==
	       sb->s_inodes_count &&
	       ext2fs_le32_to_cpu(copy->s_log_block_size) ==
	       sb->s_log_block_size &&
	       !memcmp(copy->s_uuid, sb->s_uuid, sizeof(sb->s_uuid));
}

/*
 * Whether the @n descriptors in @copy have the metadata locations of the
 * original descriptors of group @first and the following groups.
 */
static bool backup_desc_ok(struct check *ck, dgrp_t first, const void *copy,
			   uint32_t n)
{
	ext2_filsys fs = ck->fs;
	uint32_t i;

	for (i = 0; i < n && first + i < fs->group_desc_count; i++) {
		const struct ext4_group_desc *have = (const void *)
			ext2fs_group_desc(fs, (void *)copy, i);
		const struct ext4_group_desc *want = (const void *)
			ext2fs_group_desc(fs, fs->group_desc, first + i);

		if (ext2fs_le32_to_cpu(have->bg_block_bitmap) !=
		    want->bg_block_bitmap ||
		    ext2fs_le32_to_cpu(have->bg_inode_bitmap) !=
		    want->bg_inode_bitmap ||
		    ext2fs_le32_to_cpu(have->bg_inode_table) !=
		    want->bg_inode_table)
			return false;
	}
	return true;
}

struct desc_copy {
	struct check *ck;
	/* first backup descriptor block that is wrong; 0: none */
	blk64_t bad;
};

static void visit_desc(const struct e4l_want *want, const void *block,
		       errcode_t why, void *priv)
{
	struct desc_copy *copy = priv;
	uint32_t per_block = EXT2_DESC_PER_BLOCK(copy->ck->fs->super);

	e4l_check_noted(copy->ck, why);
	if (!copy->bad &&
	    (!block || !backup_desc_ok(copy->ck, want->slot * per_block, block,
				       per_block)))
		copy->bad = want->blk;
}

/*
 * Compares the @blocks backup blocks that begin at @blk with the primary
 * descriptor blocks from number @first on.  Reports the first block that
 * differs.
 */
static void judge_backup_desc(struct check *ck, dgrp_t group, blk64_t blk,
			      uint32_t blocks, uint32_t first, void *scratch)
{
	struct desc_copy copy = { .ck = ck };
	struct e4l_want wants[COPY_BLOCKS];
	uint32_t n;

	for (; blocks && !copy.bad; blocks -= n) {
		for (n = 0; n < blocks && n < COPY_BLOCKS; n++)
			wants[n] = (struct e4l_want) { blk++, first++ };
		e4l_gather(ck->e, wants, n, scratch, visit_desc, &copy);
	}
	if (copy.bad)
		FOUND(ck, BACKUP_DESC, IN_GROUP(group), .blk = copy.bad);
}

static void judge_backup(struct check *ck, dgrp_t group, void *buf)
{
	ext2_filsys fs = ck->fs;
	blk64_t super, old_desc, new_desc;
	uint32_t per_block = EXT2_DESC_PER_BLOCK(fs->super), old_blocks;

	ext2fs_super_and_bgd_loc2(fs, group, &super, &old_desc, &new_desc,
				  NULL);
	if (super && (e4l_read(ck->e, super, 1, buf) ||
		      !backup_super_ok(fs->super, buf)))
		FOUND(ck, BACKUP_SUPER, IN_GROUP(group), .blk = super);
	old_blocks = ext2fs_has_feature_meta_bg(fs->super) ?
		     fs->super->s_first_meta_bg : fs->desc_blocks;
	if (old_desc)
		judge_backup_desc(ck, group, old_desc, old_blocks, 0, buf);
	/*
	 * the first group of a meta group has the primary descriptors, not a
	 * backup
	 */
	if (new_desc && group % per_block)
		judge_backup_desc(ck, group, new_desc, 1,
				  group / per_block, buf);
}

errcode_t e4l_pass0_backups(struct check *ck)
{
	void *buf;
	dgrp_t g;

	if (posix_memalign(&buf, 4096, E4L_GATHER_BYTES))
		return ENOMEM;
	for (g = 1; g < ck->fs->group_desc_count; g++)
		judge_backup(ck, g, buf);
	free(buf);
	return 0;
}

/* ------------------------------------------------------------ resize inode */

/* The groups with backup superblocks, except group 0. */
struct backups {
	dgrp_t *group;
	uint32_t n;
};

/*
 * Lists the groups with backup superblocks.  If the number of these groups
 * exceeds the number of block numbers in a block, returns false.
 */
static bool list_backups(ext2_filsys fs, struct backups *b)
{
	dgrp_t g;

	b->n = 0;
	for (g = 1; g < fs->group_desc_count; g++) {
		if (!ext2fs_bg_has_super(fs, g))
			continue;
		if (b->n == fs->blocksize / 4)
			return false;
		b->group[b->n++] = g;
	}
	return true;
}

/* Returns the first block that is reserved for group descriptors. */
static blk64_t first_reserved(ext2_filsys fs)
{
	return e4l_descriptor_blk(fs, 0) + fs->desc_blocks;
}

/*
 * Whether @block, the content of the reserved block @pblk, lists the blocks
 * that correspond to @pblk in the groups with backups.
 */
static bool resize_block_ok(ext2_filsys fs, const uint32_t *block,
			    blk64_t pblk, const struct backups *b)
{
	uint32_t i;

	for (i = 0; i < b->n; i++)
		if (ext2fs_le32_to_cpu(block[i]) !=
		    (uint32_t)(pblk + (blk64_t)b->group[i] *
			       fs->super->s_blocks_per_group))
			return false;
	return true;
}

/*
 * Whether the double indirect block @dind of the resize inode lists the
 * reserved blocks, and each reserved block lists its backups.  Like e2fsck,
 * checks only the first quarter of the reserved blocks.  @buf has space for
 * three blocks.
 */
static bool resize_map_ok(struct check *ck, blk64_t dind, uint32_t *buf)
{
	ext2_filsys fs = ck->fs;
	uint32_t refs = fs->blocksize / 4, at = fs->desc_blocks, i;
	blk64_t pblk = first_reserved(fs);
	uint32_t reserved = fs->super->s_reserved_gdt_blocks / 4;
	uint32_t *block = buf + refs;
	struct backups b = { .group = buf + 2 * refs };

	if (e4l_check_noted(ck, e4l_read(ck->e, dind, 1, buf)))
		return false;
	if (!list_backups(fs, &b) && reserved)
		return false;
	for (i = 0; i < reserved; i++, at++, pblk++) {
		if (ext2fs_le32_to_cpu(buf[at % refs]) != pblk ||
		    e4l_check_noted(ck, e4l_read(ck->e, pblk, 1, block)) ||
		    !resize_block_ok(fs, block, pblk, &b))
			return false;
	}
	return true;
}

/*
 * Whether the double indirect block @dind of the resize inode lists all
 * reserved GDT blocks and no other block.  e2fsck examines only a quarter of
 * the entries, and does not mark the blocks in the entries as in use.
 */
static bool resize_list_ok(ext2_filsys fs, const uint32_t *dind)
{
	uint32_t refs = fs->blocksize / 4, at, beyond;
	uint32_t descs = fs->desc_blocks % refs;
	blk64_t first = first_reserved(fs), want;

	for (at = 0; at < refs; at++) {
		beyond = (at + refs - descs) % refs;
		want = beyond < fs->super->s_reserved_gdt_blocks ?
		       first + beyond : 0;
		if (ext2fs_le32_to_cpu(dind[at]) != want)
			return false;
	}
	return true;
}

/*
 * Whether the map of the resize inode is valid.  If the resize_inode feature is
 * set, the inode must have a valid double indirect block and no other block.
 * If the feature is not set, the inode must have no block.
 */
static bool resize_inode_ok(struct check *ck, const struct ext2_inode *inode,
			    uint32_t *buf)
{
	ext2_filsys fs = ck->fs;
	blk64_t dind = inode->i_block[EXT2_DIND_BLOCK];
	bool wanted = ext2fs_has_feature_resize_inode(fs->super);
	unsigned int i;

	for (i = 0; i < EXT2_N_BLOCKS; i++)
		if (inode->i_block[i] && (i != EXT2_DIND_BLOCK || !wanted))
			return false;
	if (!wanted)
		return true;
	return inode->i_links_count && LINUX_S_ISREG(inode->i_mode) &&
	       dind && in_filesystem(fs, dind) &&
	       resize_map_ok(ck, dind, buf);
}

errcode_t e4l_pass0_resize_inode(struct check *ck)
{
	struct ext2_inode inode;
	uint32_t *buf;

	/* pass 1 reports an unreadable inode */
	if (e4l_check_noted(ck, ext2fs_read_inode(ck->fs, EXT2_RESIZE_INO,
						  &inode)))
		return 0;
	buf = malloc(3 * ck->fs->blocksize);
	if (!buf)
		return ENOMEM;
	if (!resize_inode_ok(ck, &inode, buf))
		FOUND(ck, RESIZE_INODE, .ino = EXT2_RESIZE_INO);
	else if (ext2fs_has_feature_resize_inode(ck->fs->super) &&
		 !resize_list_ok(ck->fs, buf))
		FOUND(ck, RESIZE_INODE_MAP, .ino = EXT2_RESIZE_INO,
		      .blk = inode.i_block[EXT2_DIND_BLOCK]);
	free(buf);
	return 0;
}
