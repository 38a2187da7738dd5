/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --all: the parts of a repair of the whole filesystem, each planned for what
 * those before it have left.
 */
#include "config.h"
#include <stdlib.h>
#include "e4repack.h"

/*
 * In the order that copies least.  First free space is put together, so that
 * hardly anything has to make room for files then; what these leave is free in
 * short runs again.
 */
static const unsigned int parts[E4REPACK_PARTS] = {
	ONLY_INDEX, ONLY_INODES, ONLY_FREE, ONLY_DEFAULT | ONLY_ROOM, ONLY_FREE,
};

#define MORE	3	/* times at most that the last is done again */

/* What the part before has left is not of this one. */
static void begin_part(struct e4repack *r)
{
	e4repack_forget(r);
	r->only = parts[r->parts_done - r->parts_more];
	r->repairing.writing = false;
	r->repairing.planned_from = repairing_seconds(&r->repairing);
}

static bool should_begin(const struct e4repack *r)
{
	return r->parts_done < e4repack_parts(r) &&
	       !(r->parts_done && repairing_stop(&r->repairing));
}

/*
 * No block moves twice in one plan, but where it went may be in the way of the
 * next: only one that finds nothing to move, or one run, is at the end.
 */
static bool should_repeat(const struct e4repack *r)
{
	return r->parts_done == e4repack_parts(r) && r->parts_more < MORE &&
	       !r->dry_run && r->result.transactions &&
	       r->result.free_runs_after > 1;
}

static errcode_t count_run(const struct e4l_block_run *run, void *priv)
{
	e4l_free_histogram_add(priv, run->len);
	return 0;
}

static errcode_t count_free_runs(struct e4repack *r, uint64_t *runs)
{
	struct e4l_free_histogram free_space = { 0 };
	errcode_t err = r->dry_run ? 0 : e4l_free_space(r->e, count_run, NULL,
							&free_space);

	*runs = free_space.runs;
	return err;
}

errcode_t e4repack_all(struct e4repack *r)
{
	errcode_t err = count_free_runs(r, &r->sum.free_runs_before);

	if (err)
		return err;
	while (should_begin(r)) {
		begin_part(r);
		err = e4repack_part(r);
		if (err)
			return err;
		e4repack_end_part(r);
		if (e4repack_is_stopped(r))
			break;
		r->parts_done++;
		r->parts_more += should_repeat(r);
	}
	/* a signal would end this, too */
	if (r->parts_done < e4repack_parts(r) || r->dry_run)
		return 0;
	err = count_free_runs(r, &r->sum.free_runs_after);
	r->sum.free_runs_counted = !err;
	return err == E4L_ET_INTERRUPTED ? 0 : err;
}
