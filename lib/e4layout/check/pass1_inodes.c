/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pass 1: every inode, its map, and the owner of each block.
 *
 * e4l_scan_looking() reads inode tables and tree blocks on all processors.  The
 * scan calls look_inode() for each inode, and look_node() for each tree block.
 * look_inode() and look_node() report most findings.
 *
 * on_piece() gets the extents in the order of inodes and of logical blocks.
 * on_piece() reports all findings that depend on the order, so that the
 * findings do not depend on the timing of threads.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/format/csum.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/read/scan.h"
#include "bad_blocks.h"
#include "metadata.h"
#include "pass1_walk.h"
#include <ext2fs/ext3_extents.h>

/* ------------------------------------------------------------------ inodes */

/* An inode that was never used is all zeroes, including its checksum. */
static bool csum_ok(ext2_filsys fs, ext2_ino_t ino, const void *raw)
{
	return is_zero(raw, EXT2_GOOD_OLD_INODE_SIZE) ||
	       e4l_inode_csum_ok(fs, ino, raw);
}

/*
 * Reports a wrong checksum.  An EA inode gets the finding EA_INODE_CSUM,
 * because e2fsck aborts at an EA inode with a wrong checksum.
 */
static void wrong_csum(struct check *ck, ext2_ino_t ino, blk64_t blk,
		       const struct ext2_inode *inode)
{
	if (inode->i_flags & EXT4_EA_INODE_FL && inode->i_links_count)
		FOUND(ck, EA_INODE_CSUM, .ino = ino, .blk = blk, .got = ino);
	else
		FOUND(ck, INODE_CSUM, .ino = ino, .blk = blk);
}

static void judge_dtime(struct check *ck, ext2_ino_t ino, blk64_t blk,
			const struct ext2_inode_large *inode)
{
	if (inode->i_dtime && ck->low_dtime &&
	    inode->i_dtime < ck->fs->super->s_inodes_count)
		FOUND(ck, INODE_LOW_DTIME, .ino = ino, .blk = blk,
		      .got = inode->i_dtime);
}

/*
 * Whether the inode is in use.  A reserved inode is in use if it has a link or
 * a block.  Other inodes are in use if they have a link, because a deleted
 * inode can still have a map.
 */
static bool is_in_use(const struct check *ck, ext2_ino_t ino,
		      const struct ext2_inode *inode)
{
	return e4l_has_purpose(ck->fs->super, ino) ? inode_holds_anything(inode) :
						 inode->i_links_count;
}

static enum e4l_map bad_blocks_map(const struct ext2_inode_large *inode)
{
	return inode->i_flags & EXT4_EXTENTS_FL &&
	       !is_zero(inode->i_block, sizeof(inode->i_block)) ?
	       E4L_MAP_EXTENTS : E4L_MAP_INDIRECT;
}

static bool look_inode(ext2_ino_t ino, blk64_t blk, const void *raw,
		       const struct ext2_inode_large *inode, enum e4l_map *map,
		       void *priv)
{
	const struct ext2_inode *small = (const struct ext2_inode *)inode;
	struct check *ck = priv;

	if (e4l_is_bad_block(ck, blk)) {
		if (ino == EXT2_BAD_INO)
			FOUND(ck, BAD_BLOCK_INODE, .ino = ino, .blk = blk);
		ck->kind[ino] = KIND_USED | KIND_NO_NAME | KIND_UNREAD;
		return false;
	}
	if (!csum_ok(ck->fs, ino, raw))
		wrong_csum(ck, ino, blk, small);
	judge_dtime(ck, ino, blk, inode);
	/*
	 * If the group descriptor marks an inode as never used, the scan reads
	 * the inode only if the checksum of the descriptor is wrong.  Without
	 * group checksums, the scan reads all inodes.
	 */
	if (is_in_use(ck, ino, small) && e4l_inode_is_skipped(ck, ino) &&
	    ext2fs_has_group_desc_csum(ck->fs))
		FOUND(ck, INODE_SKIPPED, .ino = ino, .blk = blk);
	if (!inode->i_links_count && !e4l_has_purpose(ck->fs->super, ino)) {
		if (inode->i_mode && !inode->i_dtime)
			FOUND(ck, INODE_NO_DTIME, .ino = ino, .blk = blk);
		return false;
	}
	if (!e4l_inode_judge(ck, ino, blk, inode))
		return false;
	/* the bad blocks inode has a map, but no mode */
	if (ino == EXT2_BAD_INO)
		*map = bad_blocks_map(inode);
	return true;
}

/* ------------------------------------------------------------- tree blocks */

