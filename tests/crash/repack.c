/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls e4l_repack() until nothing is left to do. */
#include "config.h"
#include "crash.h"

#define ZEROOUT_BLOCKS 64
#define PART_BLOCKS 50
/* number of runs with one step each; the plans of the runs may differ */
#define ROUNDS 30
#define ALL_AT_ONCE (-1u)
/* directories are omitted, because compaction changes their contents */
#define FILES (E4L_REPACK_FILES | E4L_REPACK_TREES)

struct run {
	struct op_env *env;
	/* maximum number of steps in the run, and number of steps so far */
	unsigned int max, asked;
	/* the plan is complete: later writes belong to the repack */
	bool planned;
};

static void planned(const struct e4l_repack_result *result, void *priv)
{
	((struct run *)priv)->planned = true;
}

/*
 * Called before each step, after a transaction that was full, and inside
 * transactions.  Marks the end of a transaction, and ends the run after
 * run->max steps.  Never ends the run inside a transaction.
 */
static bool stop(bool inside, void *priv)
{
	struct run *run = priv;

	if (inside || !run->planned)
		return false;
	if (run->asked++ == run->max)
		return true;
	run->env->mark(run->env->priv);
	return false;
}

/*
 * Marks the end of a transaction; during a scan (@writing is false), does
 * nothing.  progress() is also called for each transaction that renumbers
 * inodes; stop() is not.
 */
static void progress(bool writing, uint64_t done, uint64_t total, void *priv)
{
	struct run *run = priv;

	if (writing)
		run->env->mark(run->env->priv);
}

/* Checks that a complete run has carried out the whole plan. */
static errcode_t check_result(const struct e4l_repack_result *r)
{
	const struct e4l_layout *before = &r->before, *after = &r->after;

	return after->excess_fragments > before->excess_fragments ||
	       after->tree_blocks > before->tree_blocks ||
	       (!r->stopped && r->files_done != r->files_planned) ?
	       E4L_ET_BAD_ARGUMENT : r->discard_err;
}

static errcode_t repack(struct op_env *env, unsigned int flags,
			unsigned int max, uint64_t part_blocks)
{
	struct run run = { .env = env, .max = max };
	const struct e4l_repack_what what = {
		.flags = flags, .journal = env->external,
	};
	const struct e4l_repack_limits limits = {
		.copy_blocks = E4L_NO_LIMIT, .zero_blocks = E4L_NO_LIMIT,
		.zero_extent_blocks = ZEROOUT_BLOCKS,
		.part_blocks = part_blocks,
	};
	const struct e4l_repack_callbacks callbacks = {
		.planned = planned, .stop = stop, .priv = &run,
		.progress = flags & E4L_REPACK_INODES ? progress : NULL,
	};
	struct e4l_repack_result result;
	unsigned int rounds = max == ALL_AT_ONCE ? 2 : ROUNDS;
	errcode_t err;

	do {
		run.asked = 0;
		run.planned = false;
		err = e4l_repack(env->e, &what, &limits, &callbacks, &result);
		if (!err)
			env->mark(env->priv);
		if (!err)
			err = check_result(&result);
	} while (!err && result.done.transactions && --rounds);
	/* a complete run leaves nothing to do */
	return !err && max == ALL_AT_ONCE && result.done.transactions ?
	       E4L_ET_BAD_ARGUMENT : err;
}

errcode_t op_repack(struct op_env *env)
{
	return repack(env, FILES, ALL_AT_ONCE, 0);
}

errcode_t op_steps(struct op_env *env)
{
	return repack(env, FILES, 1, 0);
}

errcode_t op_parts(struct op_env *env)
{
	return repack(env, FILES, 1, PART_BLOCKS);
}

errcode_t op_free(struct op_env *env)
{
	return repack(env, E4L_REPACK_FREE, ALL_AT_ONCE, PART_BLOCKS);
}

errcode_t op_free_steps(struct op_env *env)
{
	return repack(env, E4L_REPACK_FREE, 1, 0);
}

errcode_t op_together(struct op_env *env)
{
	return repack(env, FILES | E4L_REPACK_FREE, ALL_AT_ONCE, PART_BLOCKS);
}

errcode_t op_together_steps(struct op_env *env)
{
	return repack(env, FILES | E4L_REPACK_FREE, 1, 0);
}

errcode_t op_discard(struct op_env *env)
{
	return repack(env, FILES | E4L_REPACK_DISCARD, 1, PART_BLOCKS);
}

const char all_recipe[] =
	"many /gone count 30 name a_name_that_takes_room_in_its_directory_\n"
	"delete /gone percent 90\n"
	"tree /t dirs 4 files 6 size 1K-3K\n"
	"many /t/d2/many count 40\n"
	"link /t/d0/f0 /t/d1/linked\n"
	"interleave /grow count 6 rounds 4 blocks 2\n"
	"scatter /apart frags 40 blocks 2 gap 1\n";

errcode_t op_all(struct op_env *env)
{
	return repack(env, E4L_REPACK_DEFAULT | E4L_REPACK_INODES,
		      ALL_AT_ONCE, PART_BLOCKS);
}
