/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * maps: makes a plan for the files, trees and free space of a filesystem.
 *
 *  1. scan: every inode claims its blocks; candidates are passed to the
 *     planner.
 *  2. check: no block has two owners, and no owned block is free.
 *  3. plan, and read the files of the plan again to compute the result.
 *     apply_maps.c carries out the plan.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <e4layout/dirs.h>
#include "maps_work.h"
#include "reread.h"
#include "e4layout/base/array.h"
#include "e4layout/apply/limits.h"
#include "e4layout/apply/steps.h"
#include "e4layout/read/dirs.h"
#include "e4layout/read/free_space.h"
#include "e4layout/read/scan.h"

/* default maximum of bytes that one step copies */
#define PART_BYTES	(16u << 20)
/* bytes of memory for a plan in addition to half of the user's limit */
#define MEM_ANYWAY	(16u << 20)

/* ------------------------------------------------------------------ 1. scan */

bool e4l_maps_is_changing(const struct e4l_maps *m)
{
	return e4l_run_has(m->run, E4L_REPACK_DRY_RUN) &&
	       e4l_run_has(m->run, E4L_REPACK_CHANGING);
}

/*
 * Whether @err may result from concurrent changes of a mounted filesystem and
 * must be ignored.  If @err must be ignored, clears the detail of the error.
 */
static bool has_changed(struct e4l_maps *m, errcode_t err)
{
	if (!e4l_maps_is_changing(m) || (err != E4L_ET_BLOCK_SHARED &&
				err != E4L_ET_BLOCK_NOT_IN_USE))
		return false;
	e4l_fail(m->e, 0, NULL, 0, 0);
	return true;
}

/*
 * After the last piece of an inode, claims the inode's blocks, and decides
 * which changes of the inode are allowed.
 */
static errcode_t end_inode(struct e4l_maps *m, const struct e4l_piece *p)
{
	const struct e4l_candidates *c = &m->candidates;
	errcode_t err = 0;

	/*
	 * e4l_claims_new() has claimed the blocks of the resize inode, which
	 * are reserved for group descriptors
	 */
	if (p->ino != EXT2_RESIZE_INO)
		err = e4l_claims_file(m->claims, p->ino, c->extents,
				      c->n_extents, c->tree, c->n_tree);
	if (!err)
		err = e4l_claims_xattr(m->claims, p->ino,
				ext2fs_file_acl_block(m->e->fs,
					(struct ext2_inode *)p->inode));
	if (err)
		return has_changed(m, err) ? 0 : err;
	e4l_score_finish(&m->scorer, p, m->e->fs);
	return e4l_candidates_inode(&m->candidates, p, &m->scorer.score);
}

static errcode_t add_locality(const struct e4l_dir_locality *l, void *priv)
{
	struct e4l_layout *layout =
		&((struct e4l_maps *)priv)->candidates.layout;

	layout->itable_blocks += l->itable_blocks;
	layout->itable_blocks_ideal += l->itable_blocks_ideal;
	return 0;
}

/*
 * Prepares to count the locality of directories.  If inodes are regrouped, the
 * regrouping counts the locality.
 */
static errcode_t begin_locality(struct e4l_maps *m)
{
	const struct e4l_dirs_ops ops = {
		.locality = add_locality,
		.damage = e4l_maps_is_changing(m) ? NULL : e4l_refuse_damage,
	};

	return e4l_run_has(m->run, E4L_REPACK_INODES) ? 0 :
	       e4l_dirs_new(m->e, &ops, m, &m->dirs);
}

static errcode_t scan_piece(const struct e4l_piece *p, void *priv)
{
	struct e4l_maps *m = priv;
	errcode_t err = e4l_candidates_gather(&m->candidates, p);

	if (!err && m->dirs && e4l_run_selects(m->run, p->ino))
		err = e4l_dirs_add_piece(m->dirs, p);
	if (p->first)
		m->scorer = (struct e4l_scorer) { 0 };
	e4l_score_piece(&m->scorer, p);
	return err || !p->last ? err : end_inode(m, p);
}

