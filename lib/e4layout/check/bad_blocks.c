/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "bad_blocks.h"
#include "metadata.h"

struct bad_blocks {
	size_t n;
	uint64_t *v;		/* block numbers in ascending order */
};

struct listing {
	struct check *ck;
	/*
	 * @blocks: the listed bad blocks; @maps: tree blocks of the map of the
	 * bad blocks inode
	 */
	struct bad_blocks blocks, maps;
	uint64_t visits;
	errcode_t err;
};

static errcode_t add(struct bad_blocks *b, blk64_t blk)
{
	errcode_t err = e4l_grow(&b->v, b->n, sizeof(*b->v));

	if (!err)
		b->v[b->n++] = blk;
	return err;
}

/*
 * Adds @blk to a list.  Skips a block number outside the filesystem, because
 * e4l_pass1_inodes() reports the number.
 */
static int list_block(ext2_filsys fs, blk64_t *blk, e2_blkcnt_t n, blk64_t ref,
		      int offset, void *priv)
{
	struct listing *l = priv;

	if (l->visits++ > ext2fs_blocks_count(fs->super))
		return BLOCK_ABORT;
	if (in_filesystem(fs, *blk))
		l->err = add(n < 0 ? &l->maps : &l->blocks, *blk);
	return l->err ? BLOCK_ABORT : 0;
}

static bool is_listed(const struct bad_blocks *b, blk64_t blk)
{
	return b && b->n && bsearch(&blk, b->v, b->n, sizeof(*b->v),
				    e4l_u64_cmp);
}

/*
 * Whether e2fsck needs @blk to repair the filesystem: the superblock, a group
 * descriptor, or a bitmap.  e2fsck skips bad blocks of inode tables, and does
 * not need all backups.
 */
static bool is_vital(ext2_filsys fs, blk64_t blk)
{
	blk64_t super = fs->super->s_first_data_block;
	dgrp_t g;

	if (blk <= super + fs->desc_blocks)
		return true;
	for (g = 0; g < fs->group_desc_count; g++)
		if (blk == ext2fs_block_bitmap_loc(fs, g) ||
		    blk == ext2fs_inode_bitmap_loc(fs, g))
			return true;
	return false;
}

static void judge(struct check *ck, const struct listing *l)
{
	const struct bad_blocks *b = &l->blocks;
	size_t i;

	for (i = 0; i < b->n; i++) {
		if (!e4l_metadata_meets(ck, b->v[i], 1))
			continue;
		if (is_vital(ck->fs, b->v[i]))
			FOUND(ck, BAD_BLOCK_VITAL, .ino = EXT2_BAD_INO,
			      .blk = b->v[i]);
		else
			FOUND(ck, BAD_BLOCK_OWN, .ino = EXT2_BAD_INO,
			      .blk = b->v[i]);
	}
	for (i = 0; i < l->maps.n; i++)
		if (is_listed(b, l->maps.v[i]))
			FOUND(ck, BAD_BLOCK_MAP, .ino = EXT2_BAD_INO,
			      .blk = l->maps.v[i]);
}

errcode_t e4l_pass1_bad_blocks(struct check *ck)
{
	struct listing l = { .ck = ck };
	errcode_t err;

	ck->bad_blocks = calloc(1, sizeof(*ck->bad_blocks));
	if (!ck->bad_blocks)
		return ENOMEM;
	err = ext2fs_block_iterate3(ck->fs, EXT2_BAD_INO, BLOCK_FLAG_READ_ONLY,
				    NULL, list_block, &l);
	e4l_sort(l.blocks.v, l.blocks.n, sizeof(*l.blocks.v),
		 e4l_u64_cmp);
	/* e4l_pass1_inodes() reports an unreadable list of bad blocks */
	if (!err && !l.err)
		judge(ck, &l);
	else
		l.blocks.n = 0;
	*ck->bad_blocks = l.blocks;
	free(l.maps.v);
	return l.err;
}

bool e4l_is_bad_block(const struct check *ck, blk64_t blk)
{
	return is_listed(ck->bad_blocks, blk);
}

void e4l_bad_blocks_free(struct check *ck)
{
	if (ck->bad_blocks)
		free(ck->bad_blocks->v);
	free(ck->bad_blocks);
}
