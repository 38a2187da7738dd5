/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <e4layout/e4layout.h>
#include "e4layout/base/internal.h"
#include "e4layout/tunables/tunables.h"
#include "unit.h"

#define SELINUX "system_u:object_r:root_t:s0"

struct image {
	char path[40];
	ext2_filsys fs;
	struct e4l *e;
};

static void run(const char *format, const char *arg, const char *path)
{
	char cmd[400];

	snprintf(cmd, sizeof(cmd), format, arg, path);
	ck_assert_msg(!system(cmd), "%s", cmd);
}

static void image_open(struct image *img)
{
	ck_assert_int_eq(ext2fs_open(img->path, EXT2_FLAG_64BITS |
				     EXT2_FLAG_RW, 0, 0, unix_io_manager,
				     &img->fs), 0);
	ck_assert_int_eq(e4l_new(img->fs, &img->e), 0);
}

/* Closes the image, after a check that no change is left to be written. */
static void image_close(struct image *img)
{
	ck_assert(!(img->fs->flags & (EXT2_FLAG_DIRTY | EXT2_FLAG_BB_DIRTY |
				      EXT2_FLAG_IB_DIRTY)));
	e4l_free(img->e);
	ext2fs_free(img->fs);
}

static void image_make(struct image *img, const char *options)
{
	strcpy(img->path, "/tmp/e4l-tunables-XXXXXX");
	close(mkstemp(img->path));
	run("mke2fs -q -F -t ext4 %s %s 8M", options, img->path);
}

static errcode_t image_write(struct image *img, const char *text)
{
	struct e4l_tunables *t;
	errcode_t err;

	ck_assert_int_eq(e4l_tunables_parse(text, strlen(text), &t), 0);
	image_open(img);
	err = e4l_tunables_write(img->e, NULL, t);
	image_close(img);
	e4l_tunables_free(t);
	return err;
}

static void check_holds(struct image *img, const char *text)
{
	char buf[E4L_TUNABLES_MAX + 1];
	struct e4l_tunables *t;

	image_open(img);
	ck_assert_int_eq(e4l_tunables_read(img->e, &t), 0);
	e4l_tunables_text(t, buf);
	ck_assert_str_eq(buf, text);
	e4l_tunables_free(t);
	image_close(img);
	ck_assert(is_sound(img->path));
}

/* Returns "a=111..." of @len bytes. */
static const char *long_text(char *buf, size_t len)
{
	memset(buf, '1', len);
	memcpy(buf, "a=", 2);
	buf[len] = '\0';
	return buf;
}

static blk64_t free_blocks(struct image *img, uint32_t *inodes)
{
	blk64_t blks;

	image_open(img);
	blks = ext2fs_free_blocks_count(img->fs->super);
	*inodes = img->fs->super->s_free_inodes_count;
	image_close(img);
	return blks;
}

static const char *const layouts[] = {
	"-b 4096", "-b 4096 -I 128", "-b 1024", "-b 1024 -I 128",
	"-b 4096 -I 1024", "-b 4096 -O ea_inode", "-b 4096 -O ^has_journal",
	"-b 4096 -O ^metadata_csum", "-b 1024 -O ^metadata_csum,uninit_bg",
	"-b 4096 -O bigalloc -C 16384", "-b 1024 -O ^64bit",
	"-b 1024 -O meta_bg,^resize_inode", "-b 4096 -O inline_data",
	"-b 1024 -O ^flex_bg", "-b 1024 -O ea_inode -I 128",
	"-b 2048 -O ^extents,^64bit -g 256",
};

/*
 * The tunables are first small, then so large that they need a block, then
 * small again, and then removed.  The filesystem is sound after each step.
 * After the last step, the filesystem has as many free blocks and inodes as
 * before the first step.
 */
