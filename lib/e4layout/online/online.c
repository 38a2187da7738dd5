/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * online: from a mounted filesystem to a better one.
 *
 *  1. find: the device is scanned; it changes meanwhile, so that what looks
 *     damaged is passed over.
 *  2. name: where the candidates are; the most rewarding come first.
 *  3. repair: each is opened, looked at again, moved, and joined.
 *  4. count: what the device says of them now.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <e4layout/dirs.h>
#include <e4layout/online.h>
#include "e4layout/plan/plan.h"
#include "e4layout/base/array.h"
#include "e4layout/base/stat.h"
#include "e4layout/open/opened.h"
#include "e4layout/open/refusals.h"
#include "e4layout/repack/candidates.h"
#include "failure.h"
#include "way.h"

struct candidate {
	ext2_ino_t ino;
	uint32_t generation;
	uint64_t moves, joins;		/* extents that either saves */
	uint64_t blocks;
	struct e4l_file_score score;	/* when it was found */
	bool touched, done;
	bool told;			/* why it was not moved */
	bool failed;			/* something did with it */
};

struct online {
	struct e4l *e;
	struct e4l_repack_run run;
	struct e4l_candidates candidates;
	struct e4l_scorer scorer;	/* of the inode at hand */
	struct candidate *v;
	size_t n;
	struct e4l_names *names;
	int root_fd;
	struct e4l_ways ways;
	bool joins;			/* the kernel does */
};

static void fail(struct online *o, struct candidate *c, enum e4l_skip why,
		 uint64_t extents, int error)
{
	struct e4l_repack_result *result = o->run.result;

	e4l_run_skip(&o->run, E4L_SKIP_FILE, c->ino, why, extents);
	result->failure = error;
	result->files_failed += !c->failed;
	c->failed = true;
}

/* Unless @why is E4L_SKIP_NONE; it tells whether something failed, too. */
static void skip(struct online *o, struct candidate *c, enum e4l_skip why,
		 uint64_t extents)
{
	int failure = e4l_failure_errno(why);

	if (failure)
		fail(o, c, why, extents, failure);
	else if (why)
		e4l_run_skip(&o->run, E4L_SKIP_FILE, c->ino, why, extents);
}

/* ------------------------------------------------------------------ 1. find */

static enum e4l_skip reason_to_leave(const struct e4l_piece *p)
{
	if (!LINUX_S_ISREG(p->inode->i_mode))
		return E4L_SKIP_OFFLINE_DIRS;
	/* the name on disk is cipher text, and Linux moves no such file */
	if (p->inode->i_flags & EXT4_ENCRYPT_FL)
		return E4L_SKIP_OFFLINE_ENCRYPTED;
	if (p->inode->i_mode & 0111)
		return E4L_SKIP_EXECUTABLE;
	return E4L_SKIP_NONE;
}

/* What of a file may be zeroed, and what that saves; *@runs is to be freed. */
static errcode_t find_runs(const struct online *o, uint64_t size,
			   const struct e4l_extent *ex, size_t n_ex,
			   struct e4l_zero_run **runs, size_t *n,
			   uint64_t *gain)
{
	uint32_t blocksize = o->e->fs->blocksize;
	struct e4l_rules rules = {
		.allowed = E4L_PLAN_ZEROOUT, .cluster_blocks = 1,
		.zeroout_max_blocks = o->run.limits.zero_extent_blocks,
		.eof_blk = e4l_blocks_of(size, blocksize),
	};
	errcode_t err;
	size_t i;

	*runs = NULL;
	*n = 0;
	*gain = 0;
	err = e4l_find_zero_runs(&rules, ex, n_ex, 0, runs, n);
	for (i = 0; i < *n; i++)
		*gain += (*runs)[i].gain;
	if (err) {
		free(*runs);
		*runs = NULL;
	}
	return err;
}

/* What joining the file that is scanned would save, if it is asked for. */
static errcode_t weigh_join(const struct online *o,
			    const struct e4l_candidates *f,
			    const struct e4l_piece *p, unsigned int allowed,
			    uint64_t *gain)
{
	struct e4l_zero_run *runs;
	errcode_t err;
	size_t n;

	*gain = 0;
	if (!(allowed & E4L_MAY_ZERO))
		return 0;
	err = find_runs(o, EXT2_I_SIZE((struct ext2_inode *)p->inode),
			f->extents, f->n_extents, &runs, &n, gain);
	free(runs);
	return err;
}

