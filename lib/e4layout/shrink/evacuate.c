/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * evacuate: moves blocks of inodes out of a range, inode by inode.
 *
 *  1. scan: collect the maps of all inodes with blocks in the range, and the
 *     users of the attribute blocks in the range;
 *  2. move, in one session of the journal: quota and orphan files, attribute
 *     blocks, files with indirect maps, and files with extents.  Files with the
 *     most blocks to move come first.
 *
 * A fragment goes to the shortest free extent that holds the fragment.  If no
 * free extent is long enough, the fragment is divided among the largest free
 * extents.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <e4layout/model.h>
#include "e4layout/base/array.h"
#include "e4layout/read/fragments.h"
#include "e4layout/read/scan.h"
#include "evacuate_work.h"

/* ----------------------------------------------------- the range, and space */

bool e4l_evac_part(const struct e4l_evac *ev, uint64_t start, uint64_t len,
		   struct e4l_run *part)
{
	const struct e4l_run *r = &ev->empty;
	uint64_t end = start + len;
	uint64_t from = r->start > start ? r->start : start;
	uint64_t to = r->start + r->len < end ? r->start + r->len : end;

	if (from >= to)
		return false;
	*part = (struct e4l_run) { from, to - from };
	return true;
}

bool e4l_evac_is_in(const struct e4l_evac *ev, blk64_t blk)
{
	struct e4l_run part;

	return e4l_evac_part(ev, blk / ev->geo.cluster_blocks, 1, &part);
}

/*
 * Adds the clusters of a free run to ev->space, except clusters in the range
 * to evacuate.
 */
static errcode_t add_space(struct e4l_evac *ev, uint64_t start, uint64_t len)
{
	struct e4l_run part;
	errcode_t err = 0;

	while (len && !err) {
		bool found = e4l_evac_part(ev, start, len, &part);
		uint64_t n = found ? part.start - start : len;

		err = n ? e4l_space_add(ev->space, start, n) : 0;
		n += found ? part.len : 0;
		start += n;
		len -= n;
	}
	return err;
}

/* Adds a free run to ev->space.  Ignores clusters that are only partly free. */
static errcode_t add_free(const struct e4l_block_run *run, void *priv)
{
	struct e4l_evac *ev = priv;
	uint64_t ratio = ev->geo.cluster_blocks;
	uint64_t start = (run->pblk + ratio - 1) / ratio;
	uint64_t end = (run->pblk + run->len) / ratio;

	return end > start ? add_space(ev, start, end - start) : 0;
}

errcode_t e4l_evac_give(struct e4l_evac *ev, const struct e4l_block_run *run)
{
	uint64_t ratio = ev->geo.cluster_blocks;
	errcode_t err = e4l_grow(&ev->given, ev->n_given, sizeof(*ev->given));

	if (!err && run->len >= ratio)
		ev->given[ev->n_given++] = (struct e4l_run) {
			run->pblk / ratio, run->len / ratio,
		};
	return err;
}

/* Adds the clusters that a committed transaction has freed to free space. */
static errcode_t add_given(struct e4l_evac *ev)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < ev->n_given && !err; i++)
		err = add_space(ev, ev->given[i].start, ev->given[i].len);
	ev->n_given = 0;
	return err;
}

/*
 * Reports @blocks more written blocks, unless the evacuation is only simulated
 * in an overlay.
 */
static void tell(struct e4l_evac *ev, uint64_t blocks)
{
	if (!ev->e->over)
		e4l_run_wrote(ev->run, blocks);
}

errcode_t e4l_evac_settle(struct e4l_evac *ev)
{
	errcode_t err = 0;

	tell(ev, 0);
	if (ev->apply)
		err = e4l_apply_commit(ev->apply);
	if (!err && ev->txn) {
		err = e4l_txn_commit(ev->txn);
		ev->txn = NULL;
		ev->result->transactions++;
	}
	tell(ev, 0);
	return err ? err : add_given(ev);
}

errcode_t e4l_evac_begin(struct e4l_evac *ev)
{
	errcode_t err = e4l_evac_settle(ev);

	return err ? err : e4l_txn_begin(ev->j, &ev->txn);
}

static bool find_space(const struct e4l_evac *ev, uint64_t want,
		       struct e4l_run *got)
{
	got->len = want;
	if (!e4l_space_fit(ev->space, want, NULL, &got->start))
		got->len = e4l_space_largest(ev->space, &got->start);
	return got->len;
}

errcode_t e4l_evac_take(struct e4l_evac *ev, uint64_t want,
			struct e4l_run *got)
{
	bool found = find_space(ev, want, got);
	errcode_t err;

