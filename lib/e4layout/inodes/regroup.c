/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * regroup: groups each directory's inodes together in the inode tables.
 *
 *  1. scan: find the directories' extents, files with several names, and inodes
 *     that must keep their numbers (bound inodes, see numbers.h);
 *  2. names: read all directories.  Find the subdirectories of each directory,
 *     and the names of files with several names.  Count the inode-table blocks
 *     that each directory needs (regroup_names.c);
 *  3. plan: for each directory that needs more than the fewest possible blocks,
 *     choose blocks to keep, and find free inodes for the directory's inodes in
 *     other blocks.  Accept worthwhile moves.  Repeat while moves free inodes
 *     that other directories can use (regroup_plan.c).  If too few inodes are
 *     free, exchange inodes (regroup_exchange.c);
 *  4. apply: move inode by inode, in transactions (renumber.c).
 *
 * A directory keeps the blocks that contain its bound inodes.  The directory
 * also keeps a block without inodes of other directories, if its own inodes
 * fill at least half of the block.
 *
 * The other inodes of the directory move into windows of free inodes, as in new
 * images (inodes/windows.h), in the order of the index.  The search begins with
 * the directory's group.  In each group, windows that Linux reads with the
 * fewest requests come first, because the number of requests determines the
 * time of `ls -l`.
 *
 * Moves are worthwhile if at most as many inodes move as the saved blocks can
 * hold.  If the moves are not worthwhile, or if there is no window, inodes move
 * to free inodes in the directory's own blocks.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "regroup_work.h"
#include "e4layout/base/array.h"
#include "e4layout/format/format.h"
#include "e4layout/read/scan.h"

/* ------------------------------------------------------------------ 1. scan */

static errcode_t begin_dir(struct regroup *r, const struct e4l_piece *p)
{
	errcode_t err = e4l_grow(&r->g.dirs, r->g.n_dirs, sizeof(*r->g.dirs));

	if (!err)
		r->g.dirs[r->g.n_dirs++] = (struct e4l_named_dir) {
			.parent = E4L_NO_DIR,
		};
	return err;
}

static errcode_t scan_dir(struct regroup *r, const struct e4l_piece *p)
{
	errcode_t err = p->first ? begin_dir(r, p) : 0;

	return err ? err : e4l_dir_maps_add(&r->g.maps,
					    &r->g.dirs[r->g.n_dirs - 1].map, p,
					    r->e->fs->blocksize);
}

static errcode_t scan_links(struct regroup *r, const struct e4l_piece *p)
{
	errcode_t err;

	if (!p->first || p->inode->i_links_count < 2)
		return 0;
	err = e4l_grow(&r->linked, r->n_linked, sizeof(*r->linked));
	if (!err)
		r->linked[r->n_linked++] = p->ino;
	return err;
}

static errcode_t scan_piece(const struct e4l_piece *p, void *priv)
{
	struct regroup *r = priv;
	errcode_t err = 0;

	if (p->first) {
		r->tree_blocks = 0;
		err = e4l_numbers_piece(r->numbers, p);
	}
	r->tree_blocks += p->n_tree;
	if (!err)
		err = LINUX_S_ISDIR(p->inode->i_mode) ? scan_dir(r, p) :
							scan_links(r, p);
	if (!err && p->last &&
	    r->tree_blocks + p->inode->i_links_count + 16 > r->room)
		err = e4l_numbers_bind(r->numbers, p->ino,
				       E4L_SKIP_JOURNAL);
	return err;
}

static void scan_progress(dgrp_t group, dgrp_t groups, void *priv)
{
	struct regroup *r = priv;

	if (!r->quiet)
		e4l_run_scanned(r->run, group, groups);
}

static errcode_t scan(struct regroup *r)
{
	static const struct e4l_scan_ops ops = {
		.piece = scan_piece, .damage = e4l_refuse_damage,
		.progress = scan_progress,
	};
	errcode_t err = e4l_scan(r->e, 0, NULL, &ops, r);

	if (!err && r->lost_found)
		err = e4l_numbers_bind(r->numbers, r->lost_found,
				       E4L_SKIP_OWN_INODES);
	return err ? err : e4l_numbers_finish(r->numbers);
}

/* --------------------------------------------------------------- 4. apply */

static void tell_progress(struct regroup *r, uint64_t more)
{
	if (!r->e->over)
		e4l_run_wrote(r->run, more);
}

