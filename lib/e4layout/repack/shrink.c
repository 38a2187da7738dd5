/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * shrink: makes a filesystem smaller.
 *
 *  1. make the journal smaller, if requested, and repack, in an overlay
 *     (overlay.h), without the content of regular files: files are defragmented
 *     before they have to move;
 *  2. simulate all steps of phase 5, in an overlay of the overlay of phase 1.
 *     Begin with the requested size, or with the smallest size that the numbers
 *     of blocks permit.  If space is lacking, try the next larger size.  Check
 *     the result;
 *  3. report the plan to the caller;
 *  4. repack the filesystem itself, and simulate the chosen size again;
 *  5. carry out, on the filesystem itself: prepare (shrink/end.h), move the
 *     journal (shrink/log.h), renumber inodes (inodes/regroup.h), evacuate
 *     blocks (shrink/evacuate.h), and change the size (shrink/end.h).
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <e4layout/model.h>
#include "e4layout/check/check.h"
#include "e4layout/inodes/regroup.h"
#include "e4layout/shrink/end.h"
#include "e4layout/shrink/evacuate.h"
#include "e4layout/shrink/log.h"
#include "e4layout/shrink/room.h"
#include "overlay.h"
#include "shrink.h"
#include "swap.h"

#define MAX_TRIES	64 /* maximum number of sizes that a search simulates */

struct shrink {
	struct e4l *e;
	struct e4l *base; /* simulations start from @base: @e, or an overlay */
	struct e4l_repack_run *run;
	/* result of the repack before the shrink */
	struct e4l_repack_result parts;
	struct e4l_layout after;	/* layout of the simulated result */
	struct e4l_size size;	/* the size to simulate or to shrink to */
	/* results of the last simulation or of the shrink itself */
	struct e4l_evacuated moved;
	struct e4l_regroup_result inodes;
	uint64_t free_blocks;	/* number of free blocks after the shrink */
	uint64_t lacking_blocks;
	/*
	 * @pinned is the first file found that would have to move but must not
	 * move.  @pinned_end is the end of the last block of all such files.
	 */
	ext2_ino_t pinned;
	blk64_t pinned_end;
	/*
	 * The error that makes the next smaller size impossible, and its
	 * inode.  If only space is lacking, @limit and @limit_ino are 0.
	 */
	errcode_t limit;
	ext2_ino_t limit_ino;
};

/* -------------------------------------------------------------- which files */

/*
 * Whether a file may be moved.  If a regular file is large enough for a swap
 * file, reads the content to detect a swap file.
 */
static bool may_move(ext2_ino_t ino, const struct ext2_inode_large *inode,
		     const struct e4l_extent *extents, size_t n, void *priv)
{
	const struct shrink *s = priv;
	struct e4l_swap_file file = {
		.extents = extents, .n_extents = n,
		.size_bytes = EXT2_I_SIZE(inode),
	};
	char *scratch;
	errcode_t err;

	/*
	 * metadata may move, such as the project quota file, which has no
	 * reserved inode number
	 */
	if (!e4l_is_file(s->e->fs, ino))
		return true;
	if (inode->i_flags & EXT2_IMMUTABLE_FL &&
	    !e4l_run_has(s->run, E4L_REPACK_MOVE_IMMUTABLE))
		return false;
	if (!LINUX_S_ISREG(inode->i_mode) || !n ||
	    e4l_run_has(s->run, E4L_REPACK_MOVE_SWAP) ||
	    !e4l_swap_fits(file.size_bytes))
		return true;
	scratch = malloc(E4L_GATHER_BYTES);
	err = scratch ? e4l_swap_ask(s->e, &file, 1, scratch) : ENOMEM;
	free(scratch);
	return !err && !file.why;
}

/*
 * Records in @priv a file that must not move.  Always returns true, so that one
 * simulation finds all such files.
 */
static bool note_pinned(ext2_ino_t ino, const struct ext2_inode_large *inode,
			const struct e4l_extent *extents, size_t n, void *priv)
{
	struct shrink *s = priv;
	size_t i;

	if (may_move(ino, inode, extents, n, priv))
		return true;
	if (!s->pinned)
		s->pinned = ino;
	for (i = 0; i < n; i++) {
		blk64_t end = extents[i].pblk + extents[i].len;

		if (s->pinned_end < end)
			s->pinned_end = end;
	}
	return true;
}

/* -------------------------------------------------------------------- steps */

