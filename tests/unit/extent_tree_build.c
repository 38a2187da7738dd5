/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "e4layout/format/extent_tree_build.h"
#include "e4layout/format/tree_size.h"
#include "unit.h"

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static const char *const formats[] = {
	"-b 1024 -O metadata_csum,64bit",
	"-b 1024 -O ^metadata_csum",
	"-b 4096 -O metadata_csum,^64bit",
};

/*
 * Numbers of extents: from a tree in the inode alone to a tree of three levels
 * with 84 entries per block.
 */
static const size_t counts[] = {
	0, 1, 4, 5, 84, 85, 336, 337, 340, 341, 1360, 1361, 28224, 28225,
};

static ext2_filsys make_fs(char *path, const char *format)
{
	char cmd[200];
	ext2_filsys fs;

	close(mkstemp(path));
	snprintf(cmd, sizeof(cmd), "mke2fs -q -F -t ext4 %s %s 160M", format,
		 path);
	ck_assert_int_eq(system(cmd), 0);
	ck_assert_int_eq(ext2fs_open(path, EXT2_FLAG_RW | EXT2_FLAG_64BITS, 0,
				     0, unix_io_manager, &fs), 0);
	ck_assert_int_eq(ext2fs_read_bitmaps(fs), 0);
	return fs;
}

/*
 * Makes @n extents with gaps, written and unwritten, and allocates their
 * blocks.
 */
static struct e4l_extent *make_extents(ext2_filsys fs, size_t n)
{
	struct e4l_extent *ex = calloc(n + 1, sizeof(*ex));
	uint32_t lblk = 7;
	blk64_t pblk = fs->super->s_first_data_block;
	size_t i;

	ck_assert_ptr_nonnull(ex);
	for (i = 0; i < n; i++) {
		ck_assert_int_eq(ext2fs_new_block2(fs, pblk, NULL, &pblk), 0);
		ext2fs_block_alloc_stats2(fs, pblk, 1);
		ex[i] = (struct e4l_extent) {
			.lblk = lblk, .pblk = pblk, .len = 1,
			.unwritten = i % 3 == 1,
		};
		lblk += 1 + i % 5;
	}
	return ex;
}

static void write_inode(ext2_filsys fs, ext2_ino_t ino, uint32_t generation,
			const void *root, uint64_t blocks, uint32_t end_lblk)
{
	struct ext2_inode inode = {
		.i_mode = LINUX_S_IFREG | 0644, .i_links_count = 1,
		.i_flags = EXT4_EXTENTS_FL, .i_generation = generation,
	};

	memcpy(inode.i_block, root, I_BLOCK_BYTES);
	ext2fs_inode_size_set(fs, &inode, (uint64_t)end_lblk * fs->blocksize);
	ext2fs_iblk_set(fs, &inode, blocks);
	ck_assert_int_eq(ext2fs_write_new_inode(fs, ino, &inode), 0);
	ext2fs_inode_alloc_stats2(fs, ino, 1, 0);
	ck_assert_int_eq(ext2fs_link(fs, EXT2_ROOT_INO, "f", ino,
				     EXT2_FT_REG_FILE), 0);
}

/*
 * Checks that libext2fs finds exactly the @n extents @ex and @blocks tree
 * blocks in the inode.
 */
static void read_back(ext2_filsys fs, ext2_ino_t ino,
		      const struct e4l_extent *ex, size_t n, uint64_t blocks)
{
	ext2_extent_handle_t handle;
	struct ext2fs_extent got;
	errcode_t err;
	size_t i = 0;

	ck_assert_int_eq(ext2fs_extent_open(fs, ino, &handle), 0);
	for (err = ext2fs_extent_get(handle, EXT2_EXTENT_ROOT, &got);
	     !err && n; err = ext2fs_extent_get(handle, EXT2_EXTENT_NEXT,
						&got)) {
		if (got.e_flags & EXT2_EXTENT_FLAGS_SECOND_VISIT)
			continue;
		if (!(got.e_flags & EXT2_EXTENT_FLAGS_LEAF)) {
			ck_assert_uint_gt(blocks--, 0);
			continue;
		}
		ck_assert_uint_lt(i, n);
		ck_assert_uint_eq(got.e_lblk, ex[i].lblk);
		ck_assert_uint_eq(got.e_pblk, ex[i].pblk);
		ck_assert_uint_eq(got.e_len, ex[i].len);
		ck_assert_int_eq(!!(got.e_flags & EXT2_EXTENT_FLAGS_UNINIT),
				 ex[i].unwritten);
		i++;
	}
	if (n)
		ck_assert_int_eq(err, EXT2_ET_EXTENT_NO_NEXT);
	ck_assert_uint_eq(i, n);
	ck_assert_uint_eq(blocks, 0);
	ext2fs_extent_free(handle);
}