static errcode_t offer(const struct e4l_candidates *f,
		       const struct e4l_piece *p, unsigned int allowed,
		       void *priv)
{
	struct online *o = priv;
	const struct e4l_file_score *s = f->score;
	enum e4l_skip why = reason_to_leave(p);
	uint64_t moves, joins;
	errcode_t err = weigh_join(o, f, p, allowed, &joins);

	moves = allowed & E4L_MAY_MOVE ? s->fragments - s->logical_runs : 0;
	if (allowed & E4L_MAY_PACK)
		e4l_run_skip(&o->run, E4L_SKIP_FILE, p->ino,
			     E4L_SKIP_OFFLINE_TREES, s->mergeable);
	if (!o->joins) {
		e4l_run_skip(&o->run, E4L_SKIP_FILE, p->ino,
			     E4L_SKIP_OFFLINE_TREES, joins);
		joins = 0;
	}
	if (why)
		e4l_run_skip(&o->run, E4L_SKIP_FILE, p->ino, why,
			     moves + joins);
	if (err || why || !(moves + joins))
		return err;
	err = e4l_grow(&o->v, o->n, sizeof(*o->v));
	if (!err)
		o->v[o->n++] = (struct candidate) {
			.ino = p->ino, .generation = p->inode->i_generation,
			.moves = moves, .joins = joins,
			.blocks = s->blocks, .score = *s,
		};
	return err;
}

static errcode_t scan_piece(const struct e4l_piece *p, void *priv)
{
	struct online *o = priv;
	errcode_t err = e4l_candidates_gather(&o->candidates, p);

	if (p->first)
		o->scorer = (struct e4l_scorer) { 0 };
	e4l_score_piece(&o->scorer, p);
	if (err || !p->last)
		return err;
	e4l_score_finish(&o->scorer, p, o->e->fs);
	return e4l_candidates_inode(&o->candidates, p, &o->scorer.score);
}

static void scan_progress(dgrp_t group, dgrp_t groups, void *priv)
{
	e4l_run_scanned(&((struct online *)priv)->run, group, groups);
}

static errcode_t find(struct online *o)
{
	static const struct e4l_scan_ops ops = {
		.piece = scan_piece, .progress = scan_progress,
	};
	errcode_t err;

	o->candidates.offer = offer;
	o->candidates.priv = o;
	err = e4l_scan(o->e, 0, o->run.what.only, &ops, o);
	/* what looks damaged has changed meanwhile */
	if (!err)
		err = e4l_candidates_settle_all(&o->candidates);
	o->run.result->before = o->candidates.layout;
	return err;
}

/* ------------------------------------------------------------------ 2. name */

static int by_reward(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	double rx = (double)(x->moves + x->joins) / (double)x->blocks;
	double ry = (double)(y->moves + y->joins) / (double)y->blocks;

	return rx != ry ? (rx < ry) - (rx > ry) : e4l_u32_cmp(a, b);
}

static errcode_t name(struct online *o)
{
	ext2_ino_t *inos = calloc(o->n + 1, sizeof(*inos));
	errcode_t err = inos ? 0 : ENOMEM;
	size_t i;

	for (i = 0; i < o->n && !err; i++)
		inos[i] = o->v[i].ino;
	if (!err)
		err = e4l_names_load(o->e, inos, o->n, &o->names);
	free(inos);
	if (o->n)
		qsort(o->v, o->n, sizeof(*o->v), by_reward);
	o->run.result->files_planned = o->n;
	return err;
}

/* ---------------------------------------------------------------- 3. repair */

/* Why the run has ended, or E4L_SKIP_NONE. */
static enum e4l_skip ended(const struct online *o)
{
	return o->ways.broken ? E4L_SKIP_DEVICE :
	       o->run.result->stopped ? E4L_SKIP_STOPPED : E4L_SKIP_NONE;
}

/* See struct e4l_behind; the file may count as done. */
static void on_failed(ext2_ino_t ino, bool put_back, void *priv)
{
	struct online *o = priv;
	struct candidate *c = o->v;

	o->ways.broken = true;
	while (c < o->v + o->n && c->ino != ino)
		c++;
	if (c == o->v + o->n)
		return;
	o->run.result->files_done -= c->done;
	/* that it was put back is no news where another reason was given */
	fail(o, c, put_back ? E4L_SKIP_PUT_BACK : E4L_SKIP_LOST,
	     c->told && put_back ? 0 : c->moves, EIO);
	c->done = false;
	c->told = true;
}

/* Returns why its blocks are not known, or E4L_SKIP_NONE. */
static enum e4l_skip map(struct e4l_file *f)
{
	int err = e4l_file_map(f->fd, false, f);

	if (!err && f->unsettled)
		err = e4l_file_map(f->fd, true, f);
	if (e4l_failure_skip(err))
		return e4l_failure_skip(err);
	return err ? E4L_SKIP_NOT_MAPPED :
	       f->unsettled ? E4L_SKIP_BEING_WRITTEN : E4L_SKIP_NONE;
}

