/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "support/undo_guard.h"
#include "unit.h"

#define BLOCKS 2048
#define BLOCK 1024
#define SUPERS 2	/* writes of the superblock in change() */

/*
 * The comparison skips the superblock, because e2undo marks the superblock for
 * a check after an unclean end.
 */
static const char same_data[] = "cmp -s -i 2048 %s %s";

struct files {
	char dir[40], fs[60], undo[60], original[60];
};

static bool succeeds(const char *format, const char *a, const char *b)
{
	char cmd[300];

	snprintf(cmd, sizeof(cmd), format, a, b);
	return !system(cmd);
}

static void run(const char *format, const char *a, const char *b)
{
	ck_assert_msg(succeeds(format, a, b), format, a, b);
}

static void make_files(struct files *f)
{
	snprintf(f->dir, sizeof(f->dir), "%s/e4l-undo-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	ck_assert_ptr_nonnull(mkdtemp(f->dir));
	snprintf(f->fs, sizeof(f->fs), "%s/fs", f->dir);
	snprintf(f->undo, sizeof(f->undo), "%s/undo", f->dir);
	snprintf(f->original, sizeof(f->original), "%s/original", f->dir);
	run("mke2fs -q -F -t ext4 -b %2$s %1$s 2048 >/dev/null", f->fs,
	    "1024");
	run("cp %s %s", f->fs, f->original);
}

/*
 * A wrapper of unix_io that counts writes and flushes.  On request, the wrapper
 * kills the process, or refuses to write to the undo file.
 */
static struct {
	unsigned int flushes, calls;
	unsigned int die_at;	/* number of the write or flush; 0: never */
	bool full;			/* the disk of the undo file is full */
} tap;

static struct struct_io_manager tap_manager;

static errcode_t tap_open(const char *name, int flags, io_channel *io)
{
	errcode_t err = unix_io_manager->open(name, flags, io);

	if (!err)
		(*io)->manager = &tap_manager;
	return err;
}

static void count_call(void)
{
	if (++tap.calls == tap.die_at)
		raise(SIGKILL);
}

static errcode_t tap_flush(io_channel io)
{
	count_call();
	tap.flushes++;
	return unix_io_manager->flush(io);
}

static errcode_t tap_write(io_channel io, unsigned long long blk, int count,
			   const void *data)
{
	count_call();
	if (tap.full && !strcmp(strrchr(io->name, '/'), "/undo"))
		return ENOSPC;
	return unix_io_manager->write_blk64(io, blk, count, data);
}

static ext2_filsys open_guarded(struct files *f)
{
	ext2_filsys fs;

	memset(&tap, 0, sizeof(tap));
	tap_manager = *unix_io_manager;
	tap_manager.open = tap_open;
	tap_manager.flush = tap_flush;
	tap_manager.write_blk64 = tap_write;
	ck_assert_int_eq(undo_guard_setup(f->undo, &tap_manager), 0);
	ck_assert_int_eq(ext2fs_open(f->fs, EXT2_FLAG_64BITS | EXT2_FLAG_RW, 0,
				     0, undo_io_manager, &fs), 0);
	return fs;
}

/* Overwrites @n blocks in random places, but not the superblock. */
static errcode_t scribble_on(ext2_filsys fs, unsigned int n)
{
	uint8_t buf[BLOCK], back[BLOCK];
	errcode_t err = 0;
	blk64_t blk;

	while (n-- && !err) {
		memset(buf, random(), sizeof(buf));
		blk = 2 + random() % (BLOCKS - 2);
		err = io_channel_write_blk64(fs->io, blk, 1, buf);
		if (err)
			break;
		ck_assert_int_eq(io_channel_read_blk64(fs->io, blk, 1, back),
				 0);
		ck_assert_mem_eq(buf, back, BLOCK);
	}
	return err ? err : io_channel_flush(fs->io);
}

static void scribble(struct files *f, unsigned int n)
{
	ext2_filsys fs = open_guarded(f);

	ck_assert_int_eq(scribble_on(fs, n), 0);
	ext2fs_free(fs);
}

/*
 * e2undo restores all blocks, even if the undo file needs several key blocks
 * for the changed blocks.
 */
START_TEST(e2undo_puts_all_back)
{
	struct files f;

	srandom(3);
	make_files(&f);
	scribble(&f, 800);
	ck_assert_int_eq(undo_guard_setup(f.undo, unix_io_manager), EEXIST);
	run("! cmp -s %s %s", f.fs, f.original);
	run("e2undo %2$s %1$s >/dev/null 2>&1", f.fs, f.undo);
	run("cmp %s %s", f.fs, f.original);
	run("rm -r %s%s", f.dir, "");
}
END_TEST

/* The undo file is flushed once for many blocks, not once for each block. */
START_TEST(flushes_are_few)
{
	struct files f;
	ext2_filsys fs;

	make_files(&f);
	fs = open_guarded(&f);
	ck_assert_int_eq(scribble_on(fs, 400), 0);
	/* flushes: 3 for an empty undo file, 3 for records, 1 for the device */
	ck_assert_uint_le(tap.flushes, 7);
	ck_assert_int_eq(scribble_on(fs, 400), 0);
	ck_assert_uint_le(tap.flushes, 11);
	ext2fs_free(fs);
	run("e2undo %2$s %1$s >/dev/null 2>&1", f.fs, f.undo);
	run("cmp %s %s", f.fs, f.original);
	run("rm -r %s%s", f.dir, "");
}
END_TEST

START_TEST(nothing_written_leaves_no_file)
{
	struct files f;
	ext2_filsys fs;

	make_files(&f);
	fs = open_guarded(&f);
	ck_assert(!undo_guard_changed());
	ext2fs_free(fs);
	ck_assert_int_ne(access(f.undo, F_OK), 0);
	run("cmp %s %s", f.fs, f.original);
	run("rm -r %s%s", f.dir, "");
}
END_TEST

/* Block 0 has the superblock if blocks are larger than 1 KiB. */
START_TEST(block_0_is_a_change)
{
	uint8_t buf[BLOCK];
	struct files f;
	ext2_filsys fs;

	make_files(&f);
	fs = open_guarded(&f);
	memset(buf, 1, sizeof(buf));
	ck_assert_int_eq(io_channel_write_blk64(fs->io, 0, 1, buf), 0);
	ck_assert_int_eq(io_channel_flush(fs->io), 0);
	ck_assert(undo_guard_changed());
	ext2fs_free(fs);
	ck_assert(!access(f.undo, F_OK));
	run("rm -r %s%s", f.dir, "");
}
END_TEST

/*
 * The disk of the undo file is full from the beginning, or becomes full after
 * some writes.
 */
START_TEST(full_disk_stops_all)
{
	struct files f;
	ext2_filsys fs;

	make_files(&f);
	fs = open_guarded(&f);
	if (_i)
		ck_assert_int_eq(scribble_on(fs, 100), 0);
	tap.full = true;
	ck_assert_int_eq(scribble_on(fs, 100), ENOSPC);
	tap.full = false;
	ck_assert_int_eq(scribble_on(fs, 100), ENOSPC);
	ck_assert_int_eq(undo_guard_failed(), ENOSPC);
	ck_assert(undo_guard_changed() == !!_i);
	ext2fs_free(fs);
	ck_assert(!access(f.undo, F_OK) == !!_i);
	if (_i)
		run("e2undo %2$s %1$s >/dev/null 2>&1", f.fs, f.undo);
	run(same_data, f.fs, f.original);
	run("rm -r %s%s", f.dir, "");
}
END_TEST

/*
 * Writes like a transaction: data, a superblock with EXT2_VALID_FS cleared,
 * more data, and a superblock with EXT2_VALID_FS set.
 */
static void change(struct files *f, unsigned int die_at)
{
	ext2_filsys fs = open_guarded(f);
	uint8_t super[BLOCK];
	int i;

	tap.die_at = die_at;
	for (i = 0; i < SUPERS; i++) {
		if (scribble_on(fs, 4) ||
		    io_channel_read_blk64(fs->io, 1, 1, super))
			_exit(1);
		super[offsetof(struct ext2_super_block, s_state)] ^= EXT2_VALID_FS;
		if (io_channel_write_blk64(fs->io, 1, 1, super) ||
		    io_channel_flush(fs->io))
			_exit(1);
	}
	ext2fs_free(fs);
	_exit(0);
}

/*
 * Restores the filesystem with e2undo, and checks the content.  Returns false
 * if "e2undo -f" was necessary.
 */
static bool e2undo_takes_back(struct files *f)
{
	if (succeeds("e2undo %2$s %1$s >/dev/null 2>&1", f->fs, f->undo) ||
	    succeeds("cmp -s %s %s", f->fs, f->original)) {
		run(same_data, f->fs, f->original);
		return true;
	}
	run("e2undo -f %2$s %1$s >/dev/null 2>&1", f->fs, f->undo);
	run(same_data, f->fs, f->original);
	return false;
}

/*
 * One run for each write and flush of change(): the process is killed before
 * the write or flush, and e2undo must restore the filesystem.  After a few of
 * the kills, e2undo needs -f.
 */
START_TEST(e2undo_after_any_kill)
{
	unsigned int at = 0, refused = 0;
	struct files f;
	int status;
	pid_t pid;

	make_files(&f);
	do {
		run("cp %2$s %1$s", f.fs, f.original);
		unlink(f.undo);
		pid = fork();
		if (!pid)
			change(&f, at + 1);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		refused += !e2undo_takes_back(&f);
		at++;
	} while (WIFSIGNALED(status));
	ck_assert_int_eq(status, 0);
	ck_assert_uint_gt(at, 40);
	/*
	 * For each write of the superblock, e2undo may need -f after two kills:
	 * before the superblock's copy in the undo file is written, and before
	 * the header of the undo file is written.
	 */
	ck_assert_uint_le(refused, 2 * SUPERS);
	run("rm -r %s%s", f.dir, "");
}
END_TEST

/*
 * Suppresses reports of leaks in libext2fs' undo manager, which leaks its block
 * map and its path.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libext2fs\n";
}

int main(void)
{
	Suite *suite = suite_create("undo_guard");
	TCase *tc = tcase_create("undo_guard");

	tcase_add_test(tc, e2undo_puts_all_back);
	tcase_add_test(tc, flushes_are_few);
	tcase_add_test(tc, nothing_written_leaves_no_file);
	tcase_add_test(tc, block_0_is_a_change);
	tcase_add_loop_test(tc, full_disk_stops_all, 0, 2);
	tcase_add_test(tc, e2undo_after_any_kill);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
