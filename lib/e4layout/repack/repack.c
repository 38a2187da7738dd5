/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * repack: from a filesystem to a better one.
 *
 *  1. scan: every inode claims its blocks; those that could be better are given
 *     to the planner.
 *  2. check: no block has two owners, none that is owned is free.
 *  3. plan: pure, but for files whose extents the cache has forgotten, which
 *     are read again.
 *  4. apply: step by step, in transactions.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <e4layout/repack.h>
#include <e4layout/score.h>
#include "e4layout/base/array.h"
#include "e4layout/check/check.h"
#include "apply.h"
#include "claims.h"
#include "forecast.h"
#include "e4layout/journal/journal.h"
#include "e4layout/read/scan.h"

struct repack {
	struct e4l *e;			/* first: see e4l_refuse_damage() */
	const struct e4l_repack_options *opt;
	struct e4l_repack_result *result;
	struct e4l_claims *claims;
	struct e4l_forecast *forecast;
	struct e4l_scorer scorer;	/* of the inode at hand */
	/* what apply has written so far */
	uint64_t written, to_write;
};

/* ------------------------------------------------------------------ 1. scan */

/* What of it looks damaged has changed while it was read. */
static bool is_changing(const struct repack *r)
{
	return r->opt->dry_run && r->opt->changing;
}

/* Whether @err is such a difference, which is forgotten then. */
static bool has_changed(struct repack *r, errcode_t err)
{
	if (!is_changing(r) || (err != E4L_ET_BLOCK_SHARED &&
				err != E4L_ET_BLOCK_NOT_IN_USE))
		return false;
	e4l_fail(r->e, 0, NULL, 0, 0);
	return true;
}

/* The last piece of an inode has come. */
static errcode_t end_inode(struct repack *r, const struct e4l_piece *p)
{
	const struct e4l_forecast *f = r->forecast;
	errcode_t err = 0;

	/* the resize inode's map is the backup descriptors */
	if (p->ino != EXT2_RESIZE_INO)
		err = e4l_claims_file(r->claims, p->ino, f->extents,
				      f->n_extents, f->tree, f->n_tree);
	if (!err)
		err = e4l_claims_xattr(r->claims, p->ino,
				ext2fs_file_acl_block(r->e->fs,
					(struct ext2_inode *)p->inode));
	if (err)
		return has_changed(r, err) ? 0 : err;
	e4l_score_finish(&r->scorer, p, r->e->fs);
	return e4l_forecast_end(r->forecast, p, &r->scorer.score);
}

static errcode_t scan_piece(const struct e4l_piece *p, void *priv)
{
	struct repack *r = priv;
	errcode_t err = e4l_forecast_gather(r->forecast, p);

	if (p->first)
		r->scorer = (struct e4l_scorer) { 0 };
	e4l_score_piece(&r->scorer, p);
	return err || !p->last ? err : end_inode(r, p);
}

static void scan_progress(dgrp_t group, dgrp_t groups, void *priv)
{
	struct repack *r = priv;

	if (r->opt->progress)
		r->opt->progress(false, group, groups, r->opt->priv);
}

static errcode_t scan(struct repack *r)
{
	const struct e4l_scan_ops ops = {
		.piece = scan_piece, .progress = scan_progress,
		.damage = is_changing(r) ? NULL : e4l_refuse_damage,
	};

	return e4l_scan(r->e, 0, NULL, &ops, r);
}

/* --------------------------------------------------------- 2. check, 3. plan */

static errcode_t add_free_run(const struct e4l_block_run *run, void *priv)
{
	struct repack *r = priv;
	errcode_t err = e4l_claims_free_run(r->claims, run);

	if (err)
		return has_changed(r, err) ? 0 : err;
	return e4l_forecast_free_run(run, r->forecast);
}

