/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program may be older or newer than the library.  The library refuses
 * options that it does not know, and sets only the members of results that it
 * knows.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <e4layout/e4layout.h>
#include "e4layout/inodes/place.h"
#include "e4layout/populate/tree_edit.h"
#include "unit.h"

static char path[40];
static ext2_filsys fs;
static struct e4l *e;

static void set_up(void)
{
	char cmd[200];

	strcpy(path, "/tmp/e4l-options-XXXXXX");
	close(mkstemp(path));
	snprintf(cmd, sizeof(cmd), "mke2fs -qq -F -t ext4 %s 8M", path);
	ck_assert_int_eq(system(cmd), 0);
	ck_assert_int_eq(ext2fs_open(path, EXT2_FLAG_64BITS | EXT2_FLAG_RW, 0,
				     0, unix_io_manager, &fs), 0);
	ck_assert_int_eq(ext2fs_read_bitmaps(fs), 0);
	ck_assert_int_eq(e4l_new(fs, &e), 0);
}

static void tear_down(void)
{
	e4l_free(e);
	ext2fs_free(fs);
	unlink(path);
}

/* Sets a reserved member of @s, as a program for a newer library can do. */
#define NEWER(s) (((char *)(s).reserved)[sizeof((s).reserved) - 1] = 1)

#define NEWER_FLAG 0x40000000u

#define REFUSED(call) ck_assert_int_eq(call, E4L_ET_OPTION)

static errcode_t no_piece(const struct e4l_piece *piece, void *priv)
{
	(void)piece;
	(void)priv;
	return 0;
}

START_TEST(refuses_to_read)
{
	struct e4l_model_options model_options = { 0 };
	struct e4l_scan_ops scan_ops = { .piece = no_piece };
	struct e4l_check_options check_options = { .flags = NEWER_FLAG };
	struct e4l_check_result found;
	struct e4l_model model;

	REFUSED(e4l_check(e, &check_options, &found));
	check_options.flags = 0;
	NEWER(check_options);
	REFUSED(e4l_check(e, &check_options, &found));
	model_options.flags = NEWER_FLAG;
	REFUSED(e4l_model_build(e, &model_options, &model));
	model_options.flags = 0;
	model_options.sort = E4L_SORT_SIZE + 1;
	REFUSED(e4l_model_build(e, &model_options, &model));
	model_options.sort = E4L_SORT_SIZE;
	NEWER(model_options);
	REFUSED(e4l_model_build(e, &model_options, &model));
	e4l_model_free(&model);
	ck_assert_int_eq(e4l_scan_inode(e, 0, &scan_ops, NULL),
			 E4L_ET_BAD_ARGUMENT);
	ck_assert_int_eq(e4l_scan_inode(e, fs->super->s_inodes_count + 1,
					&scan_ops, NULL), E4L_ET_BAD_ARGUMENT);
	REFUSED(e4l_scan(e, NEWER_FLAG, NULL, &scan_ops, NULL));
	NEWER(scan_ops);
	REFUSED(e4l_scan(e, 0, NULL, &scan_ops, NULL));
	REFUSED(e4l_scan_inode(e, EXT2_ROOT_INO, &scan_ops, NULL));
}
END_TEST

START_TEST(refuses_to_repack)
{
	struct e4l_repack_limits limits = E4L_REPACK_NO_LIMITS;
	struct e4l_repack_what what = { .flags = NEWER_FLAG };
	struct e4l_repack_callbacks callbacks = { .priv = NULL };
	struct e4l_repack_result repacked;

	REFUSED(e4l_repack(e, &what, NULL, NULL, &repacked));
	/* a flag without the flag that it requires, and no part to improve */
	what.flags = E4L_REPACK_DEFAULT | E4L_REPACK_CHANGING;
	REFUSED(e4l_repack(e, &what, NULL, NULL, &repacked));
	what.flags = E4L_REPACK_DRY_RUN;
	REFUSED(e4l_repack(e, &what, NULL, NULL, &repacked));
	/* a mounted filesystem keeps its size */
	what.flags = E4L_REPACK_FILES | E4L_REPACK_SHRINK;
	REFUSED(e4l_online(e, "/", &what, NULL, NULL, NULL, &repacked));
	what.flags = E4L_REPACK_DEFAULT | E4L_REPACK_DRY_RUN;
	ck_assert_int_eq(e4l_repack(e, &what, &limits, &callbacks, &repacked),
			 0);
	NEWER(limits);
	REFUSED(e4l_repack(e, &what, &limits, NULL, &repacked));
	NEWER(callbacks);
	REFUSED(e4l_repack(e, &what, NULL, &callbacks, &repacked));
	NEWER(what);
	REFUSED(e4l_repack(e, &what, NULL, NULL, &repacked));
	ck_assert_uint_eq(repacked.files_done, 0);
}
END_TEST

/* The filesystem at / is not that of the image. */
START_TEST(refuses_another_mount_point)
{
	const struct e4l_repack_what what = { .flags = E4L_REPACK_FILES };
	struct e4l_repack_result result;

	ck_assert_int_eq(e4l_online(e, "/", &what, NULL, NULL, NULL, &result),
			 E4L_ET_BAD_ARGUMENT);
}
END_TEST