START_TEST(goes_and_comes_on_any_layout)
{
	struct image img;
	uint32_t inodes, inodes_after;
	blk64_t blks;
	char buf[901];

	image_make(&img, layouts[_i]);
	run("debugfs -w -R 'ea_set / security.selinux %s' %s >/dev/null 2>&1",
	    SELINUX, img.path);
	blks = free_blocks(&img, &inodes);
	check_holds(&img, "");
	ck_assert_int_eq(image_write(&img, "mb_order2_req=1,dir_ireserve=low"), 0);
	check_holds(&img, "dir_ireserve=16,mb_order2_req=1");
	ck_assert_int_eq(image_write(&img, long_text(buf, 900)), 0);
	check_holds(&img, buf);
	ck_assert_int_eq(image_write(&img, "mb_order2_req=0"), 0);
	check_holds(&img, "mb_order2_req=0");
	ck_assert_int_eq(image_write(&img, ""), 0);
	check_holds(&img, "");
	ck_assert_uint_eq(free_blocks(&img, &inodes_after), blks);
	ck_assert_uint_eq(inodes_after, inodes);
	run("debugfs -R 'ea_get / security.selinux' %s%s 2>/dev/null | "
	    "grep -q " SELINUX, "", img.path);
	unlink(img.path);
}
END_TEST

/*
 * A text of E4L_TUNABLES_MAX (1024) bytes does not fit in an attribute block of
 * 1 KiB, and needs an EA inode.
 */
START_TEST(largest_text)
{
	char buf[E4L_TUNABLES_MAX + 1];
	struct image img;
	uint32_t inodes, after;
	blk64_t blks;

	long_text(buf, E4L_TUNABLES_MAX);
	image_make(&img, "-b 1024 -O ea_inode");
	blks = free_blocks(&img, &inodes);
	ck_assert_int_eq(image_write(&img, buf), 0);
	check_holds(&img, buf);
	free_blocks(&img, &after);
	ck_assert_uint_eq(after, inodes - 1);
	ck_assert_int_eq(image_write(&img, "a=1"), 0);
	check_holds(&img, "a=1");
	ck_assert_uint_eq(free_blocks(&img, &after), blks);
	ck_assert_uint_eq(after, inodes);
	unlink(img.path);
	image_make(&img, "-b 4096");
	ck_assert_int_eq(image_write(&img, buf), 0);
	check_holds(&img, buf);
	unlink(img.path);
}
END_TEST

static void check_refused(struct image *img, const char *text,
			  errcode_t expected)
{
	run("%scp %s %2$s.before", "", img->path);
	ck_assert_int_eq(image_write(img, text), expected);
	run("%scmp %s %2$s.before && rm %2$s.before", "", img->path);
}

/*
 * Fills all free blocks of the image with files, two of each size.  The sizes
 * are 4096 KiB, 2048 KiB, and so on down to 1 KiB.
 */
static void fill(struct image *img)
{
	uint32_t inodes;

	run("for s in 4096 2048 1024 512 256 128 64 32 16 8 4 2 1; do "
	    ": %s; yes | head -c $(($s * 1024)) >%2$s.fill && "
	    "printf 'write %%s a%%s\nwrite %%s b%%s\n' %2$s.fill $s "
	    "%2$s.fill $s | debugfs -w -f - %2$s >/dev/null 2>&1; done; "
	    "rm %2$s.fill", "", img->path);
	ck_assert_uint_eq(free_blocks(img, &inodes), 0);
}

/* Errors leave every byte of the image unchanged. */
START_TEST(refusals_change_nothing)
{
	char buf[E4L_TUNABLES_MAX + 1];
	struct image img;

	image_make(&img, "-b 1024");
	check_refused(&img, long_text(buf, E4L_TUNABLES_MAX), ENOSPC);
	fill(&img);
	check_refused(&img, long_text(buf, 600), ENOSPC);
	ck_assert_int_eq(image_write(&img, "mb_order2_req=1"), 0);
	check_holds(&img, "mb_order2_req=1");
	check_refused(&img, "mb_order2_req=1", 0);
	unlink(img.path);
	image_make(&img, "-O quota");
	check_refused(&img, long_text(buf, 600), E4L_ET_TUNABLES_QUOTA);
	ck_assert_int_eq(image_write(&img, "mb_order2_req=1"), 0);
	check_holds(&img, "mb_order2_req=1");
	unlink(img.path);
	image_make(&img, "-O ^ext_attr");
	check_holds(&img, "");
	check_refused(&img, "mb_order2_req=1", EXT2_ET_MISSING_EA_FEATURE);
	check_refused(&img, "", 0);
	unlink(img.path);
}
END_TEST

/*
 * Two inodes share an attribute block.  A change for one inode leaves the
 * attributes of the other inode unchanged.
 */