static void one_tree(const char *format, size_t n)
{
	char path[] = "/tmp/e4l-build-XXXXXX", *blocks;
	ext2_filsys fs = make_fs(path, format);
	struct e4l_extent *ex = make_extents(fs, n);
	uint8_t root[I_BLOCK_BYTES];
	struct e4l_extent_tree_shape shape;
	blk64_t *pblk, at = fs->super->s_first_data_block;
	ext2_ino_t ino;
	uint64_t i;

	e4l_extent_tree_shape(n, fs->blocksize, &shape);
	ck_assert_uint_eq(shape.blocks,
			  e4l_ideal_tree_blocks(n, fs->blocksize));
	pblk = calloc(shape.blocks + 1, sizeof(*pblk));
	blocks = malloc((shape.blocks + 1) * fs->blocksize);
	memset(blocks, 0xAA, (shape.blocks + 1) * fs->blocksize);
	for (i = 0; i < shape.blocks; i++) {
		ck_assert_int_eq(ext2fs_new_block2(fs, at, NULL, &at), 0);
		ext2fs_block_alloc_stats2(fs, at, 1);
		pblk[i] = at;
	}
	ck_assert_int_eq(ext2fs_new_inode(fs, EXT2_ROOT_INO, 0, NULL, &ino),
			 0);
	ck_assert_int_eq(e4l_extent_tree_build(fs, ino, 0x12345678, ex, n, pblk, root,
					blocks), 0);
	for (i = 0; i < shape.blocks; i++)
		ck_assert_int_eq(io_channel_write_blk64(fs->io, pblk[i], 1,
					blocks + i * fs->blocksize), 0);
	ck_assert_int_eq((uint8_t)blocks[shape.blocks * fs->blocksize], 0xAA);
	write_inode(fs, ino, 0x12345678, root, n + shape.blocks,
		    n ? ex[n - 1].lblk + 1 : 0);
	read_back(fs, ino, ex, n, shape.blocks);
	ck_assert_int_eq(ext2fs_close_free(&fs), 0);
	ck_assert(is_sound(path));
	free(pblk);
	free(blocks);
	free(ex);
	unlink(path);
}

START_TEST(others_read_it)
{
	one_tree(formats[_i % ARRAY_SIZE(formats)],
		 counts[_i / ARRAY_SIZE(formats)]);
}
END_TEST

/* Extents are encoded correctly at the limits of every field. */
START_TEST(encodes_the_limits)
{
	static const struct e4l_extent ex[] = {
		{ .pblk = 0xABCD00000001ULL, .lblk = 0, .len = 32768 },
		{ .pblk = 0x123456789ABCULL, .lblk = 32768, .len = 32767,
		  .unwritten = 1 },
		{ .pblk = 1, .lblk = UINT32_MAX, .len = 1, .unwritten = 1 },
	};
	static const uint8_t want[I_BLOCK_BYTES] = {
		0x0A, 0xF3, 3, 0, 4, 0, 0, 0, 0, 0, 0, 0,
		0, 0, 0, 0, 0, 0x80, 0xCD, 0xAB, 1, 0, 0, 0,
		0, 0x80, 0, 0, 0xFF, 0xFF, 0x34, 0x12,
		0xBC, 0x9A, 0x78, 0x56,
		0xFF, 0xFF, 0xFF, 0xFF, 1, 0x80, 0, 0, 1, 0, 0, 0,
	};
	struct ext2_super_block sb = {
		.s_blocks_count = UINT32_MAX, .s_blocks_count_hi = 0xFFFF,
		.s_feature_incompat = EXT4_FEATURE_INCOMPAT_64BIT,
	};
	struct struct_ext2_filsys fs = { .super = &sb, .blocksize = 4096 };
	uint8_t root[I_BLOCK_BYTES];

	ck_assert_int_eq(e4l_extent_tree_build(&fs, 12, 0, ex, 3, NULL, root, NULL),
			 0);
	ck_assert_mem_eq(root, want, sizeof(want));
}
END_TEST

START_TEST(refuses_bad_lists)
{
	static const struct {
		struct e4l_extent ex[2];
		errcode_t err;
	} bad[] = {
		{ { { 10, 0, 5, 0 }, { 20, 4, 5, 0 } }, E4L_ET_EXTENT_ORDER },
		{ { { 10, 9, 5, 0 }, { 20, 0, 5, 0 } }, E4L_ET_EXTENT_ORDER },
		{ { { 10, 0, 5, 0 }, { 20, 5, 0, 0 } }, E4L_ET_EXTENT_RANGE },
		{ { { 10, 0, 5, 0 }, { 99996, 5, 5, 0 } },
		  E4L_ET_EXTENT_RANGE },
		{ { { 10, 0, 5, 0 }, { 100000, 5, 1, 0 } },
		  E4L_ET_EXTENT_RANGE },
		{ { { 0, 0, 5, 0 }, { 20, 5, 1, 0 } }, E4L_ET_EXTENT_RANGE },
		{ { { 10, 0, 5, 0 }, { 20, 5, 32769, 0 } },
		  E4L_ET_EXTENT_RANGE },
		{ { { 10, 0, 5, 0 }, { 20, 5, 32768, 1 } },
		  E4L_ET_EXTENT_RANGE },
		{ { { 10, 0, 5, 0 }, { 20, UINT32_MAX, 2, 0 } },
		  E4L_ET_EXTENT_RANGE },
	};
	struct ext2_super_block sb = {
		.s_blocks_count = 100000, .s_first_data_block = 1,
	};
	struct struct_ext2_filsys fs = { .super = &sb, .blocksize = 1024 };
	uint8_t root[I_BLOCK_BYTES];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++)
		ck_assert_int_eq(e4l_extent_tree_build(&fs, 12, 0, bad[i].ex, 2, NULL,
						root, NULL), bad[i].err);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("extent_tree_build");
	TCase *tc = tcase_create("extent_tree_build");

	tcase_add_loop_test(tc, others_read_it, 0,
			    ARRAY_SIZE(formats) * ARRAY_SIZE(counts));
	tcase_add_test(tc, encodes_the_limits);
	tcase_add_test(tc, refuses_bad_lists);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
