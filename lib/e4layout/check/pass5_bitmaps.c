/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Pass 5: compares bitmaps and counts with the blocks and inodes in use. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/format/csum.h"
#include "e4layout/base/bits.h"
#include "e4layout/base/io_pool.h"
#include "metadata.h"

#define JOB_GROUPS 32

struct bitmaps {
	struct check *ck;
	dgrp_t next;
	uint64_t free_clusters, free_inodes;	/* sums of all groups */
};

struct job {
	struct bitmaps *b;
	dgrp_t first, n;
	struct e4l_want wants[2 * JOB_GROUPS];
	char *scratch;
	uint8_t *want_bits, *have_bits;
};

enum { BLOCK_BITMAP, INODE_BITMAP };

/* ------------------------------------------------------------------ compare */

static bool get_bit(const uint8_t *map, uint32_t i)
{
	return map[i / 8] >> i % 8 & 1;
}

static uint32_t count_zeroes(const uint8_t *map, uint32_t bits)
{
	return bits ? bits - e4l_bits_count(map, 0, bits - 1, NULL) : 0;
}

/*
 * Calls @tell for each run of bits that differ.  The argument @lost is true if
 * the bits are set only in @have, and false if the bits are set only in @want.
 */
static void compare(const uint8_t *want, const uint8_t *have, uint32_t bits,
		    void (*tell)(uint32_t first, uint32_t n, bool lost,
				 const void *priv),
		    const void *priv)
{
	uint32_t i = 0, first;

	if (!memcmp(want, have, bits / 8) && bits % 8 == 0)
		return;
	while (i < bits) {
		bool lost = get_bit(have, i);

		if (get_bit(want, i) == lost) {
			i++;
			continue;
		}
		for (first = i; i < bits && get_bit(want, i) != lost &&
		     get_bit(have, i) == lost; )
			i++;
		tell(first, i - first, lost, priv);
	}
}

/* Whether all bits of @map from @bit to the end of the @bytes bytes are set. */
static bool is_padded(const uint8_t *map, uint32_t bit, uint32_t bytes)
{
	for (; bit % 8; bit++)
		if (!get_bit(map, bit))
			return false;
	bit /= 8;
	return bit >= bytes || (map[bit] == 0xFF &&
				!memcmp(map + bit, map + bit + 1,
					bytes - bit - 1));
}

/* ------------------------------------------------------------------- blocks */

struct place {
	struct check *ck;
	uint64_t first;		/* first cluster or inode of the group */
};

static void tell_blocks(uint32_t first, uint32_t n, bool lost,
			const void *priv)
{
	const struct place *at = priv;
	ext2_filsys fs = at->ck->fs;
	blk64_t blk = EXT2FS_C2B(fs, at->first + first);

	/* if a map is damaged, the blocks may belong to the file of this map */
	if (lost && !at->ck->maps_damaged)
		FOUND(at->ck, BLOCK_BITMAP_LOST, .blk = blk,
		      .got = EXT2FS_C2B(fs, (uint64_t)n));
	else if (!lost)
		FOUND(at->ck, BLOCK_BITMAP_FREE, .blk = blk,
		      .got = EXT2FS_C2B(fs, (uint64_t)n));
}

static uint32_t group_clusters(ext2_filsys fs, dgrp_t g)
{
	blk64_t blocks = ext2fs_group_last_block2(fs, g) -
			 ext2fs_group_first_block2(fs, g) + 1;

	return (blocks + EXT2FS_CLUSTER_RATIO(fs) - 1) >>
	       fs->cluster_ratio_bits;
}

static void judge_free_blocks(struct job *job, dgrp_t g, uint32_t n)
{
	struct check *ck = job->b->ck;

	__atomic_fetch_add(&job->b->free_clusters, n, __ATOMIC_RELAXED);
	if (n != ext2fs_bg_free_blocks_count(ck->fs, g))
		FOUND(ck, GROUP_FREE_BLOCKS, IN_GROUP(g), .want = n,
		      .got = ext2fs_bg_free_blocks_count(ck->fs, g));
}

/* Checks a block bitmap; @have is NULL if the group has no valid bitmap. */
static void judge_block_bitmap(struct job *job, dgrp_t g, const uint8_t *have)
{
	struct check *ck = job->b->ck;
	ext2_filsys fs = ck->fs;
	uint32_t bits = group_clusters(fs, g);
	uint64_t owned;
	struct place at = {
		ck, EXT2FS_B2C(fs, fs->super->s_first_data_block) +
		    (uint64_t)g * fs->super->s_clusters_per_group,
	};

	if (have) {
		if (!is_padded(have, bits, fs->blocksize))
			FOUND(ck, BITMAP_PADDING, IN_GROUP(g),
			      .blk = ext2fs_block_bitmap_loc(fs, g));
	} else {
		/*
		 * libext2fs generates a bitmap for this group, but does not set
		 * the padding bits: e2fsck reports these bits
		 */
		if (bits < fs->super->s_clusters_per_group)
			FOUND(ck, BITMAP_PADDING, IN_GROUP(g));
		if (!e4l_owners_count(ck->owners, at.first, bits, &owned)) {
			judge_free_blocks(job, g, bits);
			return;
		}
		/*
		 * in a group without a valid bitmap, only metadata counts as in
		 * use
		 */
		memset(job->have_bits, 0, fs->blocksize);
		e4l_metadata_bits(ck, at.first, bits, job->have_bits);
		have = job->have_bits;
	}
	e4l_owners_bits(ck->owners, at.first, bits, job->want_bits);
	compare(job->want_bits, have, bits, tell_blocks, &at);
	judge_free_blocks(job, g, count_zeroes(have, bits));
}

