/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * forecast: from a scan to a plan.  Inodes that could be better are given to
 * the planner; why the others stay is said.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "forecast.h"
#include "apply.h"
#include "swap.h"
#include "e4layout/base/array.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/plan/runs.h"
#include "e4layout/plan/step.h"
#include "e4layout/read/scan.h"

#define KNOWN_FLAGS (E4L_PLAN_MERGE | E4L_PLAN_ZEROOUT | E4L_PLAN_MOVE | \
		     E4L_PLAN_ROOM | E4L_PLAN_FREE | E4L_REPACK_DIRS | \
		     E4L_REPACK_MOVE_IMMUTABLE | E4L_REPACK_MOVE_SWAP)

/* How much of the filesystem long free runs should make up. */
#define LONG_RUNS_SHARE	20		/* one of so many blocks */

#define PART_BYTES	(16u << 20)	/* what is copied at once of a file */

/* --------------------------------------------------------------- which files */

/* Inodes of the filesystem itself, whose blocks others know by number. */
static bool is_reserved(const struct ext2_super_block *sb, ext2_ino_t ino)
{
	return (ino < EXT2_FIRST_INO(sb) && ino != EXT2_ROOT_INO) ||
	       ino == sb->s_usr_quota_inum || ino == sb->s_grp_quota_inum ||
	       ino == sb->s_prj_quota_inum || ino == sb->s_journal_inum ||
	       (ext2fs_has_feature_orphan_file((struct ext2_super_block *)sb) &&
		ino == sb->s_orphan_file_inum);
}

/* Asked of what is in the way, few of which were read when they were scanned. */
static bool may_move(ext2_ino_t ino, const struct e4l_extent *extents, size_t n,
		     void *priv)
{
	struct e4l_forecast *f = priv;
	const struct e4l_extent *last = &extents[n - 1];
	struct e4l_swap_file file = {
		.extents = extents, .n_extents = n,
		.size_bytes = ((uint64_t)last->lblk + last->len) *
			      f->e->fs->blocksize,
	};

	if (f->opt->flags & E4L_REPACK_MOVE_SWAP)
		return true;
	return !e4l_swap_ask(f->e, &file, 1, f->scratch) && !file.why;
}

/* What may be done to the file, as far as its inode tells. */
static unsigned int allowed_for(const struct e4l_forecast *f,
				const struct e4l_piece *p)
{
	unsigned int flags = f->opt->flags;
	unsigned int allowed = flags & (E4L_PLAN_MERGE | E4L_PLAN_ZEROOUT |
					E4L_PLAN_MOVE | E4L_PLAN_ROOM |
					E4L_PLAN_FREE);

	if (LINUX_S_ISDIR(p->inode->i_mode))
		allowed = (allowed & E4L_PLAN_FREE) |
			  (flags & E4L_REPACK_DIRS ? E4L_PLAN_MERGE |
			   E4L_PLAN_MOVE | (allowed & E4L_PLAN_ROOM) : 0);
	if (p->inode->i_flags & EXT4_ENCRYPT_FL)
		allowed &= ~E4L_PLAN_ZEROOUT;
	return allowed;
}

/* Why the file is left alone, or NULL, as far as its inode tells. */
static const char *reason_to_keep(const struct e4l_forecast *f,
				  const struct e4l_piece *p)
{
	const struct e4l_repack_options *opt = f->opt;

	if (opt->exclude && ext2fs_test_inode_bitmap2(opt->exclude, p->ino))
		return "excluded";
	if (p->map == E4L_MAP_INDIRECT)
		return "indirect-mapped";
	if (f->too_large)
		return "too large for the memory that may be used";
	if (!(opt->flags & E4L_REPACK_MOVE_IMMUTABLE) &&
	    (p->inode->i_flags & EXT2_IMMUTABLE_FL))
		return "immutable (--move=immutable)";
	return NULL;
}

