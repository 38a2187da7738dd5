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
#include "apply.h"
#include "claims.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/journal/journal.h"
#include "e4layout/plan/plan_internal.h"

/* A long free run, and how much of the filesystem such runs should make up. */
#define LONG_RUN_BYTES	(1u << 20)
#define LONG_RUNS_SHARE	20		/* one of so many blocks */

#define PART_BYTES	(16u << 20)	/* what is copied at once of a file */

struct repack {
	struct e4l *e;
	const struct e4l_repack_options *opt;
	struct e4l_repack_result *result;
	struct e4l_claims *claims;
	struct e4l_plan_options plan_opt;
	struct e4l_plan *plan;
	/* the inode at hand */
	struct e4l_scorer scorer;
	struct e4l_extent *extents;
	size_t n_extents, max_extents;
	struct e4l_tree_block *tree;
	size_t n_tree, max_tree;
	char *block;			/* of it */
	ext2_ino_t again;	/* that was read again last */
	/* what apply has written so far */
	uint64_t written, to_write;
};

/* ------------------------------------------------------------------ 1. scan */

/* Inodes of the filesystem itself, whose blocks others know by number. */
static bool is_reserved(const struct ext2_super_block *sb, ext2_ino_t ino)
{
	return (ino < EXT2_FIRST_INO(sb) && ino != EXT2_ROOT_INO) ||
	       ino == sb->s_usr_quota_inum || ino == sb->s_grp_quota_inum ||
	       ino == sb->s_prj_quota_inum || ino == sb->s_journal_inum ||
	       (ext2fs_has_feature_orphan_file((struct ext2_super_block *)sb) &&
		ino == sb->s_orphan_file_inum);
}

/*
 * What mkswap(8), or suspending to it, writes 10 bytes before the end of a swap
 * file's first page.  Pages have from 4 to 64 KiB, and the file 10 at least.
 */
static const char *const swap_signatures[] = {
	"SWAPSPACE2", "SWAP-SPACE", "S1SUSPEND", "S2SUSPEND", "ULSUSPEND",
	"LINHIB0001",
};
#define SIGNATURE_BYTES	10
#define MIN_PAGE_BYTES	4096
#define MAX_PAGE_BYTES	65536
#define MIN_SWAP_PAGES	10

static bool is_signature(const char *at)
{
	size_t i;

	for (i = 0; i < sizeof(swap_signatures) / sizeof(char *); i++)
		if (!memcmp(at, swap_signatures[i], strlen(swap_signatures[i])))
			return true;
	return false;
}

/* The written block of the inode at hand, or 0. */
static blk64_t find_block(const struct repack *r, uint64_t lblk)
{
	const struct e4l_extent *x = r->extents;

	while (x < r->extents + r->n_extents && x->lblk + x->len <= lblk)
		x++;
	if (x == r->extents + r->n_extents || x->lblk > lblk || x->unwritten)
		return 0;
	return x->pblk + (lblk - x->lblk);
}

/* Why the file must be taken for a swap file, or NULL. */
static const char *reason_of_swap(struct repack *r, uint64_t size_bytes)
{
	unsigned int blocksize = r->e->fs->blocksize;
	uint64_t page, at;
	blk64_t blk;

	for (page = MIN_PAGE_BYTES; page <= MAX_PAGE_BYTES &&
				    size_bytes >= page * MIN_SWAP_PAGES;
	     page *= 2) {
		at = page - SIGNATURE_BYTES;
		blk = find_block(r, at / blocksize);
		if (!blk)
			continue;
		if (e4l_read(r->e, blk, 1, r->block))
			return "cannot be read";
		if (is_signature(r->block + at % blocksize))
			return "a swap file";
	}
	return NULL;
}

/* Whether anything of the inode at hand is not as it could be. */
static bool can_be_better(const struct repack *r)
{
	const struct e4l_file_score *score = &r->scorer.score;

	return score->extents > score->ideal_extents || score->splits ||
	       score->tree_blocks > score->ideal_tree_blocks;
}