static void add_moved(struct shrink *s, const struct e4l_evacuated *more)
{
	s->moved.files += more->files;
	s->moved.blocks += more->blocks;
	s->moved.transactions += more->transactions;
	s->moved.stopped |= more->stopped;
	s->moved.discarded_blocks += more->discarded_blocks;
	if (more->discard_err)
		s->moved.discard_err = more->discard_err;
}

static errcode_t evacuate(struct shrink *s, struct e4l *e,
			  const struct e4l_size *size)
{
	blk64_t end = ext2fs_blocks_count(e->fs->super);
	struct e4l_evacuated moved;
	struct e4l_evacuation what = {
		.empty = { size->blocks, end - size->blocks },
		/*
		 * NULL if @e is not an overlay: the simulation on the overlay
		 * has already found the files that must not move
		 */
		.may_move = e->over ? note_pinned : NULL, .priv = s,
	};
	errcode_t err;

	if (s->inodes.stopped || s->moved.stopped)
		return 0;
	err = e4l_evacuate(e, s->run, &what, &moved);
	add_moved(s, &moved);
	if (err == ENOSPC)
		s->lacking_blocks = moved.lacking_blocks;
	return err;
}

/*
 * Moves the inode tables and bitmaps of removed groups from below the new end
 * to the end of the old filesystem.  Before this move, evacuates the end of the
 * old filesystem.  The first 2 * lift_blocks blocks above the new end are not
 * evacuated, because files still need space.
 */
static errcode_t lift_tables(struct shrink *s, struct e4l *e,
			     struct e4l_size *size)
{
	blk64_t blocks = ext2fs_blocks_count(e->fs->super);
	uint32_t ratio = EXT2FS_CLUSTER_RATIO(e->fs);
	struct e4l_size part = { .blocks = size->blocks };
	errcode_t err;

	part.blocks += (2 * size->lift_blocks + ratio - 1) / ratio * ratio;
	if (!size->lift_blocks ||
	    part.blocks + size->lift_blocks >= blocks)
		return 0;
	err = evacuate(s, e, &part);
	return err ? err : e4l_shrink_prepare(e, e4l_run_journal(s->run, e),
					      size);
}

static errcode_t evict(struct shrink *s, struct e4l *e,
		       const struct e4l_size *size)
{
	return s->moved.stopped ? 0 :
	       e4l_evict_inodes(e, s->run, size->inodes, &s->inodes);
}

/* Moves the journal, if possible to one free extent. */
static errcode_t move_log(struct shrink *s, struct e4l *e,
			  const struct e4l_size *size)
{
	struct e4l_evacuation what = { .may_move = may_move, .priv = s };
	struct e4l_evacuated moved;
	errcode_t err = e4l_shrink_room(e, s->run, size, &what, &moved);

	add_moved(s, &moved);
	if (err || s->moved.stopped)
		return err;
	return e4l_shrink_move_log(e, e4l_run_journal(s->run, e), size,
				   &s->lacking_blocks);
}

/*
 * Carries out all steps of the shrink on @e, the filesystem itself or an
 * overlay.
 */
static errcode_t carry_out_on(struct shrink *s, struct e4l *e)
{
	io_channel journal = e4l_run_journal(s->run, e);
	struct e4l_size size = s->size;
	errcode_t err;

	s->lacking_blocks = EXT2FS_CLUSTER_RATIO(e->fs);
	s->inodes = (struct e4l_regroup_result) { 0 };
	s->moved = (struct e4l_evacuated) { 0 };
	s->pinned = s->pinned_end = 0;
	err = e4l_shrink_probe(e, journal, &size);
	if (!err)
		err = e4l_shrink_prepare(e, journal, &size);
	if (!err)
		err = move_log(s, e, &size);
	if (!err)
		err = evict(s, e, &size);
	if (!err)
		err = lift_tables(s, e, &size);
	if (!err)
		err = evacuate(s, e, &size);
	if ((!err || err == ENOSPC) && s->pinned)
		err = e4l_fail(e, E4L_ET_SHRINK_PINNED, "evacuating blocks",
			       s->pinned, 0);
	if (err)
		return err;
	if (s->inodes.stopped || s->moved.stopped) {
		s->run->result->stopped = true;
		return 0;
	}
	err = e4l_shrink_end(e, journal, &size);
	s->free_blocks = ext2fs_free_blocks_count(e->fs->super);
	return err;
}

/* -------------------------------------------------------------- 2. simulate */