static errcode_t offer(struct e4l_forecast *f, const struct e4l_piece *p,
		       unsigned int allowed)
{
	ext2_filsys fs = f->e->fs;
	uint64_t size = EXT2_I_SIZE((struct ext2_inode *)p->inode);
	struct e4l_plan_file file = {
		.ino = p->ino, .allowed = allowed,
		.eof_blk = e4l_blocks_of(size, fs->blocksize),
		.goal = ext2fs_group_first_block2(fs, (p->ino - 1) /
					fs->super->s_inodes_per_group),
		.extents = f->extents, .n_extents = f->n_extents,
		.tree = f->tree, .n_tree = f->n_tree,
	};

	return allowed ? e4l_plan_add_file(f->plan, &file) : 0;
}

void e4l_forecast_skip(struct e4l_forecast *f, ext2_ino_t ino, const char *why,
		       uint64_t extents)
{
	if (!extents)
		return;
	f->result->files_skipped++;
	if (f->opt->skipped)
		f->opt->skipped(ino, why, extents, f->opt->priv);
}

/* Extents that are two because they differ in state, by what keeps them so. */
struct splits {
	uint64_t too_long, behind_end, others;
};

static void count_splits(const struct e4l_forecast *f, const struct e4l_piece *p,
			 struct splits *s)
{
	uint64_t eof = EXT2_I_SIZE((struct ext2_inode *)p->inode) +
		       f->e->fs->blocksize - 1;
	struct e4l_state_run last = { 0 }, run, *u;
	size_t i = 0;

	eof /= f->e->fs->blocksize;
	for (; e4l_next_state_run(f->extents, f->n_extents, &i, &run);
	     last = run) {
		if (!e4l_runs_touch(&last, &run))
			continue;
		u = run.unwritten ? &run : &last;
		if (u->lblk + u->len > eof)
			s->behind_end++;
		else if (u->len > f->opt->zeroout_max_blocks)
			s->too_long++;
		else
			s->others++;
	}
}

/* What the planner does not even hear of. */
static void skip_what_is_not_asked(struct e4l_forecast *f,
				   const struct e4l_piece *p,
				   unsigned int allowed)
{
	const struct e4l_file_score *score = f->score;
	uint64_t excess = score->extents - score->ideal_extents;
	struct splits s = { 0 };

	count_splits(f, p, &s);
	if (excess + score->splits < f->opt->min_excess) {
		e4l_forecast_skip(f, p->ino, "has less excess than was asked for",
				  excess + s.too_long + s.others);
		return;
	}
	if (LINUX_S_ISDIR(p->inode->i_mode) &&
	    !(f->opt->flags & E4L_REPACK_DIRS)) {
		e4l_forecast_skip(f, p->ino, "directories were not asked for",
				  excess);
		return;
	}
	if (!(allowed & E4L_PLAN_MERGE))
		e4l_forecast_skip(f, p->ino, "merging was not asked for",
				  score->mergeable);
	if (!(allowed & E4L_PLAN_MOVE) && excess > score->mergeable)
		e4l_forecast_skip(f, p->ino, "moving was not asked for",
				  excess - score->mergeable);
	if (p->inode->i_flags & EXT4_ENCRYPT_FL)
		e4l_forecast_skip(f, p->ino, "encrypted files are not zeroed into",
				  s.too_long + s.others);
	else if (!(allowed & E4L_PLAN_ZEROOUT))
		e4l_forecast_skip(f, p->ino, "zeroing was not asked for",
				  s.too_long + s.others);
	else
		e4l_forecast_skip(f, p->ino,
				  "its unwritten runs are too long to zero",
				  s.too_long);
	e4l_forecast_skip(f, p->ino,
			  "space behind the end of a file stays unwritten",
			  s.behind_end);
}

/*
 * What was not asked for only makes room.  Where that would pack it as well, it
 * stays, since it is not among what was counted.
 */
static errcode_t offer_place(struct e4l_forecast *f, const struct e4l_piece *p)
{
	if (!(f->opt->flags & E4L_PLAN_ROOM) || f->score->mergeable ||
	    p->map != E4L_MAP_EXTENTS || f->why)
		return 0;
	return offer(f, p, allowed_for(f, p) & E4L_PLAN_ROOM);
}

