/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The running kernel replays the journal that the library leaves. */
#include "config.h"
#include <errno.h>
#include "e4layout/base/internal.h"
#include "journal.h"

/* Another program, such as udev, may have the loop device open for a moment. */
#define UNMOUNT \
	"l=$(findmnt -nfo SOURCE $d) && umount $d && rmdir $d && " \
	"f=$(losetup -nO BACK-FILE $l || :) && while [ \"$f\" ] && " \
	"[ \"$(losetup -nO BACK-FILE $l)\" = \"$f\" ]; do sleep 0.1; done"
#define MOUNT \
	"d=$(mktemp -d /tmp/e4l-mnt-XXXXXX) && mount -o loop %s $d && " UNMOUNT

START_TEST(kernel_replays)
{
	struct image img;
	unsigned int round = 1 + _i % 3;

	image_make(&img, "", &formats[_i]);
	leave_unreplayed(&img, round);
	run(MOUNT, img.path);
	ck_assert(is_sound(img.path));
	image_open(&img);
	ck_assert_uint_eq(count_blocks(&img, FILE_BLOCKS, round), FILE_BLOCKS);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

/* The library and the kernel use the journal alternately. */
START_TEST(takes_turns_with_the_kernel)
{
	struct image img;
	struct e4l_journal *j;
	unsigned int i;

	image_make(&img, _i ? "-O fast_commit" : "",
		   &(struct format) { 1024, _i ? JBD2_FAST_COMMIT : 0 });
	for (i = 1; i <= 4; i++) {
		image_drop(&img);
		run("d=$(mktemp -d /tmp/e4l-mnt-XXXXXX) && "
		    "mount -o loop %s $d && "
		    "for i in 1 2 3 4 5 6; do mkdir $d/d; sync -f $d; "
		    "echo x >$d/d/f; sync $d/d/f; rm -r $d/d; done; "
		    UNMOUNT, img.path);
		image_open(&img);
		ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
		ck_assert_int_eq(change_file(&img, j, FILE_BLOCKS, i), 0);
		if (i % 2) {
			ck_assert_int_eq(e4l_journal_close(j), 0);
			continue;
		}
		spoil_places(&img, FILE_BLOCKS);
		j->failed = EIO;
		e4l_journal_close(j);
	}
	image_drop(&img);
	run(MOUNT, img.path);
	ck_assert(is_sound(img.path));
	image_open(&img);
	ck_assert_uint_eq(count_blocks(&img, FILE_BLOCKS, 4), FILE_BLOCKS);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

#define MOUNT_AND_WRITE \
	"d=%s.mnt && mkdir $d && mount -o loop ${d%%.mnt} $d && " \
	"yes | head -c 9000000 >$d/other && sync -f $d"
#define COMPARE_AND_UNMOUNT \
	"d=%s.mnt && yes | head -c 9000000 | cmp - $d/other && " \
	UNMOUNT

/*
 * The filesystem is mounted before a session, before the first transaction,
 * after the first transaction, or after the last transaction.  After the mount,
 * the session writes nothing.
 */
START_TEST(stops_when_mounted)
{
	struct e4l_journal *j = NULL;
	struct image img;

	image_make(&img, "", &formats[1]);
	if (_i > 0)
		ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j), 0);
	if (_i > 1)
		ck_assert_int_eq(change_file(&img, j, FILE_BLOCKS, 1), 0);
	run(MOUNT_AND_WRITE, img.path);
	if (_i == 0)
		ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j),
				 E4L_ET_NOT_OURS);
	else if (_i < 3)
		ck_assert_int_eq(change_file(&img, j, FILE_BLOCKS, 2),
				 E4L_ET_NOT_OURS);
	if (_i > 0)
		ck_assert_int_eq(e4l_journal_close(j), E4L_ET_NOT_OURS);
	image_drop(&img);
	run(COMPARE_AND_UNMOUNT, img.path);
	ck_assert(is_sound(img.path));
	image_open(&img);
	ck_assert_uint_eq(count_blocks(&img, FILE_BLOCKS, 2), 0);
	if (_i > 1)
		ck_assert_uint_eq(count_blocks(&img, FILE_BLOCKS, 1),
				  FILE_BLOCKS);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

static errcode_t say_no(void *priv)
{
	return --*(int *)priv ? 0 : E4L_ET_NOT_OURS;
}

/*
 * The guard forbids writing at call number _i.  The calls are: 1 at the start
 * of a session; 2 before a commit; 3 after needs_recovery is set; 4 after the
 * log is written; 5 after the journal's superblock points to the transaction; 6
 * after the final flush; 7 after the log is emptied.
 */
START_TEST(asks_the_guard)
{
	struct e4l_journal *j;
	struct image img;
	int yes = _i;

	image_make(&img, "", &formats[1]);
	e4l_set_guard(img.e, say_no, &yes);
	ck_assert_int_eq(e4l_journal_open(img.e, NULL, &j),
			 _i == 1 ? E4L_ET_NOT_OURS : 0);
	if (_i > 1) {
		ck_assert_int_eq(change_file(&img, j, FILE_BLOCKS, 1),
				 _i <= 5 ? E4L_ET_NOT_OURS : 0);
		ck_assert_int_eq(e4l_journal_close(j), E4L_ET_NOT_OURS);
	}
	ck_assert_uint_eq(count_blocks(&img, FILE_BLOCKS, 1),
			  _i > 5 ? FILE_BLOCKS : 0);
	image_drop(&img);
	run(MOUNT, img.path);
	ck_assert(is_sound(img.path));
	image_open(&img);
	ck_assert_uint_eq(count_blocks(&img, FILE_BLOCKS, 1),
			  _i >= 5 ? FILE_BLOCKS : 0);
	image_drop(&img);
	image_remove(&img);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("journal_mount");
	TCase *tc = tcase_create("journal_mount");

	if (geteuid() || access("/dev/loop-control", R_OK | W_OK)) {
		puts("1..0 # SKIP loop mounts need root and /dev/loop-control");
		return 0;
	}
	tcase_add_loop_test(tc, kernel_replays, 0, N_FORMATS);
	tcase_add_loop_test(tc, takes_turns_with_the_kernel, 0, 2);
	tcase_add_loop_test(tc, stops_when_mounted, 0, 4);
	tcase_add_loop_test(tc, asks_the_guard, 1, 8);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
