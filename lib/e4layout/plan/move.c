/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "cost.h"
#include "join.h"
#include "move.h"

/*
 * Whether as much is free in long runs as must be, once @runs are given; an error
 * by which they were listed is handed on.
 */
static errcode_t spares_with(const struct e4l_disk *disk,
			     struct e4l_mover *mover, struct e4l_sorted *runs,
			     errcode_t err, bool *spares)
{
	uint64_t in_long;

	if (!err)
		err = e4l_space_in_long_with(disk->space, runs, &in_long);
	*spares = !err && in_long >= mover->in_long;
	if (!err && !*spares)
		mover->why = E4L_LEFT_LONG_RUNS;
	e4l_sorted_free(runs);
	return err;
}

/* Whether that will be so once @step is done, whatever it saves. */
static errcode_t spares_long_runs(const struct e4l_disk *disk,
				  struct e4l_mover *mover,
				  const struct e4l_step *step, bool *spares)
{
	uint64_t ratio = disk->geo->cluster_blocks;
	struct e4l_step_walk walk = { 0 };
	struct e4l_block_run give;
	struct e4l_sorted *runs;
	errcode_t err = 0;

	*spares = true;
	if (!mover->long_run)
		return 0;
	runs = e4l_sorted_new(false);
	if (!runs)
		return ENOMEM;
	while (!err && e4l_step_next_given(step, &walk, &give))
		err = e4l_space_list_given(runs, give.pblk / ratio,
					   give.len / ratio);
	return spares_with(disk, mover, runs, err, spares);
}

/* What moves gives. */
static errcode_t list_given(const struct e4l_shift *s, void *runs)
{
	return s->from == s->to ? 0 : e4l_space_list_given(runs, s->from, s->n);
}

/* The same for what moves, before there is a step for it. */
static errcode_t may_spare_long_runs(const struct e4l_disk *disk,
				     struct e4l_mover *mover, bool *spares)
{
	const struct e4l_moving *m = &mover->m;
	struct e4l_sorted *runs;
	errcode_t err;

	*spares = true;
	if (!mover->long_run)
		return 0;
	runs = e4l_sorted_new(false);
	if (!runs)
		return ENOMEM;
	err = e4l_each_shift(e4l_walk_old(disk, m), &m->new, list_given, runs);
	return spares_with(disk, mover, runs, err, spares);
}

/* The one step that moves all, but for its moves and its tree. */
static errcode_t map_whole(const struct e4l_disk *disk,
			   const struct e4l_moving *m, struct e4l_step *step)
{
	*step = (struct e4l_step) { .fragments_saved = m->n_old - m->new.n };
	return e4l_step_map(disk->geo, m->ex, m->n_ex, &m->new, step);
}

/* Its moves. */
static errcode_t move_whole(const struct e4l_disk *disk,
			    const struct e4l_moving *m, struct e4l_step *step)
{
	return e4l_step_move(disk->geo, m->ex, m->n_ex, e4l_walk_old(disk, m),
			     &m->new, step);
}

/* Both. */
static errcode_t make_whole(const struct e4l_disk *disk,
			    const struct e4l_moving *m, struct e4l_step *step)
{
	errcode_t err = map_whole(disk, m, step);

	return err ? err : move_whole(disk, m, step);
}

/* The steps are @step alone, which they take over. */
static errcode_t take_whole(struct e4l_step *step, struct e4l_steps *steps)
{
	steps->v = malloc(sizeof(*step));
	if (!steps->v) {
		e4l_step_free(step);
		return ENOMEM;
	}
	*steps->v = *step;
	steps->n = 1;
	return 0;
}

/* All in one step, which is too much for one and yet cannot be split. */
static errcode_t insist(const struct e4l_disk *disk,
			const struct e4l_moving *m, struct e4l_steps *steps)
{
	struct e4l_step step;
	errcode_t err = make_whole(disk, m, &step);
	bool placed;

	if (!err)
		err = e4l_step_put_tree(disk, m->tree, m->n_tree,
					step.new_extents[0].pblk, &step,
					&placed);
	if (!err)
		return take_whole(&step, steps);
	e4l_step_free(&step);
	return err;
}

/* Takes @step, or several in its place, or none. */
static errcode_t fit(const struct e4l_disk *disk, struct e4l_mover *mover,
		     struct e4l_step *step, struct e4l_steps *steps)
{
	uint64_t copied = step->bytes_to_copy / disk->geo->blocksize;
	const struct e4l_moving *m = &mover->m;
	bool placed, fits = false, spares = true;
	errcode_t err;

	err = e4l_step_put_tree(disk, m->tree, m->n_tree,
				step->new_extents[0].pblk, step, &placed);
	if (!err && placed)
		err = e4l_step_fits(disk->geo, step, 0, &fits);
	if (!err && fits)
		err = spares_long_runs(disk, mover, step, &spares);
	if (!err && fits && spares && copied <= m->part)
		return take_whole(step, steps);
	if (err) {
		e4l_step_free(step);
		return err;
	}
	err = e4l_step_drop(disk, step);
	if (err || !spares)
		return err;
	err = e4l_split_move(disk, m, steps);
	if (err || steps->n)
		return err;
	mover->too_large |= !fits;
	return fits && copied <= m->budget ? insist(disk, m, steps) : 0;
}

/*
 * Whether to move the file by @step; if not, it is known why.  A budget that is
 * not enough may do for parts.
 */
