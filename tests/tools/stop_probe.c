/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stop_probe IMAGE MIB N [inside]: moves what is in pieces, in parts of MIB, and
 * stops when it is asked for the Nth time between steps, or inside a
 * transaction.  Prints how often it was asked, what was done, and what was left
 * for the next run.
 *
 * stop_probe IMAGE inodes: moves inodes, with time to plan for one directory.
 */
#include "config.h"
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <e4layout/e4layout.h>

struct probe {
	unsigned int asked, stop_at;
	bool inside, stopped;
	uint64_t files_left, extents_left;
};

static bool stop(bool inside, void *priv)
{
	struct probe *p = priv;

	p->asked += inside == p->inside;
	p->stopped |= inside == p->inside && p->asked == p->stop_at;
	return p->stopped;
}

static void skipped(ext2_ino_t ino, const char *why, uint64_t extents,
		    void *priv)
{
	struct probe *p = priv;

	if (!ino || strcmp(why, "the run was stopped before"))
		return;
	p->files_left++;
	p->extents_left += extents;
}

static bool is_enough(void *priv)
{
	return true;
}

static errcode_t regroup(struct e4l *e)
{
	struct e4l_regroup_options opt = {
		.mem_bytes = 64u << 20, .enough = is_enough,
	};
	struct e4l_regroup_result result;
	errcode_t fail = e4l_regroup_inodes(e, &opt, &result);

	if (!fail)
		printf("planned %llu, done %llu, left %llu\n",
		       (unsigned long long)result.dirs_planned,
		       (unsigned long long)result.dirs_done,
		       (unsigned long long)result.dirs_skipped);
	return fail;
}

static errcode_t repack(struct e4l *e, const struct e4l_repack_options *opt)
{
	const struct probe *p = opt->priv;
	struct e4l_repack_result result = { 0 };
	errcode_t fail = e4l_repack(e, opt, &result);

	if (!fail)
		printf("asked %u, stopped %d, files %llu of %llu, "
		       "transactions %llu, copied %llu, zeroed %llu, "
		       "fragments %llu to %llu, "
		       "left %llu files, %llu extents\n",
		       p->asked, result.stopped,
		       (unsigned long long)result.files_done,
		       (unsigned long long)result.files_planned,
		       (unsigned long long)result.transactions,
		       (unsigned long long)result.copied_blocks,
		       (unsigned long long)result.zeroed_blocks,
		       (unsigned long long)result.fragments_before,
		       (unsigned long long)result.fragments_after,
		       (unsigned long long)p->files_left,
		       (unsigned long long)p->extents_left);
	return fail;
}

int main(int argc, char **argv)
{
	struct probe p = {
		.stop_at = argc > 3 ? atoi(argv[3]) : 0, .inside = argc == 5,
	};
	struct e4l_repack_options opt = {
		.flags = E4L_PLAN_MERGE | E4L_PLAN_ZEROOUT | E4L_PLAN_MOVE,
		.zeroout_max_blocks = 1024,
		.zeroout_budget_blocks = E4L_NO_LIMIT,
		.copy_budget_blocks = E4L_NO_LIMIT,
		.stop = stop, .skipped = skipped, .priv = &p,
	};
	bool inodes = argc == 3 && !strcmp(argv[2], "inodes");
	struct e4l *e = NULL;
	ext2_filsys fs;
	errcode_t fail;

	if (!inodes && (argc < 4 || argc > 5))
		errx(2, "usage: stop_probe IMAGE MIB N [inside] | IMAGE inodes");
	fail = ext2fs_open2(argv[1], "cache=off", EXT2_FLAG_64BITS |
			    EXT2_FLAG_RW, 0, 0, unix_io_manager, &fs);
	if (fail)
		errx(2, "%s: cannot open", argv[1]);
	opt.part_blocks = atoi(argv[2]) * (1ULL << 20) / fs->blocksize;
	fail = e4l_new(fs, &e);
	if (!fail)
		fail = inodes ? regroup(e) : repack(e, &opt);
	if (fail)
		errx(1, "%s: %s", argv[1], error_message(fail));
	e4l_free(e);
	ext2fs_free(fs);
	return 0;
}
