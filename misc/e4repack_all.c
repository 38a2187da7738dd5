/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --all: the parts of a repair of the whole filesystem, each planned for what
 * those before it have left, in turns until none of them finds anything to do.
 */
#include "config.h"
#include <stdlib.h>
#include "e4repack.h"

/*
 * In the order that copies least: free space is put together before files, so
 * that hardly anything has to make room for them.
 */
static const unsigned int parts[E4REPACK_PARTS] = {
	ONLY_INDEX, ONLY_INODES, ONLY_FREE, ONLY_DEFAULT | ONLY_ROOM,
};

#define TOGETHER	(ONLY_DEFAULT | ONLY_ROOM | ONLY_FREE)
#define TURNS	8		/* at most, should there be no end to it */

/* What the part before has left is not of this one. */
static void begin_part(struct e4repack *r)
{
	e4repack_forget(r);
	r->only = parts[r->parts_done % E4REPACK_PARTS];
	r->repairing.writing = false;
	r->repairing.planned_from = repairing_seconds(&r->repairing);
}

/*
 * What is held back for free space, and free space, in one plan: whether that
 * would leave free space as it may be.
 */
static errcode_t try_together(struct e4repack *r,
			      const struct e4l_free_histogram *before,
			      bool *good)
{
	const struct e4l_repack_result *result = &r->result;
	uint64_t spent = r->spent_blocks;
	errcode_t err;

	e4repack_forget(r);
	r->only = TOGETHER;
	r->most_free_runs = r->longest_kept_blocks = 0;
	r->dry_run = true;
	err = e4repack_part(r);
	r->dry_run = false;
	r->spent_blocks = spent;
	*good = !err && !result->stopped &&
		result->extents_after < result->extents_before &&
		result->free_runs_after <= before->runs &&
		result->longest_free_blocks >= before->largest_blocks;
	return err;
}

static errcode_t do_together(struct e4repack *r,
			     const struct e4l_free_histogram *before,
			     bool *good)
{
	uint64_t runs = r->most_free_runs, longest = r->longest_kept_blocks;
	errcode_t err = try_together(r, before, good);

	e4repack_forget(r);
	if (!err && *good)
		err = e4repack_part(r);
	r->most_free_runs = runs;
	r->longest_kept_blocks = longest;
	return err;
}

static bool should_begin(const struct e4repack *r, unsigned int idle)
{
	unsigned int turns = r->dry_run ? 1 : TURNS;

	return idle < E4REPACK_PARTS && r->parts_done < turns * E4REPACK_PARTS;
}

static errcode_t count_run(const struct e4l_block_run *run, void *priv)
{
	e4l_free_histogram_add(priv, run->len);
	return 0;
}

static errcode_t look_at_free_space(struct e4repack *r,
				    struct e4l_free_histogram *ret)
{
	return r->dry_run ? 0 : e4l_free_space(r->e, count_run, NULL, ret);
}

static bool did_nothing(const struct e4repack *r)
{
	return !r->result.transactions && !r->dirs.transactions &&
	       !r->inodes.transactions;
}

errcode_t e4repack_all(struct e4repack *r)
{
	struct e4l_free_histogram before = { 0 }, after = { 0 };
	unsigned int idle = 0;		/* parts in a row */
	uint64_t held_back = 0;		/* extents */
	bool good;
	errcode_t err = look_at_free_space(r, &before);

	r->sum.free_runs_before = before.runs;
	/* if nothing is free, what becomes free is a run */
	r->most_free_runs = before.runs || r->dry_run ? before.runs : 1;
	r->longest_kept_blocks = before.largest_blocks;
	while (!err && should_begin(r, idle)) {
		if (r->parts_done && repairing_stop(&r->repairing))
			return 0;
		begin_part(r);
		err = e4repack_part(r);
		if (err)
			return err;
		e4repack_end_part(r);
		if (e4repack_is_stopped(r))
			return 0;
		r->parts_done++;
		idle = did_nothing(r) ? idle + 1 : 0;
		if (r->only & ONLY_ROOM)
			held_back = r->result.free_runs_extents;
		/* with a limit to time, what was tried might not be done */
		if (idle < E4REPACK_PARTS || !held_back ||
		    r->max_seconds != NOT_GIVEN)
			continue;
		err = do_together(r, &before, &good);
		if (err)
			return err;
		if (!good)
			break;
		e4repack_end_part(r);
		if (e4repack_is_stopped(r))
			return 0;
		idle = 0;
		held_back = 0;
	}
	if (err)
		return err;
	r->all_done = true;
	/* a signal would end this, too */
	err = look_at_free_space(r, &after);
	r->sum.free_runs_after = after.runs;
	r->sum.free_runs_counted = !err && !r->dry_run;
	return err == E4L_ET_INTERRUPTED ? 0 : err;
}