/*
 * Checks the simulated result.  An error in the result is a bug of this
 * library.
 */
static errcode_t check_result(struct e4l *o)
{
	const struct e4l_check_options opt = { .flags = E4L_CHECK_NO_LAYOUT };
	struct e4l_check_result result;
	errcode_t err = e4l_check(o, &opt, &result);

	if (!err && result.errors)
		err = e4l_fail(o, E4L_ET_DAMAGED,
			       "simulating the smaller filesystem", 0, 0);
	return err;
}

static errcode_t simulate(struct shrink *s, bool check)
{
	struct e4l *o;
	errcode_t err = e4l_overlay_new(s->base, e4l_run_journal(s->run, s->base), &o);

	if (err)
		return err;
	err = carry_out_on(s, o);
	if (!err && check)
		err = check_result(o);
	if (!err && check)
		err = e4l_repack_measure(o, NULL, &s->after);
	e4l_overlay_free(o);
	return err;
}

static int note_end(ext2_filsys fs, blk64_t *blk, e2_blkcnt_t lblk,
		    blk64_t ref, int offset, void *priv)
{
	blk64_t *end = priv;

	(void)fs, (void)lblk, (void)ref, (void)offset;
	if (*end <= *blk)
		*end = *blk + 1;
	return 0;
}

/*
 * Returns the block after the last block of an inode, or 0 if the block map
 * cannot be read.
 */
static blk64_t end_of_inode(const struct shrink *s, ext2_ino_t ino)
{
	blk64_t end = 0;

	return ext2fs_block_iterate3(s->base->fs, ino, BLOCK_FLAG_READ_ONLY,
				     NULL, note_end, &end) ? 0 : end;
}

/*
 * Returns a size, in blocks, that includes the first cluster of @group.  grow()
 * adds the blocks that the last group of a filesystem needs.
 */
static blk64_t size_with_group(ext2_filsys fs, dgrp_t group)
{
	return ext2fs_group_first_block2(fs, group) + EXT2FS_CLUSTER_RATIO(fs);
}

/*
 * Returns the smallest size, in blocks, that can avoid @err, the error of the
 * last simulation.  Returns 0 if no larger size can avoid @err.
 */
static blk64_t size_after(const struct shrink *s, errcode_t err)
{
	ext2_filsys fs = s->base->fs;
	ext2_ino_t ino = s->base->detail.ino;
	uint32_t per_block = EXT2_DESC_PER_BLOCK(fs->super);

	if (err == ENOSPC)
		return s->size.blocks + s->lacking_blocks;
	if (err == E4L_ET_SHRINK_PINNED && s->pinned_end > s->size.blocks)
		return s->pinned_end;
	if (err == E4L_ET_SHRINK_PINNED && ino)
		return end_of_inode(s, ino);
	if (err == E4L_ET_SHRINK_NUMBER && ino)
		return size_with_group(fs, ext2fs_group_of_ino(fs, ino));
	/*
	 * a size with as many descriptor blocks as now needs a smaller
	 * transaction: see e4l_shrink_probe()
	 */
	if (err == E4L_ET_TXN_FULL && s->size.desc_blocks < fs->desc_blocks)
		return size_with_group(fs, s->size.desc_blocks * per_block);
	return 0;
}

/*
 * Clears the error details of a failed simulation, and records the reason in
 * s->limit.
 */
static void forget(struct shrink *s, errcode_t err)
{
	s->limit = err == ENOSPC ? 0 : err;
	s->limit_ino = s->limit ? s->base->detail.ino : 0;
	e4l_fail(s->base, 0, NULL, 0, 0);
	e4l_fail(s->e, 0, NULL, 0, 0);
}

/*
 * Increases s->size by @more blocks.  If the last group would be shorter than
 * its minimum, increases s->size by a few more blocks.
 */
static errcode_t grow(struct shrink *s, uint64_t more)
{
	blk64_t before = s->size.blocks, blocks = before;
	blk64_t most = ext2fs_blocks_count(s->base->fs->super);
	uint32_t ratio = EXT2FS_CLUSTER_RATIO(s->base->fs);
	errcode_t err = 0;

	more = (more + ratio - 1) / ratio * ratio;
	for (; !err && s->size.blocks <= before; ratio *= 2) {
		if (more >= most - blocks)
			return E4L_ET_SHRINK_SIZE;
		blocks += more;
		more = ratio;
		err = e4l_size_for(s->base, blocks, &s->size);
	}
	return err;
}