/* Checks a block of an extent tree; pos->seed is the inode's checksum seed. */
static void look_extent_node(struct check *ck, ext2_ino_t ino,
			     const struct e4l_node_pos *pos, const void *block)
{
	const struct ext3_extent_header *h = block;
	unsigned int max = (ck->fs->blocksize - sizeof(*h)) /
			   sizeof(struct ext3_extent);
	unsigned int depth = ext2fs_le16_to_cpu(h->eh_depth);
	uint32_t first;

	if (ext2fs_le16_to_cpu(h->eh_magic) != EXT3_EXT_MAGIC ||
	    ext2fs_le16_to_cpu(h->eh_max) > max ||
	    ext2fs_le16_to_cpu(h->eh_entries) > ext2fs_le16_to_cpu(h->eh_max))
		return;		/* the scan reports the invalid header */
	if (ext2fs_le16_to_cpu(h->eh_max) + 2 < max)
		FOUND(ck, EXTENT_HEADER, .ino = ino, .blk = pos->blk);
	else if (!e4l_extent_block_csum_ok(ck->fs, pos->seed, block))
		FOUND(ck, EXTENT_CSUM, .ino = ino, .blk = pos->blk);
	if (depth != pos->level)
		FOUND(ck, EXTENT_DEPTH, .ino = ino, .blk = pos->blk,
		      .got = depth, .want = pos->level);
	if (!h->eh_entries) {
		FOUND(ck, EXTENT_EMPTY, .ino = ino, .blk = pos->blk);
		return;
	}
	/* index entries and extents begin with a logical block number */
	first = ext2fs_le32_to_cpu(*(const uint32_t *)(h + 1));
	if (first != pos->first)
		FOUND(ck, EXTENT_INDEX, .ino = ino, .blk = pos->blk,
		      .got = first, .want = pos->first);
}

static void look_node(ext2_ino_t ino, const struct ext2_inode_large *inode,
		      const struct e4l_node_pos *pos, bool indirect,
		      const void *block, void *priv)
{
	if (!indirect)
		look_extent_node(priv, ino, pos, block);
}

/* ------------------------------------------------------------------ damage */

/* The errors of the scan, and the corresponding findings. */
static const struct {
	errcode_t why;
	enum finding_id id;
} damages[] = {
	{ E4L_ET_READ_ITABLE, F_ITABLE_READ },
	{ E4L_ET_EXTENT_MAGIC, F_EXTENT_HEADER },
	{ E4L_ET_EXTENT_DEPTH, F_EXTENT_HEADER },
	{ E4L_ET_EXTENT_COUNT, F_EXTENT_HEADER },
	{ E4L_ET_EXTENT_ORDER, F_EXTENT_ORDER },
	{ E4L_ET_EXTENT_END, F_EXTENT_ORDER },
	{ E4L_ET_EXTENT_RANGE, F_EXTENT_RANGE },
	{ E4L_ET_BLOCK_RANGE, F_MAP_RANGE },
	{ E4L_ET_READ_TREE, F_MAP_READ },
	{ E4L_ET_TREE_LOOP, F_MAP_LOOP },
};

/*
 * Whether all entries of block @blk in the map of the resize inode refer to
 * blocks of the filesystem.  The superblock is allowed: the scan refuses an
 * entry that refers to the superblock, but e2fsck counts the entry as a block.
 */
static bool names_super_alone(struct check *ck, const struct ext2_inode *inode,
			      blk64_t blk)
{
	uint32_t *entries = malloc(ck->fs->blocksize), i;
	bool ok = entries && blk && blk != inode->i_block[EXT2_DIND_BLOCK] &&
		  !e4l_read(ck->e, blk, 1, entries);

	for (i = 0; ok && i < ck->fs->blocksize / sizeof(*entries); i++)
		ok = !entries[i] || in_filesystem(ck->fs,
					ext2fs_le32_to_cpu(entries[i]));
	free(entries);
	return ok;
}

/*
 * Whether i_block begins with an extent header without entries.  The depth is
 * not tested, because e2fsck ignores the depth of an empty tree.
 */
static bool is_empty_and_deep(const struct ext2_inode *inode)
{
	const struct ext3_extent_header *h = (const void *)inode->i_block;

	return !h->eh_entries &&
	       ext2fs_le16_to_cpu(h->eh_magic) == EXT3_EXT_MAGIC;
}

/* Whether only the last extent of a leaf exceeds the maximum file size. */
static bool last_ends_late(const struct ext3_extent_header *h)
{
	const struct ext3_extent *x = (const void *)(h + 1);
	unsigned int i, n = ext2fs_le16_to_cpu(h->eh_entries), len;

	for (i = 0; i < n; i++) {
		len = ext2fs_le16_to_cpu(x[i].ee_len);
		if (len > EXT_INIT_MAX_LEN)
			len -= EXT_INIT_MAX_LEN;
		if ((ext2fs_le32_to_cpu(x[i].ee_block) + (uint64_t)len >
		     UINT32_MAX) != (i == n - 1))
			return false;
	}
	return n;
}