static void scan_progress(dgrp_t group, dgrp_t groups, void *priv)
{
	e4l_run_scanned(((struct e4l_maps *)priv)->run, group, groups);
}

static errcode_t scan(struct e4l_maps *m)
{
	const struct e4l_scan_ops ops = {
		.piece = scan_piece, .progress = scan_progress,
		.damage = e4l_maps_is_changing(m) ? NULL : e4l_refuse_damage,
	};
	errcode_t err = begin_locality(m);

	if (!err)
		err = e4l_scan(m->e, 0, NULL, &ops, m);
	if (!err && m->dirs)
		err = e4l_dirs_finish(m->dirs);
	if (!err)
		err = e4l_candidates_finish(&m->candidates);
	return err;
}

/* ----------------------------------------------------- input of the planner */

static unsigned int plan_flags(unsigned int allowed)
{
	unsigned int flags = 0;

	if (allowed & E4L_MAY_PACK)
		flags |= E4L_PLAN_PACK;
	if (allowed & E4L_MAY_ZERO)
		flags |= E4L_PLAN_ZEROOUT;
	if (allowed & E4L_MAY_MOVE)
		flags |= E4L_PLAN_MOVE;
	if (allowed & E4L_MAY_AWAY)
		flags |= E4L_PLAN_AWAY;
	if (allowed & E4L_MAY_ASK)
		flags |= E4L_PLAN_ASK;
	return flags;
}

static errcode_t note_excess(struct e4l_maps *m, const struct e4l_candidates *c,
			     ext2_ino_t ino)
{
	errcode_t err = e4l_grow(&m->files, m->n_files, sizeof(*m->files));

	if (!err)
		m->files[m->n_files++] = (struct e4l_file_change) {
			.ino = ino, .excess = (int64_t)(c->score->fragments -
						c->score->logical_runs),
		};
	return err;
}

static errcode_t offer(const struct e4l_candidates *c,
		       const struct e4l_piece *p, unsigned int allowed,
		       void *priv)
{
	struct e4l_maps *m = priv;
	ext2_filsys fs = m->e->fs;
	uint64_t size = EXT2_I_SIZE((struct ext2_inode *)p->inode);
	struct e4l_plan_file file = {
		.ino = p->ino, .allowed = plan_flags(allowed),
		.eof_blk = e4l_blocks_of(size, fs->blocksize),
		.goal = ext2fs_group_first_block2(fs, (p->ino - 1) /
					fs->super->s_inodes_per_group),
		.extents = c->extents, .n_extents = c->n_extents,
		.tree = c->tree, .n_tree = c->n_tree,
	};
	errcode_t err = 0;

	if (c->score->fragments > c->score->logical_runs)
		err = note_excess(m, c, p->ino);
	if (err || !file.allowed || !c->n_extents)
		return err;
	err = e4l_limit_to_txn(&m->opt.geo, &file);
	if (!err && !file.allowed)
		e4l_run_skip(m->run, E4L_SKIP_FILE, p->ino, E4L_SKIP_JOURNAL,
			     (c->n_extents > c->score->fragments ?
			      c->n_extents : c->score->fragments) - 1);
	return err || !file.allowed ? err : e4l_plan_add_file(m->plan, &file);
}

static errcode_t go_on(void *priv)
{
	return e4l_run_stop(((struct e4l_maps *)priv)->run, false) ?
	       E4L_ET_INTERRUPTED : 0;
}

static bool is_enough(void *priv)
{
	const struct e4l_repack_callbacks *cb =
		&((struct e4l_maps *)priv)->run->cb;

	return cb->enough && cb->enough(cb->priv);
}

static bool may_move(ext2_ino_t ino, const struct e4l_extent *extents, size_t n,
		     void *priv)
{
	return e4l_candidates_may_move(&((struct e4l_maps *)priv)->candidates,
				       ino, extents, n);
}