/* ------------------------------------------------------------------- inodes */

static void tell_inodes(uint32_t first, uint32_t n, bool lost,
			const void *priv)
{
	const struct place *at = priv;

	if (lost)
		FOUND(at->ck, INODE_BITMAP_LOST, .ino = at->first + first,
		      .got = n);
	else
		FOUND(at->ck, INODE_BITMAP_FREE, .ino = at->first + first,
		      .got = n);
}

/*
 * Sets a bit in @bits for each inode of group @g that the scan has found in
 * use.  @have is the inode bitmap from the disk.  Returns the number of
 * directories whose bits are set in @bits and in @have.
 */
static uint32_t used_inodes(const struct check *ck, dgrp_t g,
			    const uint8_t *have, uint8_t *bits)
{
	uint32_t per = ck->fs->super->s_inodes_per_group, dirs = 0, i;
	uint64_t first = (uint64_t)g * per + 1, end = first + per, ino;

	memset(bits, 0, per / 8 + 1);
	for (ino = next_known(ck, first, end); ino < end;
	     ino = next_known(ck, ino + 1, end)) {
		i = ino - first;
		bits[i / 8] |= 1 << i % 8;
		dirs += (ck->kind[ino] & KIND_TYPE) == EXT2_FT_DIR &&
			get_bit(have, i);
	}
	return dirs;
}

static void judge_inode_bitmap(struct job *job, dgrp_t g, const uint8_t *have)
{
	struct check *ck = job->b->ck;
	ext2_filsys fs = ck->fs;
	uint32_t per = fs->super->s_inodes_per_group, n, dirs;
	struct place at = { ck, (uint64_t)g * per + 1 };

	if (have && !is_padded(have, per, fs->blocksize))
		FOUND(ck, BITMAP_PADDING, IN_GROUP(g),
		      .blk = ext2fs_inode_bitmap_loc(fs, g));
	if (!have) {
		memset(job->have_bits, 0, fs->blocksize);
		have = job->have_bits;
	}
	dirs = used_inodes(ck, g, have, job->want_bits);
	compare(job->want_bits, have, per, tell_inodes, &at);
	n = count_zeroes(have, per);
	__atomic_fetch_add(&job->b->free_inodes, n, __ATOMIC_RELAXED);
	if (n != ext2fs_bg_free_inodes_count(fs, g))
		FOUND(ck, GROUP_FREE_INODES, IN_GROUP(g), .want = n,
		      .got = ext2fs_bg_free_inodes_count(fs, g));
	if (dirs != ext2fs_bg_used_dirs_count(fs, g))
		FOUND(ck, GROUP_DIRS, IN_GROUP(g), .want = dirs,
		      .got = ext2fs_bg_used_dirs_count(fs, g));
}

/* ------------------------------------------------------------------ reading */

static bool csum_ok(ext2_filsys fs, dgrp_t g, int kind, const void *bitmap)
{
	const struct ext4_group_desc *d = (const void *)
		ext2fs_group_desc(fs, fs->group_desc, g);
	bool block = kind == BLOCK_BITMAP;
	uint32_t bytes = (block ? fs->super->s_clusters_per_group :
			  fs->super->s_inodes_per_group) / 8;
	uint32_t want = block ? d->bg_block_bitmap_csum_lo :
			d->bg_inode_bitmap_csum_lo;
	uint32_t mask = 0xFFFF;

	if (!ext2fs_has_feature_metadata_csum(fs->super))
		return true;
	if (EXT2_DESC_SIZE(fs->super) >=
	    (block ? EXT4_BG_BLOCK_BITMAP_CSUM_HI_LOCATION :
	     EXT4_BG_INODE_BITMAP_CSUM_HI_END)) {
		want |= (uint32_t)(block ? d->bg_block_bitmap_csum_hi :
				   d->bg_inode_bitmap_csum_hi) << 16;
		mask = ~0u;
	}
	return (e4l_crc32c(fs->csum_seed, bitmap, bytes) & mask) == want;
}