	if (!found && ev->n_given && !ev->txn) {
		err = e4l_evac_settle(ev);
		if (err)
			return err;
		found = find_space(ev, want, got);
	}
	if (!found) {
		ev->result->lacking_blocks =
			(ev->todo > ev->held ? ev->todo - ev->held : 1) *
			ev->geo.cluster_blocks;
		return e4l_fail(ev->e, ENOSPC, "evacuating blocks", 0, 0);
	}
	return e4l_space_take(ev->space, got->start, got->len);
}

errcode_t e4l_evac_untake(struct e4l_evac *ev, const struct e4l_run *got)
{
	return e4l_space_add(ev->space, got->start, got->len);
}

errcode_t e4l_evac_block(struct e4l_evac *ev, blk64_t from, blk64_t *to)
{
	blk64_t ratio = ev->geo.cluster_blocks;
	struct e4l_block_run old = { from / ratio * ratio, ratio };
	struct e4l_run got;
	errcode_t err = e4l_evac_take(ev, 1, &got);

	if (err)
		return err;
	if (old.pblk + old.len > ev->geo.blocks)
		old.len = ev->geo.blocks - old.pblk;
	*to = got.start * ratio + (from - old.pblk);
	err = e4l_txn_alloc(ev->txn, got.start * ratio, ratio);
	if (!err)
		err = e4l_txn_free(ev->txn, old.pblk, old.len);
	if (!err)
		err = e4l_evac_give(ev, &old);
	if (!err && ev->todo)
		ev->todo--;
	if (!err)
		ev->result->blocks++;
	return err;
}

/* ------------------------------------------------------------------ 1. scan */

/*
 * Returns the number of data clusters of the current inode.  Sets *@todo to the
 * number of clusters of data and tree blocks that must move.
 */
static uint64_t count_clusters(const struct e4l_evac *ev, uint64_t *todo)
{
	struct e4l_walk walk = e4l_walk_extents(ev->extents, ev->n_extents,
						ev->geo.cluster_blocks);
	struct e4l_fragment f;
	struct e4l_run part;
	uint64_t all = 0;
	size_t i;

	*todo = 0;
	while (e4l_next_fragment(&walk, &f)) {
		uint64_t at = f.pc, end = f.pc + f.n;

		all += f.n;
		for (; at < end && e4l_evac_part(ev, at, end - at, &part);
		     at = part.start + part.len)
			*todo += part.len;
	}
	for (i = 0; i < ev->n_tree; i++)
		*todo += e4l_evac_is_in(ev, ev->tree[i].pblk);
	return all;
}

static void *copy_of(const void *from, size_t n, size_t size)
{
	void *to = calloc(n + 1, size);

	if (to && n)
		memcpy(to, from, n * size);
	return to;
}

static errcode_t pin(struct e4l_evac *ev, ext2_ino_t ino)
{
	return e4l_fail(ev->e, E4L_ET_SHRINK_PINNED, "evacuating blocks", ino,
			0);
}

static errcode_t add_job(struct e4l_evac *ev, const struct e4l_piece *p,
			 uint64_t clusters, uint64_t todo)
{
	struct e4l_evac_job *job;
	errcode_t err = e4l_grow(&ev->jobs, ev->n_jobs, sizeof(*ev->jobs));

	if (err)
		return err;
	job = &ev->jobs[ev->n_jobs++];
	*job = (struct e4l_evac_job) {
		.ino = p->ino, .generation = p->inode->i_generation,
		.indirect = p->map == E4L_MAP_INDIRECT,
		.special = !e4l_is_file(ev->e->fs, p->ino),
		.regular = e4l_apply_is_opaque(p->inode),
		.todo = todo, .clusters = clusters,
		.extents = copy_of(ev->extents, ev->n_extents,
				   sizeof(*ev->extents)),
		.n_extents = ev->n_extents,
		.tree = copy_of(ev->tree, ev->n_tree, sizeof(*ev->tree)),
		.n_tree = ev->n_tree,
	};
	ev->todo += todo;
	return job->extents && job->tree ? 0 : ENOMEM;
}

/*
 * Adds the inode of @p to ev->jobs if the inode has blocks in the range to
 * evacuate.  If the inode must not or cannot move, returns an error.
 */
