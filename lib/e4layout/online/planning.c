/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * planning: reserves free space, and makes the plan for a mounted filesystem.
 */
#include "config.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <e4layout/model.h>
#include "e4layout/base/array.h"
#include "e4layout/base/map.h"
#include "e4layout/apply/apply.h"
#include "work.h"

/*
 * memory in bytes that a plan may use in addition to half of limits.mem_bytes
 */
#define MEM_ANYWAY	(16u << 20)
/*
 * free space is good if this percentage of all free blocks is in large free
 * extents
 */
#define LARGE_PERCENT	95
/*
 * If large free extents have at least this percentage of the space that a run
 * can reserve, the run does not consolidate free space.
 */
#define ENOUGH_PERCENT	85
/* bytes to reserve in addition to twice the size of the fragmented files */
#define LEAST_BYTES	(16u << 20)
/* during a run, the largest free extent keeps this percentage of its length */
#define LONG_PERCENT	90
/*
 * The fragmented files count as small if the number of all their blocks is at
 * most 1/SMALL_SHARE of the number of free blocks.
 */
#define SMALL_SHARE	16

static errcode_t go_on(void *priv)
{
	struct e4l_online *o = priv;

	/*
	 * other programs may need some of the reserved space while the planner
	 * works
	 */
	e4l_donor_has_room(&o->ways.donor);
	return e4l_run_stop(&o->run, false) ? E4L_ET_INTERRUPTED : 0;
}

static bool is_enough(void *priv)
{
	const struct e4l_repack_callbacks *cb =
		&((struct e4l_online *)priv)->run.cb;

	return cb->enough && cb->enough(cb->priv);
}

/*
 * Returns whether the user has requested to consolidate free space, and
 * consolidating is useful.
 */
static bool consolidates(const struct e4l_online *o)
{
	const struct e4l_layout *l = &o->run.result->before;
	uint64_t reach = e4l_donor_reach(&o->ways.donor);

	return e4l_run_has(&o->run, E4L_REPACK_FREE) && l->free_extents > 1 &&
	       l->large_free_blocks * 100 < l->free_blocks * LARGE_PERCENT &&
	       l->large_free_blocks * 100 < reach * ENOUGH_PERCENT;
}

errcode_t e4l_online_begin_plan(struct e4l_online *o)
{
	ext2_filsys fs = o->e->fs;
	const struct e4l_repack_limits *limits = &o->run.limits;
	struct e4l_plan_options opt = {
		.geo = e4l_geometry_of(o->e, NULL),
		.zeroout_budget_blocks = E4L_NO_LIMIT,
		.copy_budget_blocks = limits->copy_blocks,
		.large_blocks = E4L_LARGE_FREE_BYTES / fs->blocksize,
		.region_blocks = o->run.what.free_run_blocks,
		.free_space = e4l_run_has(&o->run, E4L_REPACK_FREE),
		.may_move = e4l_online_may_move, .go_on = go_on, .enough = is_enough,
		.priv = o, .mem_bytes = limits->mem_bytes ?
			MEM_ANYWAY + limits->mem_bytes / 2 : 0,
	};
	uint64_t blocks = ext2fs_blocks_count(fs->super);

	/* no limit, because the kernel divides an exchange into transactions */
	opt.geo.txn_blocks = 0;
	opt.geo.cluster_blocks = 1;
	o->n_claimed = blocks < UINT32_MAX - E4L_WORD_BITS ?
		       (uint32_t)blocks : UINT32_MAX - E4L_WORD_BITS;
	o->claimed = calloc(o->n_claimed / E4L_WORD_BITS + 1,
			    sizeof(*o->claimed));
	o->block = malloc(fs->blocksize);
	if (!o->claimed || !o->block)
		return ENOMEM;
	return e4l_plan_new(&opt, &o->plan);
}

/*
 * Adds blocks of the donor to the plan's free space.  Skips blocks that
 * belonged to a file during the scan.
 */
static errcode_t add_free(struct e4l_online *o, const struct e4l_slice *s)
{
	uint64_t end = s->pblk + s->len, next;
	struct e4l_block_run run = { .pblk = s->pblk };
	errcode_t err = 0;

	if (end > o->n_claimed)
		end = o->n_claimed;
	for (; run.pblk < end && !err; run.pblk = next) {
		next = e4l_map_next(o->claimed, run.pblk, end, true);
		run.len = next - run.pblk;
		if (run.len)
			err = e4l_plan_add_free(&run, o->plan);
		next = e4l_map_next(o->claimed, next, end, false);
	}
	return err;
}

