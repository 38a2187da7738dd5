/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tunables are added, grow until they do not fit into the root's inode, and get
 * a block of their own.  Tunables then change in the block, move back into the
 * inode, and are removed.  Each change is one transaction.
 */
#include "config.h"
#include <string.h>
#include "e4layout/tunables/tunables.h"
#include "crash.h"

#define LARGE 700	/* bytes that do not fit in an inode */

static errcode_t store(struct op_env *env, const char *text)
{
	struct e4l_tunables *t;
	errcode_t err;

	err = e4l_tunables_parse(text, strlen(text), &t);
	if (!err)
		err = e4l_tunables_write(env->e, env->external, t);
	e4l_tunables_free(t);
	if (!err)
		env->mark(env->priv);
	return err;
}

errcode_t op_tunables(struct op_env *env)
{
	char large[2][LARGE + 1] = { "a=", "b=" };
	errcode_t err;
	int i;

	for (i = 0; i < 2; i++)
		memset(large[i] + 2, '1' + i, LARGE - 2);
	err = store(env, "dir_ireserve=64,mb_order2_req=1");
	for (i = 0; !err && i < 2; i++)
		err = store(env, large[i]);
	if (!err)
		err = store(env, "mb_order2_req=1");
	return err ? err : store(env, "");
}