START_TEST(shared_block_is_left_to_the_other)
{
	struct ext2_inode inode;
	struct image img;
	char buf[601];
	blk64_t blk;

	image_make(&img, "-I 128");
	ck_assert_int_eq(image_write(&img, "a=1"), 0);
	image_open(&img);
	ck_assert_int_eq(ext2fs_read_inode(img.fs, EXT2_ROOT_INO, &inode), 0);
	blk = ext2fs_file_acl_block(img.fs, &inode);
	ck_assert_int_eq(ext2fs_adjust_ea_refcount3(img.fs, blk, NULL, 1, NULL,
						    EXT2_ROOT_INO), 0);
	ck_assert_int_eq(ext2fs_read_inode(img.fs, 11, &inode), 0);
	ext2fs_file_acl_block_set(img.fs, &inode, blk);
	ext2fs_iblk_add_blocks(img.fs, &inode, 1);
	ck_assert_int_eq(ext2fs_write_inode(img.fs, 11, &inode), 0);
	io_channel_flush(img.fs->io);
	e4l_free(img.e);
	ext2fs_free(img.fs);
	check_holds(&img, "a=1");
	ck_assert_int_eq(image_write(&img, long_text(buf, 600)), 0);
	check_holds(&img, buf);
	ck_assert_int_eq(image_write(&img, ""), 0);
	check_holds(&img, "");
	run("debugfs -R 'ea_get <11> trusted.ext4.tunables' %s%s 2>/dev/null | "
	    "grep -q a=1", "", img.path);
	unlink(img.path);
}
END_TEST

START_TEST(numbers_are_found)
{
	struct image img;
	uint32_t n = 5;

	image_make(&img, "");
	run("debugfs -w -R 'ea_set / trusted.ext4.tunables "
	    "mb_order2_req=99,dir_ireserve=high' %s%s >/dev/null 2>&1", "",
	    img.path);
	image_open(&img);
	ck_assert_int_eq(e4l_tunables_get(img.e, "mb_order2_req", &n), 0);
	ck_assert_int_eq(e4l_tunables_get(img.e, "mb_prefetch", &n), 0);
	ck_assert_int_eq(e4l_tunables_get(img.e, "nonsense", &n), 0);
	ck_assert_uint_eq(n, 5);
	ck_assert_int_eq(e4l_tunables_get(img.e, "dir_ireserve", &n), 0);
	ck_assert_uint_eq(n, 128);
	image_close(&img);
	unlink(img.path);
}
END_TEST

/* If the attribute has random bytes, reading returns a result or an error. */
START_TEST(damaged_attributes_are_survived)
{
	unsigned int i, read = 0;
	struct e4l_tunables *t;
	struct image img;
	uint32_t state = 5;
	uint8_t *inode;

	image_make(&img, "-I 256");
	ck_assert_int_eq(image_write(&img, "dir_ireserve=64,mb_order2_req=1"), 0);
	image_open(&img);
	img.fs->flags |= EXT2_FLAG_IGNORE_CSUM_ERRORS;
	inode = malloc(256);
	for (i = 0; i < 3000; i++) {
		ck_assert_int_eq(ext2fs_read_inode_full(img.fs, EXT2_ROOT_INO,
				 (struct ext2_inode *)inode, 256), 0);
		state = state * 1664525 + 1013904223;
		inode[128 + (state >> 8) % 128] = state >> 16;
		ck_assert_int_eq(ext2fs_write_inode_full(img.fs, EXT2_ROOT_INO,
				 (struct ext2_inode *)inode, 256), 0);
		if (!e4l_tunables_read(img.e, &t))
			read++;
		e4l_tunables_free(t);
		if (i % 10 == 9)	/* restart from a valid attribute */
			run("debugfs -w -R 'ea_set / trusted.ext4.tunables "
			    "a=1' %s%s >/dev/null 2>&1; true", "", img.path);
	}
	ck_assert_uint_gt(read, 0);
	free(inode);
	e4l_free(img.e);
	ext2fs_free(img.fs);
	unlink(img.path);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tunables_io");
	TCase *tc = tcase_create("attribute");
	const int n = sizeof(layouts) / sizeof(*layouts);

	tcase_add_loop_test(tc, goes_and_comes_on_any_layout, 0, n);
	tcase_add_test(tc, largest_text);
	tcase_add_test(tc, refusals_change_nothing);
	tcase_add_test(tc, shared_block_is_left_to_the_other);
	tcase_add_test(tc, numbers_are_found);
	tcase_add_test(tc, damaged_attributes_are_survived);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