START_TEST(refuses_a_backup_superblock)
{
	const struct e4l_repack_what what = { .flags = E4L_REPACK_DEFAULT };
	struct ext2_super_block *primary = fs->orig_super;
	struct e4l_repack_result result;

	/* as if ext2fs_open2() had read a backup superblock */
	fs->orig_super = NULL;
	ck_assert_int_eq(e4l_repack(e, &what, NULL, NULL, &result),
			 E4L_ET_BAD_ARGUMENT);
	fs->orig_super = primary;
}
END_TEST

/* A filesystem that was sound is checked again after a failed change. */
START_TEST(checks_after_a_failure)
{
	struct e4l_repack_what what = { .flags = E4L_REPACK_DEFAULT };
	struct e4l_repack_result result;
	struct e4l_check_result found;
	struct ext2_inode root;

	ck_assert_int_eq(e4l_check(e, NULL, &found), 0);
	ck_assert_uint_eq(found.errors, 0);
	what.flags |= NEWER_FLAG;
	REFUSED(e4l_repack(e, &what, NULL, NULL, &result));
	ck_assert_int_eq(ext2fs_read_inode(fs, EXT2_ROOT_INO, &root), 0);
	root.i_links_count = 77;
	ck_assert_int_eq(ext2fs_write_inode(fs, EXT2_ROOT_INO, &root), 0);
	what.flags = E4L_REPACK_DEFAULT;
	ck_assert_int_eq(e4l_repack(e, &what, NULL, NULL, &result),
			 E4L_ET_DAMAGED);
}
END_TEST

START_TEST(refuses_to_populate)
{
	struct e4l_populate_options options = { .threads = 1 };
	struct e4l_populate_target target = { .fd = -1, .direct_fd = -1 };
	struct e4l_entry entry = { .mode = LINUX_S_IFREG | 0644 };
	struct e4l_load_damage damage = { 0 };
	struct e4l_populate *p;
	struct e4l_place *place;
	struct e4l_tree *t;
	uint32_t id, newer;

	ck_assert_int_eq(e4l_tree_new(&t), 0);
	ck_assert_int_eq(e4l_tree_add(t, E4L_TREE_ROOT, "a", 1, &entry, &id),
			 0);
	NEWER(entry);
	REFUSED(e4l_tree_add(t, E4L_TREE_ROOT, "b", 1, &entry, &newer));
	REFUSED(e4l_tree_put(t, E4L_TREE_ROOT, "a", 1, &entry, &newer));
	REFUSED(e4l_tree_set(t, id, &entry));
	REFUSED(e4l_tree_set_content(t, id, &entry));
	REFUSED(e4l_place_new(e, 0, NEWER_FLAG, &place));
	REFUSED(e4l_tree_load_fs(t, e, 0, NEWER_FLAG, &damage));
	NEWER(damage);
	REFUSED(e4l_tree_load_fs(t, e, 0, 0, &damage));
	NEWER(target);
	ck_assert_int_eq(e4l_populate_plan(e, t, &options, &p), 0);
	REFUSED(e4l_populate_write(p, &target));
	e4l_populate_free(p);
	options.window = UINT32_MAX - 1;
	ck_assert_int_eq(e4l_populate_plan(e, t, &options, &p),
			 E4L_ET_BAD_ARGUMENT);
	ck_assert_ptr_null(p);
	options.window = 0;
	NEWER(options);
	REFUSED(e4l_populate_plan(e, t, &options, &p));
	ck_assert_ptr_null(p);
	e4l_tree_free(t);
}
END_TEST

/* Calls @call to fill @result, whose reserved members have been set to 0x5a. */
#define LEAVES_RESERVED(result, call) do { \
	char was[sizeof((result).reserved)]; \
	memset(&(result), 0x5a, sizeof(result)); \
	memset(was, 0x5a, sizeof(was)); \
	call; \
	ck_assert(!memcmp((result).reserved, was, sizeof(was))); \
} while (0)

START_TEST(leaves_what_is_reserved)
{
	const struct e4l_repack_what what = {
		.flags = E4L_REPACK_DEFAULT | E4L_REPACK_INODES |
			 E4L_REPACK_DRY_RUN,
	};
	struct e4l_repack_result repacked;
	struct e4l_model model;

	LEAVES_RESERVED(repacked, e4l_repack(e, &what, NULL, NULL, &repacked));
	ck_assert_uint_eq(repacked.files_done, 0);
	LEAVES_RESERVED(model, e4l_model_build(e, NULL, &model));
	ck_assert_uint_eq(model.files.directories, 2);
	LEAVES_RESERVED(model, (memset(&model, 0, offsetof(struct e4l_model,
							  reserved)),
				e4l_model_free(&model)));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("options");
	TCase *tc = tcase_create("options");

	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, refuses_to_read);
	tcase_add_test(tc, refuses_to_repack);
	tcase_add_test(tc, refuses_another_mount_point);
	tcase_add_test(tc, refuses_a_backup_superblock);
	tcase_add_test(tc, checks_after_a_failure);
	tcase_add_test(tc, refuses_to_populate);
	tcase_add_test(tc, leaves_what_is_reserved);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
