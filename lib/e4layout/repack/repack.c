/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * repack: the phases of e4l_repack().
 *
 *  1. simulate: compact directories and regroup inodes in an overlay, without
 *     writes to the device;
 *  2. plan: files, trees and free space, in the state of the overlay;
 *  3. report the exact plan to the caller;
 *  4. carry out: repeat phase 1 on the filesystem itself, with the same result,
 *     and then carry out the plan.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <e4layout/model.h>
#include "e4layout/dirs/compact.h"
#include "maps.h"
#include "overlay.h"
#include "shrink.h"
#include "e4layout/inodes/regroup.h"
#include "e4layout/apply/run.h"
#include "e4layout/check/check.h"
#include "e4layout/read/scan.h"

struct repack {
	struct e4l *e;
	struct e4l_repack_run run;
	struct e4l *overlay;		/* NULL if nothing was simulated */
	struct e4l_compact_result dirs;	/* results of the simulation */
	struct e4l_regroup_result inodes;
	struct e4l_maps *maps;
};

static bool compacts(const struct repack *r)
{
	return e4l_run_has(&r->run, E4L_REPACK_DIRS) &&
	       !e4l_run_has(&r->run, E4L_REPACK_NO_MOVE);
}

static bool regroups(const struct repack *r)
{
	return e4l_run_has(&r->run, E4L_REPACK_INODES);
}

/* -------------------------------------------------------------- 1. simulate */

/*
 * If other programs may be changing the filesystem, ignores apparent damage and
 * drops the simulation.  Returns all other errors.
 */
static errcode_t forgive(struct repack *r, errcode_t err)
{
	if (!err || err == E4L_ET_INTERRUPTED || err == ENOMEM ||
	    !e4l_run_has(&r->run, E4L_REPACK_CHANGING))
		return err;
	e4l_fail(r->overlay, 0, NULL, 0, 0);
	e4l_overlay_free(r->overlay);
	r->overlay = NULL;
	r->dirs = (struct e4l_compact_result) { 0 };
	r->inodes = (struct e4l_regroup_result) { 0 };
	return 0;
}

static errcode_t simulate(struct repack *r)
{
	errcode_t err = e4l_overlay_new(r->e, r->run.what.journal, &r->overlay);

	if (!err && compacts(r))
		err = e4l_compact_dirs(r->overlay, &r->run, false, false,
				       &r->dirs);
	if (!err && regroups(r))
		err = e4l_regroup_inodes(r->overlay, &r->run, false, false, 0,
					 &r->inodes);
	return r->overlay ? forgive(r, err) : err;
}

/* ------------------------------------------------------------------ 2. plan */

struct counting {
	struct e4l_layout *layout;
	uint64_t large_blocks;
};

static errcode_t count_free(const struct e4l_block_run *run, void *priv)
{
	const struct counting *c = priv;
	struct e4l_layout *l = c->layout;

	l->free_blocks += run->len;
	l->free_extents++;
	if (run->len > l->largest_free_blocks)
		l->largest_free_blocks = run->len;
	if (run->len >= c->large_blocks)
		l->large_free_blocks += run->len;
	return 0;
}

/*
 * Counts the free space of the filesystem @e, which does not contain the
 * simulated changes of an overlay.
 */
static errcode_t look_at_free_space(struct e4l *e, struct e4l_layout *l)
{
	uint64_t large = E4L_LARGE_FREE_BYTES / e->fs->blocksize;
	uint64_t cluster = EXT2FS_CLUSTER_RATIO(e->fs);
	struct counting c = { l, large < cluster ? cluster : large };

	return e4l_free_space(e, count_free, NULL, &c);
}

/*
 * Corrects result->before, so that it describes the state before the compaction
 * of directories.  The planner has measured result->before after the simulated
 * compaction.
 */