/* True when nothing is left that could be done here. */
static bool move(struct online *o, struct candidate *c, struct e4l_file *f)
{
	struct e4l_rules rules = {
		.allowed = E4L_PLAN_MOVE, .cluster_blocks = 1,
		.eof_blk = e4l_blocks_of(f->st.st_size, f->blocksize),
	};
	struct e4l_weight w, left;
	enum e4l_skip why;
	bool cut;

	if (e4l_weigh(&rules, f->ex, f->n, &w)) {
		skip(o, c, e4l_failure_skip(ENOMEM), c->moves);
		return false;
	}
	c->touched = true;
	if (!w.excess)
		return true;
	why = e4l_way_move(&o->ways, f, &rules);
	cut = !why && ended(o);
	if (cut)
		why = ended(o);
	if (why && !map(f) && !e4l_weigh(&rules, f->ex, f->n, &left))
		w.excess = left.excess;
	/* the run has ended with its last piece */
	if (cut && !w.excess)
		return true;
	if (why && !c->told)
		skip(o, c, why, w.excess);
	c->told |= !!why;
	return !why;
}

/* Likewise; what was moved has more runs that are contiguous. */
static bool join(struct online *o, struct candidate *c, struct e4l_file *f)
{
	struct e4l_zero_run *runs;
	enum e4l_skip why = ended(o);
	uint64_t left = c->joins;
	size_t n;

	if (!why && c->touched)
		why = map(f);
	if (!why && find_runs(o, f->st.st_size, f->ex, f->n, &runs, &n, &left))
		why = e4l_failure_skip(ENOMEM);
	if (!why) {
		c->touched |= n;
		why = e4l_way_join(&o->ways, f, runs, n, &left);
		free(runs);
	}
	if (!why && left)
		why = ended(o);
	skip(o, c, why, left);
	return !why;
}

static void repair(struct online *o, struct candidate *c)
{
	const char *path = e4l_names_path(o->names, c->ino);
	enum e4l_skip why;
	struct e4l_file f = { .fd = -1 };

	do
		why = path ? e4l_file_open(o->root_fd, path, c->ino,
					   c->generation,
					   o->e->fs->blocksize, &f) :
			     E4L_SKIP_CHANGED;
	while (e4l_behind_close_for(&o->ways.behind, e4l_failure_errno(why)));
	if (f.failure)
		fail(o, c, why, c->moves + c->joins, f.failure);
	else
		skip(o, c, why, c->moves + c->joins);
	if (why)
		return;
	why = map(&f);
	skip(o, c, why, c->moves + c->joins);
	c->done = !why && (!c->moves || move(o, c, &f));
	if (!why && c->joins)
		c->done &= join(o, c, &f);
	c->done &= !c->told;
	o->run.result->files_done += c->done;
	e4l_file_close(&f);
}

static void repair_all(struct online *o)
{
	size_t i;

	for (i = 0; i < o->n; i++)
		o->ways.all_blocks += o->v[i].blocks;
	for (i = 0; i < o->n; i++) {
		if (e4l_ways_stop(&o->ways, 0))
			skip(o, &o->v[i], ended(o),
			     o->v[i].moves + o->v[i].joins);
		else
			repair(o, &o->v[i]);
		e4l_ways_file_done(&o->ways, o->v[i].blocks);
	}
	e4l_donor_close(&o->ways.donor);
}

/* ----------------------------------------------------------------- 4. count */

static errcode_t recount_piece(const struct e4l_piece *p, void *priv)
{
	struct online *o = priv;
	struct e4l_layout *after = &o->run.result->after;
	const struct e4l_file_score *was, *is = &o->scorer.score;
	const struct candidate key = { .ino = p->ino }, *c;

	if (p->first)
		o->scorer = (struct e4l_scorer) { 0 };
	e4l_score_piece(&o->scorer, p);
	c = p->last && !p->damaged ?
	    bsearch(&key, o->v, o->n, sizeof(key), e4l_u32_cmp) : NULL;
	if (!c || c->generation != p->inode->i_generation)
		return 0;
	was = &c->score;
	after->extents += is->extents - was->extents;
	after->fragments += is->fragments - was->fragments;
	after->excess_fragments += is->fragments - is->logical_runs -
				   (was->fragments - was->logical_runs);
	after->fragmented_files += is->fragments > is->logical_runs;
	after->fragmented_files -= was->fragments > was->logical_runs;
	after->tree_blocks += is->tree_blocks - was->tree_blocks;
	return 0;
}

/* What was removed, replaced or is damaged now counts as it was. */
static errcode_t recount(struct online *o)
{
	static const struct e4l_scan_ops ops = { .piece = recount_piece };
	ext2fs_inode_bitmap touched = NULL;
	errcode_t err;
	size_t i;

	o->run.result->after = o->run.result->before;
	err = ext2fs_allocate_inode_bitmap(o->e->fs, "touched", &touched);
	for (i = 0; i < o->n && !err; i++)
		if (o->v[i].touched)
			ext2fs_mark_inode_bitmap2(touched, o->v[i].ino);
	if (o->n)
		qsort(o->v, o->n, sizeof(*o->v), e4l_u32_cmp);
	if (!err)
		err = e4l_scan(o->e, 0, touched, &ops, o);
	ext2fs_free_inode_bitmap(touched);
	return err;
}

