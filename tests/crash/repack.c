/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * e4l_repack(), a step and so a transaction at a time, until there is nothing
 * left to do.
 */
#include "config.h"
#include "crash.h"

#define ZEROOUT_BLOCKS 64

static bool after_one_step(void *priv)
{
	int *asked = priv;

	return (*asked)++ > 0;
}

errcode_t op_repack(struct op_env *env)
{
	struct e4l_repack_options opt = {
		.flags = E4L_PLAN_MERGE | E4L_PLAN_ZEROOUT | E4L_PLAN_MOVE |
			 E4L_REPACK_DIRS,
		.zeroout_max_blocks = ZEROOUT_BLOCKS,
		.zeroout_budget_blocks = E4L_NO_LIMIT,
		.copy_budget_blocks = E4L_NO_LIMIT,
		.journal = env->external, .stop = after_one_step,
	};
	struct e4l_repack_result result;
	int asked;
	errcode_t err;

	opt.priv = &asked;
	do {
		asked = 0;
		err = e4l_repack(env->e, &opt, &result);
		if (!err && result.transactions)
			env->mark(env->priv);
	} while (!err && result.transactions);
	return err;
}