static errcode_t end_inode(struct e4l_evac *ev, const struct e4l_piece *p)
{
	uint64_t todo, clusters;
	errcode_t err;

	err = e4l_check_clusters(ev->extents, ev->n_extents,
				 ev->geo.cluster_blocks);
	if (err)
		return e4l_fail(ev->e, E4L_ET_SHRINK_PINNED,
				"evacuating a file that is not aligned to "
				"clusters", p->ino, 0);
	clusters = count_clusters(ev, &todo);
	if (!todo)
		return 0;
	/* only e4l_shrink_move_log() can move the journal */
	if (p->ino == ev->e->fs->super->s_journal_inum)
		return pin(ev, p->ino);
	if (ev->what->may_move &&
	    !ev->what->may_move(p->ino, p->inode, ev->extents, ev->n_extents,
				ev->what->priv))
		return pin(ev, p->ino);
	return add_job(ev, p, clusters, todo);
}

static errcode_t note_xattr(struct e4l_evac *ev, const struct e4l_piece *p)
{
	blk64_t blk = ext2fs_file_acl_block(ev->e->fs,
					    (struct ext2_inode *)p->inode);
	errcode_t err;

	if (!blk || !e4l_evac_is_in(ev, blk))
		return 0;
	err = e4l_grow(&ev->xattrs, ev->n_xattrs, sizeof(*ev->xattrs));
	if (!err)
		ev->xattrs[ev->n_xattrs++] = (struct e4l_evac_xattr) {
			blk, p->ino,
		};
	return err;
}

static errcode_t scan_piece(const struct e4l_piece *p, void *priv)
{
	struct e4l_evac *ev = priv;
	errcode_t err = 0;

	/* the resize inode has the reserved GDT blocks, which do not move */
	if (p->ino == EXT2_RESIZE_INO)
		return 0;
	if (p->first) {
		ev->n_extents = ev->n_tree = 0;
		err = note_xattr(ev, p);
	}
	if (!err)
		err = e4l_append(&ev->extents, &ev->n_extents, &ev->max_extents,
				 p->extents, p->n_extents, sizeof(*ev->extents));
	if (!err)
		err = e4l_append(&ev->tree, &ev->n_tree, &ev->max_tree,
				 p->tree, p->n_tree, sizeof(*ev->tree));
	return err || !p->last ? err : end_inode(ev, p);
}

static void scan_progress(dgrp_t group, dgrp_t groups, void *priv)
{
	struct e4l_evac *ev = priv;

	if (ev->e->over)
		e4l_run_scanned(ev->run, group, groups);
}

static errcode_t check_bad_blocks(struct e4l_evac *ev)
{
	struct ext2_inode inode;
	errcode_t err = ext2fs_read_inode(ev->e->fs, EXT2_BAD_INO, &inode);

	if (!err && ext2fs_inode_i_blocks(ev->e->fs, &inode))
		return pin(ev, EXT2_BAD_INO);
	return err;
}

static int by_todo(const void *va, const void *vb)
{
	const struct e4l_evac_job *a = va, *b = vb;

	if (a->todo != b->todo)
		return a->todo > b->todo ? -1 : 1;
	return e4l_u32_cmp(&a->ino, &b->ino);
}

static errcode_t scan(struct e4l_evac *ev)
{
	static const struct e4l_scan_ops ops = {
		.piece = scan_piece, .damage = e4l_refuse_damage,
		.progress = scan_progress,
	};
	errcode_t err = check_bad_blocks(ev);
	size_t i;

	if (!err)
		err = e4l_scan(ev->e, 0, NULL, &ops, ev);
	if (err)
		return err;
	e4l_sort(ev->jobs, ev->n_jobs, sizeof(*ev->jobs), by_todo);
	e4l_sort(ev->xattrs, ev->n_xattrs, sizeof(*ev->xattrs), e4l_u64_cmp);
	for (i = 0; i < ev->n_xattrs; i++)
		ev->todo += !i || ev->xattrs[i].blk != ev->xattrs[i - 1].blk;
	return e4l_free_space(ev->e, add_free, e4l_refuse_damage, ev);
}

/* ------------------------------------------------------------------ 2. move */

static void copied(uint64_t blocks, void *priv)
{
	tell(priv, blocks);
}

static bool should_stop(bool inside, void *priv)
{
	struct e4l_evac *ev = priv;

	return !ev->e->over && e4l_run_stop(ev->run, inside);
}

/*
 * Opens @ev->apply.  If @quota is true, also reads the quota files, because the
 * usage of the files' owners can change.  Quota files must not move after they
 * have been read.
 */
static errcode_t open_apply(struct e4l_evac *ev, bool quota)
{
	struct e4l_apply_options opt = {
		.journal = ev->j, .geo = &ev->geo,
		.progress = copied, .stop = should_stop, .priv = ev,
	};
	errcode_t err = quota ? e4l_quota_new(ev->e, &ev->quota) : 0;

	opt.quota = ev->quota;
	return err ? err : e4l_apply_open(ev->e, &opt, &ev->apply);
}