/* -------------------------------------------------------------------- whole */

static errcode_t open_root(struct online *o, const char *mount_point)
{
	struct statvfs vfs;
	struct stat st, device;

	o->root_fd = open(mount_point, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o->root_fd < 0 || e4l_fstat(o->root_fd, &st) ||
	    fstatvfs(o->root_fd, &vfs))
		return e4l_fail(o->e, errno, "opening the mount point", 0, 0);
	if (st.st_ino != EXT2_ROOT_INO ||
	    (!e4l_stat(o->e->fs->device_name, &device) &&
	     S_ISBLK(device.st_mode) && device.st_rdev != st.st_dev))
		return e4l_fail(o->e, E4L_ET_BAD_ARGUMENT,
				"finding the root directory at the mount point",
				0, 0);
	if (vfs.f_flag & ST_RDONLY)
		return e4l_fail(o->e, EROFS, "writing to the mount point", 0,
				0);
	return e4l_donor_init(&o->ways.donor, o->root_fd,
			      o->e->fs->blocksize, &o->ways.behind);
}

static errcode_t count_free(const struct e4l_block_run *run, void *priv)
{
	const struct online *o = ((void **)priv)[0];
	struct e4l_layout *l = ((void **)priv)[1];
	uint64_t bs = o->e->fs->blocksize;

	l->free_blocks += run->len;
	l->free_extents++;
	if (run->len > l->largest_free_blocks)
		l->largest_free_blocks = run->len;
	if (run->len * bs >= E4L_LARGE_FREE_BYTES)
		l->large_free_blocks += run->len;
	return 0;
}

/* As the device has it, which may be a moment old. */
static errcode_t look_at_free_space(struct online *o, struct e4l_layout *l)
{
	void *priv[] = { o, l };

	l->free_blocks = l->free_extents = 0;
	l->largest_free_blocks = l->large_free_blocks = 0;
	return e4l_free_space(o->e, count_free, NULL, priv);
}

static bool is_offline_only(const struct e4l_repack_what *what)
{
	return what->flags & (E4L_REPACK_DRY_RUN | E4L_REPACK_DISCARD |
			      E4L_REPACK_INODES) || what->journal;
}

static errcode_t run(struct online *o, const char *mount_point)
{
	struct e4l_repack_result *result = o->run.result;
	errcode_t err = open_root(o, mount_point);

	o->joins = !err && e4l_way_joins(o->root_fd);
	if (!err)
		err = find(o);
	if (!err)
		err = look_at_free_space(o, &result->before);
	if (!err)
		err = name(o);
	if (!err)
		repair_all(o);
	if (!err)
		err = recount(o);
	if (!err)
		err = look_at_free_space(o, &result->after);
	return err;
}

errcode_t e4l_online(struct e4l *e, const char *mount_point,
		     const struct e4l_repack_what *what,
		     const struct e4l_repack_limits *limits,
		     const struct e4l_repack_callbacks *callbacks,
		     bool (*pace)(uint64_t bytes, void *priv),
		     struct e4l_repack_result *result)
{
	struct online o = {
		.e = e, .root_fd = -1,
		.ways = {
			.limits = &o.run.limits, .cb = &o.run.cb,
			.pace = pace, .result = result,
			.journal = ext2fs_has_feature_journal(e->fs->super),
			.fast_commits =
				ext2fs_has_feature_fast_commit(e->fs->super),
			.donor.file.fd = -1,
			.behind = { .failed = on_failed, .priv = &o },
		},
	};
	const struct e4l_hold *hold = e4l_hold_of(e);
	errcode_t err, err2;

	e4l_fail(e, 0, NULL, 0, 0);
	err = e4l_run_begin(e, what, limits, callbacks, result, &o.run);
	err2 = hold && !err ? e4l_refuse_errors(e->fs, hold) : 0;
	if (!err)
		err = err2;
	o.run.scans = 1;
	if (!err && is_offline_only(what))
		err = E4L_ET_OPTION;
	if (!err)
		err = e4l_candidates_begin(&o.candidates, e, &o.run);
	if (!err)
		err = run(&o, mount_point);
	e4l_names_free(o.names);
	e4l_candidates_end(&o.candidates);
	free(o.v);
	if (o.root_fd >= 0)
		close(o.root_fd);
	if (err && !e->detail.doing)
		e4l_fail(e, err, "repacking the mounted filesystem", 0, 0);
	return err;
}
