/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e4l_open(): tests that need no root. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <e4layout/e4layout.h>
#include "e4layout/journal/change.h"
#include "unit.h"

static char path[40];

/* Runs @format with the image's name for each %1$s. */
static void run(const char *format)
{
	char cmd[400];

	snprintf(cmd, sizeof(cmd), format, path);
	ck_assert_msg(!system(cmd), "%s", cmd);
}

static void make_image(void)
{
	strcpy(path, "/tmp/e4l-open-XXXXXX");
	close(mkstemp(path));
	run("mke2fs -qq -F -t ext4 -b 1024 -J size=1 %1$s 8M >/dev/null");
}

static void remove_image(void)
{
	unlink(path);
}

/* Returns a sum over all bytes of the image. */
static uint32_t sum(void)
{
	FILE *f = fopen(path, "r");
	unsigned char buf[4096];
	uint32_t crc = ~0;
	size_t n;

	ck_assert_ptr_nonnull(f);
	while ((n = fread(buf, 1, sizeof(buf), f)))
		crc = ext2fs_crc32c_le(crc, buf, n);
	fclose(f);
	return crc;
}

/*
 * The last sentence and error that keep() was called with, and the number of
 * calls.
 */
static struct said {
	char sentence[400];
	errcode_t err;
	int times;
} said;

static void keep(const char *sentence, errcode_t err, void *priv)
{
	struct said *s = priv;

	snprintf(s->sentence, sizeof(s->sentence), "%s", sentence);
	s->err = err;
	s->times++;
}

static errcode_t try_open(const char *name, unsigned int flags, struct e4l **e)
{
	const struct e4l_open_options opt = {
		.flags = flags, .manager = unix_io_manager,
		.say = keep, .priv = &said,
	};

	said = (struct said) { 0 };
	return e4l_open(name, &opt, e);
}

static struct e4l *must_open(unsigned int flags)
{
	struct e4l *e;
	errcode_t err = try_open(path, flags, &e);

	ck_assert_msg(!err, "%s", said.sentence);
	ck_assert_int_eq(said.times, 0);
	return e;
}

static void must_close(struct e4l *e)
{
	said = (struct said) { 0 };
	ck_assert_int_eq(e4l_close(e), 0);
	ck_assert_int_eq(said.times, 0);
}

/* Checks that @name is refused with @want, and a message with @words. */
static void refuses_name(const char *name, unsigned int flags, errcode_t want,
			 const char *words)
{
	struct e4l *e = (void *)1;
	errcode_t err = try_open(name, flags, &e);

	ck_assert_msg(err == want, "%s: %s", name, error_message(err));
	ck_assert_ptr_null(e);
	ck_assert_int_eq(said.times, 1);
	ck_assert_int_eq(said.err, err);
	ck_assert_msg(strstr(said.sentence, words) != NULL, "%s",
		      said.sentence);
	ck_assert_ptr_null(strchr(said.sentence, '\n'));
}

static void refuses(unsigned int flags, errcode_t want, const char *words)
{
	uint32_t before = sum();

	refuses_name(path, flags, want, words);
	ck_assert_uint_eq(sum(), before);
}

START_TEST(opens_to_read)
{
	uint32_t before = sum();
	struct e4l *e;

	ck_assert_int_eq(e4l_open(path, NULL, &e), 0);
	ck_assert_uint_eq(ext2fs_blocks_count(e4l_fs(e)->super), 8192);
	ck_assert(!(e4l_fs(e)->flags & EXT2_FLAG_RW));
	ck_assert_ptr_null(e4l_mount_point(e));
	ck_assert_int_eq(e4l_still_ours(e), 0);
	ck_assert_int_eq(e4l_close(e), 0);
	must_close(must_open(E4L_OPEN_ALONE));
	ck_assert_int_eq(e4l_close(NULL), 0);
	ck_assert_uint_eq(sum(), before);
}
END_TEST

static errcode_t add_dir(ext2_filsys fs, io_channel device, void *priv)
{
	(void)device;
	return ext2fs_mkdir(fs, EXT2_ROOT_INO, 0, priv);
}

START_TEST(opens_to_write)
{
	uint32_t before = sum();
	char name[] = "new";
	struct e4l *e = must_open(E4L_OPEN_WRITE);

	ck_assert(e4l_fs(e)->flags & EXT2_FLAG_RW);
	/* a change without a transaction is dropped */
	e4l_fs(e)->super->s_max_mnt_count = 7;
	ext2fs_mark_super_dirty(e4l_fs(e));
	must_close(e);
	ck_assert_uint_eq(sum(), before);
	e = must_open(E4L_OPEN_WRITE);
	ck_assert_int_eq(e4l_change(e, NULL, "adding", add_dir, name), 0);
	must_close(e);
	ck_assert(is_sound(path));
	run("debugfs -R 'stat /new' %1$s 2>/dev/null | grep -q directory");
}
END_TEST