/*
 * Finds the smallest size from s->size on, but below @end, at which the
 * simulation leaves the requested number of free blocks.  If there is no such
 * size, returns E4L_ET_SHRINK_SIZE.
 */
static errcode_t search(struct shrink *s, blk64_t end)
{
	uint64_t want = s->run->what.shrink_free_blocks;
	unsigned int tries;
	errcode_t err = 0;
	blk64_t next;

	for (tries = 0; !err && tries < MAX_TRIES; tries++) {
		if (s->size.blocks >= end)
			return E4L_ET_SHRINK_SIZE;
		err = simulate(s, false);
		if (!err && s->free_blocks >= want)
			return 0;
		next = err ? size_after(s, err) :
			     s->size.blocks + (want - s->free_blocks);
		if (next <= s->size.blocks)
			return err;
		forget(s, err);
		err = grow(s, next - s->size.blocks);
	}
	return err ? err : E4L_ET_SHRINK_SIZE;
}

/*
 * Tries sizes below s->size, which has been simulated, as long as the result has
 * more free blocks than necessary.
 */
static errcode_t improve(struct shrink *s)
{
	uint64_t want = s->run->what.shrink_free_blocks;
	unsigned int tries;
	errcode_t err = 0;

	for (tries = 0; !err && tries < MAX_TRIES / 4 &&
			s->free_blocks > want; tries++) {
		const struct shrink best = *s;

		if (e4l_size_for(s->base, best.size.blocks -
				 (s->free_blocks - want), &s->size))
			err = E4L_ET_SHRINK_SIZE;
		if (!err)
			err = search(s, best.size.blocks);
		if (err)
			*s = best;
	}
	return err == E4L_ET_SHRINK_SIZE ? 0 : err;
}

/* Finds the smallest size at which the simulation succeeds. */
static errcode_t find_smallest(struct shrink *s)
{
	blk64_t blocks = ext2fs_blocks_count(s->e->fs->super);
	errcode_t err;

	err = e4l_size_smallest(s->base, s->run->what.shrink_free_blocks,
				&s->size);
	if (!err)
		err = search(s, blocks);
	if (!err)
		err = improve(s);
	return err ? err : simulate(s, true);
}

/*
 * Simulates the requested size.  If the requested size is too small, finds the
 * smallest size for the report.
 */
static errcode_t try_size(struct shrink *s)
{
	struct e4l_shrink_result *result = &s->run->result->shrink;
	errcode_t err;

	err = e4l_size_for(s->base, s->run->what.shrink_blocks, &s->size);
	if (!err && s->size.free_blocks >= 0)
		err = simulate(s, true);
	else if (!err || err == E4L_ET_BAD_ARGUMENT || err == E4L_ET_NO_INODES)
		err = ENOSPC;
	if (err != ENOSPC)
		return err;
	forget(s, err);
	err = find_smallest(s);
	if (!err)
		result->smallest_blocks = s->size.blocks;
	if (err == E4L_ET_SHRINK_SIZE)
		result->smallest_blocks = result->old_blocks;
	return err ? err : E4L_ET_SHRINK_SIZE;
}

/* ------------------------------------------------------- the repack before */

/* Whether the run repacks files, directories, free space or inodes. */
static bool repacks(const struct shrink *s)
{
	return s->run->what.flags & (E4L_REPACK_DEFAULT | E4L_REPACK_INODES);
}

/*
 * Whether the run repacks the filesystem, or may shorten the journal, before
 * the size changes.
 */
static bool has_parts(const struct shrink *s)
{
	return repacks(s) || s->run->what.shrink_journal_blocks;
}

static void part_progress(bool writing, uint64_t done, uint64_t total,
			  void *priv)
{
	struct shrink *s = priv;

	(void)total;
	if (writing && s->run->cb.progress)
		s->run->cb.progress(true, done, s->run->to_write,
				    s->run->cb.priv);
	if (writing)
		s->run->written = done;
}

static void part_skipped(const struct e4l_skipped *skipped, void *priv)
{
	struct shrink *s = priv;

	if (s->run->cb.skipped)
		s->run->cb.skipped(skipped, s->run->cb.priv);
}

static bool part_stop(bool inside, void *priv)
{
	return e4l_run_stop(((struct shrink *)priv)->run, inside);
}