static void add_dirs(struct repack *r, const struct e4l_layout *free)
{
	struct e4l_layout *before = &r->run.result->before;
	const struct e4l_map_size *old = &r->dirs.done_old_maps;
	const struct e4l_map_size *new = &r->dirs.done_maps;

	before->free_blocks = free->free_blocks;
	before->free_extents = free->free_extents;
	before->largest_free_blocks = free->largest_free_blocks;
	before->large_free_blocks = free->large_free_blocks;
	before->extents += old->extents - new->extents;
	before->fragments += old->fragments - new->fragments;
	before->excess_fragments += old->fragments - new->fragments;
	before->fragmented_files += old->fragmented - new->fragmented;
	before->tree_blocks += old->tree_blocks - new->tree_blocks;
	before->dir_blocks += r->dirs.done_old_blocks - r->dirs.done_blocks;
}

static void add_planned(struct repack *r)
{
	struct e4l_repack_result *result = r->run.result;

	result->dirs_planned = r->dirs.dirs_done;
	result->indexes_planned = r->dirs.indexes_planned;
	result->inode_dirs_planned = r->inodes.dirs_done;
	result->planned.dir_blocks = r->dirs.done_blocks;
	result->planned.inodes = r->inodes.inodes_done;
	result->planned.transactions += r->dirs.transactions +
					r->inodes.transactions;
	result->planned.discarded_blocks += r->dirs.planned_given_blocks;
	if (!e4l_run_has(&r->run, E4L_REPACK_DISCARD))
		result->planned.discarded_blocks = 0;
	if (!regroups(r))
		return;
	result->before.itable_blocks = r->inodes.blocks_before;
	result->before.itable_blocks_ideal = r->inodes.blocks_ideal;
	result->after.itable_blocks = r->inodes.blocks_after;
	result->after.itable_blocks_ideal = r->inodes.blocks_ideal;
}

static errcode_t plan(struct repack *r)
{
	struct e4l_layout free = { 0 };
	struct e4l *e = r->overlay ? r->overlay : r->e;
	uint64_t *copy = &r->run.limits.copy_blocks;
	errcode_t err = look_at_free_space(r->e, &free);

	if (*copy != E4L_NO_LIMIT)
		*copy -= *copy < r->dirs.done_blocks ? *copy :
						       r->dirs.done_blocks;
	if (!err)
		err = e4l_maps_plan(e, &r->run, &r->maps);
	if (err)
		return err;
	add_dirs(r, &free);
	add_planned(r);
	return 0;
}

/* ----------------------------------------------------------------- 4. apply */

static uint64_t to_write(const struct e4l_repack_cost *planned)
{
	return planned->copied_blocks + planned->zeroed_blocks +
	       planned->dir_blocks + planned->inodes;
}

/*
 * Turns an interruption into a regular end of the run: after planning, an
 * interruption is not an error.
 */
static errcode_t stop_instead(struct repack *r, errcode_t err)
{
	if (err != E4L_ET_INTERRUPTED)
		return err;
	e4l_fail(r->e, 0, NULL, 0, 0);
	r->run.result->stopped = true;
	return 0;
}

static void count_dirs(struct repack *r, const struct e4l_compact_result *done)
{
	struct e4l_repack_result *result = r->run.result;

	result->dirs_done = done->dirs_done;
	result->done.dir_blocks = done->done_blocks;
	result->done.transactions += done->transactions;
	result->done.discarded_blocks += done->discarded.blocks;
	if (done->discarded.err)
		result->discard_err = done->discarded.err;
	result->stopped |= done->stopped;
}

static errcode_t do_dirs(struct repack *r)
{
	struct e4l_compact_result done;
	errcode_t err;

	if (!r->dirs.dirs_done)
		return 0;
	err = e4l_compact_dirs(r->e, &r->run, false, true, &done);
	count_dirs(r, &done);
	return stop_instead(r, err);
}