/* Whether the inode at hand is one of those to be repaired. */
static bool is_asked_for(const struct e4l_forecast *f, ext2_ino_t ino)
{
	return !f->opt->only || ext2fs_test_inode_bitmap2(f->opt->only, ino);
}

/* Extents, or fragments where there are as few extents as there can be. */
static uint64_t could_save(const struct e4l_file_score *score)
{
	uint64_t extents = score->extents - score->ideal_extents +
			   score->splits;

	return extents ? extents : score->fragments - score->logical_runs;
}

errcode_t e4l_forecast_end_inode(struct e4l_forecast *f,
				 const struct e4l_piece *p)
{
	const struct e4l_file_score *score = f->score;
	uint64_t excess = score->extents - score->ideal_extents;
	unsigned int allowed = allowed_for(f, p);

	if (!is_asked_for(f, p->ino))
		return offer_place(f, p);
	f->result->extents_before += score->extents;
	f->result->fragments_before += score->fragments;
	f->result->tree_blocks_before += score->tree_blocks;
	if (f->why)
		e4l_forecast_skip(f, p->ino, f->why, could_save(score));
	if (f->why || p->map != E4L_MAP_EXTENTS)
		return 0;
	skip_what_is_not_asked(f, p, allowed);
	if (excess + score->splits < f->opt->min_excess)
		allowed &= E4L_PLAN_ROOM | E4L_PLAN_FREE;
	return f->offer ? f->offer(f, p, allowed, f->offer_priv) :
			  offer(f, p, allowed);
}

/*
 * Whether the planner may move it without asking: also fragments of which each
 * has another state than its neighbours, so that there are no extents to save.
 */
static bool may_gain(const struct e4l_file_score *score)
{
	return e4l_score_can_be_better(score) || score->fragments > 1;
}

/* Whether its content decides what may be done to the inode at hand. */
static bool may_be_swap(const struct e4l_forecast *f, const struct e4l_piece *p)
{
	return !f->why && !(f->opt->flags & E4L_REPACK_MOVE_SWAP) &&
	       (f->opt->flags & E4L_PLAN_ROOM || is_asked_for(f, p->ino)) &&
	       LINUX_S_ISREG(p->inode->i_mode) &&
	       may_gain(f->score) &&
	       e4l_swap_fits(EXT2_I_SIZE(p->inode));
}

/* ------------------------------------------------------------ inodes come in */

/* Whether the inode at hand is, with @more extents. */
static bool is_too_large(const struct e4l_forecast *f, size_t more)
{
	const uint64_t most = f->opt->file_bytes / E4L_REPACK_EXTENT_BYTES;

	return f->opt->file_bytes && f->n_extents + more > most;
}

errcode_t e4l_forecast_gather(struct e4l_forecast *f,
			      const struct e4l_piece *p)
{
	errcode_t err;

	f->damaged |= p->damaged;
	if (p->first) {
		f->n_extents = f->n_tree = 0;
		f->too_large = false;
	}
	f->too_large |= is_too_large(f, p->n_extents);
	if (f->too_large)
		return 0;
	if (p->first && p->last) {
		f->extents = p->extents;
		f->n_extents = p->n_extents;
		f->tree = p->tree;
		f->n_tree = p->n_tree;
		return 0;
	}
	err = e4l_append(&f->own_extents, &f->n_extents, &f->max_extents,
			 p->extents, p->n_extents, sizeof(*f->own_extents));
	if (!err)
		err = e4l_append(&f->own_tree, &f->n_tree, &f->max_tree,
				 p->tree, p->n_tree, sizeof(*f->own_tree));
	f->extents = f->own_extents;
	f->tree = f->own_tree;
	return err;
}

errcode_t e4l_forecast_end(struct e4l_forecast *f, const struct e4l_piece *last,
			   const struct e4l_file_score *score)
{
	f->score = score;
	if (last->damaged || is_reserved(f->e->fs->super, last->ino))
		return 0;
	f->why = reason_to_keep(f, last);
	return may_be_swap(f, last) ? e4l_forecast_wait(f, last) :
				      e4l_forecast_end_inode(f, last);
}

