/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests the placement of new inodes on filesystems with different options. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <e4layout/e4layout.h>
#include "e4layout/inodes/place.h"
#include "unit.h"

struct rig {
	char path[40];
	ext2_filsys fs;
	struct e4l *e;
	struct e4l_place *p;
};

static void open_fs(struct rig *r, uint32_t window, unsigned int flags)
{
	ck_assert_int_eq(ext2fs_open(r->path, EXT2_FLAG_64BITS | EXT2_FLAG_RW,
				     0, 0, unix_io_manager, &r->fs), 0);
	ck_assert_int_eq(ext2fs_read_bitmaps(r->fs), 0);
	ck_assert_int_eq(e4l_new(r->fs, &r->e), 0);
	ck_assert_int_eq(e4l_place_new(r->e, window, flags, &r->p), 0);
}

static void close_fs(struct rig *r)
{
	e4l_place_free(r->p);
	e4l_free(r->e);
	ck_assert_int_eq(ext2fs_close_free(&r->fs), 0);
}

/* Makes an image.  @shape has the options of mke2fs, with %s for the path. */
static void make_image(struct rig *r, const char *shape)
{
	char with_path[160], cmd[200];

	strcpy(r->path, "/tmp/e4l-place-XXXXXX");
	close(mkstemp(r->path));
	snprintf(with_path, sizeof(with_path), shape, r->path);
	snprintf(cmd, sizeof(cmd), "mke2fs -q -F -t ext4 %s", with_path);
	ck_assert_int_eq(system(cmd), 0);
}

static bool ends_clean(struct rig *r)
{
	close_fs(r);
	return is_sound(r->path);
}

static void drop(struct rig *r)
{
	close_fs(r);
	unlink(r->path);
}

/*
 * Allocates an inode for the file or, if @dir is true, for the directory @name
 * in @parent.  If no inode is free, returns 0.
 */
static ext2_ino_t take(struct rig *r, ext2_ino_t parent, bool dir,
		       const char *name)
{
	ext2_ino_t ino;
	errcode_t err;

	err = e4l_new_inode(r->p, parent, dir ? LINUX_S_IFDIR : LINUX_S_IFREG,
			    name, &ino);
	if (err) {
		ck_assert_int_eq(err, EXT2_ET_INODE_ALLOC_FAIL);
		return 0;
	}
	ck_assert_uint_ge(ino, EXT2_FIRST_INO(r->fs->super));
	ck_assert_uint_le(ino, r->fs->super->s_inodes_count);
	ck_assert(!ext2fs_test_inode_bitmap2(r->fs->inode_map, ino));
	ext2fs_inode_alloc_stats2(r->fs, ino, 1, dir);
	return ino;
}

/* ------------------------------------------------- each inode is given once */

static const char *const shapes[] = {
	"-N 3000 %s 64M",
	"-N 3000 -O ^flex_bg %s 64M",
	"-N 3000 -O ^metadata_csum,^uninit_bg %s 64M",
	"-b 1024 -I 128 -N 9000 %s 64M",
	"-b 1024 -g 1024 -N 5000 %s 32M",
	"-O bigalloc -N 2000 %s 128M",
};
static const uint32_t windows[] = { 0, 16, 64, 1024 };
#define N_SHAPES (sizeof(shapes) / sizeof(*shapes))
#define N_WINDOWS (sizeof(windows) / sizeof(*windows))

START_TEST(gives_each_inode_once_to_the_last)
{
	char name[20];
	ext2_ino_t dirs[300] = { EXT2_ROOT_INO }, ino = 1;
	unsigned int n_dirs = 1, i;
	struct e4l_place_stats stats;
	struct rig r;

	srand(_i);
	make_image(&r, shapes[_i / N_WINDOWS]);
	open_fs(&r, windows[_i % N_WINDOWS], E4L_PLACE_NO_READ);
	for (i = 0; ino; i++) {
		bool dir = rand() % 8 == 0 && n_dirs < 300;

		snprintf(name, sizeof(name), "f%u", i);
		ino = take(&r, dirs[rand() % n_dirs], dir, name);
		if (dir && ino)
			dirs[n_dirs++] = ino;
	}
	ck_assert_uint_eq(r.fs->super->s_free_inodes_count, 0);
	e4l_place_get_stats(r.p, &stats);
	ck_assert_uint_eq(stats.inodes, i - 1);
	drop(&r);
}
END_TEST

/* ----------------------------------------------------------------- locality */

