/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdlib.h>
#include <unistd.h>
#include "e4layout/base/internal.h"
#include "unit.h"

/* Makes an 8 MiB filesystem in an unlinked file. */
static ext2_filsys make_fs(char *path)
{
	ext2_filsys fs;
	char cmd[200];

	close(mkstemp(path));
	snprintf(cmd, sizeof(cmd), "mke2fs -q -F -t ext4 %s 8M", path);
	ck_assert_int_eq(system(cmd), 0);
	ck_assert_int_eq(ext2fs_open(path, EXT2_FLAG_64BITS, 0, 0,
				     unix_io_manager, &fs), 0);
	return fs;
}

START_TEST(knows_its_version)
{
	const char *text;
	char want[32];

	snprintf(want, sizeof(want), "%d.%d.%d", E4L_VERSION_MAJOR,
		 E4L_VERSION_MINOR, E4L_VERSION_PATCH);
	ck_assert_str_eq(PACKAGE_VERSION, want);
	ck_assert_uint_eq(e4l_version(&text), E4L_VERSION);
	ck_assert_str_eq(text, want);
	ck_assert_uint_eq(e4l_version(NULL), E4L_VERSION);
	ck_assert_uint_lt(E4L_VERSION_CODE(0, 255, 255),
			  E4L_VERSION_CODE(1, 0, 0));
}
END_TEST

START_TEST(checks_the_device_size)
{
	char path[] = "/tmp/e4l-context-XXXXXX";
	ext2_filsys fs = make_fs(path);
	struct e4l *e;

	ck_assert_int_eq(e4l_new(fs, &e), 0);
	ck_assert_ptr_eq(e4l_fs(e), fs);
	e4l_free(e);
	ck_assert_int_eq(truncate(path, 4 << 20), 0);
	ck_assert_int_eq(e4l_new(fs, &e), E4L_ET_TRUNCATED);
	ck_assert_uint_eq(e4l_detail(e)->blk,
			  ext2fs_blocks_count(fs->super) - 1);
	e4l_free(e);
	ext2fs_close_free(&fs);
	unlink(path);
}
END_TEST

START_TEST(checks_the_geometry)
{
	char path[] = "/tmp/e4l-context-XXXXXX";
	ext2_filsys fs = make_fs(path);
	struct e4l *e;

	fs->super->s_inodes_per_group = fs->blocksize * 8 + 8;
	ck_assert_int_eq(e4l_new(fs, &e), E4L_ET_BAD_GEOMETRY);
	e4l_free(e);
	ext2fs_close_free(&fs);
	unlink(path);
}
END_TEST

START_TEST(names_what_failed)
{
	struct e4l e = { .detail_lock = PTHREAD_MUTEX_INITIALIZER };
	char buf[100], tiny[8];

	e4l_fail(&e, EIO, "reading", 0, 0);
	ck_assert_str_eq(e4l_detail_text(&e, buf, sizeof(buf)), "reading");
	e4l_fail(&e, EIO, "reading", 12, 34);
	ck_assert_str_eq(e4l_detail_text(&e, buf, sizeof(buf)),
			 "reading (inode 12, block 34)");
	e4l_fail_group(&e, EIO, "reading", 0, 34);
	ck_assert_str_eq(e4l_detail_text(&e, buf, sizeof(buf)),
			 "reading (block 34, group 0)");
	ck_assert_str_eq(e4l_detail_text(&e, tiny, sizeof(tiny)), "reading");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("context");
	TCase *tc = tcase_create("context");

	tcase_add_test(tc, knows_its_version);
	tcase_add_test(tc, checks_the_device_size);
	tcase_add_test(tc, checks_the_geometry);
	tcase_add_test(tc, names_what_failed);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