/* Returns @blocks rounded up to a multiple of the blocks per cluster. */
static uint64_t whole_clusters(const struct e4l_geometry *geo, uint64_t blocks)
{
	uint32_t ratio = geo->cluster_blocks;

	return (blocks / ratio + !!(blocks % ratio)) * ratio;
}

static uint64_t part_blocks(const struct e4l_maps *m)
{
	const struct e4l_geometry *geo = &m->opt.geo;
	uint64_t blocks = m->run->limits.part_blocks;
	uint64_t clusters = (blocks ? blocks : PART_BYTES / geo->blocksize) /
			    geo->cluster_blocks;

	return (clusters ? clusters : 1) * geo->cluster_blocks;
}

errcode_t e4l_maps_count_free(const struct e4l_block_run *run, void *maps)
{
	struct e4l_maps *m = maps;

	e4l_free_histogram_add(&m->free, run->len);
	if (run->len >= m->opt.large_blocks)
		m->large_free += run->len;
	return 0;
}

static errcode_t begin_plan(struct e4l_maps *m)
{
	const struct e4l_repack_limits *limits = &m->run->limits;
	uint64_t mem = limits->mem_bytes;
	struct e4l_plan_options *opt = &m->opt;
	errcode_t err;

	*opt = (struct e4l_plan_options) {
		.geo = e4l_geometry_of(m->e, e4l_run_journal(m->run, m->e)),
		.zeroout_max_blocks = limits->zero_extent_blocks,
		.zeroout_budget_blocks = limits->zero_blocks,
		.copy_budget_blocks = limits->copy_blocks,
		.free_space = e4l_run_has(m->run, E4L_REPACK_FREE),
		.may_move = may_move, .go_on = go_on, .enough = is_enough,
		.priv = m, .mem_bytes = mem ? MEM_ANYWAY + mem / 2 : 0,
	};
	opt->large_blocks = whole_clusters(&opt->geo, E4L_LARGE_FREE_BYTES /
					   m->e->fs->blocksize);
	opt->part_blocks = part_blocks(m);
	opt->region_blocks = whole_clusters(&opt->geo,
					    m->run->what.free_run_blocks);
	err = e4l_free_space(m->e, e4l_maps_count_free, NULL, m);
	return err ? err : e4l_plan_new(opt, &m->plan);
}

/* -------------------------------------------------------- 2. check, 3. plan */

static errcode_t add_free_run(const struct e4l_block_run *run, void *priv)
{
	struct e4l_maps *m = priv;
	errcode_t err = e4l_claims_free_run(m->claims, run);

	if (err)
		return has_changed(m, err) ? 0 : err;
	return e4l_plan_add_free(run, m->plan);
}

static errcode_t check_owners(struct e4l_maps *m)
{
	bool changing = e4l_maps_is_changing(m);
	errcode_t err = e4l_claims_check(m->claims);

	if (has_changed(m, err))
		err = 0;
	if (!err)
		err = e4l_free_space(m->e, add_free_run,
				     changing ? NULL : e4l_refuse_damage, m);
	e4l_claims_free(m->claims);
	m->claims = NULL;
	return err;
}

/* --------------------------------------------- maps of files after the plan */

/* Sorts moves by file, and the moves of a file by batch. */
static int by_file(const void *va, const void *vb)
{
	const struct e4l_plan_move *a = va, *b = vb;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->batch != b->batch)
		return a->batch < b->batch ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->lstart < b->lstart ? -1 : a->lstart > b->lstart;
}

static errcode_t note_outcome(struct e4l_maps *m, ext2_ino_t ino,
			      const struct e4l_plan_now *now,
			      const struct e4l_plan_outcome *then)
{
	errcode_t err = e4l_grow(&m->planned, m->n_planned,
				 sizeof(*m->planned));

	if (err)
		return err;
	m->planned[m->n_planned++] = (struct e4l_file_change) {
		.ino = ino,
		.extents = (int64_t)(now->n_extents - then->extents),
		.fragments = (int64_t)(then->old_fragments - then->fragments),
		.tree_blocks = (int64_t)(now->n_tree - then->tree_blocks),
	};
	if (now->n_tree > then->tree_blocks)
		m->run->result->planned.discarded_blocks +=
			(now->n_tree - then->tree_blocks) *
			m->opt.geo.cluster_blocks;
	return 0;
}

