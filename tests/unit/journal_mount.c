/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The running kernel replays what the library left in the journal. */
#include "config.h"
#include <errno.h>
#include "journal.h"

#define MOUNT \
	"d=$(mktemp -d /tmp/e4l-mnt-XXXXXX) && " \
	"mount -o loop %s $d && umount $d && rmdir $d"

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

/* After the kernel has used the journal it is ours again, and back. */
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
		    "umount $d && rmdir $d", img.path);
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

int main(void)
{
	Suite *suite = suite_create("journal_mount");
	TCase *tc = tcase_create("journal_mount");

	if (geteuid() || access("/dev/loop-control", R_OK | W_OK)) {
		puts("1..0 # SKIP loop mounts need root and /dev/loop-control");
		return 0;
	}
	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, kernel_replays, 0, N_FORMATS);
	tcase_add_loop_test(tc, takes_turns_with_the_kernel, 0, 2);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
