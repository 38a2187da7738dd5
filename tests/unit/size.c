/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the sizes of smaller filesystems, and moving the end, with several
 * feature sets of mke2fs.
 */
#include "config.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "e4layout/shrink/end.h"
#include "e4layout/shrink/log.h"
#include "e4layout/shrink/own.h"
#include "e4layout/shrink/place.h"
#include "unit.h"

struct image {
	char path[40];
	ext2_filsys fs;
	struct e4l *e;
};

/*
 * Options of mke2fs.  Each image has its files and its journal, if any, in the
 * first 12 MB.
 */
static const char *const options[] = {
	"-b 1024",
	"-b 1024 -O ^flex_bg,^resize_inode",
	"-b 1024 -O ^has_journal,^metadata_csum,uninit_bg",
	"-b 1024 -O ^64bit,^metadata_csum,^uninit_bg",
	"-b 1024 -O sparse_super2,^resize_inode",
	"-b 1024 -O sparse_super2 -g 512 -G 8",
	"-b 1024 -O sparse_super2 -g 1024 -G 2",
	"-b 1024 -O sparse_super2,^flex_bg,^resize_inode -g 2048",
	"-b 1024 -O ^sparse_super,^resize_inode -g 2048",
	"-b 1024 -O meta_bg,^resize_inode -g 512",
	"-b 1024 -O meta_bg,^resize_inode,^flex_bg -g 512",
	"-b 1024 -O bigalloc -C 4096 -g 2048",
	"-b 1024 -O bigalloc,^resize_inode -C 8192",
	"-b 1024 -g 256 -G 64",
	"-b 4096 -g 256",
	"-b 4096 -O quota",
	"-b 2048 -E stride=32",
	"-b 2048 -E stride=32 -O ^flex_bg -g 2048",
};
#define N_OPTIONS ((int)(sizeof(options) / sizeof(*options)))

static void image_open(struct image *img)
{
	ck_assert_int_eq(ext2fs_open(img->path, EXT2_FLAG_64BITS |
				     EXT2_FLAG_RW, 0, 0, unix_io_manager,
				     &img->fs), 0);
	ck_assert_int_eq(e4l_new(img->fs, &img->e), 0);
	ck_assert_int_eq(ext2fs_read_bitmaps(img->fs), 0);
}

/*
 * Makes an image with the options @how and the journal options @log of mke2fs.
 */
static void image_make_log(struct image *img, const char *how, const char *log)
{
	char cmd[300];

	strcpy(img->path, "/tmp/e4l-size-XXXXXX");
	close(mkstemp(img->path));
	snprintf(cmd, sizeof(cmd), "mke2fs -q -F -t ext4 -E nodiscard %s %s %s "
		 "48M >/dev/null 2>&1", log, how, img->path);
	ck_assert_msg(system(cmd) == 0, "%s", cmd);
	image_open(img);
}

static void image_make(struct image *img, const char *how)
{
	image_make_log(img, how, strstr(how, "^has_journal") ? "" :
		       strstr(how, "-b 1024") ? "-J size=4,location=4100" :
		       "-J size=4,location=1300");
}

static void image_close(struct image *img)
{
	e4l_free(img->e);
	io_channel_flush(img->fs->io);
	ext2fs_free(img->fs);
}

static void image_remove(struct image *img)
{
	image_close(img);
	unlink(img->path);
}

/* ------------------------------------------------------------------- sets */

static void add(struct e4l_own *own, struct e4l_own_run *v, size_t n)
{
	own->v = malloc(n * sizeof(*v));
	CHECK(own->v);
	memcpy(own->v, v, n * sizeof(*v));
	own->n = n;
	e4l_own_sort(own);
}

START_TEST(sets)
{
	struct e4l_own_run v[] = { { 50, 10 }, { 10, 5 }, { 15, 5 }, { 12, 2 },
				   { 70, 1 } };
	struct e4l_own_run w[] = { { 0, 11 }, { 13, 1 }, { 55, 20 } };
	struct e4l_own a, b, diff = { NULL, 0 };

	add(&a, v, 5);
	add(&b, w, 3);
	ck_assert_uint_eq(a.n, 3);
	ck_assert_uint_eq(e4l_own_count(&a), 21);
	ck_assert_int_eq(e4l_own_minus(&a, &b, &diff), 0);
	ck_assert_uint_eq(diff.n, 3);
	ck_assert_uint_eq(diff.v[0].blk, 11);
	ck_assert_uint_eq(diff.v[0].len, 2);
	ck_assert_uint_eq(diff.v[1].blk, 14);
	ck_assert_uint_eq(diff.v[1].len, 6);
	ck_assert_uint_eq(diff.v[2].blk, 50);
	ck_assert_uint_eq(diff.v[2].len, 5);
	CHECK(e4l_own_meets(&a, 0, 11) && !e4l_own_meets(&a, 0, 10));
	CHECK(e4l_own_meets(&a, 59, 1) && !e4l_own_meets(&a, 60, 10));
	e4l_own_cut(&a, 52);
	ck_assert_uint_eq(e4l_own_count(&a), 12);
	e4l_own_free(&a);
	e4l_own_free(&b);
	e4l_own_free(&diff);
}
END_TEST