static errcode_t close_apply(struct e4l_evac *ev)
{
	struct e4l_apply_stats stats;
	errcode_t err = e4l_evac_settle(ev);

	e4l_apply_stats(ev->apply, &stats);
	ev->result->transactions += stats.transactions;
	e4l_apply_close(ev->apply);
	ev->apply = NULL;
	return err;
}

static bool is_wanted(const struct e4l_evac_job *job, bool special,
		      bool indirect)
{
	return job->special == special && job->indirect == indirect;
}

static errcode_t move_jobs(struct e4l_evac *ev, bool special, bool indirect)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < ev->n_jobs && !err; i++) {
		struct e4l_evac_job *job = &ev->jobs[i];

		if (!is_wanted(job, special, indirect))
			continue;
		if (should_stop(false, ev)) {
			ev->result->stopped = true;
			return 0;
		}
		err = indirect ? e4l_evac_indirect(ev, job) :
				 e4l_evac_file(ev, job);
		ev->result->files += !err;
	}
	return err;
}

static errcode_t move_extent_files(struct e4l_evac *ev, bool special)
{
	errcode_t err = open_apply(ev, !special);

	if (!err)
		err = move_jobs(ev, special, false);
	if (!err && ev->apply)
		return close_apply(ev);
	e4l_apply_close(ev->apply);
	ev->apply = NULL;
	if (err != E4L_ET_INTERRUPTED || ev->e->over)
		return err;
	ev->result->stopped = true;
	return 0;
}

static errcode_t move_all(struct e4l_evac *ev)
{
	errcode_t err = move_extent_files(ev, true);

	if (!err && !ev->result->stopped)
		err = move_jobs(ev, true, true);
	if (!err && !ev->result->stopped)
		err = e4l_evac_xattrs(ev);
	if (!err && !ev->result->stopped)
		err = move_jobs(ev, false, true);
	if (!err && !ev->result->stopped)
		err = move_extent_files(ev, false);
	return err;
}

static errcode_t move(struct e4l_evac *ev)
{
	struct e4l_discarded discarded = { 0 };
	errcode_t err, err2;

	err = e4l_journal_open(ev->e, e4l_run_journal(ev->run, ev->e), &ev->j);
	if (err)
		return err;
	if (!ev->e->over && e4l_run_has(ev->run, E4L_REPACK_DISCARD))
		e4l_journal_discard(ev->j, &discarded);
	err = move_all(ev);
	if (ev->txn && !err)
		err = e4l_evac_settle(ev);
	err2 = e4l_journal_close(ev->j);
	ev->result->discarded_blocks = discarded.blocks;
	ev->result->discard_err = discarded.err;
	return err ? err : err2;
}

/* -------------------------------------------------------------------- whole */

static errcode_t begin(struct e4l_evac *ev)
{
	const struct e4l_block_run *r = &ev->what->empty;
	uint64_t ratio = ev->geo.cluster_blocks;
	uint64_t start = r->pblk / ratio;
	uint64_t end = (r->pblk + r->len + ratio - 1) / ratio;

	ev->empty = (struct e4l_run) { start, end - start };
	ev->space = e4l_space_new();
	return ev->space ? 0 : ENOMEM;
}

static void free_all(struct e4l_evac *ev)
{
	size_t i;

	for (i = 0; i < ev->n_jobs; i++) {
		free(ev->jobs[i].extents);
		free(ev->jobs[i].tree);
	}
	e4l_quota_free(ev->quota);
	e4l_space_free(ev->space);
	free(ev->jobs);
	free(ev->xattrs);
	free(ev->given);
	free(ev->extents);
	free(ev->tree);
}

errcode_t e4l_evacuate(struct e4l *e, struct e4l_repack_run *run,
		       const struct e4l_evacuation *what,
		       struct e4l_evacuated *result)
{
	struct e4l_evac ev = {
		.e = e, .run = run, .what = what, .result = result,
		.geo = e4l_geometry_of(e, e4l_run_journal(run, e)),
	};
	errcode_t err;

	*result = (struct e4l_evacuated) { 0 };
	e4l_fail(e, 0, NULL, 0, 0);
	err = begin(&ev);
	if (!err)
		err = scan(&ev);
	if (!err && (ev.n_jobs || ev.n_xattrs))
		err = move(&ev);
	free_all(&ev);
	return err;
}