/* Creates file f in every directory, and then file f + 1 in every directory. */
START_TEST(keeps_to_windows_in_turns)
{
	const unsigned int n = 20000, files = 15;
	ext2_ino_t *dirs = calloc(n, sizeof(*dirs));
	unsigned int d, f, blocks = 0;
	uint32_t *last = calloc(n, sizeof(*last)), block;
	char name[20];
	struct rig r;

	make_image(&r, "-N 400000 %s 512M");
	open_fs(&r, 16, 0);
	for (d = 0; d < n; d++) {
		snprintf(name, sizeof(name), "dir%u", d);
		dirs[d] = take(&r, EXT2_ROOT_INO, true, name);
		last[d] = (dirs[d] - 1) / 16;
		blocks++;
	}
	for (f = 0; f < files; f++) {
		for (d = 0; d < n; d++) {
			snprintf(name, sizeof(name), "file%u", f);
			block = (take(&r, dirs[d], false, name) - 1) / 16;
			blocks += block != last[d];
			last[d] = block;
		}
	}
	/*
	 * the inodes of a directory need at most 3 inode-table blocks: for the
	 * directory itself, for its first file, and for its window
	 */
	ck_assert_uint_le(blocks, 3 * n + 1);
	free(dirs);
	free(last);
	drop(&r);
}
END_TEST

/*
 * Directories that are filled one after the other share windows (aligned ranges
 * of inodes), so that their inodes are densely packed.  With E4L_PLACE_PACK (_i
 * is 1), each directory has its own window.
 */
START_TEST(shares_what_is_made_in_one_go)
{
	ext2_ino_t dir, ino = 0, first = 0;
	char name[20];
	struct rig r;
	int d, f;

	make_image(&r, "-N 16000 %s 1G");
	open_fs(&r, 16, _i ? E4L_PLACE_PACK : 0);
	dir = take(&r, EXT2_ROOT_INO, true, "top");
	for (d = 0; d < 40; d++) {
		snprintf(name, sizeof(name), "d%d", d);
		ino = take(&r, dir, true, name);
		first = first ? first : ino;
		for (f = 0; f < 7; f++)
			ck_assert_uint_eq(take(&r, ino, false, NULL),
					  ino + f + 1);
		if (_i)
			ck_assert_uint_eq((ino - 1) % 16, 0);
	}
	ck_assert_uint_eq(ino - first, (_i ? 16 : 8) * 39);
	drop(&r);
}
END_TEST

START_TEST(stays_in_the_parents_group)
{
	ext2_ino_t dir, ino;
	char name[20];
	struct rig r;
	int d, f;

	make_image(&r, "-N 16000 %s 1G");
	open_fs(&r, 64, 0);
	for (d = 0; d < 20; d++) {
		snprintf(name, sizeof(name), "d%d", d);
		dir = take(&r, EXT2_ROOT_INO, true, name);
		ck_assert_uint_eq((dir - 1) % 64, 0);
		for (f = 1; f < 64; f++) {
			ino = take(&r, dir, false, NULL);
			ck_assert_uint_eq(ino, dir + f);
		}
	}
	drop(&r);
}
END_TEST

/*
 * Divides the @n groups from @group on into windows of @len inodes, and uses
 * the first inode of each window.
 */
static void spoil_windows(struct rig *r, dgrp_t group, dgrp_t n,
			  unsigned int len)
{
	ext2_ino_t first = group * r->fs->super->s_inodes_per_group + 1, ino;
	ext2_ino_t end = first + n * r->fs->super->s_inodes_per_group;

	for (ino = first; ino < end; ino += len)
		if (!ext2fs_test_inode_bitmap2(r->fs->inode_map, ino))
			ext2fs_inode_alloc_stats2(r->fs, ino, 1, 0);
}

static dgrp_t flex_of(struct rig *r, ext2_ino_t ino)
{
	return ext2fs_group_of_ino(r->fs, ino) >>
	       r->fs->super->s_log_groups_per_flex;
}

/*
 * If a directory's window is in another flex group, its subdirectories go to
 * the group of the window.  Other directories do not go to that group.
 */