/*
 * Reads the files of the first *@n moves again and computes the result of these
 * moves.  If the files have too many extents for one reread, processes fewer
 * moves and sets *@n to the number of processed moves.
 */
static errcode_t look_at_some(struct e4l_maps *m,
			      const struct e4l_plan_move *v, size_t *n)
{
	struct e4l_plan_outcome then;
	struct e4l_plan_now now;
	struct e4l_reread r;
	errcode_t err = e4l_maps_reread(m, m->e, v, n, &r);
	size_t i, k;

	for (i = 0; i < *n && !err; i += k) {
		ext2_ino_t ino = e4l_plan_ino(m->plan, v[i].file);

		for (k = 1; i + k < *n && v[i + k].file == v[i].file; k++)
			;
		err = e4l_reread_find(&r, ino, &now) ?
		      e4l_plan_foresee(m->plan, v + i, k, &now, e4l_maps_note_load,
				       m,
				       &then) :
		      E4L_ET_CHANGED;
		if (!err)
			err = note_outcome(m, ino, &now, &then);
		/* another program changes the file: omit it from the result */
		else if (err == E4L_ET_CHANGED && e4l_maps_is_changing(m))
			err = 0;
		if (err == E4L_ET_CHANGED)
			e4l_fail(m->e, err, "reading a file again", ino, 0);
	}
	e4l_reread_free(&r);
	return err;
}

/*
 * Returns the number of blocks that a move frees.  All blocks of the moved
 * clusters become free, including blocks that are not copied.
 */
static uint64_t freed_by(const struct e4l_maps *m,
			 const struct e4l_plan_move *v)
{
	uint64_t ratio = m->opt.geo.cluster_blocks;

	return v->kind == E4L_MOVE_DATA ? v->len * ratio :
	       v->kind == E4L_MOVE_TREE ? ratio : 0;
}

static errcode_t look_ahead(struct e4l_maps *m)
{
	uint64_t *discarded = &m->run->result->planned.discarded_blocks;
	const struct e4l_plan_move *moves;
	struct e4l_plan_move *v;
	size_t n, i, k;
	errcode_t err = 0;

	moves = e4l_plan_moves(m->plan, &n);
	v = calloc(n + 1, sizeof(*v));
	if (!v)
		return ENOMEM;
	if (n)
		memcpy(v, moves, n * sizeof(*v));
	for (i = 0; i < n; i++)
		*discarded += freed_by(m, &v[i]);
	qsort(v, n, sizeof(*v), by_file);
	for (i = 0; i < n && !err; i += k) {
		k = n - i;
		err = go_on(m);
		if (!err)
			err = look_at_some(m, v + i, &k);
	}
	free(v);
	return err;
}

/*
 * Merges the changes of each file into one element.  Returns the number of
 * elements.
 */
static size_t join_changes(struct e4l_file_change *v, size_t n)
{
	size_t i, k = 0;

	e4l_sort(v, n, sizeof(*v), e4l_u32_cmp);
	for (i = 0; i < n; i++) {
		if (k && v[k - 1].ino == v[i].ino) {
			v[k - 1].excess += v[i].excess;
			v[k - 1].extents += v[i].extents;
			v[k - 1].fragments += v[i].fragments;
		} else {
			v[k++] = v[i];
		}
	}
	return k;
}

/*
 * Sets the members of @after that describe files to their values before the
 * plan.
 */
