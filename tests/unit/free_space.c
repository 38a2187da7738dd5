/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <e4layout/e4layout.h>
#include "e4layout/base/internal.h"
#include "e4layout/read/free_space.h"
#include "unit.h"

/* Options of mke2fs, and the percentage of the free blocks to allocate. */
static const struct {
	const char *mke2fs;
	unsigned int full;
} images[] = {
	{ "-t ext4 64M", 0 },
	{ "-t ext4 64M", 50 },
	{ "-t ext4 -b 1024 40M", 0 },
	{ "-t ext4 -b 1024 40M", 30 },
	{ "-t ext4 -b 1024 40001k", 70 },
	{ "-t ext4 -b 2048 100M", 40 },
	{ "-t ext4 -b 65536 2G", 10 },
	{ "-t ext4 -b 1024 -g 256 8M", 50 },
	{ "-t ext4 -b 1024 -g 1024 -G 4 30M", 20 },
	{ "-t ext4 -b 1024 -g 1024 -G 4 30M", 0 },
	{ "-t ext4 -b 1024 -G 64 200M", 5 },
	{ "-t ext4 -b 1024 -O ^flex_bg 60M", 0 },
	{ "-t ext4 -b 1024 -O ^flex_bg,^metadata_csum,uninit_bg 60M", 0 },
	{ "-t ext4 -b 1024 -O ^flex_bg,^metadata_csum,uninit_bg 60M", 9 },
	{ "-t ext4 -b 1024 -O ^metadata_csum,^uninit_bg 60M", 25 },
	{ "-t ext4 -b 1024 -O ^64bit 50M", 33 },
	{ "-t ext4 -b 1024 -O metadata_csum_seed 50M", 33 },
	{ "-t ext4 -b 1024 -O meta_bg,^resize_inode 60M", 0 },
	{ "-t ext4 -b 1024 -O meta_bg,^resize_inode,^flex_bg 60M", 15 },
	{ "-t ext4 -b 1024 -O sparse_super2 60M", 0 },
	{ "-t ext4 -b 1024 -O ^sparse_super,^resize_inode 60M", 0 },
	{ "-t ext4 -b 1024 -O bigalloc -C 8192 60M", 0 },
	{ "-t ext4 -b 1024 -O bigalloc -C 16384 60M", 50 },
	{ "-t ext4 -b 4096 -O bigalloc -C 65536 500M", 50 },
	{ "-t ext4 -b 1024 -O ^has_journal -N 4000 20M", 95 },
	{ "-t ext2 -b 1024 30M", 60 },
	{ "-t ext3 -b 4096 300M", 5 },
};

#define N_IMAGES (int)(sizeof(images) / sizeof(images[0]))

static char path[64];

static void make_image(const char *args)
{
	char cmd[300];
	const char *size = strrchr(args, ' ') + 1;

	snprintf(path, sizeof(path), "/tmp/e4l-free-XXXXXX");
	close(mkstemp(path));
	snprintf(cmd, sizeof(cmd), "mke2fs -q -F %.*s %s %s",
		 (int)(size - args), args, path, size);
	ck_assert_int_eq(system(cmd), 0);
}

static ext2_filsys open_image(int flags)
{
	ext2_filsys fs;

	ck_assert_int_eq(ext2fs_open2(path, "cache=off", flags |
				      EXT2_FLAG_64BITS | EXT2_FLAG_THREADS,
				      0, 0, unix_io_manager, &fs), 0);
	return fs;
}

/*
 * Allocates runs of random length until @percent % of the blocks that were free
 * are in use.
 */