static bool is_uninit(ext2_filsys fs, dgrp_t g, int kind)
{
	return ext2fs_has_group_desc_csum(fs) &&
	       ext2fs_bg_flags_test(fs, g, kind == BLOCK_BITMAP ?
				    EXT2_BG_BLOCK_UNINIT :
				    EXT2_BG_INODE_UNINIT);
}

/*
 * Returns the block of a bitmap.  If the location is invalid, returns 0.  If
 * the bitmap is uninitialized, and the checksum of the group descriptor is
 * valid, also returns 0.
 */
static blk64_t bitmap_blk(ext2_filsys fs, dgrp_t g, int kind)
{
	blk64_t blk = kind == BLOCK_BITMAP ? ext2fs_block_bitmap_loc(fs, g) :
					     ext2fs_inode_bitmap_loc(fs, g);

	if (is_uninit(fs, g, kind) && ext2fs_group_desc_csum_verify(fs, g))
		return 0;
	return blk < ext2fs_blocks_count(fs->super) ? blk : 0;
}

static void judge(struct job *job, dgrp_t g, int kind, const void *bitmap)
{
	if (kind == BLOCK_BITMAP)
		judge_block_bitmap(job, g, bitmap);
	else
		judge_inode_bitmap(job, g, bitmap);
}

static void visit(const struct e4l_want *want, const void *block,
		  errcode_t why, void *priv)
{
	struct job *job = priv;
	struct check *ck = job->b->ck;
	dgrp_t g = job->first + want->slot / 2;
	int kind = want->slot % 2;

	if (!block) {
		e4l_check_noted(ck, why);
		FOUND(ck, BITMAP_READ, IN_GROUP(g), .blk = want->blk);
		return;
	}
	/*
	 * like e2fsck, do not verify the checksum of an uninitialized bitmap,
	 * even if the checksum of the descriptor is wrong
	 */
	if (!is_uninit(ck->fs, g, kind) && !csum_ok(ck->fs, g, kind, block))
		FOUND(ck, BITMAP_CSUM, IN_GROUP(g), .blk = want->blk);
	judge(job, g, kind, block);
}

static bool bitmaps_next(void *arg, void *priv)
{
	struct bitmaps *b = priv;
	struct job *job = arg;
	dgrp_t left = b->ck->fs->group_desc_count - b->next;

	job->first = b->next;
	job->n = left < JOB_GROUPS ? left : JOB_GROUPS;
	b->next += job->n;
	return job->n;
}

static errcode_t bitmaps_work(void *arg, void *priv)
{
	struct job *job = arg;
	ext2_filsys fs = job->b->ck->fs;
	size_t n = 0;
	uint32_t i;

	for (i = 0; i < 2 * job->n; i++) {
		dgrp_t g = job->first + i / 2;
		blk64_t blk = bitmap_blk(fs, g, i % 2);

		if (blk)
			job->wants[n++] = (struct e4l_want) { blk, i };
		else
			judge(job, g, i % 2, NULL);
	}
	e4l_gather(job->b->ck->e, job->wants, n, job->scratch, visit, job);
	return 0;
}

static errcode_t bitmaps_done(void *arg, void *priv)
{
	return 0;
}

static errcode_t job_init(void *arg, void *priv)
{
	struct job *job = arg;

	job->b = priv;
	job->want_bits = malloc(job->b->ck->fs->blocksize + 8);
	job->have_bits = malloc(job->b->ck->fs->blocksize + 8);
	if (!job->want_bits || !job->have_bits ||
	    posix_memalign((void **)&job->scratch, 4096, E4L_GATHER_BYTES))
		return ENOMEM;
	return 0;
}

static void job_release(void *arg, void *priv)
{
	struct job *job = arg;

	free(job->scratch);
	free(job->want_bits);
	free(job->have_bits);
}

static void judge_totals(struct bitmaps *b)
{
	struct check *ck = b->ck;
	struct ext2_super_block *sb = ck->fs->super;
	blk64_t free_blocks = EXT2FS_C2B(ck->fs, b->free_clusters);

	if (ext2fs_free_blocks_count(sb) != free_blocks)
		FOUND(ck, SUPER_FREE_BLOCKS, .want = free_blocks,
		      .got = ext2fs_free_blocks_count(sb));
	if (sb->s_free_inodes_count != b->free_inodes)
		FOUND(ck, SUPER_FREE_INODES, .want = b->free_inodes,
		      .got = sb->s_free_inodes_count);
}

errcode_t e4l_pass5_bitmaps(struct check *ck)
{
	static const struct e4l_pipe_ops ops = {
		.job_bytes = sizeof(struct job),
		.init = job_init, .release = job_release,
		.next = bitmaps_next, .work = bitmaps_work,
		.done = bitmaps_done,
	};
	struct bitmaps b = { .ck = ck };
	errcode_t err = e4l_pipe_run(ck->e, &ops, &b);

	if (!err)
		judge_totals(&b);
	return err;
}