/*
 * Whether only the last extent of leaf @blk exceeds the maximum file size.  If
 * @blk is 0, tests the leaf in the inode.
 */
static bool leaf_ends_late(struct check *ck, const struct ext2_inode *inode,
			   blk64_t blk)
{
	void *leaf;
	bool late;

	if (!blk)
		return last_ends_late((const void *)inode->i_block);
	leaf = malloc(ck->fs->blocksize);
	late = leaf && !e4l_read(ck->e, blk, 1, leaf) && last_ends_late(leaf);
	free(leaf);
	return late;
}

/*
 * Whether e2fsck accepts the structure of @damage, which the scan cannot
 * decode.  If e2fsck accepts the structure, *@id is the warning to report, and
 * *@got is the number in the sentence of the warning.
 */
static bool is_mild(struct check *ck, const struct e4l_damage *damage,
		    enum finding_id *id, uint64_t *got)
{
	struct ext2_inode inode;
	const struct ext3_extent_header *h = (const void *)inode.i_block;

	if (!damage->ino ||
	    e4l_check_noted(ck, ext2fs_read_inode(ck->fs, damage->ino, &inode)))
		return false;
	if (damage->why == E4L_ET_BLOCK_RANGE) {
		*id = F_RESIZE_INODE_SUPER;
		return damage->ino == EXT2_RESIZE_INO &&
		       names_super_alone(ck, &inode, damage->blk);
	}
	if (damage->why == E4L_ET_EXTENT_END) {
		*id = F_EXTENT_END;
		return inode.i_flags & EXT4_VERITY_FL &&
		       leaf_ends_late(ck, &inode, damage->blk);
	}
	*id = F_EXTENT_ROOT_DEPTH;
	*got = ext2fs_le16_to_cpu(h->eh_depth);
	return damage->why == E4L_ET_EXTENT_DEPTH && !damage->blk &&
	       is_empty_and_deep(&inode);
}

static errcode_t on_damage(const struct e4l_damage *damage, void *priv)
{
	struct check *ck = priv;
	enum finding_id mild;
	uint64_t got = 0;
	size_t i;

	ck->maps_damaged = true;
	if (is_mild(ck, damage, &mild, &got)) {
		ck->resize_super += mild == F_RESIZE_INODE_SUPER;
		e4l_findings_add(ck->found, mild, (struct finding) {
			.ino = damage->ino, .blk = damage->blk, .got = got });
		return 0;
	}
	for (i = 0; i < sizeof(damages) / sizeof(*damages); i++)
		if (damages[i].why == damage->why)
			e4l_findings_add(ck->found, damages[i].id,
					 (struct finding) { .ino = damage->ino,
							.blk = damage->blk });
	return 0;
}

static void on_progress(dgrp_t group, dgrp_t groups, void *priv)
{
	struct check *ck = priv;

	if (ck->opt->progress)
		ck->opt->progress("inodes", group, groups, ck->opt->priv);
}

/*
 * Whether an i_dtime below s_inodes_count is an inode number, not a time.  If
 * the superblock records a mount, a write or mke2fs at such an early time,
 * i_dtime can be a time.
 */
static bool dtime_may_be_inode(const struct ext2_super_block *sb)
{
	return !((sb->s_wtime && sb->s_wtime < sb->s_inodes_count) ||
		 (sb->s_mtime && sb->s_mtime < sb->s_inodes_count) ||
		 (sb->s_mkfs_time && sb->s_mkfs_time < sb->s_inodes_count));
}

static errcode_t on_piece(const struct e4l_piece *piece, void *priv)
{
	struct check *ck = priv;

	return e4l_walk_piece(ck->walk, piece);
}

errcode_t e4l_pass1_inodes(struct check *ck)
{
	static const struct e4l_scan_look look = {
		.inode = look_inode, .node = look_node,
	};
	static const struct e4l_scan_ops ops = {
		.piece = on_piece, .damage = on_damage,
		.progress = on_progress,
	};
	struct ext2_super_block *sb = ck->fs->super;
	ext2_ino_t ino;
	errcode_t err;

	ck->low_dtime = dtime_may_be_inode(sb);
	err = e4l_walk_new(ck, &ck->walk);
	if (!err)
		err = e4l_scan_looking(ck->e, &look, &ops, ck);
	e4l_walk_free(ck->walk);
	ck->walk = NULL;
	/*
	 * reserved inodes are in use even if their group has no inode table yet
	 */
	for (ino = 1; ino < EXT2_FIRST_INODE(sb); ino++)
		ck->kind[ino] |= KIND_USED;
	return err;
}