/* Counts the moves whose transactions are committed. */
static void count_done(struct regroup *r, const struct e4l_renumber *ren)
{
	struct e4l_regroup_result *result = r->result;
	size_t i;

	result->inodes_done = e4l_renumber_done(ren, &result->transactions);
	for (i = 0; i < r->n_groups &&
	     r->groups[i].end <= result->inodes_done; i++)
		;
	if (!i)
		return;
	result->dirs_done = r->groups[i - 1].dirs;
	result->blocks_after = result->blocks_before - r->groups[i - 1].saved;
}

static errcode_t apply_moves(struct regroup *r, struct e4l_renumber *ren)
{
	uint64_t last = 0, now;
	errcode_t err = 0;
	size_t i, next = 0, told = 0;

	for (i = 0; i < r->n_groups && !err; i++) {
		if (!r->e->over && should_stop(r)) {
			r->result->stopped = true;
			break;
		}
		for (; next < r->groups[i].end && !err; next++) {
			err = e4l_renumber_add(ren, &r->moves[next]);
			e4l_renumber_done(ren, &now);
			if (!err && now > last) {
				tell_progress(r, next - told);
				told = next;
			}
			last = now;
		}
	}
	if (!err)
		err = e4l_renumber_commit(ren);
	if (!err)
		tell_progress(r, next - told);
	return err;
}

static errcode_t carry_out(struct regroup *r)
{
	struct e4l_journal *j = NULL;
	struct e4l_renumber *ren = NULL;
	errcode_t err, err2;

	err = e4l_journal_open(r->e, e4l_run_journal(r->run, r->e), &j);
	if (!err && r->evict_limit)
		err = e4l_regroup_zero_tables(r, j);
	if (!err)
		err = e4l_renumber_open(r->e, j, &r->g, &ren);
	if (!err) {
		err = apply_moves(r, ren);
		count_done(r, ren);
	}
	e4l_renumber_close(ren);
	err2 = e4l_journal_close(j);
	return err ? err : err2;
}

static void free_all(struct regroup *r)
{
	e4l_numbers_free(r->numbers);
	e4l_dir_maps_free(&r->g.maps);
	if (r->map)
		ext2fs_free_inode_bitmap(r->map);
	free(r->g.dirs);
	free(r->g.children);
	free(r->g.names);
	free(r->fates);
	free(r->linked);
	free(r->buf);
	free(r->inode);
	free(r->narrow[0]);
	free(r->narrow[1]);
	free(r->renamed);
	free(r->moves);
	free(r->groups);
	free(r->m);
	free(r->tb);
	free(r->targets);
	free(r->inos);
}

/* Scans the filesystem, and reads the names that the plan needs. */
static errcode_t prepare(struct regroup *r)
{
	errcode_t err;

	*r->result = (struct e4l_regroup_result) { 0 };
	r->per_block = EXT2_INODES_PER_BLOCK(r->e->fs->super);
	r->room = e4l_journal_room(r->e, e4l_run_journal(r->run, r->e));
	e4l_fail(r->e, 0, NULL, 0, 0);
	err = e4l_lost_found(r->e, &r->lost_found);
	if (!err)
		err = e4l_numbers_new(r->e, e4l_run_has(r->run,
				E4L_REPACK_RENUMBER_OVERLAY), &r->numbers);
	if (!err)
		err = scan(r);
	return err ? err : e4l_regroup_learn_names(r);
}

errcode_t e4l_regroup_inodes(struct e4l *e, struct e4l_repack_run *run,
			     bool dry, bool quiet, uint64_t end_at,
			     struct e4l_regroup_result *result)
{
	struct regroup r = {
		.e = e, .run = run, .quiet = quiet, .end_at = end_at, .result = result,
	};
	errcode_t err = prepare(&r);

	if (!err)
		err = e4l_regroup_plan(&r);
	result->blocks_after = dry ? result->planned_blocks_after :
						  result->blocks_before;
	if (!err && r.n_moves && !dry)
		err = carry_out(&r);
	free_all(&r);
	if (err && !e->detail.doing)
		e4l_fail(e, err, "regrouping inodes", 0, 0);
	return err;
}

errcode_t e4l_evict_inodes(struct e4l *e, struct e4l_repack_run *run,
			   ext2_ino_t limit,
			   struct e4l_regroup_result *result)
{
	struct regroup r = {
		.e = e, .run = run, .quiet = !e->over, .result = result,
	};
	bool any;
	errcode_t err = e4l_regroup_has_above(e, limit, &any);

	*result = (struct e4l_regroup_result) { 0 };
	if (err || !any)
		return err;
	err = prepare(&r);
	if (!err)
		err = e4l_regroup_evict(&r, limit);
	if (!err && r.n_moves)
		err = carry_out(&r);
	free_all(&r);
	if (err && !e->detail.doing)
		e4l_fail(e, err, "renumbering inodes", 0, 0);
	return err;
}