static errcode_t judge(const struct e4l_disk *disk, struct e4l_mover *mover,
		       const struct e4l_step *step, bool *good)
{
	const struct e4l_moving *m = &mover->m;

	*good = step->n_new <= m->n_entries;
	if (*good && step->bytes_to_copy / disk->geo->blocksize > m->budget) {
		mover->why = E4L_LEFT_COPY_BUDGET;
		*good = m->part <= m->budget;
	}
	return *good ? may_spare_long_runs(disk, mover, good) : 0;
}

/* Drops @steps, and makes free what they have taken. */
static errcode_t give_up(const struct e4l_disk *disk, struct e4l_steps *steps)
{
	uint64_t ratio = disk->geo->cluster_blocks;
	errcode_t err = 0;
	size_t i, k;

	for (i = 0; i < steps->n; i++) {
		const struct e4l_step *step = &steps->v[i];

		for (k = 0; k < step->n_take && !err; k++)
			err = e4l_space_add(disk->space,
					    step->take[k].pblk / ratio,
					    step->take[k].len / ratio);
		e4l_step_free(&steps->v[i]);
	}
	free(steps->v);
	*steps = (struct e4l_steps) { 0 };
	return err;
}

/* Drops @steps if free space must not become what they make of it. */
static errcode_t keep_bounds(const struct e4l_disk *disk,
			     struct e4l_mover *mover, struct e4l_steps *steps)
{
	bool allowed;
	errcode_t err = e4l_steps_allowed(disk, &mover->before, steps->v,
					  steps->n, &allowed);

	if (err || allowed)
		return err;
	mover->why = E4L_LEFT_FREE_RUNS;
	return give_up(disk, steps);
}

/* Makes steps of what has been joined, or takes it back. */
static errcode_t settle(const struct e4l_disk *disk, struct e4l_mover *mover,
			struct e4l_steps *steps)
{
	const struct e4l_moving *m = &mover->m;
	struct e4l_step step = { 0 };
	bool good = false;
	errcode_t err = 0;

	if (m->new.n < m->n_old)
		err = map_whole(disk, m, &step);
	if (!err && m->new.n < m->n_old)
		err = judge(disk, mover, &step, &good);
	if (!err && good)
		err = move_whole(disk, m, &step);
	if (!err && good)
		err = fit(disk, mover, &step, steps);
	else
		e4l_step_free(&step);
	if (err)
		return err;
	return steps->n ? keep_bounds(disk, mover, steps) :
	       e4l_unjoin(disk->space, e4l_walk_old(disk, m), &m->new);
}

/* In runs shorter than @below only, unless that is 0. */
static errcode_t try_move(const struct e4l_disk *disk, struct e4l_mover *mover,
			  uint64_t below, bool partial,
			  struct e4l_steps *steps)
{
	uint64_t ratio = disk->geo->cluster_blocks;
	uint64_t group = disk->geo->group_blocks / ratio;
	struct e4l_where where = {
		.space = disk->space, .below = below,
		.near = { mover->goal / ratio / group * group, group },
	};
	errcode_t err;

	mover->m.new.n = 0;
	err = e4l_join(&where, e4l_walk_old(disk, &mover->m), partial,
		       &mover->m.new);
	return err ? err : settle(disk, mover, steps);
}

/* The shortest logical run of several fragments. */
static uint64_t find_lacking(struct e4l_walk old)
{
	struct e4l_logical_run run;
	uint64_t shortest = 0;

	while (e4l_next_logical_run(&old, &run))
		if (run.n > 1 && (!shortest || run.len < shortest))
			shortest = run.len;
	return shortest;
}

static uint64_t count_old(struct e4l_walk old)
{
	struct e4l_fragment v;
	uint64_t n;

	for (n = 0; e4l_next_fragment(&old, &v); n++)
		;
	return n;
}

static errcode_t try_anywhere(const struct e4l_disk *disk,
			      struct e4l_mover *mover, bool partial,
			      struct e4l_steps *steps)
{
	errcode_t err = try_move(disk, mover, 0, partial, steps);

	if (err || steps->n || mover->why != E4L_LEFT_FREE_RUNS)
		return err;
	return try_move(disk, mover, mover->before.longest, partial, steps);
}

errcode_t e4l_move_file(const struct e4l_disk *disk, struct e4l_mover *mover,
			bool partial, struct e4l_steps *steps)
{
	struct e4l_moving *m = &mover->m;
	errcode_t err;

	if (!partial)
		mover->why = E4L_LEFT_NO_ROOM;
	mover->before = e4l_space_outlook(disk->space);
	err = e4l_check_clusters(m->ex, m->n_ex, disk->geo->cluster_blocks);
	if (err)
		return err;
	m->n_old = count_old(e4l_walk_old(disk, m));
	if (!mover->only_short)
		err = try_anywhere(disk, mover, partial, steps);
	if (!err && !steps->n && mover->long_run &&
	    (mover->why == E4L_LEFT_LONG_RUNS ||
	     mover->why == E4L_LEFT_FREE_RUNS))
		err = try_move(disk, mover, mover->long_run, partial, steps);
	if (!steps->n)
		mover->lacks = find_lacking(e4l_walk_old(disk, m));
	free(m->new.v);
	return err;
}

errcode_t e4l_move_to(const struct e4l_disk *disk, struct e4l_mover *mover,
		      struct e4l_steps *steps)
{
	struct e4l_step step;
	errcode_t err = make_whole(disk, &mover->m, &step);

	if (!err)
		return fit(disk, mover, &step, steps);
	e4l_step_free(&step);
	return err;
}
