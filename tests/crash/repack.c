/* SPDX-License-Identifier: GPL-2.0-or-later */
/* e4l_repack(), until there is nothing left to do; and all that e4repack --all does. */
#include "config.h"
#include "crash.h"

#define ZEROOUT_BLOCKS 64
#define PART_BLOCKS 50
#define TOGETHER (E4L_PLAN_ROOM | E4L_PLAN_FREE)
#define FREE_ROUNDS 30		/* a plan after each step may go another way */

struct run {
	struct op_env *env;
	unsigned int max, asked;	/* steps */
	unsigned int planning;		/* asked before those, while it plans */
};

static bool count(bool inside, void *priv)
{
	++*(unsigned int *)priv;
	return false;
}

/* How often is asked before there is a plan. */
static errcode_t count_planning(struct op_env *env,
				const struct e4l_repack_options *options,
				unsigned int *asked)
{
	struct e4l_repack_options opt = *options;
	struct e4l_repack_result result;

	opt.dry_run = true;
	opt.stop = count;
	opt.priv = asked;
	*asked = 0;
	return e4l_repack(env->e, &opt, &result);
}

/* Asked before each step, and after the transaction that had no room for it. */
static bool stop(bool inside, void *priv)
{
	struct run *run = priv;

	if (inside)
		return false;
	if (run->planning) {
		run->planning--;
		return false;
	}
	if (run->asked++ == run->max)
		return true;
	run->env->mark(run->env->priv);
	return false;
}

static errcode_t repack(struct op_env *env, unsigned int more_flags,
			unsigned int max, uint64_t part_blocks, bool discard)
{
	struct run run = { .env = env, .max = max };
	struct e4l_repack_options opt = {
		.flags = E4L_PLAN_MERGE | E4L_PLAN_ZEROOUT | E4L_PLAN_MOVE |
			 E4L_REPACK_DIRS | more_flags,
		.zeroout_max_blocks = ZEROOUT_BLOCKS,
		.zeroout_budget_blocks = E4L_NO_LIMIT,
		.copy_budget_blocks = E4L_NO_LIMIT,
		.journal = env->external, .part_blocks = part_blocks,
		.stop = stop, .priv = &run, .discard = discard,
		.most_free_runs = more_flags == TOGETHER,
		.bounds_at_end = more_flags == TOGETHER,
	};
	struct e4l_repack_result result;
	unsigned int rounds = more_flags == TOGETHER && max == -1u ? 2 :
			      more_flags & E4L_PLAN_FREE ? FREE_ROUNDS : -1;
	errcode_t err;

	do {
		run.asked = 0;
		err = count_planning(env, &opt, &run.planning);
		if (!err)
			err = e4l_repack(env->e, &opt, &result);
		if (!err)
			env->mark(env->priv);
		if (!err && (result.extents_after > result.extents_before ||
			     result.fragments_after > result.fragments_before))
			err = E4L_ET_BAD_ARGUMENT;
		if (!err)
			err = result.discarded.err;
	} while (!err && result.transactions && --rounds);
	return err;
}

errcode_t op_repack(struct op_env *env)
{
	return repack(env, 0, -1, 0, false);
}

errcode_t op_steps(struct op_env *env)
{
	return repack(env, 0, 1, 0, false);
}

errcode_t op_parts(struct op_env *env)
{
	return repack(env, 0, 1, PART_BLOCKS, false);
}

errcode_t op_room(struct op_env *env)
{
	return repack(env, E4L_PLAN_ROOM, -1, PART_BLOCKS, false);
}

errcode_t op_room_steps(struct op_env *env)
{
	return repack(env, E4L_PLAN_ROOM, 1, 0, false);
}

errcode_t op_free(struct op_env *env)
{
	return repack(env, E4L_PLAN_FREE, -1, PART_BLOCKS, false);
}

errcode_t op_free_steps(struct op_env *env)
{
	return repack(env, E4L_PLAN_FREE, 1, 0, false);
}

errcode_t op_together(struct op_env *env)
{
	return repack(env, TOGETHER, -1, PART_BLOCKS, false);
}

errcode_t op_together_steps(struct op_env *env)
{
	return repack(env, TOGETHER, 1, 0, false);
}

errcode_t op_discard(struct op_env *env)
{
	return repack(env, 0, 1, PART_BLOCKS, true);
}

/* Long free runs are made, and room, in scenarios that are crowded. */
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
	static const operation parts[] = {
		op_compact_all, op_inodes, op_free, op_room, op_free,
		op_together,
	};
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < sizeof(parts) / sizeof(*parts) && !err; i++)
		err = parts[i](env);
	return err;
}
