/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * free_space: finds all maximal free extents, in disk order.
 *
 * A pipeline reads the block bitmaps.  Each job has consecutive groups, because
 * flex_bg places the bitmaps of consecutive groups next to each other.  Jobs
 * finish in the order of groups.  A free extent that continues in the next
 * group is reported once.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <e4layout/free_space.h>
#include "free_space.h"
#include "e4layout/base/array.h"
#include "e4layout/format/csum.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/format/own_blocks.h"

#define JOB_BYTES (256u << 10)	/* size of the bitmaps of a job */
/* a bitmap with a wrong checksum is read again up to this number of times */
#define TRIES	8

/*
 * Blocks of bitmaps or inode tables in a group whose block bitmap is not
 * initialized.
 */
struct stray {
	blk64_t blk;
	blk64_t count;
};

struct free_space {
	struct e4l *e;
	uint32_t bits;			/* clusters per group */
	unsigned int job_groups;
	dgrp_t next_group;
	/*
	 * bitmaps and inode tables in groups without an initialized block
	 * bitmap, sorted by block
	 */
	struct stray *strays;
	size_t n_strays;
	/*
	 * last free extent found, which may continue in the next group; len is
	 * 0 if no free extent is pending
	 */
	struct e4l_block_run run;
	errcode_t (*found)(const struct e4l_block_run *run, void *priv);
	errcode_t (*damage)(const struct e4l_damage *damage, void *priv);
	void *priv;
};

/* A job of the pipeline: @n consecutive groups. */
struct job {
	struct free_space *s;
	dgrp_t group;
	unsigned int n;
	char *bitmaps;			/* one block per group */
	char *scratch;
	struct e4l_want *wants;
	errcode_t *why;			/* for each group, 0 or the error */
};

/* ------------------------------------------------- groups without a bitmap */

static bool has_no_bitmap(ext2_filsys fs, dgrp_t group)
{
	return ext2fs_has_group_desc_csum(fs) &&
	       ext2fs_bg_flags_test(fs, group, EXT2_BG_BLOCK_UNINIT) &&
	       ext2fs_group_desc_csum_verify(fs, group);
}

/* Marks the blocks of [@blk, @blk + @count) that are in @group as in use. */
static void mark_used(ext2_filsys fs, dgrp_t group, char *bitmap, blk64_t blk,
		      blk64_t count)
{
	blk64_t first = ext2fs_group_first_block2(fs, group);
	blk64_t last = ext2fs_group_last_block2(fs, group);
	blk64_t end = blk + count - 1;

	if (!count || blk > last || end < first)
		return;
	blk = (blk < first ? first : blk) - first;
	end = (end > last ? last : end) - first;
	for (blk >>= fs->cluster_ratio_bits, end >>= fs->cluster_ratio_bits;
	     blk <= end; blk++)
		bitmap[blk / 8] |= 1 << blk % 8;
}

/*
 * Marks the group's copies of the superblock and of the descriptors as in use.
 */
static void mark_backups(ext2_filsys fs, dgrp_t group, char *bitmap)
{
	struct e4l_own_run runs[E4L_OWN_BACKUPS];
	size_t n = e4l_own_backups(fs, group, runs), i;

	for (i = 0; i < n; i++)
		mark_used(fs, group, bitmap, runs[i].blk, runs[i].len);
}

/*
 * Returns the index of the first element of s->strays that begins at or after
 * @blk.
 */
static size_t first_stray(const struct free_space *s, blk64_t blk)
{
	return e4l_lower_bound(&blk, s->strays, s->n_strays,
			       sizeof(*s->strays), e4l_u64_cmp);
}

static void compute_bitmap(const struct free_space *s, dgrp_t group,
			   char *bitmap)
{
	ext2_filsys fs = s->e->fs;
	blk64_t last = ext2fs_group_last_block2(fs, group);
	size_t i = first_stray(s, ext2fs_group_first_block2(fs, group));

	memset(bitmap, 0, fs->blocksize);
	mark_backups(fs, group, bitmap);
	for (; i < s->n_strays && s->strays[i].blk <= last; i++)
		mark_used(fs, group, bitmap, s->strays[i].blk,
			  s->strays[i].count);
}

/*
 * Records the blocks of [@blk, @blk + @count) that are in groups with an
 * uninitialized block bitmap.
 */