START_TEST(begins_where_the_last_inode_was_found)
{
	ext2_ino_t a, b, ino = 0;
	struct rig r;
	int i;

	make_image(&r, "-b 4096 -g 1024 -G 2 -N 8192 -O ^has_journal -E "
		   "hash_seed=6ca0d2f1-9f4c-4b5e-8a57-3f0c1d2e4b60 %s 32M");
	open_fs(&r, 256, E4L_PLACE_NO_READ);
	a = take(&r, EXT2_ROOT_INO, true, "a");
	b = take(&r, a, true, "b");
	ck_assert_uint_eq(flex_of(&r, a), flex_of(&r, b));
	spoil_windows(&r, flex_of(&r, a) * 2, 2, 256);
	ck_assert_uint_eq(flex_of(&r, take(&r, a, true, "before")),
			  flex_of(&r, a));
	for (i = 0; i < 2; i++) {
		take(&r, b, false, NULL);
		ino = take(&r, a, false, NULL);
	}
	ck_assert_uint_ne(flex_of(&r, ino), flex_of(&r, a));
	ck_assert_uint_eq(flex_of(&r, take(&r, a, true, "after")),
			  flex_of(&r, ino));
	ck_assert_uint_eq(flex_of(&r, take(&r, b, true, "of the other")),
			  flex_of(&r, b));
	drop(&r);
}
END_TEST

/* Uses all inodes of @group except the last @left inodes. */
static void use_inodes(struct rig *r, dgrp_t group, uint32_t left)
{
	ext2_ino_t ino = group * r->fs->super->s_inodes_per_group + 1;

	for (; ext2fs_bg_free_inodes_count(r->fs, group) > left; ino++)
		if (!ext2fs_test_inode_bitmap2(r->fs->inode_map, ino))
			ext2fs_inode_alloc_stats2(r->fs, ino, 1, 0);
}

/*
 * A file without a window goes to the first group with a free inode in its
 * directory's flex group.  Without flex groups, the file goes to its
 * directory's group.  If the directory's group has no free inode, a hash of the
 * directory's inode number chooses the group.
 */
START_TEST(begins_where_linux_does_without_windows)
{
	static const char *const images[] = {
		"-O ^flex_bg -g 1024 -N 8192 %s 32M",
		"-G 4 -g 1024 -N 8192 %s 32M",
	};
	dgrp_t own = 9, expected;
	ext2_ino_t dir, ino;
	struct rig r;

	make_image(&r, images[_i]);
	open_fs(&r, 256, E4L_PLACE_NO_READ);
	spoil_windows(&r, 0, r.fs->group_desc_count, 256);
	dir = own * r.fs->super->s_inodes_per_group + 2;
	ext2fs_inode_alloc_stats2(r.fs, dir, 1, 1);
	use_inodes(&r, own, 0);
	ino = take(&r, dir, false, NULL);
	expected = _i ? own / 4 * 4 :
			(own + dir + 1) % r.fs->group_desc_count;
	ck_assert_uint_eq(ext2fs_group_of_ino(r.fs, ino), expected);
	drop(&r);
}
END_TEST

#define LOST_FOUND	11

/*
 * No flex group is suitable: one has few free inodes, and the other has no free
 * blocks.  A new directory goes to the first group that has at least the
 * average number of free inodes.
 */
START_TEST(goes_where_a_share_is_free)
{
	struct rig r;
	ext2_ino_t dir;
	blk64_t blk;

	make_image(&r, "-b 4096 -g 1024 -G 4 -N 8192 %s 32M");
	open_fs(&r, 16, E4L_PLACE_NO_READ);
	for (blk = 4096; blk < 8192; blk++)
		if (!ext2fs_test_block_bitmap2(r.fs->block_map, blk))
			ext2fs_block_alloc_stats2(r.fs, blk, 1);
	use_inodes(&r, 0, 100);
	use_inodes(&r, 1, 0);
	use_inodes(&r, 2, 600);
	use_inodes(&r, 3, 700);
	dir = take(&r, _i ? EXT2_ROOT_INO : LOST_FOUND, true, "dir");
	ck_assert_uint_eq(ext2fs_group_of_ino(r.fs, dir), 3);
	drop(&r);
}
END_TEST

/*
 * A window is an aligned range of inodes.  With 5000 files per directory, the
 * first files are in a shared window, and the next files in windows of 16, 32,
 * 64 ... inodes.  The inode numbers of each directory then form few runs,
 * although several directories grow alternately.
 */
START_TEST(windows_grow_with_the_directory)
{
	ext2_ino_t dirs[3], last[3] = { 0 }, ino;
	unsigned int i, d, runs = 0;
	struct e4l_place_stats stats;
	struct rig r;

	make_image(&r, "-N 64000 %s 256M");
	open_fs(&r, 16, E4L_PLACE_NO_READ);
	for (d = 0; d < 3; d++)
		dirs[d] = take(&r, EXT2_ROOT_INO, true, d ? "a" : "b");
	for (i = 0; i < 5000; i++) {
		for (d = 0; d < 3; d++) {
			ino = take(&r, dirs[d], false, NULL);
			runs += ino != last[d] + 1;
			last[d] = ino;
		}
	}
	ck_assert_uint_le(runs, 3 * 12);
	e4l_place_get_stats(r.p, &stats);
	ck_assert_uint_ge(stats.grown, 3 * 8);
	ck_assert_uint_eq(stats.fallbacks, 0);
	drop(&r);
}
END_TEST