START_TEST(refuses_what_is_no_filesystem)
{
	refuses_name("/none", 0, ENOENT, "cannot open: No such file");
	refuses_name("/tmp", 0, E4L_ET_NOT_STORAGE, "neither a block ");
	refuses_name("/dev/null", 0, E4L_ET_NOT_STORAGE, "neither ");
	run("truncate -s 4M %1$s");
	refuses(0, E4L_ET_TRUNCATED, "has 8192 blocks, but the ");
	run("truncate -s 0 %1$s");
	refuses(0, E4L_ET_TRUNCATED, "is empty");
	refuses(E4L_OPEN_WRITE, E4L_ET_TRUNCATED, "is empty");
	run("truncate -s 4M %1$s");
	refuses(0, EXT2_ET_BAD_MAGIC, "contains no ext2, ext3 or ext4 ");
	run("mke2fs -qq -F -O journal_dev %1$s 4M >/dev/null");
	refuses(0, E4L_ET_IS_JOURNAL, "an external journal, not a filesystem");
}
END_TEST

/* Changes by debugfs, and the expected result of e4l_open(). */
static const struct state {
	const char *command;
	errcode_t err;
	const char *words;
} states[] = {
	{ "feature needs_recovery", E4L_ET_JOURNAL_RECOVERY, "e2fsck -p " },
	{ "feature needs_recovery fast_commit", E4L_ET_JOURNAL_RECOVERY,
	  "mount and unmount the filesystem" },
	{ "ssv state 3", E4L_ET_NOT_CLEAN, "errors: run e2fsck -f " },
	{ "ssv state 0", E4L_ET_NOT_CLEAN, "not cleanly unmounted" },
	{ "ssv last_orphan 12", E4L_ET_NOT_CLEAN, "orphaned inodes" },
	{ "feature read-only", EXT2_ET_RO_FILSYS, "marked read-only" },
	{ "feature shared_blocks", E4L_ET_BLOCK_SHARED, "share blocks" },
	{ "feature ^has_journal", E4L_ET_NO_JOURNAL, "has no journal" },
	{ "feature FEATURE_C30", E4L_ET_UNKNOWN_FEATURE, "FEATURE_C30" },
	{ "feature FEATURE_R30", E4L_ET_UNKNOWN_FEATURE, "FEATURE_R30" },
};

START_TEST(refuses_to_change)
{
	const struct state *s = &states[_i];
	char cmd[200];

	snprintf(cmd, sizeof(cmd), "debugfs -w -R '%s' %%1$s 2>/dev/null",
		 s->command);
	run(cmd);
	refuses(E4L_OPEN_WRITE, s->err, s->words);
	refuses(E4L_OPEN_WRITE | E4L_OPEN_PLAN, s->err, s->words);
	/* the filesystem can be opened for reading */
	must_close(must_open(E4L_OPEN_ALONE));
	if (s->err != E4L_ET_NO_JOURNAL)
		return;
	must_close(must_open(E4L_OPEN_WRITE | E4L_OPEN_UNPROTECTED));
	must_close(must_open(E4L_OPEN_WRITE | E4L_OPEN_UNDO));
}
END_TEST

START_TEST(refuses_unknown_features)
{
	run("debugfs -w -R 'feature FEATURE_I30' %1$s 2>/dev/null");
	refuses(0, E4L_ET_UNKNOWN_FEATURE, "FEATURE_I30");
}
END_TEST

/*
 * A plan opens the image for reading, but other programs must not change the
 * image.
 */
START_TEST(plans)
{
	struct e4l *e = must_open(E4L_OPEN_WRITE | E4L_OPEN_PLAN);

	ck_assert(!(e4l_fs(e)->flags & EXT2_FLAG_RW));
	ck_assert_int_eq(e4l_still_ours(e), 0);
	refuses(E4L_OPEN_WRITE, E4L_ET_IN_USE, "locked by another program");
	must_close(e);
	refuses(E4L_OPEN_PLAN, E4L_ET_BAD_ARGUMENT, "");
}
END_TEST

START_TEST(keeps_others_away)
{
	struct e4l *e = must_open(E4L_OPEN_WRITE), *other;
	int fd;

	refuses(E4L_OPEN_WRITE, E4L_ET_IN_USE, "locked by another program");
	refuses(E4L_OPEN_ALONE, E4L_ET_IN_USE, "locked by another program");
	other = must_open(0);
	must_close(other);
	must_close(e);
	e = must_open(E4L_OPEN_ALONE);
	other = must_open(E4L_OPEN_ALONE);
	must_close(other);
	refuses(E4L_OPEN_WRITE, E4L_ET_IN_USE, "locked by another program");
	must_close(e);
	fd = open(path, O_RDWR);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	refuses(E4L_OPEN_WRITE, E4L_ET_IN_USE, "locked by another program");
	close(fd);
	must_close(must_open(E4L_OPEN_WRITE));
}
END_TEST