static errcode_t note_metadata(struct free_space *s, blk64_t blk,
			       blk64_t count)
{
	ext2_filsys fs = s->e->fs;
	blk64_t end = ext2fs_blocks_count(fs->super);

	if (blk <= fs->super->s_first_data_block || blk >= end)
		return 0;
	if (count > end - blk)
		count = end - blk;
	for (blk64_t n; count; blk += n, count -= n) {
		dgrp_t group = ext2fs_group_of_blk2(fs, blk);

		n = ext2fs_group_last_block2(fs, group) - blk + 1;
		if (n > count)
			n = count;
		if (!has_no_bitmap(fs, group))
			continue;
		if (e4l_grow(&s->strays, s->n_strays, sizeof(*s->strays)))
			return ENOMEM;
		s->strays[s->n_strays++] = (struct stray) { blk, n };
	}
	return 0;
}

/*
 * Records the bitmaps and inode tables of all groups.  With flex_bg, the
 * bitmaps and the inode table of a group can be in another group.
 */
static errcode_t note_all_metadata(struct free_space *s)
{
	ext2_filsys fs = s->e->fs;
	errcode_t err = 0;
	dgrp_t g;

	if (!ext2fs_has_group_desc_csum(fs))
		return 0;
	for (g = 0; g < fs->group_desc_count && !err; g++) {
		err = note_metadata(s, ext2fs_block_bitmap_loc(fs, g), 1);
		if (!err)
			err = note_metadata(s, ext2fs_inode_bitmap_loc(fs, g),
					    1);
		if (!err)
			err = note_metadata(s, ext2fs_inode_table_loc(fs, g),
					    fs->inode_blocks_per_group);
	}
	e4l_sort(s->strays, s->n_strays, sizeof(*s->strays),
		 e4l_u64_cmp);
	return err;
}

/* ------------------------------------------------------------------ bitmaps */

static bool free_space_next(void *arg, void *priv)
{
	struct free_space *s = priv;
	struct job *job = arg;
	dgrp_t left = s->e->fs->group_desc_count - s->next_group;

	job->group = s->next_group;
	job->n = left < s->job_groups ? left : s->job_groups;
	s->next_group += job->n;
	return job->n;
}

static bool bitmap_csum_ok(ext2_filsys fs, const struct ext4_group_desc *desc,
			   const void *bitmap)
{
	size_t bytes = EXT2_CLUSTERS_PER_GROUP(fs->super) / 8;
	uint32_t want = desc->bg_block_bitmap_csum_lo;
	uint32_t mask = 0xFFFF;

	if (!ext2fs_has_feature_metadata_csum(fs->super))
		return true;
	if (EXT2_DESC_SIZE(fs->super) >= EXT4_BG_BLOCK_BITMAP_CSUM_HI_LOCATION) {
		want |= (uint32_t)desc->bg_block_bitmap_csum_hi << 16;
		mask = 0xFFFFFFFF;
	}
	return (e4l_crc32c(fs->csum_seed, bitmap, bytes) & mask) == want;
}

static void take_bitmap(struct job *job, unsigned int i,
			const struct ext4_group_desc *desc, const void *block)
{
	ext2_filsys fs = job->s->e->fs;

	job->why[i] = bitmap_csum_ok(fs, desc, block) ? 0 : E4L_ET_BITMAP_CSUM;
	if (!job->why[i])
		memcpy(job->bitmaps + (size_t)i * fs->blocksize, block,
		       fs->blocksize);
}

static void visit_bitmap(const struct e4l_want *want, const void *block,
			 errcode_t why, void *priv)
{
	struct job *job = priv;
	ext2_filsys fs = job->s->e->fs;
	unsigned int i = want->slot;

	if (block)
		take_bitmap(job, i, (struct ext4_group_desc *)
			    ext2fs_group_desc(fs, fs->group_desc,
					      job->group + i), block);
	else
		job->why[i] = E4L_ET_READ_BITMAP;
}

/* Reads the descriptor of @group from the device into *@ret. */
static errcode_t read_desc(struct e4l *e, dgrp_t group, void *block,
			   struct ext4_group_desc *ret)
{
	unsigned int n = EXT2_DESC_PER_BLOCK(e->fs->super);
	size_t bytes = EXT2_DESC_SIZE(e->fs->super);
	blk64_t super = e->fs->super->s_first_data_block;
	errcode_t err;