errcode_t e4l_forecast_piece(const struct e4l_piece *piece,
			     const struct e4l_file_score *score, void *forecast)
{
	errcode_t err = e4l_forecast_gather(forecast, piece);

	return err || !piece->last ? err :
	       e4l_forecast_end(forecast, piece, score);
}

errcode_t e4l_forecast_free_run(const struct e4l_block_run *run, void *forecast)
{
	return e4l_plan_add_free(run, ((struct e4l_forecast *)forecast)->plan);
}

/* ------------------------------------------------------------------ the plan */

void e4l_forecast_total(struct e4l_forecast *f,
			const struct e4l_step *steps, size_t n)
{
	struct e4l_repack_result *result = f->result;

	result->extents_after = result->extents_before;
	result->fragments_after = result->fragments_before;
	result->tree_blocks_after = result->tree_blocks_before;
	for (; n; n--, steps++) {
		result->tree_blocks_after += e4l_step_grows(f->e->fs, steps);
		result->extents_after += steps->n_new;
		result->extents_after -= steps->n_old;
		result->fragments_after += steps->new_fragments -
					   steps->old_fragments;
	}
}

errcode_t e4l_forecast_files(const struct e4l_step *steps, size_t n,
			     uint64_t *files)
{
	ext2_ino_t *inos = calloc(n + 1, sizeof(*inos));
	size_t i;

	*files = 0;
	if (!inos)
		return ENOMEM;
	for (i = 0; i < n; i++)
		inos[i] = steps[i].ino;
	qsort(inos, n, sizeof(*inos), e4l_u32_cmp);
	for (i = 0; i < n; i++)
		*files += !i || inos[i] != inos[i - 1];
	free(inos);
	return 0;
}

/* The extents of one file. */
struct extents {
	struct e4l *e;			/* first: see e4l_refuse_damage() */
	struct e4l_extent *v;
	size_t n, max;
};

static errcode_t keep_piece(const struct e4l_piece *p, void *priv)
{
	struct extents *x = priv;

	return e4l_append(&x->v, &x->n, &x->max, p->extents, p->n_extents,
			  sizeof(*x->v));
}

static errcode_t go_on(void *priv)
{
	const struct e4l_repack_options *opt = ((struct e4l_forecast *)priv)->opt;

	return opt->stop && opt->stop(false, opt->priv) ? E4L_ET_INTERRUPTED : 0;
}

static bool is_enough(void *priv)
{
	const struct e4l_repack_options *opt = ((struct e4l_forecast *)priv)->opt;

	return opt->enough && opt->enough(opt->priv);
}

static errcode_t reread(ext2_ino_t ino, struct e4l_extent **extents, size_t *n,
			void *priv)
{
	static const struct e4l_scan_ops ops = {
		.piece = keep_piece, .damage = e4l_refuse_damage,
	};
	struct e4l_forecast *f = priv;
	struct extents x = { .e = f->e };
	errcode_t err;

	err = go_on(f);
	if (err)
		return err;
	f->again = ino;
	err = e4l_scan_inode(f->e, ino, &ops, &x);
	*extents = x.v;
	*n = x.n;
	return err;
}

/* The planner says that what was read again last is not the same. */
static errcode_t name_changed(struct e4l_forecast *f)
{
	return e4l_fail(f->e, E4L_ET_CHANGED, "reading a file again", f->again,
			0);
}

static const char *const left_reasons[] = {
	[E4L_LEFT_NO_ROOM] = "no free run is long enough",
	[E4L_LEFT_LONG_RUNS] = "the last long free runs are kept",
	[E4L_LEFT_COPY_BUDGET] = E4L_OVER_COPY_BUDGET,
	[E4L_LEFT_ZEROOUT_BUDGET] = E4L_OVER_ZEROOUT_BUDGET,
	[E4L_LEFT_MISALIGNED] = "its blocks are not aligned with clusters",
	[E4L_LEFT_TXN] = "too large for the journal",
	[E4L_LEFT_CROWDED] = ("no room can be made: what is in the way cannot "
			      "move, or there is no free run for it"),
	[E4L_LEFT_FREE_RUNS] = "it would leave more, shorter free runs",
	[E4L_LEFT_TIME] = "there was no time to plan it: another run goes on",
	[E4L_LEFT_MEMORY] = "the memory for the plan is used up",
};