static errcode_t make_plan(struct repack *r)
{
	errcode_t err = e4l_claims_check(r->claims);

	if (has_changed(r, err))
		err = 0;
	if (!err)
		err = e4l_free_space(r->e, add_free_run, is_changing(r) ? NULL :
				     e4l_refuse_damage, r);
	e4l_claims_free(r->claims);
	r->claims = NULL;
	return err ? err : e4l_forecast_make(r->forecast);
}

/* ----------------------------------------------------------------- 4. apply */

static void write_progress(uint64_t blocks, void *priv)
{
	struct repack *r = priv;

	r->written += blocks;
	if (r->opt->progress)
		r->opt->progress(true, r->written, r->to_write, r->opt->priv);
}

static bool should_stop(bool inside, void *priv)
{
	struct repack *r = priv;

	return r->opt->stop && r->opt->stop(inside, r->opt->priv);
}

static errcode_t apply_steps(struct repack *r, struct e4l_apply *a,
			     const struct e4l_step *steps, size_t *n)
{
	size_t i;
	errcode_t err = 0;

	for (i = 0; i < *n; i++) {
		err = e4l_apply_make_room(a, &steps[i], 0);
		if (err)
			break;
		r->result->stopped = should_stop(false, r);
		if (r->result->stopped)
			break;
		err = e4l_apply_step(a, &steps[i]);
		if (err)
			break;
	}
	*n = i;
	if (!err)
		err = e4l_apply_commit(a);
	if (err != E4L_ET_INTERRUPTED)
		return err;
	r->result->stopped = true;
	return 0;
}

/* Quota counts tree blocks too: can it count what is going to change? */
static errcode_t check_quota(struct repack *r, struct e4l_quota *q,
			     const struct e4l_step *steps, size_t n)
{
	ext2_filsys fs = r->e->fs;
	struct ext2_inode *inode = malloc(EXT2_INODE_SIZE(fs->super));
	errcode_t err = inode ? 0 : ENOMEM;

	for (; q && n && !err; n--, steps++) {
		int64_t more = e4l_step_grows(fs, steps);

		if (!more)
			continue;
		err = ext2fs_read_inode_full(fs, steps->ino, inode,
					     EXT2_INODE_SIZE(fs->super));
		if (err)
			e4l_fail(r->e, err, "reading an inode", steps->ino, 0);
		else
			err = e4l_quota_check(q, steps->ino, inode, more *
					      EXT2_CLUSTER_SIZE(fs->super));
	}
	free(inode);
	return err;
}

static errcode_t apply_plan(struct repack *r, const struct e4l_step *steps,
			    size_t *n)
{
	struct e4l_apply_options opt = {
		.geo = &r->forecast->plan_opt.geo,
		.part_blocks = r->forecast->plan_opt.part_blocks,
		.progress = write_progress,
		.stop = should_stop, .priv = r,
	};
	struct e4l_apply *a = NULL;
	struct e4l_apply_stats stats;
	errcode_t err, err2;

	err = e4l_quota_new(r->e, &opt.quota);
	if (!err)
		err = check_quota(r, opt.quota, steps, *n);
	if (!err)
		err = e4l_journal_open(r->e, r->opt->journal, &opt.journal);
	if (!err && r->opt->discard)
		e4l_journal_discard(opt.journal, &r->result->discarded);
	if (!err)
		err = e4l_apply_open(r->e, &opt, &a);
	if (err) {
		*n = 0;
	} else {
		err = apply_steps(r, a, steps, n);
		e4l_apply_stats(a, &stats);
		*n = stats.steps;
		r->result->copied_blocks = stats.copied_blocks;
		r->result->zeroed_blocks = stats.zeroed_blocks;
		r->result->transactions = stats.transactions;
	}
	e4l_apply_close(a);
	err2 = e4l_journal_close(opt.journal);
	e4l_quota_free(opt.quota);
	return err ? err : err2;
}

/* What steps that were not done would have saved of a file. */
struct rest {
	ext2_ino_t ino;			/* first: see e4l_u32_cmp() */
	int64_t extents, fragments;
};