/* ------------------------------------------------------------------ sizes */

static void check_size(ext2_filsys fs, const struct e4l_size *size)
{
	struct ext2_super_block *sb = fs->super;
	blk64_t all = size->blocks - sb->s_first_data_block;
	blk64_t mask = EXT2FS_CLUSTER_MASK(fs);

	CHECK(!(size->blocks & mask));
	CHECK(size->groups == (all - 1) / sb->s_blocks_per_group + 1);
	CHECK(size->inodes == size->groups * sb->s_inodes_per_group);
	CHECK((int64_t)(size->own_blocks + size->file_blocks) +
	      size->free_blocks == (int64_t)all);
	CHECK(size->backup_bgs[0] < size->groups);
	CHECK(size->backup_bgs[1] < size->groups);
}

START_TEST(present_size)
{
	struct image img;
	struct e4l_size size;
	blk64_t now;

	image_make(&img, options[_i]);
	now = ext2fs_blocks_count(img.fs->super);
	ck_assert_int_eq(e4l_size_for(img.e, now, &size), 0);
	ck_assert_uint_eq(size.blocks, now);
	ck_assert_uint_eq(size.free_blocks,
			  ext2fs_free_blocks_count(img.fs->super));
	ck_assert_uint_eq(size.late_blocks, 0);
	ck_assert_uint_eq(size.lift_blocks, 0);
	ck_assert_uint_eq(size.move_blocks, 0);
	ck_assert_int_eq(e4l_size_for(img.e, now + 1, &size),
			 E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_size_for(img.e, 40, &size), E4L_ET_BAD_ARGUMENT);
	image_remove(&img);
}
END_TEST

/* No smaller size has space for all blocks. */
START_TEST(smallest)
{
	const blk64_t wanted[] = { 0, 1, 700 };
	struct e4l_size size, less;
	struct image img;
	blk64_t blk;
	size_t i;

	image_make(&img, options[_i]);
	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(e4l_size_smallest(img.e, wanted[i], &size), 0);
		check_size(img.fs, &size);
		CHECK(size.free_blocks >= (int64_t)(wanted[i] +
						    size.late_blocks));
		for (blk = size.blocks - 1; blk > size.blocks / 2; blk--) {
			if (e4l_size_for(img.e, blk, &less))
				break;
			check_size(img.fs, &less);
			CHECK(less.free_blocks < (int64_t)(wanted[i] +
							   less.late_blocks));
		}
	}
	image_remove(&img);
}
END_TEST

/*
 * If the filesystem has no space for a smaller size, the current size is
 * returned.
 */
START_TEST(nothing_to_gain)
{
	struct e4l_size size;
	struct image img;
	blk64_t now;

	image_make(&img, options[_i]);
	now = ext2fs_blocks_count(img.fs->super);
	ck_assert_int_eq(e4l_size_smallest(img.e, now, &size), 0);
	ck_assert_uint_eq(size.blocks, now);
	image_remove(&img);
}
END_TEST

START_TEST(inodes)
{
	struct e4l_size size;
	struct image img;
	dgrp_t g;

	image_make(&img, "-b 1024 -g 2048");
	/* set the counts of free inodes as if the groups were full */
	for (g = 0; g < 10; g++)
		ext2fs_bg_free_inodes_count_set(img.fs, g, 0);
	ck_assert_int_eq(e4l_size_for(img.e, 1 + 9 * 2048, &size),
			 E4L_ET_NO_INODES);
	ck_assert_int_eq(e4l_size_for(img.e, 1 + 10 * 2048, &size), 0);
	ck_assert_int_eq(e4l_size_smallest(img.e, 0, &size), 0);
	ck_assert_uint_eq(size.groups, 10);
	image_remove(&img);
}
END_TEST