	if (!super && e->fs->blocksize == 1024)
		super = 1;
	err = e4l_read(e, ext2fs_descriptor_block_loc2(e->fs, super, group / n),
		       1, block);
	memset(ret, 0, sizeof(*ret));
	memcpy(ret, (char *)block + group % n * bytes,
	       bytes < sizeof(*ret) ? bytes : sizeof(*ret));
#ifdef WORDS_BIGENDIAN
	ext2fs_swap_group_desc2(e->fs, (struct ext2_group_desc *)ret);
#endif
	return err;
}

/*
 * If the checksum of a bitmap is wrong, reads the descriptor and the bitmap
 * again.  On a mounted filesystem, the bitmap can be newer than the descriptor.
 */
static void read_again(struct job *job, unsigned int i)
{
	ext2_filsys fs = job->s->e->fs;
	blk64_t blk = ext2fs_block_bitmap_loc(fs, job->group + i);
	struct ext4_group_desc desc;
	int tries = TRIES;

	while (job->why[i] == E4L_ET_BITMAP_CSUM && tries--)
		if (!read_desc(job->s->e, job->group + i, job->scratch,
			       &desc) &&
		    !e4l_read(job->s->e, blk, 1, job->scratch))
			take_bitmap(job, i, &desc, job->scratch);
}

static errcode_t free_space_work(void *arg, void *priv)
{
	struct free_space *s = priv;
	struct job *job = arg;
	ext2_filsys fs = s->e->fs;
	blk64_t end = ext2fs_blocks_count(fs->super), blk;
	unsigned int i;
	size_t n = 0;

	/* a group whose bitmap cannot be read counts as full */
	memset(job->bitmaps, 0xFF, (size_t)job->n * fs->blocksize);
	for (i = 0; i < job->n; i++) {
		blk = ext2fs_block_bitmap_loc(fs, job->group + i);
		job->why[i] = 0;
		if (has_no_bitmap(fs, job->group + i))
			compute_bitmap(s, job->group + i, job->bitmaps +
				       (size_t)i * fs->blocksize);
		else if (blk <= fs->super->s_first_data_block || blk >= end)
			job->why[i] = E4L_ET_BITMAP_RANGE;
		else
			job->wants[n++] = (struct e4l_want) {
				.blk = blk, .slot = i,
			};
	}
	e4l_gather(s->e, job->wants, n, job->scratch, visit_bitmap, job);
	for (i = 0; i < job->n; i++)
		read_again(job, i);
	return 0;
}

/* --------------------------------------------------------------------- runs */

/*
 * Returns the first bit of [@bit, @limit) that has @value, or @limit if no bit
 * has @value.
 */
static uint32_t find_bit(const uint64_t *map, uint32_t bit, uint32_t limit,
			 bool value)
{
	uint64_t flip = value ? 0 : ~0ULL;
	uint64_t word;

	if (bit >= limit)
		return limit;
	word = (ext2fs_le64_to_cpu(map[bit / 64]) ^ flip) & ~0ULL << bit % 64;
	while (!word) {
		bit = (bit | 63) + 1;
		if (bit >= limit)
			return limit;
		word = ext2fs_le64_to_cpu(map[bit / 64]) ^ flip;
	}
	bit = (bit & ~63u) + __builtin_ctzll(word);
	return bit < limit ? bit : limit;
}

static errcode_t end_run(struct free_space *s)
{
	struct e4l_block_run run = s->run;

	s->run.len = 0;
	return run.len ? s->found(&run, s->priv) : 0;
}

static errcode_t add_run(struct free_space *s, blk64_t pblk, blk64_t len)
{
	errcode_t err = 0;

	if (s->run.pblk + s->run.len != pblk || !s->run.len) {
		err = end_run(s);
		s->run.pblk = pblk;
	}
	s->run.len += len;
	return err;
}

/*
 * Reports the free extents of @group.  The last cluster of the filesystem may
 * be incomplete.
 */