/* Whether it may be saved by making room, where nobody asked for that. */
static bool room_may_help(const struct e4l_forecast *f,
			  enum e4l_left_why why)
{
	return !(f->opt->flags & E4L_PLAN_ROOM) &&
	       (why == E4L_LEFT_NO_ROOM || why == E4L_LEFT_LONG_RUNS);
}

/* That a file lacks a free run of @blocks, unless that is 0. */
static void note_lacking(struct e4l_repack_result *result, uint64_t blocks)
{
	if (blocks > result->most_lacking_blocks)
		result->most_lacking_blocks = blocks;
	if (blocks && (!result->least_lacking_blocks ||
		       blocks < result->least_lacking_blocks))
		result->least_lacking_blocks = blocks;
}

static void skip_left(struct e4l_forecast *f)
{
	const struct e4l_left *left;
	size_t n;

	for (left = e4l_plan_left(f->plan, &n); n; n--, left++) {
		if (room_may_help(f, left->why))
			f->result->no_room_extents += left->extents;
		if (left->why == E4L_LEFT_FREE_RUNS)
			f->result->free_runs_extents += left->extents;
		note_lacking(f->result, left->blocks);
		e4l_forecast_skip(f, left->ino, left_reasons[left->why],
				  left->extents);
	}
	f->result->longest_free_blocks = e4l_plan_longest(f->plan);
}

/* What the steps are, and what they cost. */
static errcode_t sum_up(struct e4l_forecast *f)
{
	struct e4l_repack_result *result = f->result;
	unsigned int bs = f->e->fs->blocksize;
	const struct e4l_step *steps;
	struct e4l_plan_free free_runs;
	struct e4l_plan_room room;
	size_t n, i;

	steps = e4l_plan_steps(f->plan, &n);
	for (i = 0; i < n; i++) {
		result->planned_copy_blocks += steps[i].bytes_to_copy / bs;
		result->planned_zero_blocks += steps[i].bytes_to_zero / bs;
		result->planned_given_blocks += e4l_step_gives(&steps[i]);
	}
	e4l_plan_room(f->plan, &room);
	result->room_runs = room.runs;
	result->room_fragments = room.fragments_saved;
	result->room_files = room.files_away;
	result->room_blocks = room.blocks_away;
	e4l_plan_free_runs(f->plan, &free_runs);
	result->zones = free_runs.runs;
	result->zone_files = free_runs.files_away;
	result->zone_blocks = free_runs.blocks_away;
	result->free_runs_before = free_runs.free_runs_before;
	result->free_runs_after = free_runs.free_runs_after;
	result->longest_free_before_blocks = free_runs.longest_before;
	result->long_blocks_lacking = free_runs.long_blocks_lacking;
	result->free_for_files = free_runs.for_files;
	e4l_forecast_total(f, steps, n);
	return e4l_forecast_files(steps, n, &result->files_planned);
}

/* What the largest file needed to be scanned. */
static void forget_pieces(struct e4l_forecast *f)
{
	free(f->own_extents);
	free(f->own_tree);
	f->own_extents = NULL;
	f->own_tree = NULL;
	f->max_extents = f->max_tree = 0;
	f->extents = NULL;
	f->tree = NULL;
	f->n_extents = f->n_tree = 0;
}

errcode_t e4l_forecast_make(struct e4l_forecast *f)
{
	errcode_t err = e4l_forecast_end_all(f);

	forget_pieces(f);
	if (!err)
		err = f->damaged ? E4L_ET_DAMAGED : e4l_plan_make(f->plan);
	f->result->files_reread = e4l_plan_reread(f->plan);
	e4l_forecast_total(f, NULL, 0);
	if (err)
		return err == E4L_ET_CHANGED ? name_changed(f) : err;
	skip_left(f);
	return sum_up(f);
}

