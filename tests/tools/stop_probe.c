/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stop_probe IMAGE MIB N [inside]: defragments in parts of MIB, and stops at
 * call N of stop() after planning, between steps, or inside a transaction.
 * Prints the number of calls, the work done, and the remaining work.
 *
 * stop_probe IMAGE inodes: moves inodes, and ends the planning after one
 * directory.
 */
#include "config.h"
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <e4layout/e4layout.h>

struct probe {
	unsigned int asked, stop_at;
	bool inside, planned, stopped;
	uint64_t files_left, extents_left;
};

static bool stop(bool inside, void *priv)
{
	struct probe *p = priv;

	if (!p->planned)
		return false;
	p->asked += inside == p->inside;
	p->stopped |= inside == p->inside && p->asked == p->stop_at;
	return p->stopped;
}

static void skipped(const struct e4l_skipped *s, void *priv)
{
	struct probe *p = priv;

	if (s->why != E4L_SKIP_STOPPED)
		return;
	p->files_left++;
	p->extents_left += s->saved;
}

static void planned(const struct e4l_repack_result *result, void *priv)
{
	((struct probe *)priv)->planned = true;
}

static bool is_enough(void *priv)
{
	return true;
}

static errcode_t regroup(struct e4l *e)
{
	const struct e4l_repack_what what = { .flags = E4L_REPACK_INODES };
	const struct e4l_repack_callbacks callbacks = { .enough = is_enough };
	const struct e4l_skips *left;
	struct e4l_repack_result result;
	errcode_t fail = e4l_repack(e, &what, NULL, &callbacks, &result);

	left = &result.skips[E4L_SKIP_INODES][E4L_SKIP_TIME];
	if (!fail)
		printf("planned %llu, done %llu, left %llu\n",
		       (unsigned long long)result.inode_dirs_planned,
		       (unsigned long long)result.inode_dirs_done,
		       (unsigned long long)left->count);
	return fail;
}

static errcode_t repack(struct e4l *e, uint64_t part_blocks, struct probe *p)
{
	const struct e4l_repack_what what = {
		.flags = E4L_REPACK_FILES | E4L_REPACK_TREES,
	};
	const struct e4l_repack_limits limits = {
		.copy_blocks = E4L_NO_LIMIT, .zero_blocks = E4L_NO_LIMIT,
		.zero_extent_blocks = 1024, .part_blocks = part_blocks,
	};
	const struct e4l_repack_callbacks callbacks = {
		.stop = stop, .skipped = skipped, .planned = planned, .priv = p,
	};
	struct e4l_repack_result result = { 0 };
	errcode_t fail = e4l_repack(e, &what, &limits, &callbacks, &result);

	if (!fail)
		printf("asked %u, stopped %d, files %llu of %llu, "
		       "transactions %llu, copied %llu, zeroed %llu, "
		       "fragments %llu to %llu, "
		       "left %llu files, %llu extents\n",
		       p->asked, result.stopped,
		       (unsigned long long)result.files_done,
		       (unsigned long long)result.files_planned,
		       (unsigned long long)result.done.transactions,
		       (unsigned long long)result.done.copied_blocks,
		       (unsigned long long)result.done.zeroed_blocks,
		       (unsigned long long)result.before.fragments,
		       (unsigned long long)result.after.fragments,
		       (unsigned long long)p->files_left,
		       (unsigned long long)p->extents_left);
	return fail;
}

int main(int argc, char **argv)
{
	struct probe p = {
		.stop_at = argc > 3 ? atoi(argv[3]) : 0, .inside = argc == 5,
	};
	bool inodes = argc == 3 && !strcmp(argv[2], "inodes");
	uint64_t part_blocks;
	struct e4l *e = NULL;
	ext2_filsys fs;
	errcode_t fail;

	if (!inodes && (argc < 4 || argc > 5))
		errx(2, "usage: stop_probe IMAGE MIB N [inside] | IMAGE inodes");
	fail = ext2fs_open2(argv[1], "cache=off", EXT2_FLAG_64BITS |
			    EXT2_FLAG_RW, 0, 0, unix_io_manager, &fs);
	if (fail)
		errx(2, "%s: cannot open", argv[1]);
	part_blocks = atoi(argv[2]) * (1ULL << 20) / fs->blocksize;
	fail = e4l_new(fs, &e);
	if (!fail)
		fail = inodes ? regroup(e) : repack(e, part_blocks, &p);
	if (fail)
		errx(1, "%s: %s", argv[1], error_message(fail));
	e4l_free(e);
	ext2fs_free(fs);
	return 0;
}