static errcode_t emit_group(struct free_space *s, dgrp_t group,
			    const uint64_t *map)
{
	ext2_filsys fs = s->e->fs;
	unsigned int shift = fs->cluster_ratio_bits;
	blk64_t first = ext2fs_group_first_block2(fs, group);
	blk64_t blocks = ext2fs_group_last_block2(fs, group) - first + 1;
	uint32_t limit = (blocks + (1u << shift) - 1) >> shift;
	uint32_t bit = 0, end;
	errcode_t err = 0;

	for (; !err; bit = end) {
		blk64_t end_blocks;

		bit = find_bit(map, bit, limit, false);
		if (bit == limit)
			break;
		end = find_bit(map, bit, limit, true);
		end_blocks = (blk64_t)end << shift;
		if (end_blocks > blocks)
			end_blocks = blocks;
		err = add_run(s, first + ((blk64_t)bit << shift),
			      end_blocks - ((blk64_t)bit << shift));
	}
	return err;
}

static errcode_t free_space_done(void *arg, void *priv)
{
	struct free_space *s = priv;
	struct job *job = arg;
	ext2_filsys fs = s->e->fs;
	errcode_t err = 0;
	unsigned int i;

	for (i = 0; i < job->n && !err; i++) {
		struct e4l_damage damage = {
			.blk = ext2fs_block_bitmap_loc(fs, job->group + i),
			.why = job->why[i],
		};

		if (damage.why && s->damage)
			err = s->damage(&damage, s->priv);
		if (!err)
			err = emit_group(s, job->group + i,
					 (const uint64_t *)(job->bitmaps +
						(size_t)i * fs->blocksize));
	}
	return err;
}

/* ----------------------------------------------------- the whole filesystem */

static errcode_t job_init(void *arg, void *priv)
{
	struct free_space *s = priv;
	struct job *job = arg;

	job->s = s;
	if (posix_memalign((void **)&job->bitmaps, 4096, JOB_BYTES) ||
	    posix_memalign((void **)&job->scratch, 4096, E4L_GATHER_BYTES))
		return ENOMEM;
	job->wants = calloc(s->job_groups, sizeof(*job->wants));
	job->why = calloc(s->job_groups, sizeof(*job->why));
	return job->wants && job->why ? 0 : ENOMEM;
}

static void job_release(void *arg, void *priv)
{
	struct job *job = arg;

	free(job->bitmaps);
	free(job->scratch);
	free(job->wants);
	free(job->why);
}

/* Returns whether each bitmap has whole bytes and fits in one block. */
static bool geometry_ok(ext2_filsys fs)
{
	uint64_t clusters = EXT2_CLUSTERS_PER_GROUP(fs->super);

	return clusters && clusters % 8 == 0 &&
	       clusters <= (uint64_t)fs->blocksize * 8 &&
	       clusters << fs->cluster_ratio_bits ==
	       EXT2_BLOCKS_PER_GROUP(fs->super);
}

errcode_t e4l_free_space(struct e4l *e,
			 errcode_t (*run)(const struct e4l_block_run *, void *),
			 errcode_t (*damage)(const struct e4l_damage *, void *),
			 void *priv)
{
	static const struct e4l_pipe_ops pipe_ops = {
		.job_bytes = sizeof(struct job),
		.init = job_init, .release = job_release,
		.next = free_space_next, .work = free_space_work,
		.done = free_space_done,
	};
	struct free_space s = {
		.e = e, .found = run, .damage = damage, .priv = priv,
		.bits = EXT2_CLUSTERS_PER_GROUP(e->fs->super),
		.job_groups = JOB_BYTES / e->fs->blocksize,
	};
	errcode_t err;

	if (!geometry_ok(e->fs))
		return e4l_fail(e, E4L_ET_BAD_GEOMETRY,
				"reading the block bitmaps", 0, 0);
	e4l_fail(e, 0, NULL, 0, 0);
	err = note_all_metadata(&s);
	if (!err)
		err = e4l_pipe_run(e, &pipe_ops, &s);
	if (!err)
		err = end_run(&s);
	free(s.strays);
	/* keep a failure detail that a callback has set */
	if (err && !e->detail.doing)
		e4l_fail(e, err, "reading the block bitmaps", 0, 0);
	return err;
}

void e4l_free_histogram_add(struct e4l_free_histogram *h, uint64_t len)
{
	unsigned int i = 63 - __builtin_clzll(len);

	if (i >= E4L_FREE_BUCKETS)
		i = E4L_FREE_BUCKETS - 1;
	h->runs++;
	h->blocks += len;
	if (len > h->largest_blocks)
		h->largest_blocks = len;
	h->bucket[i].runs++;
	h->bucket[i].blocks += len;
}