/* ------------------------------------------------------- filesystem on disk */

static ext2_ino_t add_dir(struct rig *r, ext2_ino_t parent, const char *name)
{
	ext2_ino_t ino;

	ck_assert_int_eq(e4l_new_inode(r->p, parent, LINUX_S_IFDIR, name,
				       &ino), 0);
	ck_assert_int_eq(ext2fs_mkdir(r->fs, parent, ino, name), 0);
	return ino;
}

static ext2_ino_t add_file(struct rig *r, ext2_ino_t dir, const char *name)
{
	struct ext2_inode inode = {
		.i_mode = LINUX_S_IFREG | 0644, .i_links_count = 1,
	};
	ext2_ino_t ino = take(r, dir, false, name);
	errcode_t err;

	ck_assert_int_eq(ext2fs_write_new_inode(r->fs, ino, &inode), 0);
	err = ext2fs_link(r->fs, dir, name, ino, EXT2_FT_REG_FILE);
	if (err == EXT2_ET_DIR_NO_SPACE) {
		ck_assert_int_eq(ext2fs_expand_dir(r->fs, dir), 0);
		err = ext2fs_link(r->fs, dir, name, ino, EXT2_FT_REG_FILE);
	}
	ck_assert_int_eq(err, 0);
	return ino;
}

/*
 * After the filesystem is opened again, a directory's window (an aligned range
 * of inodes) is found from the directory's entries.  If _i is 0, the directory
 * is linear, and the next file gets the inode after the last file's inode.  If
 * _i is 1, the directory has an htree, and the next file gets an inode in a
 * window with other files of the directory.
 */
START_TEST(finds_its_window_again)
{
	struct e4l_place_stats stats;
	ext2_ino_t a, b, last = 0, ino, files[300];
	bool beside = false;
	char name[30];
	struct rig r;
	int i;

	make_image(&r, "-N 64000 -b 1024 %s 256M");
	open_fs(&r, 16, 0);
	a = add_dir(&r, EXT2_ROOT_INO, "a");
	b = add_dir(&r, EXT2_ROOT_INO, "b");
	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "a-longer-name-%d", i);
		last = files[i] = add_file(&r, a, name);
		if (i % 3 == 0)
			add_file(&r, b, name);
	}
	close_fs(&r);
	if (_i) {
		char cmd[100];

		snprintf(cmd, sizeof(cmd), "e2fsck -fyD %s >%s", r.path,
			 "/dev/null");
		ck_assert_int_lt(system(cmd), 4 << 8);
	}
	open_fs(&r, 16, 0);
	ino = add_file(&r, a, "the-next-one");
	e4l_place_get_stats(r.p, &stats);
	ck_assert_uint_eq(stats.leaf_goals, 1);
	ck_assert_uint_eq(stats.grown, 0);
	if (!_i)
		ck_assert_uint_eq(ino, last + 1);
	for (i = 0; i < 300; i++)
		beside |= (files[i] - 1) / 256 == (ino - 1) / 256;
	ck_assert(beside);
	ck_assert(ends_clean(&r));
	unlink(r.path);
}
END_TEST

/* Fills the unused part of every inode table with garbage. */
static void soil_tables(struct rig *r)
{
	uint32_t isize = EXT2_INODE_SIZE(r->fs->super), at;
	uint32_t ipg = r->fs->super->s_inodes_per_group;
	char *buf = malloc(r->fs->blocksize);
	blk64_t table;
	dgrp_t g;

	memset(buf, 0x5a, r->fs->blocksize);
	for (g = 0; g < r->fs->group_desc_count; g++) {
		table = ext2fs_inode_table_loc(r->fs, g);
		at = g ? 0 : 16 * isize / r->fs->blocksize;
		ck_assert(!ext2fs_bg_flags_test(r->fs, g,
						EXT2_BG_INODE_ZEROED));
		for (; at < ipg * isize / r->fs->blocksize; at++)
			ck_assert_int_eq(io_channel_write_blk64(r->fs->io,
						table + at, 1, buf), 0);
	}
	free(buf);
}