/*
 * If the filesystem has no backups, the number of descriptor blocks does not
 * change.
 */
START_TEST(no_backup)
{
	struct e4l_size size;
	struct image img;

	image_make(&img, "-b 1024 -g 1024 -O sparse_super2,resize_inode "
		   "-E num_backup_sb=0");
	ck_assert_uint_eq(img.fs->desc_blocks, 3);
	ck_assert_int_eq(e4l_size_for(img.e, 1 + 32 * 1024, &size),
			 E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_size_smallest(img.e, 0, &size), 0);
	ck_assert_uint_eq(size.groups, 33);
	ck_assert_uint_eq(size.desc_blocks, 3);
	image_remove(&img);
}
END_TEST

/* ----------------------------------------------------------------- places */

START_TEST(places)
{
	struct image img;
	blk64_t blk;

	image_make(&img, "-b 1024 -O ^has_journal");
	ck_assert_int_eq(e4l_place_find(img.fs, 20000, 20030, 30, &blk), 0);
	ck_assert_uint_eq(blk, 20000);
	ck_assert_int_eq(e4l_place_find(img.fs, 20000, 20029, 30, &blk),
			 ENOSPC);
	ext2fs_mark_block_bitmap2(img.fs->block_map, 20025);
	ck_assert_int_eq(e4l_place_find(img.fs, 20015, 20099, 11, &blk), 0);
	ck_assert_uint_eq(blk, 20026);
	image_remove(&img);
}
END_TEST

/* -------------------------------------------------------------------- end */

/* Whether all bytes after the last group descriptor in its block are 0. */
static bool ends_with_zeroes(ext2_filsys fs)
{
	const char *descs = (const char *)fs->group_desc;
	size_t at = (size_t)fs->group_desc_count * EXT2_DESC_SIZE(fs->super);
	size_t end = (size_t)fs->desc_blocks * fs->blocksize;

	while (at < end && !descs[at])
		at++;
	return at == end;
}

START_TEST(end)
{
	struct e4l_size size;
	struct image img;
	blk64_t blocks;
	int blocksize;

	image_make(&img, options[_i]);
	blocksize = img.fs->blocksize;
	blocks = 20000000 / blocksize;
	ck_assert_int_eq(e4l_size_for(img.e, blocks, &size), 0);
	ck_assert_int_eq(e4l_shrink_probe(img.e, NULL, &size), 0);
	ck_assert_int_eq(e4l_shrink_prepare(img.e, NULL, &size), 0);
	ck_assert_uint_eq(size.move_blocks, 0);
	ck_assert_uint_eq(size.lift_blocks, 0);
	ck_assert_int_eq(e4l_shrink_end(img.e, NULL, &size), 0);
	ck_assert_uint_eq(ext2fs_blocks_count(img.fs->super), size.blocks);
	ck_assert_int_eq(ext2fs_free_blocks_count(img.fs->super),
			 size.free_blocks);
	image_close(&img);
	CHECK(!truncate(img.path, size.blocks * blocksize));
	CHECK(is_sound(img.path));
	image_open(&img);
	CHECK(ends_with_zeroes(img.fs));
	ck_assert_uint_eq(ext2fs_blocks_count(img.fs->super), size.blocks);
	image_remove(&img);
}
END_TEST

/*
 * Makes a filesystem with the options @how and the journal options @log of
 * mke2fs.  Moves the journal below 20 MB, and shrinks the filesystem to 20 MB.
 * If the journal cannot be moved, returns the error and does not shrink.
 */
static errcode_t move_log(struct image *img, const char *how, const char *log)
{
	struct e4l_size size;
	uint64_t lacking = 0;
	errcode_t err;

	image_make_log(img, how, log);
	ck_assert_int_eq(e4l_size_for(img->e, 20000000 / img->fs->blocksize,
				      &size), 0);
	ck_assert_int_eq(e4l_shrink_prepare(img->e, NULL, &size), 0);
	err = e4l_shrink_move_log(img->e, NULL, &size, &lacking);
	CHECK(!!lacking == (err == ENOSPC));
	if (!err)
		ck_assert_int_eq(e4l_shrink_end(img->e, NULL, &size), 0);
	return err;
}

START_TEST(journal)
{
	struct image img;

	if (strstr(options[_i], "^has_journal"))
		return;
	ck_assert_int_eq(move_log(&img, options[_i],
				  strstr(options[_i], "-b 1024") ?
				  "-J size=1,location=26000" : ""), 0);
	image_close(&img);
	CHECK(is_sound(img.path));
	unlink(img.path);
}
END_TEST