/* Why the file is left alone, or NULL; *@allowed: what may be done to it. */
static const char *reason_to_keep(struct repack *r, const struct e4l_piece *p,
				  unsigned int *allowed)
{
	const struct e4l_repack_options *opt = r->opt;

	*allowed = opt->flags & (E4L_PLAN_MERGE | E4L_PLAN_ZEROOUT |
				 E4L_PLAN_MOVE);
	if (is_reserved(r->e->fs->super, p->ino))
		return "the filesystem's own inode";
	if (opt->exclude && ext2fs_test_inode_bitmap2(opt->exclude, p->ino))
		return "excluded";
	if (p->map == E4L_MAP_INDIRECT)
		return "indirect-mapped";
	if (LINUX_S_ISDIR(p->inode->i_mode))
		*allowed = opt->flags & E4L_REPACK_DIRS ?
			   E4L_PLAN_MERGE | E4L_PLAN_MOVE : 0;
	if (p->inode->i_flags & EXT4_ENCRYPT_FL)
		*allowed &= ~E4L_PLAN_ZEROOUT;
	if (!(opt->flags & E4L_REPACK_MOVE_IMMUTABLE) &&
	    (p->inode->i_flags & EXT2_IMMUTABLE_FL))
		return "immutable";
	if (!(opt->flags & E4L_REPACK_MOVE_SWAP) && can_be_better(r) &&
	    LINUX_S_ISREG(p->inode->i_mode))
		return reason_of_swap(r, EXT2_I_SIZE(p->inode));
	return NULL;
}

static errcode_t offer(struct repack *r, const struct e4l_piece *p,
		       unsigned int allowed)
{
	ext2_filsys fs = r->e->fs;
	uint64_t size = EXT2_I_SIZE((struct ext2_inode *)p->inode);
	struct e4l_plan_file file = {
		.ino = p->ino, .allowed = allowed,
		.eof_blk = (size + fs->blocksize - 1) / fs->blocksize,
		.goal = ext2fs_group_first_block2(fs, (p->ino - 1) /
					fs->super->s_inodes_per_group),
		.extents = r->extents, .n_extents = r->n_extents,
		.tree = r->tree, .n_tree = r->n_tree,
	};

	return allowed ? e4l_plan_add_file(r->plan, &file) : 0;
}

static void skip(struct repack *r, ext2_ino_t ino, const char *why,
		 uint64_t extents)
{
	if (!extents)
		return;
	r->result->files_skipped++;
	if (r->opt->skipped)
		r->opt->skipped(ino, why, extents, r->opt->priv);
}

/* Extents that are two because they differ in state, by what keeps them so. */
struct splits {
	uint64_t too_long, behind_end, others;
};

static void count_splits(const struct repack *r, const struct e4l_piece *p,
			 struct splits *s)
{
	uint64_t eof = EXT2_I_SIZE((struct ext2_inode *)p->inode) +
		       r->e->fs->blocksize - 1;
	struct e4l_state_run run = { 0 }, last, *u;
	size_t i = 0;

	eof /= r->e->fs->blocksize;
	while (i < r->n_extents) {
		last = run;
		e4l_next_state_run(r->extents, r->n_extents, &i, &run);
		if (!last.len || last.lblk + last.len != run.lblk ||
		    last.pblk + last.len != run.pblk ||
		    last.unwritten == run.unwritten)
			continue;
		u = run.unwritten ? &run : &last;
		if (u->lblk + u->len > eof)
			s->behind_end++;
		else if (u->len > r->opt->zeroout_max_blocks)
			s->too_long++;
		else
			s->others++;
	}
}