START_TEST(zeroes_what_e2fsck_will_read)
{
	struct e4l_place_stats stats;
	uint64_t unused = 0;
	struct rig r;
	char name[20];
	ext2_ino_t dir;
	int d, f;
	dgrp_t g;

	make_image(&r, "-N 4096 -O ^metadata_csum,^orphan_file,uninit_bg "
		   "-E lazy_itable_init=1 -b 1024 -g 4096 %s 16M");
	open_fs(&r, 64, 0);
	for (g = 0; g < r.fs->group_desc_count; g++)
		ext2fs_bg_flags_clear(r.fs, g, EXT2_BG_INODE_ZEROED);
	soil_tables(&r);
	for (d = 0; d < 30; d++) {
		snprintf(name, sizeof(name), "d%d", d);
		dir = add_dir(&r, EXT2_ROOT_INO, name);
		for (f = 0; f < 5; f++) {
			snprintf(name, sizeof(name), "f%d", f);
			add_file(&r, dir, name);
		}
	}
	for (g = 0; g < r.fs->group_desc_count; g++)
		unused += ext2fs_bg_flags_test(r.fs, g, EXT2_BG_INODE_UNINIT) ?
			  r.fs->super->s_inodes_per_group :
			  ext2fs_bg_itable_unused(r.fs, g);
	e4l_place_get_stats(r.p, &stats);
	ck_assert_uint_eq(stats.inodes, 30 * 6);
	ck_assert_uint_eq(stats.fsck_inodes,
			  r.fs->super->s_inodes_count - 11 - unused);
	ck_assert_uint_gt(stats.zeroed_blocks, 0);
	ck_assert(ends_clean(&r));
	unlink(r.path);
}
END_TEST

/* ------------------------------------------------------------ exact windows */

START_TEST(exact_windows_take_the_fewest_blocks)
{
	unsigned int i, n, total = 0, top = 0;
	ext2_ino_t first;
	struct rig r;

	srand(3 + _i);
	make_image(&r, "-N 40000 %s 512M");
	open_fs(&r, 0, E4L_PLACE_NO_ZERO);
	for (; total < 30000; total += n) {
		n = rand() % 10 ? 1 + rand() % 40 : 1 + rand() % 3000;
		ck_assert_int_eq(e4l_place_window(r.p, n, &first), 0);
		ck_assert_uint_eq((first + n - 2) / 16 - (first - 1) / 16 + 1,
				  (n + 15) / 16);
		for (i = 0; i < n; i++) {
			ck_assert(!ext2fs_test_inode_bitmap2(r.fs->inode_map,
							     first + i));
			ext2fs_inode_alloc_stats2(r.fs, first + i, 1, 0);
		}
		if (top < first + n)
			top = first + n;
	}
	ck_assert_uint_le(top, total * 11 / 10);
	while (!e4l_place_window(r.p, 1, &first))
		ext2fs_inode_alloc_stats2(r.fs, first, 1, 0);
	ck_assert_uint_eq(r.fs->super->s_free_inodes_count, 0);
	drop(&r);
}
END_TEST

START_TEST(refuses_bad_arguments)
{
	struct e4l_place *p;
	ext2_ino_t ino;
	struct rig r;

	make_image(&r, "%s 8M");
	open_fs(&r, 0, 0);
	ck_assert_int_eq(e4l_place_new(r.e, 8, 0, &p), E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_place_new(r.e, 8192, 0, &p), E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_place_new(r.e, 48, 0, &p), E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_new_inode(r.p, 0, 0, "x", &ino),
			 E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_place_window(r.p, 0, &ino), E4L_ET_BAD_ARGUMENT);
	drop(&r);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("place");
	TCase *tc = tcase_create("place");

	tcase_add_loop_test(tc, gives_each_inode_once_to_the_last, 0,
			    N_SHAPES * N_WINDOWS);
	tcase_add_test(tc, keeps_to_windows_in_turns);
	tcase_add_loop_test(tc, shares_what_is_made_in_one_go, 0, 2);
	tcase_add_test(tc, stays_in_the_parents_group);
	tcase_add_loop_test(tc, begins_where_linux_does_without_windows, 0, 2);
	tcase_add_test(tc, begins_where_the_last_inode_was_found);
	tcase_add_loop_test(tc, goes_where_a_share_is_free, 0, 2);
	tcase_add_test(tc, windows_grow_with_the_directory);
	tcase_add_loop_test(tc, finds_its_window_again, 0, 2);
	tcase_add_test(tc, zeroes_what_e2fsck_will_read);
	tcase_add_loop_test(tc, exact_windows_take_the_fewest_blocks, 0, 4);
	tcase_add_test(tc, refuses_bad_arguments);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