static void begin_after(const struct e4l_maps *m, struct e4l_layout *after)
{
	const struct e4l_layout *files = &m->candidates.layout;

	after->files = files->files;
	after->fragmented_files = files->fragmented_files;
	after->extents = files->extents;
	after->fragments = files->fragments;
	after->excess_fragments = files->excess_fragments;
	after->tree_blocks = files->tree_blocks;
	after->dir_blocks = files->dir_blocks;
}

errcode_t e4l_maps_set_after(struct e4l_maps *m,
			     const struct e4l_file_change *v, size_t n)
{
	struct e4l_layout *after = &m->run->result->after;
	struct e4l_file_change *all = calloc(n + m->n_files + 1, sizeof(*all));
	size_t i;

	if (!all)
		return ENOMEM;
	begin_after(m, after);
	for (i = 0; i < n; i++)
		after->tree_blocks -= v[i].tree_blocks;
	if (n)
		memcpy(all, v, n * sizeof(*all));
	if (m->n_files)
		memcpy(all + n, m->files, m->n_files * sizeof(*all));
	n = join_changes(all, n + m->n_files);
	for (i = 0; i < n; i++) {
		after->extents -= all[i].extents;
		after->fragments -= all[i].fragments;
		after->excess_fragments -= all[i].fragments;
		after->fragmented_files -= all[i].excess > 0 &&
					   all[i].excess <= all[i].fragments;
	}
	free(all);
	return 0;
}

void e4l_maps_set_free(const struct e4l_maps *m, struct e4l_layout *l)
{
	l->free_blocks = m->free.blocks;
	l->free_extents = m->free.runs;
	l->largest_free_blocks = m->free.largest_blocks;
	l->large_free_blocks = m->large_free;
}

/* Computes the result of the plan, and its cost. */
static errcode_t sum_up(struct e4l_maps *m)
{
	struct e4l_repack_result *result = m->run->result;
	const struct e4l_plan_result *r = e4l_plan_result(m->plan);
	errcode_t err = look_ahead(m);

	if (!err)
		err = e4l_maps_count_transactions(m);
	if (!err)
		err = e4l_maps_set_after(m, m->planned, m->n_planned);
	result->files_planned = r->files;
	result->after.free_extents = r->after.free_extents;
	result->after.largest_free_blocks = r->after.largest_free_blocks;
	result->after.large_free_blocks = r->after.large_free_blocks;
	result->after.free_blocks = r->after.free_blocks;
	return err;
}

static errcode_t make_plan(struct e4l_maps *m)
{
	struct e4l_repack_result *result = m->run->result;
	errcode_t err = check_owners(m);

	if (!err)
		err = e4l_plan_make(m->plan);
	result->before = result->after = m->candidates.layout;
	e4l_maps_set_free(m, &result->before);
	e4l_maps_set_free(m, &result->after);
	if (err)
		return err;
	e4l_run_skip_left(m->run, m->plan);
	return sum_up(m);
}

errcode_t e4l_maps_plan(struct e4l *e, struct e4l_repack_run *run,
			struct e4l_maps **ret)
{
	struct e4l_maps *m = calloc(1, sizeof(*m));
	errcode_t err;

	*ret = m;
	if (!m)
		return ENOMEM;
	m->e = e;
	m->run = run;
	err = e4l_candidates_begin(&m->candidates, e, run);
	m->candidates.offer = offer;
	m->candidates.priv = m;
	if (!err)
		err = begin_plan(m);
	if (!err)
		err = e4l_claims_new(e, &m->claims);
	if (!err)
		err = scan(m);
	if (!err)
		err = make_plan(m);
	return err;
}

bool e4l_maps_has_plan(const struct e4l_maps *m)
{
	size_t n;

	e4l_plan_moves(m->plan, &n);
	return n;
}

void e4l_maps_free(struct e4l_maps *m)
{
	if (!m)
		return;
	e4l_claims_free(m->claims);
	e4l_dirs_free(m->dirs);
	e4l_candidates_end(&m->candidates);
	e4l_plan_free(m->plan);
	free(m->loads);
	free(m->groups);
	free(m->files);
	free(m->planned);
	free(m->done);
	free(m);
}