/* What the planner does not even hear of. */
static void skip_what_is_not_asked(struct repack *r, const struct e4l_piece *p,
				   unsigned int allowed)
{
	const struct e4l_file_score *score = &r->scorer.score;
	uint64_t excess = score->extents - score->ideal_extents;
	struct splits s = { 0 };

	count_splits(r, p, &s);
	if (excess + score->splits < r->opt->min_excess) {
		skip(r, p->ino, "has less excess than was asked for",
		     excess + s.too_long + s.others);
		return;
	}
	if (!(allowed & E4L_PLAN_MERGE))
		skip(r, p->ino, "merging was not asked for", score->mergeable);
	if (!(allowed & E4L_PLAN_MOVE) && excess > score->mergeable)
		skip(r, p->ino, "moving was not asked for",
		     excess - score->mergeable);
	if (p->inode->i_flags & EXT4_ENCRYPT_FL)
		skip(r, p->ino, "encrypted files are not zeroed into",
		     s.too_long + s.others);
	else if (!(allowed & E4L_PLAN_ZEROOUT))
		skip(r, p->ino, "zeroing was not asked for",
		     s.too_long + s.others);
	else
		skip(r, p->ino, "its unwritten runs are too long to zero",
		     s.too_long);
	skip(r, p->ino, "space behind the end of a file stays unwritten",
	     s.behind_end);
}

/* The last piece of an inode has come. */
static errcode_t end_inode(struct repack *r, const struct e4l_piece *p)
{
	struct e4l_file_score *score = &r->scorer.score;
	uint64_t excess;
	unsigned int allowed;
	const char *why;

	e4l_score_finish(&r->scorer, p, r->e->fs);
	if (r->opt->only && !ext2fs_test_inode_bitmap2(r->opt->only, p->ino))
		return 0;
	excess = score->extents - score->ideal_extents;
	why = reason_to_keep(r, p, &allowed);
	if (is_reserved(r->e->fs->super, p->ino))
		return 0;
	r->result->extents_before += score->extents;
	r->result->fragments_before += score->fragments;
	r->result->tree_blocks_before += score->tree_blocks;
	if (why)
		skip(r, p->ino, why, excess + score->splits);
	if (why || p->map != E4L_MAP_EXTENTS)
		return 0;
	skip_what_is_not_asked(r, p, allowed);
	if (excess + score->splits < r->opt->min_excess)
		return 0;
	return offer(r, p, allowed);
}

static errcode_t scan_piece(const struct e4l_piece *p, void *priv)
{
	struct repack *r = priv;
	errcode_t err;

	if (p->first) {
		memset(&r->scorer, 0, sizeof(r->scorer));
		r->n_extents = r->n_tree = 0;
	}
	err = e4l_append(&r->extents, &r->n_extents, &r->max_extents,
			 p->extents, p->n_extents, sizeof(*r->extents));
	if (!err)
		err = e4l_append(&r->tree, &r->n_tree, &r->max_tree, p->tree,
				 p->n_tree, sizeof(*r->tree));
	e4l_score_piece(&r->scorer, p);
	if (err || !p->last)
		return err;
	/* the resize inode's map is the backup descriptors */
	if (p->ino != EXT2_RESIZE_INO)
		err = e4l_claims_file(r->claims, p->ino, r->extents,
				      r->n_extents, r->tree, r->n_tree);
	if (!err)
		err = e4l_claims_xattr(r->claims, p->ino,
				ext2fs_file_acl_block(r->e->fs,
					(struct ext2_inode *)p->inode));
	return err ? err : end_inode(r, p);
}

static errcode_t refuse_damage(const struct e4l_damage *d, void *priv)
{
	struct repack *r = priv;

	return e4l_fail(r->e, E4L_ET_DAMAGED, error_message(d->why), d->ino,
			d->blk);
}

static void scan_progress(dgrp_t group, dgrp_t groups, void *priv)
{
	struct repack *r = priv;

	if (r->opt->progress)
		r->opt->progress(false, group, groups, r->opt->priv);
}

static errcode_t scan(struct repack *r)
{
	static const struct e4l_scan_ops ops = {
		.piece = scan_piece, .damage = refuse_damage,
		.progress = scan_progress,
	};

	return e4l_scan(r->e, 0, NULL, &ops, r);
}

/* --------------------------------------------------------- 2. check, 3. plan */