/* What is left may also be that a file gives for others what it has won. */
static uint64_t could_save(const struct rest *rest)
{
	int64_t saved = rest->extents > 0 ? rest->extents : rest->fragments;

	return saved > 0 ? saved : 0;
}

/* The steps that a run which was stopped leaves to the next. */
static errcode_t skip_the_rest(struct repack *r,
			       const struct e4l_step *steps, size_t n)
{
	struct rest *rest = calloc(n + 1, sizeof(*rest));
	size_t i;

	if (!rest)
		return ENOMEM;
	for (i = 0; i < n; i++, steps++)
		rest[i] = (struct rest) {
			.ino = steps->ino,
			.extents = (int64_t)(steps->n_old - steps->n_new),
			.fragments = (int64_t)(steps->old_fragments -
					       steps->new_fragments),
		};
	qsort(rest, n, sizeof(*rest), e4l_u32_cmp);
	for (i = 0; i < n; i++) {
		if (i + 1 < n && rest[i + 1].ino == rest[i].ino) {
			rest[i + 1].extents += rest[i].extents;
			rest[i + 1].fragments += rest[i].fragments;
			continue;
		}
		e4l_forecast_skip(r->forecast, rest[i].ino,
				  "the run was stopped before",
				  could_save(&rest[i]));
	}
	free(rest);
	return 0;
}

/* Files of which something is left to do have not been done. */
static errcode_t count_done(struct repack *r,
			    const struct e4l_step *rest, size_t n)
{
	uint64_t left;
	errcode_t err = e4l_forecast_files(rest, n, &left);

	r->result->files_done = err ? 0 : r->result->files_planned - left;
	return err;
}

static errcode_t count_free_run(const struct e4l_block_run *run, void *priv)
{
	e4l_free_histogram_add(priv, run->len);
	return 0;
}

/* What a run that was stopped has left of free space is not what was planned. */
static errcode_t look_at_free_space(struct repack *r)
{
	struct e4l_free_histogram now = { 0 };
	errcode_t err = e4l_free_space(r->e, count_free_run, NULL, &now);

	r->result->stopped_free_runs = now.runs;
	r->result->stopped_longest_blocks = now.largest_blocks;
	return err;
}

static errcode_t carry_out(struct repack *r)
{
	struct e4l_repack_result *result = r->result;
	const struct e4l_step *steps;
	size_t all, n;
	errcode_t err = 0;

	steps = e4l_plan_steps(r->forecast->plan, &all);
	if (!all || r->opt->dry_run)
		return 0;
	r->to_write = result->planned_copy_blocks + result->planned_zero_blocks;
	n = all;
	err = apply_plan(r, steps, &n);
	if (!err && result->stopped)
		err = skip_the_rest(r, steps + n, all - n);
	if (!err && result->stopped)
		err = look_at_free_space(r);
	e4l_forecast_total(r->forecast, steps, n);
	if (count_done(r, steps + n, all - n) && !err)
		err = ENOMEM;
	return err;
}

errcode_t e4l_repack(struct e4l *e, const struct e4l_repack_options *options,
		     struct e4l_repack_result *result)
{
	struct repack r = { .e = e, .opt = options, .result = result };
	errcode_t err;

	e4l_fail(e, 0, NULL, 0, 0);
	err = options->dry_run ? 0 : e4l_require_sound(e, options->journal);
	if (!err)
		err = e4l_forecast_new(e, options, result, &r.forecast);
	if (!err)
		err = e4l_claims_new(e, &r.claims);
	if (!err)
		err = scan(&r);
	if (!err)
		err = make_plan(&r);
	e4l_claims_free(r.claims);
	if (!err)
		err = carry_out(&r);
	else if (r.forecast)
		e4l_forecast_total(r.forecast, NULL, 0);
	e4l_forecast_free(r.forecast);
	if (err && !e->detail.doing)
		e4l_fail(e, err, "repairing the layout", 0, 0);
	return err;
}