static errcode_t cut_journal(struct shrink *s, struct e4l *e)
{
	uint64_t blocks = s->run->what.shrink_journal_blocks;

	if (!blocks || blocks > UINT32_MAX)
		return 0;
	return e4l_shrink_cut_log(e, e4l_run_journal(s->run, e), blocks);
}

/* Repacks @e, the filesystem itself or an overlay. */
static errcode_t repack_on(struct shrink *s, struct e4l *e)
{
	struct e4l_repack_what what = s->run->what;
	const struct e4l_repack_callbacks cb = {
		.progress = e->over ? NULL : part_progress,
		.skipped = e->over ? NULL : part_skipped,
		.stop = part_stop, .priv = s,
	};

	what.flags &= ~(E4L_REPACK_SHRINK | E4L_REPACK_DRY_RUN);
	what.shrink_blocks = what.shrink_free_blocks = 0;
	what.shrink_journal_blocks = 0;
	what.journal = e4l_run_journal(s->run, e);
	return e4l_repack(e, &what, &s->run->limits, &cb, &s->parts);
}

/*
 * Call this function before the size of @e changes.  If shrink_journal_blocks
 * is set, cuts the journal.  If the flags request a repack, repacks @e.
 */
static errcode_t repack_parts(struct shrink *s, struct e4l *e)
{
	struct e4l_layout before;
	errcode_t err;

	if (!s->run->what.shrink_journal_blocks)
		return repack_on(s, e);
	err = e4l_repack_measure(e, NULL, &before);
	if (err)
		return err;
	err = cut_journal(s, e);
	if (!err && repacks(s))
		err = repack_on(s, e);
	s->parts.before = before;
	return err;
}

/*
 * If the run shortens the journal or repacks, carries out this work in a new
 * overlay, and sets s->base and *@overlay to the overlay.  Otherwise, sets
 * s->base to s->e, and *@overlay to NULL.
 */
static errcode_t simulate_parts(struct shrink *s, struct e4l **overlay)
{
	errcode_t err;

	*overlay = NULL;
	s->base = s->e;
	if (!has_parts(s))
		return e4l_repack_measure(s->e, NULL, &s->parts.before);
	err = e4l_overlay_new(s->e, s->run->what.journal, overlay);
	if (err)
		return err;
	/*
	 * the overlay has the content of s->e, which e4l_require_sound() has
	 * checked
	 */
	(*overlay)->sound = true;
	s->base = *overlay;
	err = repack_parts(s, s->base);
	return !err && s->parts.stopped ? E4L_ET_INTERRUPTED : err;
}

/* -------------------------------------------------------------------- whole */

static void add_cost(struct e4l_repack_cost *to,
		     const struct e4l_repack_cost *parts,
		     const struct shrink *s)
{
	*to = *parts;
	to->copied_blocks += s->moved.blocks;
	to->inodes += s->inodes.inodes_done;
	to->transactions += s->moved.transactions + s->inodes.transactions;
	to->discarded_blocks += s->moved.discarded_blocks;
}

static void set_planned(struct shrink *s)
{
	struct e4l_repack_result *result = s->run->result;

	result->before = s->parts.before;
	result->after = s->after;
	result->shrink.new_blocks = s->size.blocks;
	result->shrink.new_inodes = s->size.inodes;
	result->shrink.limit = s->limit;
	result->shrink.limit_inode = s->limit_ino;
	result->shrink.free_blocks = s->free_blocks;
	result->shrink.renumbered = s->parts.planned.inodes +
				    s->inodes.inodes_done;
	result->files_planned = s->parts.files_planned + s->moved.files;
	result->dirs_planned = s->parts.dirs_planned;
	add_cost(&result->planned, &s->parts.planned, s);
}

static void set_done(struct shrink *s)
{
	struct e4l_repack_result *result = s->run->result;

	result->files_done = s->parts.files_done + s->moved.files;
	result->dirs_done = s->parts.dirs_done;
	result->after = s->after;
	add_cost(&result->done, &s->parts.done, s);
	result->discard_err = s->moved.discard_err ? s->moved.discard_err :
						     s->parts.discard_err;
	result->shrink.renumbered = result->done.inodes;
	result->shrink.free_blocks = s->free_blocks;
}

/*
 * Reports the old size.  After a failure, a script that cuts the device to the
 * reported size must not cut off blocks of the filesystem.  After a failed
 * write, the device can have the old or the new size.
 */
static void set_old_size(struct shrink *s)
{
	struct e4l_shrink_result *result = &s->run->result->shrink;

	result->new_blocks = result->old_blocks;
	result->new_inodes = result->old_inodes;
	result->free_blocks = s->parts.before.free_blocks;
}