/*
 * Returns the number of blocks that the donor should keep, or UINT64_MAX to
 * keep all reserved blocks.  The plan needs all reserved blocks if free space
 * is fragmented, or if the fragmented files are not small.
 */
static uint64_t to_keep(const struct e4l_online *o)
{
	const struct e4l_layout *l = &o->run.result->before;

	if (l->large_free_blocks * 100 < l->free_blocks * LARGE_PERCENT ||
	    o->excess_blocks > l->free_blocks / SMALL_SHARE)
		return UINT64_MAX;
	return 2 * o->excess_blocks + LEAST_BYTES / o->e->fs->blocksize;
}

/*
 * Sets @dir to the path of the directory that contains inode @ino, without a
 * leading slash.  If the path is unknown or too long, returns false.
 */
static bool dir_of(const struct e4l_online *o, ext2_ino_t ino,
		   char dir[PATH_MAX])
{
	const char *path = e4l_names_path(o->names, ino), *end;

	if (!path)
		return false;
	path += strspn(path, "/");
	end = strrchr(path, '/');
	if (end && end - path >= PATH_MAX)
		return false;
	snprintf(dir, PATH_MAX, "%.*s", end ? (int)(end - path) : 1,
		 end ? path : ".");
	return true;
}

/*
 * Reserves free space with a donor file.  If the user may not create a file in
 * the root directory, creates the donor in the directory of a fragmented file.
 * Returns E4L_SKIP_NONE, or the reason why no space is reserved.
 */
static enum e4l_skip reserve_anywhere(struct e4l_online *o)
{
	struct e4l_donor *d = &o->ways.donor;
	enum e4l_skip why = e4l_donor_reserve(d, ".");
	char dir[PATH_MAX];
	size_t i;

	if (why != E4L_SKIP_DONOR_PERMISSION || e4l_online_learn_excess(o))
		return why;
	for (i = 0; i < o->n && why == E4L_SKIP_DONOR_PERMISSION; i++)
		if (o->v[i].moves && dir_of(o, o->v[i].ino, dir))
			why = e4l_donor_reserve(d, dir);
	return why;
}

bool e4l_online_reserve_again(struct e4l_online *o)
{
	e4l_donor_close(&o->ways.donor);
	return !reserve_anywhere(o);
}

static enum e4l_skip reserve(struct e4l_online *o)
{
	struct e4l_donor *d = &o->ways.donor;
	enum e4l_skip why = reserve_anywhere(o);
	uint64_t blocks = to_keep(o);

	/*
	 * free the names: other names are needed later, because the plan may
	 * also move files without excess fragments
	 */
	e4l_names_free(o->names);
	o->names = NULL;
	if (!why && blocks != UINT64_MAX && e4l_donor_keep(d, blocks))
		why = E4L_SKIP_DONOR;
	/*
	 * if all free blocks are reserved, keep a large free extent for other
	 * programs
	 */
	if (blocks == UINT64_MAX)
		d->long_blocks = o->run.result->before.largest_free_blocks *
				 LONG_PERCENT / 100;
	return why;
}

static errcode_t add_other_free(const struct e4l_block_run *run, void *priv)
{
	return e4l_plan_add_other_free(run, ((struct e4l_online *)priv)->plan);
}

/*
 * Postpones all moves to finish_later(), which moves each fragmented file to
 * any suitable free extent.  If a page has several blocks, the kernel exchanges
 * only blocks that have the same offset in a page.  The planner does not know
 * this condition.
 */
static void move_all_later(struct e4l_online *o)
{
	size_t i;

	for (i = 0; i < o->n; i++)
		o->v[i].later = o->v[i].moves;
	o->ways.all_blocks = o->excess_blocks;
}

errcode_t e4l_online_plan(struct e4l_online *o)
{
	struct e4l_donor *d = &o->ways.donor;
	bool later = e4l_donor_page_blocks(d) > 1;
	enum e4l_skip why;
	errcode_t err;
	size_t i;

	if (!o->excess && (later || !o->n || !consolidates(o)))
		return 0;
	why = reserve(o);
	if (why == E4L_SKIP_RESERVE && o->other_run)
		why = E4L_SKIP_OTHER_RUN;
	if (why)
		return e4l_online_skip_all(o, why);
	if (later) {
		move_all_later(o);
		return 0;
	}
	/*
	 * add free blocks that are not reserved; on the device, the donor's
	 * blocks are marked as in use
	 */
	err = e4l_free_space(o->e, add_other_free, NULL, o);
	for (i = 0; i < d->n && !err; i++)
		err = add_free(o, &d->v[i]);
	if (!err)
		err = e4l_plan_make(o->plan);
	if (!err)
		e4l_run_skip_left(&o->run, o->plan);
	return err;
}