/*
 * If an interrupted run has left blocks behind the end of the log, the next run
 * frees these blocks.
 */
START_TEST(blocks_behind)
{
	struct ext2_inode before, after;
	uint64_t lacking = 0;
	struct e4l_size size;
	struct image img;
	blk64_t free_blocks;

	image_make(&img, _i ? "-b 1024 -O bigalloc -C 4096" : "-b 1024");
	free_blocks = ext2fs_free_blocks_count(img.fs->super);
	ck_assert_int_eq(ext2fs_read_inode(img.fs, EXT2_JOURNAL_INO, &before),
			 0);
	ck_assert_int_eq(ext2fs_fallocate(img.fs, EXT2_FALLOCATE_FORCE_UNINIT |
					  EXT2_FALLOCATE_INIT_BEYOND_EOF,
					  EXT2_JOURNAL_INO, NULL, 30000,
					  EXT2_I_SIZE(&before) / 1024, 800), 0);
	ck_assert_int_eq(ext2fs_flush(img.fs), 0);
	image_close(&img);
	image_open(&img);
	ck_assert_int_eq(e4l_size_for(img.e, 20000, &size), 0);
	ck_assert_int_eq(e4l_shrink_move_log(img.e, NULL, &size, &lacking), 0);
	ck_assert_int_eq(ext2fs_read_inode(img.fs, EXT2_JOURNAL_INO, &after),
			 0);
	ck_assert_mem_eq(before.i_block, after.i_block, 60);
	ck_assert_uint_eq(before.i_blocks, after.i_blocks);
	ck_assert_uint_eq(ext2fs_free_blocks_count(img.fs->super),
			  free_blocks);
	image_close(&img);
	CHECK(is_sound(img.path));
	unlink(img.path);
}
END_TEST

START_TEST(pinned_journal)
{
	struct image img;

	ck_assert_int_eq(move_log(&img, "-b 1024 -O ^extent,^64bit",
				  "-J size=18"),
			 E4L_ET_SHRINK_PINNED);
	image_close(&img);
	CHECK(is_sound(img.path));
	unlink(img.path);
}
END_TEST

/*
 * If blocks or inodes above the new end are in use, e4l_shrink_end() returns an
 * error and changes nothing.
 */
START_TEST(occupied)
{
	struct e4l_size size;
	struct image img;
	ext2_ino_t ino;

	image_make(&img, "-b 1024 -g 2048");
	ck_assert_int_eq(e4l_size_for(img.e, 20000, &size), 0);
	ck_assert_int_eq(e4l_shrink_prepare(img.e, NULL, &size), 0);
	ext2fs_mark_block_bitmap2(img.fs->block_map, 30000);
	ck_assert_int_eq(e4l_shrink_end(img.e, NULL, &size),
			 E4L_ET_BLOCK_IN_USE);
	ck_assert_uint_eq(e4l_detail(img.e)->blk, 30000);
	ext2fs_unmark_block_bitmap2(img.fs->block_map, 30000);
	ino = size.inodes + 1;
	ext2fs_mark_inode_bitmap2(img.fs->inode_map, ino);
	ck_assert_int_eq(e4l_shrink_end(img.e, NULL, &size), E4L_ET_NO_INODES);
	ck_assert_uint_eq(e4l_detail(img.e)->ino, ino);
	image_close(&img);
	CHECK(is_sound(img.path));
	unlink(img.path);
}
END_TEST

/* ----------------------------------------------------------------- errors */

/*
 * An io_manager that counts its calls in @calls, and fails in the call with the
 * number @fail_at.
 */
static struct struct_io_manager faulty;
static unsigned int calls, fail_at;

static errcode_t faulty_read(io_channel io, unsigned long long blk, int count,
			     void *data)
{
	return ++calls == fail_at ? EIO :
	       unix_io_manager->read_blk64(io, blk, count, data);
}

static errcode_t faulty_write(io_channel io, unsigned long long blk, int count,
			      const void *data)
{
	return ++calls == fail_at ? EIO :
	       unix_io_manager->write_blk64(io, blk, count, data);
}

static errcode_t faulty_flush(io_channel io)
{
	return ++calls == fail_at ? EIO : unix_io_manager->flush(io);
}

static void use_faulty(struct image *img)
{
	faulty = *unix_io_manager;
	faulty.read_blk64 = faulty_read;
	faulty.write_blk64 = faulty_write;
	faulty.flush = faulty_flush;
	img->fs->io->manager = &faulty;
	calls = 0;
}