/* Locks the image as qemu does for an image that qemu writes. */
START_TEST(refuses_what_a_machine_has)
{
	struct flock lock = {
		.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 101,
		.l_len = 1,
	};
	int fd = open(path, O_RDWR);

	ck_assert_int_eq(fcntl(fd, F_OFD_SETLK, &lock), 0);
	refuses(E4L_OPEN_WRITE, E4L_ET_IN_USE, "qemu");
	close(fd);
}
END_TEST

START_TEST(notices_a_change)
{
	struct e4l *e = must_open(E4L_OPEN_ALONE), *free = must_open(0);
	struct ext2_super_block sb;
	int fd = open(path, O_RDWR);

	ck_assert_int_eq(e4l_still_ours(e), 0);
	ck_assert_int_eq(pread(fd, &sb, sizeof(sb), SUPERBLOCK_OFFSET),
			 sizeof(sb));
	sb.s_wtime++;
	ck_assert_int_eq(pwrite(fd, &sb, sizeof(sb), SUPERBLOCK_OFFSET),
			 sizeof(sb));
	close(fd);
	ck_assert_int_eq(e4l_still_ours(e), E4L_ET_NOT_OURS);
	ck_assert_int_eq(e4l_still_ours(free), 0);
	must_close(e);
	must_close(free);
}
END_TEST

START_TEST(opens_at_an_offset)
{
	struct e4l_open_options opt = {
		.flags = E4L_OPEN_WRITE, .offset_bytes = 1 << 20,
		.end_bytes = 9 << 20, .manager = unix_io_manager,
		.say = keep, .priv = &said,
	};
	struct e4l *e;

	run("{ head -c 1M /dev/zero; cat %1$s; head -c 1M /dev/zero; } "
	    ">%1$s.new && mv %1$s.new %1$s");
	refuses(0, EXT2_ET_BAD_MAGIC, "contains no ext2");
	ck_assert_int_eq(e4l_open(path, &opt, &e), 0);
	ck_assert_uint_eq(ext2fs_blocks_count(e4l_fs(e)->super), 8192);
	ck_assert_int_eq(e4l_close(e), 0);
	opt.end_bytes = 5 << 20;
	ck_assert_int_eq(e4l_open(path, &opt, &e), E4L_ET_TRUNCATED);
	ck_assert_ptr_nonnull(strstr(said.sentence, "only 4096"));
	opt.flags |= E4L_OPEN_UNDO;
	opt.end_bytes = 0;
	ck_assert_int_eq(e4l_open(path, &opt, &e), E4L_ET_AT_OFFSET);
	ck_assert_ptr_nonnull(strstr(said.sentence, "losetup -f"));
	opt.offset_bytes = 2 << 20;
	ck_assert_int_eq(e4l_open(path, &opt, &e), EXT2_ET_BAD_MAGIC);
	ck_assert_ptr_nonnull(strstr(said.sentence, "at byte 2097152 of"));
}
END_TEST

START_TEST(refuses_unknown_options)
{
	struct e4l_open_options opt = { .say = keep, .priv = &said };
	struct e4l *e;

	refuses(1u << 31, E4L_ET_OPTION, "does not support");
	refuses(E4L_OPEN_UNDO, E4L_ET_BAD_ARGUMENT, "out of range");
	refuses(E4L_OPEN_ALONE | E4L_OPEN_UNPROTECTED, E4L_ET_BAD_ARGUMENT,
		"out of range");
	opt.flags = E4L_OPEN_WRITE | E4L_OPEN_UNDO;
	ck_assert_int_eq(e4l_open(path, &opt, &e), E4L_ET_BAD_ARGUMENT);
	opt.flags = 0;
	opt.reserved[15] = 1;
	ck_assert_int_eq(e4l_open(path, &opt, &e), E4L_ET_OPTION);
	ck_assert_ptr_null(e);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("open");
	TCase *tc = tcase_create("open");

	initialize_ext2_error_table();
	initialize_e4l_error_table();
	tcase_add_checked_fixture(tc, make_image, remove_image);
	tcase_add_test(tc, opens_to_read);
	tcase_add_test(tc, opens_to_write);
	tcase_add_test(tc, refuses_what_is_no_filesystem);
	tcase_add_loop_test(tc, refuses_to_change, 0,
			    sizeof(states) / sizeof(*states));
	tcase_add_test(tc, refuses_unknown_features);
	tcase_add_test(tc, plans);
	tcase_add_test(tc, keeps_others_away);
	tcase_add_test(tc, refuses_what_a_machine_has);
	tcase_add_test(tc, notices_a_change);
	tcase_add_test(tc, opens_at_an_offset);
	tcase_add_test(tc, refuses_unknown_options);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
