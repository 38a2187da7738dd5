// SPDX-License-Identifier: LGPL-2.1-or-later
#include "config.h"
#include <e4layout/tunables.h>
#include "e4layout/tunables/tunables.h"
#include "run.h"

#define KNOWN_FLAGS (E4L_REPACK_DEFAULT | E4L_REPACK_INODES | \
		     E4L_REPACK_NO_MOVE | E4L_REPACK_MOVE_IMMUTABLE | \
		     E4L_REPACK_MOVE_SWAP | E4L_REPACK_RENUMBER_OVERLAY | \
		     E4L_REPACK_DISCARD | E4L_REPACK_DRY_RUN | \
		     E4L_REPACK_CHANGING | E4L_REPACK_SHRINK)

#define DEFAULT_ZEROOUT_KB 32	/* default of the kernel, in KiB */

static errcode_t find_zero_extent(struct e4l *e, uint32_t *blocks)
{
	uint32_t kb = DEFAULT_ZEROOUT_KB;
	errcode_t err;

	if (*blocks != E4L_ZERO_AS_SET)
		return 0;
	err = e4l_tunables_get(e, "extent_max_zeroout_kb", &kb);
	*blocks = (uint64_t)kb * 1024 / e->fs->blocksize;
	return err;
}

/*
 * Returns whether @what has E4L_REPACK_SHRINK with options that a shrink does
 * not support, or with two new sizes; or a new size without E4L_REPACK_SHRINK.
 */
static bool is_bad_shrink(const struct e4l_repack_what *what)
{
	if (!(what->flags & E4L_REPACK_SHRINK))
		return what->shrink_blocks || what->shrink_free_blocks;
	return what->flags & (E4L_REPACK_NO_MOVE | E4L_REPACK_CHANGING) ||
	       what->only || what->exclude ||
	       (what->shrink_blocks && what->shrink_free_blocks);
}

/* Whether @what has no work, or has a flag without another required flag. */
static bool is_bad_work(const struct e4l_repack_what *what)
{
	const unsigned int parts = E4L_REPACK_DEFAULT | E4L_REPACK_INODES |
				   E4L_REPACK_SHRINK;

	return !(what->flags & parts) ||
	       (what->flags & E4L_REPACK_CHANGING &&
		!(what->flags & E4L_REPACK_DRY_RUN));
}

errcode_t e4l_run_begin(struct e4l *e, const struct e4l_repack_what *what,
			const struct e4l_repack_limits *limits,
			const struct e4l_repack_callbacks *callbacks,
			struct e4l_repack_result *result,
			struct e4l_repack_run *run)
{
	static const struct e4l_repack_limits no_limits = E4L_REPACK_NO_LIMITS;
	static const struct e4l_repack_callbacks none;

	*run = (struct e4l_repack_run) {
		.what = *what, .limits = limits ? *limits : no_limits,
		.cb = callbacks ? *callbacks : none, .result = result,
	};
	e4l_clear(result);
	/*
	 * if the user selects files, do not consolidate free space, because
	 * this would move other files
	 */
	if (what->only)
		run->what.flags &= ~E4L_REPACK_FREE;
	if (what->flags & ~KNOWN_FLAGS || is_bad_work(what) ||
	    is_bad_shrink(what) || E4L_HAS_UNKNOWN(what) ||
	    E4L_HAS_UNKNOWN(&run->limits) || E4L_HAS_UNKNOWN(&run->cb))
		return e4l_fail(e, E4L_ET_OPTION, "planning the repack", 0, 0);
	return find_zero_extent(e, &run->limits.zero_extent_blocks);
}

void e4l_run_skip(struct e4l_repack_run *run, enum e4l_skip_kind kind,
		  ext2_ino_t ino, enum e4l_skip why, uint64_t saved)
{
	const struct e4l_skipped skipped = {
		.ino = ino, .kind = kind, .why = why, .saved = saved,
	};
	struct e4l_skips *s = &run->result->skips[kind][why];

	if (!why || (kind == E4L_SKIP_FILE && !saved))
		return;
	s->count++;
	s->saved += saved;
	if (run->cb.skipped)
		run->cb.skipped(&skipped, run->cb.priv);
}

void e4l_run_lacks(struct e4l_repack_run *run, uint64_t blocks)
{
	struct e4l_repack_result *result = run->result;

	if (blocks > result->most_lacking_blocks)
		result->most_lacking_blocks = blocks;
	if (blocks && (!result->least_lacking_blocks ||
		       blocks < result->least_lacking_blocks))
		result->least_lacking_blocks = blocks;
}

void e4l_run_skip_left(struct e4l_repack_run *run, const struct e4l_plan *p)
{
	static const enum e4l_skip skips[] = {
		[E4L_PLAN_SKIP_NO_ROOM] = E4L_SKIP_NO_SPACE,
		[E4L_PLAN_SKIP_GUARD] = E4L_SKIP_FREE_SPACE,
		[E4L_PLAN_SKIP_COPY_BUDGET] = E4L_SKIP_COPY_LIMIT,
		[E4L_PLAN_SKIP_ZEROOUT_BUDGET] = E4L_SKIP_ZERO_LIMIT,
		[E4L_PLAN_SKIP_MISALIGNED] = E4L_SKIP_MISALIGNED,
		[E4L_PLAN_SKIP_TIME] = E4L_SKIP_TIME,
		[E4L_PLAN_SKIP_MEMORY] = E4L_SKIP_MEMORY,
	};
	const struct e4l_plan_skipped *s;
	size_t n;

	for (s = e4l_plan_skipped(p, &n); n; n--, s++) {
		e4l_run_lacks(run, s->blocks);
		e4l_run_skip(run, E4L_SKIP_FILE, s->ino, skips[s->why],
			     s->extents);
	}
}

bool e4l_run_stop(struct e4l_repack_run *run, bool inside)
{
	return run->cb.stop && run->cb.stop(inside, run->cb.priv);
}

void e4l_run_scanned(struct e4l_repack_run *run, dgrp_t group, dgrp_t groups)
{
	uint64_t done = (uint64_t)run->scans_done * groups + group;
	uint64_t all = (uint64_t)run->scans * groups;

	/* a shrink that tries several sizes scans more often than expected */
	if (run->cb.progress)
		run->cb.progress(false, done < all ? done : all, all,
				 run->cb.priv);
	run->scans_done += group == groups;
}

void e4l_run_wrote(struct e4l_repack_run *run, uint64_t amount)
{
	run->written += amount;
	if (run->cb.progress)
		run->cb.progress(true, run->written, run->to_write,
				 run->cb.priv);
}