/* ---------------------------------------------------------- begin and end */

static void keep_long_runs(struct e4l_plan_options *opt, ext2_filsys fs,
			   const struct e4l_repack_options *asked)
{
	opt->long_run_blocks = E4L_LONG_RUN_BYTES / fs->blocksize;
	if (opt->long_run_blocks < opt->geo.cluster_blocks)
		opt->long_run_blocks = opt->geo.cluster_blocks;
	opt->long_blocks_kept = ext2fs_blocks_count(fs->super) /
				LONG_RUNS_SHARE;
	if (asked->most_free_runs &&
	    opt->long_blocks_kept > asked->long_kept_blocks)
		opt->long_blocks_kept = asked->long_kept_blocks;
}

/* As many clusters as hold @blocks. */
static uint64_t whole_clusters(const struct e4l_plan_options *opt,
			       uint64_t blocks)
{
	uint32_t ratio = opt->geo.cluster_blocks;

	return (blocks / ratio + !!(blocks % ratio)) * ratio;
}

static void cut_moves(struct e4l_plan_options *opt, uint64_t part_blocks)
{
	uint64_t clusters = part_blocks ? part_blocks :
					   PART_BYTES / opt->geo.blocksize;

	clusters /= opt->geo.cluster_blocks;
	opt->part_blocks = (clusters ? clusters : 1) * opt->geo.cluster_blocks;
}

static void set_options(struct e4l_forecast *f)
{
	struct e4l_plan_options *plan = &f->plan_opt;

	plan->geo = e4l_geometry_of(f->e, f->opt->journal);
	plan->zeroout_max_blocks = f->opt->zeroout_max_blocks;
	plan->zeroout_budget_blocks = f->opt->zeroout_budget_blocks;
	plan->copy_budget_blocks = f->opt->copy_budget_blocks;
	plan->cache = f->opt->cache;
	plan->reread = reread;
	plan->may_move = may_move;
	plan->go_on = go_on;
	plan->enough = is_enough;
	plan->room_bytes = f->opt->room_bytes;
	plan->plan_bytes = f->opt->plan_bytes;
	plan->free_run_blocks = whole_clusters(plan, f->opt->free_run_blocks);
	plan->most_free_runs = f->opt->most_free_runs;
	plan->longest_kept_blocks = f->opt->longest_kept_blocks;
	plan->bounds_at_end = f->opt->bounds_at_end;
	plan->longest_stays = f->opt->longest_stays;
	plan->files_follow = f->opt->files_follow;
	plan->free_follows = f->opt->free_follows;
	plan->priv = f;
	keep_long_runs(plan, f->e->fs, f->opt);
	cut_moves(plan, f->opt->part_blocks);
}

errcode_t e4l_forecast_new(struct e4l *e,
			   const struct e4l_repack_options *options,
			   struct e4l_repack_result *result,
			   struct e4l_forecast **ret)
{
	struct e4l_forecast *f;
	errcode_t err;

	*ret = NULL;
	e4l_clear(result);
	if (options->flags & ~KNOWN_FLAGS || E4L_HAS_UNKNOWN(options))
		return e4l_fail(e, E4L_ET_OPTION, "planning the repair", 0, 0);
	f = calloc(1, sizeof(*f));
	if (!f)
		return ENOMEM;
	f->e = e;
	f->opt = options;
	f->result = result;
	set_options(f);
	f->scratch = malloc(E4L_GATHER_BYTES);
	err = f->scratch ? e4l_plan_new(&f->plan_opt, &f->plan) : ENOMEM;
	if (err)
		e4l_forecast_free(f);
	else
		*ret = f;
	return err;
}

void e4l_forecast_free(struct e4l_forecast *f)
{
	if (!f)
		return;
	e4l_plan_free(f->plan);
	free(f->own_extents);
	free(f->own_tree);
	e4l_forecast_forget_waiting(f);
	free(f->waiting);
	free(f->scratch);
	free(f);
}