static errcode_t add_free(const struct e4l_block_run *run, void *priv)
{
	return e4l_plan_add_free(run, ((struct repack *)priv)->plan);
}

/* What @step changes in the totals. */
static void count_step(ext2_filsys fs, const struct e4l_step *step,
		       struct e4l_repack_result *result)
{
	result->tree_blocks_after += e4l_step_grows(fs, step);
	result->extents_after += step->n_new - step->n_old;
	result->fragments_after += step->new_fragments - step->old_fragments;
}

/* How many files the @n steps are about. */
static errcode_t count_files(const struct e4l_step *steps, size_t n,
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
	struct repack *r;
	struct e4l_extent *v;
	size_t n, max;
};

static errcode_t keep_piece(const struct e4l_piece *p, void *priv)
{
	struct extents *x = priv;

	return e4l_append(&x->v, &x->n, &x->max, p->extents, p->n_extents,
			  sizeof(*x->v));
}

static errcode_t damaged_since(const struct e4l_damage *d, void *priv)
{
	return refuse_damage(d, ((struct extents *)priv)->r);
}

static errcode_t reread(ext2_ino_t ino, struct e4l_extent **extents, size_t *n,
			void *priv)
{
	static const struct e4l_scan_ops ops = {
		.piece = keep_piece, .damage = damaged_since,
	};
	struct repack *r = priv;
	struct extents x = { .r = r };
	errcode_t err;

	if (r->opt->stop && r->opt->stop(false, r->opt->priv))
		return E4L_ET_INTERRUPTED;
	r->again = ino;
	err = e4l_scan_inode(r->e, ino, &ops, &x);
	*extents = x.v;
	*n = x.n;
	return err;
}

/* The planner says that what was read again last is not the same. */
static errcode_t name_changed(struct repack *r)
{
	return e4l_fail(r->e, E4L_ET_CHANGED, "reading a file again", r->again,
			0);
}

static errcode_t make_plan(struct repack *r)
{
	ext2_filsys fs = r->e->fs;
	errcode_t err = 0;

	if (!fs->block_map)
		err = ext2fs_read_block_bitmap(fs);
	if (err)
		return e4l_fail(r->e, err, "reading the block bitmaps", 0, 0);
	err = e4l_claims_check(r->claims);
	if (!err)
		err = e4l_free_space(r->e, add_free, refuse_damage, r);
	if (!err)
		err = e4l_plan_make(r->plan);
	r->result->files_reread = e4l_plan_reread(r->plan);
	return err == E4L_ET_CHANGED ? name_changed(r) : err;
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
		err = e4l_apply_make_room(a, &steps[i]);
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
		if (!err)
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
		.geo = &r->plan_opt.geo,
		.part_blocks = r->plan_opt.part_blocks,
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

static const char *const left_reasons[] = {
	[E4L_LEFT_NO_ROOM] = "no free run is long enough",
	[E4L_LEFT_LONG_RUNS] = "the last long free runs are kept",
	[E4L_LEFT_COPY_BUDGET] = "the budget of bytes to copy is used up",
	[E4L_LEFT_ZEROOUT_BUDGET] = "the budget of bytes to zero is used up",
	[E4L_LEFT_MISALIGNED] = "its blocks are not aligned with clusters",
	[E4L_LEFT_TXN] = "too large for the journal",
};

static void skip_left(struct repack *r)
{
	const struct e4l_left *left;
	size_t n;

	for (left = e4l_plan_left(r->plan, &n); n; n--, left++)
		skip(r, left->ino, left_reasons[left->why], left->extents);
	r->result->longest_free_blocks = e4l_plan_longest(r->plan);
}

/* What steps that were not done would have saved of a file. */
struct rest {
	ext2_ino_t ino;			/* first: see e4l_u32_cmp() */
	int64_t extents, fragments;
};

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
		skip(r, rest[i].ino, "the run was stopped before",
		     rest[i].extents > 0 ? rest[i].extents :
					   rest[i].fragments);
	}
	free(rest);
	return 0;
}

