/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "support/undo_guard.h"
#include "unit.h"

#define BLOCKS 2048
#define BLOCK 1024

struct files {
	char dir[40], fs[60], undo[60], original[60];
};

static void run(const char *format, const char *a, const char *b)
{
	char cmd[300];

	snprintf(cmd, sizeof(cmd), format, a, b);
	ck_assert_msg(system(cmd) == 0, "%s", cmd);
}

static void make_files(struct files *f)
{
	strcpy(f->dir, "/tmp/e4l-undo-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(f->dir));
	snprintf(f->fs, sizeof(f->fs), "%s/fs", f->dir);
	snprintf(f->undo, sizeof(f->undo), "%s/undo", f->dir);
	snprintf(f->original, sizeof(f->original), "%s/original", f->dir);
	run("mke2fs -q -F -t ext4 -b %2$s %1$s 2048 >/dev/null", f->fs,
	    "1024");
	run("cp %s %s", f->fs, f->original);
}

/* Overwrites @n blocks here and there; none of them is the superblock's. */
static void scribble(struct files *f, unsigned int n)
{
	uint8_t buf[BLOCK];
	ext2_filsys fs;

	ck_assert_int_eq(undo_guard_setup(f->undo, unix_io_manager), 0);
	ck_assert_int_eq(ext2fs_open(f->fs, EXT2_FLAG_64BITS | EXT2_FLAG_RW, 0,
				     0, undo_io_manager, &fs), 0);
	while (n--) {
		memset(buf, random(), sizeof(buf));
		ck_assert_int_eq(io_channel_write_blk64(fs->io,
				 2 + random() % (BLOCKS - 2), 1, buf), 0);
	}
	ck_assert_int_eq(io_channel_flush(fs->io), 0);
	ext2fs_free(fs);
}

/* More keys than one block of them holds, twice with the same undo file. */
START_TEST(e2undo_puts_all_back)
{
	struct files f;

	srandom(3);
	make_files(&f);
	scribble(&f, 400);
	scribble(&f, 400);
	run("! cmp -s %s %s", f.fs, f.original);
	run("e2undo %2$s %1$s >/dev/null 2>&1", f.fs, f.undo);
	run("cmp %s %s", f.fs, f.original);
	run("rm -r %s%s", f.dir, "");
}
END_TEST

/* libext2fs' undo manager frees neither its map of blocks nor its path. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libext2fs\n";
}

int main(void)
{
	Suite *suite = suite_create("undo_guard");
	TCase *tc = tcase_create("undo_guard");

	tcase_set_timeout(tc, 30);
	tcase_add_test(tc, e2undo_puts_all_back);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