static void fill(unsigned int percent)
{
	ext2_filsys fs = open_image(EXT2_FLAG_RW);
	blk64_t first = fs->super->s_first_data_block;
	blk64_t blocks = ext2fs_blocks_count(fs->super) - first, blk, keep;
	unsigned int len;

	ck_assert_int_eq(ext2fs_read_bitmaps(fs), 0);
	keep = ext2fs_free_blocks_count(fs->super) / 100 * (100 - percent);
	while (percent && ext2fs_free_blocks_count(fs->super) > keep) {
		blk = first + random() % blocks;
		len = 1 + random() % (random() % 20 ? 12 : 900);
		for (; len && blk < first + blocks; len--, blk++)
			if (!ext2fs_test_block_bitmap2(fs->block_map, blk))
				ext2fs_block_alloc_stats2(fs, blk, 1);
	}
	ck_assert_int_eq(ext2fs_close_free(&fs), 0);
}

struct picture {
	ext2_filsys fs;
	ext2fs_block_bitmap free;
	struct e4l_free_histogram histogram;
	blk64_t end;			/* end of the last run */
	unsigned int damages;
	struct e4l_damage damage;
};

static errcode_t add_run(const struct e4l_block_run *run, void *priv)
{
	struct picture *p = priv;
	blk64_t i;

	ck_assert_uint_gt(run->len, 0);
	ck_assert_uint_gt(run->pblk, p->end);
	p->end = run->pblk + run->len;
	ck_assert_uint_le(p->end, ext2fs_blocks_count(p->fs->super));
	for (i = run->pblk; i < p->end; i++)
		ext2fs_mark_block_bitmap2(p->free, i);
	e4l_free_histogram_add(&p->histogram, run->len);
	return 0;
}

static errcode_t add_damage(const struct e4l_damage *damage, void *priv)
{
	struct picture *p = priv;

	p->damages++;
	p->damage = *damage;
	return 0;
}

static struct picture take_picture(ext2_filsys fs, unsigned int threads)
{
	struct picture p = { .fs = fs };
	struct e4l *e;

	ck_assert_int_eq(ext2fs_allocate_block_bitmap(fs, "free", &p.free), 0);
	ck_assert_int_eq(e4l_new(fs, &e), 0);
	e4l_set_threads(e, threads);
	ck_assert_int_eq(e4l_free_space(e, add_run, add_damage, &p), 0);
	e4l_free(e);
	return p;
}

/* Compares the state of every block. */
static void compare_blocks(ext2_filsys fs, const struct picture *p)
{
	blk64_t blk;

	ck_assert_int_eq(ext2fs_read_block_bitmap(fs), 0);
	for (blk = fs->super->s_first_data_block;
	     blk < ext2fs_blocks_count(fs->super); blk++)
		if (!ext2fs_test_block_bitmap2(fs->block_map, blk) !=
		    !!ext2fs_test_block_bitmap2(p->free, blk))
			ck_abort_msg("block %llu", (unsigned long long)blk);
}

/* Compares the non-empty rows of e2freefrag's table, in order. */
static void compare_e2freefrag(const struct e4l_free_histogram *h)
{
	char cmd[100], line[200];
	unsigned long long runs, blocks;
	unsigned int i = 0;
	bool table = false;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "e2freefrag %s", path);
	f = popen(cmd, "r");
	while (fgets(line, sizeof(line), f)) {
		char *colon = strchr(line, ':');

		if (table) {
			ck_assert_int_eq(sscanf(colon, ": %llu %llu", &runs,
						&blocks), 2);
			while (i < E4L_FREE_BUCKETS && !h->bucket[i].runs)
				i++;
			ck_assert_uint_lt(i, E4L_FREE_BUCKETS);
			ck_assert_uint_eq(h->bucket[i].runs, runs);
			ck_assert_uint_eq(h->bucket[i++].blocks, blocks);
		} else if (sscanf(line, "Num. free extent: %llu", &runs) == 1) {
			ck_assert_uint_eq(h->runs, runs);
		}
		table = table || !strncmp(line, "Extent Size Range", 17);
	}
	ck_assert_int_eq(pclose(f), 0);
	ck_assert(table);
	while (i < E4L_FREE_BUCKETS)
		ck_assert_uint_eq(h->bucket[i++].runs, 0);
}