static errcode_t do_inodes(struct repack *r)
{
	struct e4l_repack_result *result = r->run.result;
	struct e4l_regroup_result done;
	errcode_t err;

	if (!r->inodes.inodes_done || result->stopped)
		return 0;
	err = e4l_regroup_inodes(r->e, &r->run, false, true,
				 r->inodes.ended_at, &done);
	result->inode_dirs_done = done.dirs_done;
	result->done.inodes = done.inodes_done;
	result->done.transactions += done.transactions;
	result->stopped |= done.stopped;
	return stop_instead(r, err);
}

static errcode_t measure_piece(const struct e4l_piece *p,
			       const struct e4l_file_score *score, void *priv)
{
	struct e4l_layout *l = priv;

	if (p->last && score && LINUX_S_ISDIR(p->inode->i_mode))
		l->dir_blocks += score->blocks;
	return 0;
}

errcode_t e4l_repack_measure(struct e4l *e, ext2fs_inode_bitmap only,
			     struct e4l_layout *ret)
{
	struct e4l_layout now = { 0 };
	struct e4l_model_options opt = {
		.only = only, .piece = measure_piece, .sees = &now,
	};
	struct e4l_model model;
	errcode_t err = look_at_free_space(e, &now);

	if (!err)
		err = e4l_model_build(e, &opt, &model);
	if (err)
		return err;
	now.files = model.files.count;
	now.fragmented_files = model.files.fragmented;
	now.extents = model.files.extents;
	now.fragments = model.files.fragments;
	now.excess_fragments = model.files.fragments - model.files.logical_runs;
	now.tree_blocks = model.files.tree_blocks;
	now.itable_blocks = model.directories.itable_blocks;
	now.itable_blocks_ideal = model.directories.itable_blocks_ideal;
	e4l_model_free(&model);
	*ret = now;
	return 0;
}

static errcode_t carry_out(struct repack *r)
{
	struct e4l_repack_result *result = r->run.result;
	errcode_t err;

	r->run.to_write = to_write(&result->planned);
	err = do_dirs(r);
	if (!err)
		err = do_inodes(r);
	if (!err && !result->stopped && e4l_maps_has_plan(r->maps))
		err = e4l_maps_apply(r->maps, r->e);
	if (!err && result->stopped)
		err = e4l_repack_measure(r->e, r->run.what.only,
					 &result->after);
	return err;
}

static bool has_plan(const struct repack *r)
{
	return r->dirs.dirs_done || r->inodes.inodes_done ||
	       e4l_maps_has_plan(r->maps);
}

static void plan_scans(struct repack *r)
{
	r->run.scans = 1 + compacts(r) + regroups(r);
}

errcode_t e4l_repack(struct e4l *e, const struct e4l_repack_what *what,
		     const struct e4l_repack_limits *limits,
		     const struct e4l_repack_callbacks *callbacks,
		     struct e4l_repack_result *result)
{
	struct repack r = { .e = e };
	errcode_t err;

	e4l_fail(e, 0, NULL, 0, 0);
	err = e4l_run_begin(e, what, limits, callbacks, result, &r.run);
	if (!err && e4l_run_has(&r.run, E4L_REPACK_SHRINK))
		return e4l_sound_after(e, e4l_repack_shrink(e, &r.run));
	plan_scans(&r);
	if (!err && !e4l_run_has(&r.run, E4L_REPACK_DRY_RUN))
		err = e4l_require_sound(e, what->journal);
	if (!err && (compacts(&r) || regroups(&r)))
		err = simulate(&r);
	if (!err)
		err = plan(&r);
	if (!err && has_plan(&r)) {
		if (r.run.cb.planned)
			r.run.cb.planned(result, r.run.cb.priv);
		if (!e4l_run_has(&r.run, E4L_REPACK_DRY_RUN))
			err = carry_out(&r);
	}
	e4l_maps_free(r.maps);
	e4l_overlay_free(r.overlay);
	if (err && !e->detail.doing)
		e4l_fail(e, err, "repacking the filesystem", 0, 0);
	return e4l_sound_after(e, err);
}
