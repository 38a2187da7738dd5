/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls e4l_regroup_inodes(), with one directory per transaction.  mkaged makes
 * directories whose inodes are far apart.  The directories have subdirectories,
 * hard links, symbolic links, a FIFO, a file with tree blocks, and a file with
 * an extended attribute.  Large directories have an htree index.
 */
#include "config.h"
#include "e4layout/inodes/regroup.h"
#include "crash.h"

#define MEM_BYTES (64u << 20)

const char inodes_recipe[] =
	"tree /t dirs 5 files 7 size 1K-3K\n"
	"many /t/d2/many count 70 name a_name_that_takes_room_in_its_directory_\n"
	"tree /u dirs 3 files 5\n"
	"many /t/d0/sub count 5\n"
	"dir /t/d1/sub\n"
	"dir /t/d1/sub/deep\n"
	"file /t/d1/sub/deep/file size 2K\n"
	"link /t/d0/f0 /t/d1/linked\n"
	"link /t/d2/f1 /linked\n"
	"link /u/d0/f1 /u/d0/linked\n"
	"symlink /t/d3/slow length 90\n"
	"symlink /t/d3/fast length 9\n"
	"fifo /t/d3/pipe\n"
	"scatter /t/d4/scattered frags 40 blocks 1 gap 1\n"
	"xattr /t/d1/f2 user.large size 400\n"
	"htree\n";

/*
 * Inodes must be exchanged in several ranges of the inode tables, while only
 * one inode is free.  Some inodes are directories or have extent trees.
 */
const char exchange_recipe[] =
	"tree /ta dirs 5 files 7\n"
	"dir /tb/one\n"
	"dir /tb/two\n"
	"dir /tb/two/sub\n"
	"scatter /tb/one/f1 frags 6 blocks 1 gap 1\n"
	"scatter /tb/two/f1 frags 6 blocks 1 gap 1\n"
	"scatter /tb/two/sub/f1 frags 6 blocks 1 gap 1\n"
	"scatter /tb/one/f2 frags 6 blocks 1 gap 1\n"
	"scatter /tb/two/f2 frags 6 blocks 1 gap 1\n"
	"scatter /tb/two/sub/f2 frags 6 blocks 1 gap 1\n"
	"scatter /tb/one/f3 frags 6 blocks 1 gap 1\n"
	"scatter /tb/two/f3 frags 6 blocks 1 gap 1\n"
	"scatter /tb/two/sub/f3 frags 6 blocks 1 gap 1\n"
	"tree /tc dirs 4 files 6 size 1K-2K\n"
	"link /tc/d0/f0 /tc/d1/linked\n"
	"tree /td dirs 8 files 5\n"
	"many /tr left 1 perdir 140\n"
	"htree\n";

/*
 * State of the callbacks.  @asked is the number of calls of stop().  The first
 * @last + 1 calls return false; the next call returns true and ends the run.
 */
struct turns {
	struct op_env *env;
	uint64_t moves;			/* number of planned moves */
	unsigned int asked, last;
	bool stopped;
};

static bool stop(bool inside, void *priv)
{
	struct turns *t = priv;

	t->stopped = t->asked++ > t->last;
	return t->stopped;
}

/*
 * Called after each commit.  Marks the end of a transaction in the log of
 * writes.  The caller of run() marks the last transaction.
 */
static void progress(bool writing, uint64_t done, uint64_t total, void *priv)
{
	struct turns *t = priv;

	if (writing && done < t->moves && !t->stopped)
		t->env->mark(t->env->priv);
}

static errcode_t run(struct turns *t, bool dry_run,
		     struct e4l_regroup_result *result)
{
	struct e4l_repack_result unused;
	struct e4l_repack_run run = {
		.what = { .journal = t->env->external },
		.limits = { .mem_bytes = MEM_BYTES },
		.cb = { .progress = progress, .stop = stop, .priv = t },
		.result = &unused,
	};

	return e4l_regroup_inodes(t->env->e, &run, dry_run, false, 0, result);
}

errcode_t op_inodes(struct op_env *env)
{
	struct e4l_regroup_result result;
	errcode_t err;

	do {
		struct turns t = { .env = env, .last = -1u };

		err = run(&t, true, &result);
		t.last = t.asked;
		t.moves = result.inodes_planned;
		t.asked = 0;
		if (!err)
			err = run(&t, false, &result);
		if (!err)
			env->mark(env->priv);
	} while (!err && result.transactions);
	return err;
}

errcode_t op_exchange(struct op_env *env)
{
	struct turns t = { .env = env, .last = -1u };
	struct e4l_regroup_result result;
	errcode_t err = op_inodes(env);

	if (!err)
		err = run(&t, true, &result);
	if (!err && result.blocks_before * 4 > result.blocks_ideal * 5)
		fatal("inode tables have %llu blocks, minimum %llu",
		      (unsigned long long)result.blocks_before,
		      (unsigned long long)result.blocks_ideal);
	return err;
}