START_TEST(agrees_with_the_peers)
{
	struct picture p;
	ext2_filsys fs;

	srandom(_i);
	make_image(images[_i].mke2fs);
	fill(images[_i].full);
	fs = open_image(0);
	p = take_picture(fs, _i % 2 ? 1 : 5);
	ck_assert_uint_eq(p.damages, 0);
	compare_blocks(fs, &p);
	ck_assert_uint_eq(p.histogram.blocks,
			  ext2fs_free_blocks_count(fs->super));
	/* e2freefrag 1.47 divides by the cluster size twice */
	if (!fs->cluster_ratio_bits)
		compare_e2freefrag(&p.histogram);
	ext2fs_free_block_bitmap(p.free);
	ext2fs_close_free(&fs);
	unlink(path);
}
END_TEST

/*
 * A group with an invalid bitmap counts as full; other groups are not affected.
 */
START_TEST(steps_over_damage)
{
	struct picture p;
	ext2_filsys fs;
	uint64_t free_blocks;
	char zero[1024] = "";

	make_image("-t ext4 -b 1024 60M");
	/* fill a part of the image, so that group 1 has a bitmap */
	fill(20);
	fs = open_image(EXT2_FLAG_RW);
	free_blocks = ext2fs_free_blocks_count(fs->super) -
		      ext2fs_bg_free_blocks_count(fs, 1);
	ck_assert(!ext2fs_bg_flags_test(fs, 1, EXT2_BG_BLOCK_UNINIT));
	ck_assert_int_eq(io_channel_write_blk64(fs->io,
				ext2fs_block_bitmap_loc(fs, 1), -8, zero), 0);
	p = take_picture(fs, 4);
	ck_assert_uint_eq(p.damages, 1);
	ck_assert_int_eq(p.damage.why, E4L_ET_BITMAP_CSUM);
	ck_assert_uint_eq(p.damage.blk, ext2fs_block_bitmap_loc(fs, 1));
	ck_assert_uint_eq(p.histogram.blocks, free_blocks);
	ext2fs_free_block_bitmap(p.free);

	ext2fs_block_bitmap_loc_set(fs, 1, ext2fs_blocks_count(fs->super));
	p = take_picture(fs, 4);
	ck_assert_uint_eq(p.damages, 1);
	ck_assert_int_eq(p.damage.why, E4L_ET_BITMAP_RANGE);
	ck_assert_uint_eq(p.histogram.blocks, free_blocks);
	ext2fs_free_block_bitmap(p.free);
	fs->flags &= ~EXT2_FLAG_DIRTY;
	ext2fs_close_free(&fs);
	unlink(path);
}
END_TEST

START_TEST(sorts_runs_into_buckets)
{
	struct e4l_free_histogram h = {};

	e4l_free_histogram_add(&h, 1);
	e4l_free_histogram_add(&h, 2);
	e4l_free_histogram_add(&h, 3);
	e4l_free_histogram_add(&h, 4);
	e4l_free_histogram_add(&h, UINT64_MAX / 2);
	ck_assert_uint_eq(h.bucket[0].runs, 1);
	ck_assert_uint_eq(h.bucket[1].runs, 2);
	ck_assert_uint_eq(h.bucket[1].blocks, 5);
	ck_assert_uint_eq(h.bucket[2].runs, 1);
	ck_assert_uint_eq(h.bucket[E4L_FREE_BUCKETS - 1].runs, 1);
	ck_assert_uint_eq(h.runs, 5);
	ck_assert_uint_eq(h.blocks, UINT64_MAX / 2 + 10);
	ck_assert_uint_eq(h.largest_blocks, UINT64_MAX / 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("free_space");
	TCase *tc = tcase_create("free_space");

	tcase_add_loop_test(tc, agrees_with_the_peers, 0, N_IMAGES);
	tcase_add_test(tc, steps_over_damage);
	tcase_add_test(tc, sorts_runs_into_buckets);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