/*
 * Simulates the shrink to the chosen size again, after the repack.  If the
 * chosen size is too small, finds the smallest sufficient size, unless the user
 * has requested the size.
 */
static errcode_t simulate_again(struct shrink *s)
{
	const struct e4l_repack_what *what = &s->run->what;
	errcode_t err = simulate(s, true);

	if (!err && s->free_blocks >= what->shrink_free_blocks)
		return 0;
	if (what->shrink_blocks && err != ENOSPC)
		return err;
	forget(s, err);
	if (what->shrink_blocks)
		return E4L_ET_SHRINK_SIZE;
	err = search(s, s->run->result->shrink.old_blocks);
	if (!err)
		err = improve(s);
	return err ? err : simulate(s, true);
}

/*
 * Repacks the filesystem on the device, and simulates the shrink again.  The
 * result usually equals the result of the simulation before the repack.
 */
static errcode_t repack_first(struct shrink *s)
{
	errcode_t err;

	if (!has_parts(s))
		return 0;
	err = repack_parts(s, s->e);
	if (err || s->parts.stopped) {
		s->moved = (struct e4l_evacuated) { .stopped = true };
		s->inodes = (struct e4l_regroup_result) { 0 };
		s->run->result->stopped = s->parts.stopped;
		return err;
	}
	return simulate_again(s);
}

static errcode_t carry_out(struct shrink *s)
{
	struct e4l_repack_run *run = s->run;
	errcode_t err;

	run->to_write = run->result->planned.copied_blocks +
			run->result->planned.zeroed_blocks +
			run->result->planned.dir_blocks +
			run->result->planned.inodes;
	s->base = s->e;
	err = repack_first(s);
	if (!err && !run->result->stopped)
		err = carry_out_on(s, s->e);
	run->result->shrink.new_blocks = s->size.blocks;
	run->result->shrink.new_inodes = s->size.inodes;
	if (!err && run->result->stopped)
		err = e4l_repack_measure(s->e, NULL, &s->after);
	else if (err)
		s->after = s->parts.before;
	set_done(s);
	if (err || run->result->stopped)
		set_old_size(s);
	return err;
}

static errcode_t find_size(struct shrink *s)
{
	struct e4l *overlay;
	errcode_t err = simulate_parts(s, &overlay);

	if (!err)
		err = s->run->what.shrink_blocks ? try_size(s) :
						   find_smallest(s);
	e4l_overlay_free(overlay);
	s->base = s->e;
	return err;
}

/* Reports that the filesystem was not changed. */
static void set_unchanged(struct shrink *s)
{
	struct e4l_repack_result *result = s->run->result;

	result->before = result->after = s->parts.before;
	result->shrink.limit = s->limit;
	result->shrink.limit_inode = s->limit_ino;
	set_old_size(s);
}

static errcode_t shrink(struct shrink *s)
{
	struct e4l_repack_run *run = s->run;
	struct e4l_shrink_result *result = &run->result->shrink;
	errcode_t err = e4l_require_sound(s->e, run->what.journal);

	result->old_blocks = ext2fs_blocks_count(s->e->fs->super);
	result->old_inodes = s->e->fs->super->s_inodes_count;
	set_old_size(s);
	if (!err && run->what.shrink_blocks >= result->old_blocks) {
		err = e4l_repack_measure(s->e, NULL, &s->parts.before);
		set_unchanged(s);
		return err;
	}
	if (!err)
		err = find_size(s);
	if (err)
		set_unchanged(s);
	if (!run->what.shrink_blocks && err == E4L_ET_SHRINK_SIZE) {
		/* the filesystem cannot become smaller, which is no error */
		e4l_fail(s->e, 0, NULL, 0, 0);
		return 0;
	}
	if (err)
		return err;
	set_planned(s);
	if (run->cb.planned)
		run->cb.planned(run->result, run->cb.priv);
	return e4l_run_has(run, E4L_REPACK_DRY_RUN) ? 0 : carry_out(s);
}

errcode_t e4l_repack_shrink(struct e4l *e, struct e4l_repack_run *run)
{
	struct shrink s = { .e = e, .base = e, .run = run };
	errcode_t err;

	run->scans = 1;
	err = shrink(&s);
	if (err && !e->detail.doing)
		e4l_fail(e, err, "shrinking the filesystem", 0, 0);
	return err;
}