static blk64_t blocks_on_device(const struct image *img)
{
	ext2_filsys fs;
	blk64_t blocks;

	ck_assert_int_eq(ext2fs_open(img->path, EXT2_FLAG_64BITS, 0, 0,
				     unix_io_manager, &fs), 0);
	blocks = ext2fs_blocks_count(fs->super);
	ext2fs_free(fs);
	return blocks;
}

/*
 * After any I/O error, the handle and the superblock on the device have the
 * same number of blocks, and e2fsck -p repairs the filesystem.
 */
START_TEST(errors)
{
	struct e4l_size size;
	struct image img;
	char cmd[100];
	errcode_t err = EIO;

	for (fail_at = 1; err; fail_at++) {
		image_make(&img, _i ? "-b 1024 -O ^resize_inode,^has_journal" :
				      "-b 1024 -O ^resize_inode");
		ck_assert_int_eq(e4l_size_for(img.e, 20000, &size), 0);
		ck_assert_int_eq(e4l_shrink_prepare(img.e, NULL, &size), 0);
		use_faulty(&img);
		err = e4l_shrink_end(img.e, NULL, &size);
		CHECK(!!err == (calls >= fail_at));
		img.fs->io->manager = unix_io_manager;
		io_channel_flush(img.fs->io);
		CHECK(blocks_on_device(&img) ==
		      ext2fs_blocks_count(img.fs->super));
		image_close(&img);
		snprintf(cmd, sizeof(cmd), "e2fsck -p %s >&2", img.path);
		ck_assert_msg(system(cmd) <= 1 << 8, "call %u", fail_at);
		CHECK(is_sound(img.path));
		unlink(img.path);
	}
}
END_TEST

static const char *mounted_path;
static unsigned int late_writes;

/*
 * After the first write of 1 MiB, changes the superblock, as a mount by another
 * program does.
 */
static errcode_t mounted_write(io_channel io, unsigned long long blk, int count,
			       const void *data)
{
	errcode_t err = unix_io_manager->write_blk64(io, blk, count, data);
	FILE *f;

	if (calls) {
		late_writes++;
	} else if (-count == 1 << 20) {
		f = fopen(mounted_path, "r+");
		CHECK(f && !fseek(f, 1024 + 136, SEEK_SET) &&
		      fputs("/mnt", f) >= 0 && !fclose(f));
		calls++;
	}
	return err;
}

START_TEST(mounted)
{
	struct e4l_size size;
	struct image img;

	image_make(&img, "-b 1024 -O ^metadata_csum,uninit_bg -N 49152 -G 8");
	ck_assert_uint_gt(img.fs->inode_blocks_per_group, 1024);
	ck_assert_int_eq(e4l_size_for(img.e, 8000, &size), 0);
	ck_assert_uint_gt(size.lift_blocks, 0);
	faulty = *unix_io_manager;
	faulty.write_blk64 = mounted_write;
	img.fs->io->manager = &faulty;
	mounted_path = img.path;
	calls = 0;
	ck_assert_int_eq(e4l_shrink_prepare(img.e, NULL, &size),
			 E4L_ET_NOT_OURS);
	ck_assert_uint_eq(calls, 1);
	ck_assert_uint_eq(late_writes, 0);
	img.fs->io->manager = unix_io_manager;
	image_remove(&img);
}
END_TEST

static Suite *make_suite(void)
{
	Suite *suite = suite_create("size");
	TCase *tc = tcase_create("size");

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, sets);
	tcase_add_loop_test(tc, present_size, 0, N_OPTIONS);
	tcase_add_loop_test(tc, smallest, 0, N_OPTIONS);
	tcase_add_loop_test(tc, nothing_to_gain, 0, N_OPTIONS);
	tcase_add_test(tc, inodes);
	tcase_add_test(tc, no_backup);
	tcase_add_test(tc, places);
	tcase_add_loop_test(tc, end, 0, N_OPTIONS);
	tcase_add_loop_test(tc, journal, 0, N_OPTIONS);
	tcase_add_loop_test(tc, blocks_behind, 0, 2);
	tcase_add_test(tc, pinned_journal);
	tcase_add_test(tc, occupied);
	tcase_add_loop_test(tc, errors, 0, 2);
	tcase_add_test(tc, mounted);
	suite_add_tcase(suite, tc);
	return suite;
}

int main(void)
{
	return unit_main(make_suite());
}