/* Files of which something is left to do have not been done. */
static errcode_t count_done(struct repack *r,
			    const struct e4l_step *rest, size_t n)
{
	uint64_t left;
	errcode_t err = count_files(rest, n, &left);

	r->result->files_done = err ? 0 : r->result->files_planned - left;
	return err;
}

static errcode_t carry_out(struct repack *r)
{
	struct e4l_repack_result *result = r->result;
	ext2_filsys fs = r->e->fs;
	const struct e4l_step *steps;
	size_t all, n, i;
	errcode_t err;

	skip_left(r);
	steps = e4l_plan_steps(r->plan, &all);
	n = all;
	for (i = 0; i < n; i++) {
		result->planned_copy_blocks += steps[i].bytes_to_copy /
					       fs->blocksize;
		result->planned_zero_blocks += steps[i].bytes_to_zero /
					       fs->blocksize;
	}
	r->to_write = result->planned_copy_blocks + result->planned_zero_blocks;
	err = count_files(steps, n, &result->files_planned);
	if (err)
		n = 0;
	if (!err && n && !r->opt->dry_run)
		err = apply_plan(r, steps, &n);
	if (!err && result->stopped)
		err = skip_the_rest(r, steps + n, all - n);
	for (i = 0; i < n; i++)
		count_step(fs, &steps[i], result);
	if (!r->opt->dry_run && count_done(r, steps + n, all - n) && !err)
		err = ENOMEM;
	return err;
}

static void keep_long_runs(struct e4l_plan_options *opt, ext2_filsys fs)
{
	opt->long_run_blocks = LONG_RUN_BYTES / fs->blocksize;
	if (opt->long_run_blocks < opt->geo.cluster_blocks)
		opt->long_run_blocks = opt->geo.cluster_blocks;
	opt->long_blocks_kept = ext2fs_blocks_count(fs->super) /
				LONG_RUNS_SHARE;
}

static void cut_moves(struct e4l_plan_options *opt, uint64_t part_blocks)
{
	uint64_t clusters = part_blocks ? part_blocks :
					   PART_BYTES / opt->geo.blocksize;

	clusters /= opt->geo.cluster_blocks;
	opt->part_blocks = (clusters ? clusters : 1) * opt->geo.cluster_blocks;
}

errcode_t e4l_repack(struct e4l *e, const struct e4l_repack_options *options,
		     struct e4l_repack_result *result)
{
	struct repack r = { .e = e, .opt = options, .result = result };
	errcode_t err;

	memset(result, 0, sizeof(*result));
	e4l_fail(e, 0, NULL, 0, 0);
	r.plan_opt.geo = e4l_geometry_of(e, options->journal);
	r.plan_opt.zeroout_max_blocks = options->zeroout_max_blocks;
	r.plan_opt.zeroout_budget_blocks = options->zeroout_budget_blocks;
	r.plan_opt.copy_budget_blocks = options->copy_budget_blocks;
	r.plan_opt.cache = options->cache;
	r.plan_opt.reread = reread;
	r.plan_opt.priv = &r;
	keep_long_runs(&r.plan_opt, e->fs);
	cut_moves(&r.plan_opt, options->part_blocks);
	r.block = malloc(e->fs->blocksize);
	err = r.block ? e4l_claims_new(e, &r.claims) : ENOMEM;
	if (!err)
		err = e4l_plan_new(&r.plan_opt, &r.plan);
	if (!err)
		err = scan(&r);
	if (!err)
		err = make_plan(&r);
	e4l_claims_free(r.claims);
	free(r.extents);
	free(r.tree);
	free(r.block);
	result->extents_after = result->extents_before;
	result->fragments_after = result->fragments_before;
	result->tree_blocks_after = result->tree_blocks_before;
	if (!err)
		err = carry_out(&r);
	e4l_plan_free(r.plan);
	if (err && !e->detail.doing)
		e4l_fail(e, err, "repairing the layout", 0, 0);
	return err;
}
