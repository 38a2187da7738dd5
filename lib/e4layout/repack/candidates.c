/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * candidates: selects the files that a repack may change, and reports why the
 * repack skips the other files.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <e4layout/model.h>
#include "candidates.h"
#include "swap.h"
#include "e4layout/base/array.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/read/runs.h"

/* ------------------------------------------------------- selection of files */

bool e4l_candidates_may_move(struct e4l_candidates *c, ext2_ino_t ino,
			     const struct e4l_extent *extents, size_t n)
{
	const struct e4l_extent *last = &extents[n - 1];
	struct e4l_swap_file file = {
		.extents = extents, .n_extents = n,
		.size_bytes = ((uint64_t)last->lblk + last->len) *
			      c->e->fs->blocksize,
	};

	(void)ino;
	if (e4l_run_has(c->run, E4L_REPACK_MOVE_SWAP))
		return true;
	return !e4l_swap_ask(c->e, &file, 1, c->scratch) && !file.why;
}

static unsigned int allowed_for_file(unsigned int flags)
{
	return (flags & E4L_REPACK_FILES ? E4L_MAY_MOVE | E4L_MAY_AWAY : 0) |
	       (flags & E4L_REPACK_TREES ? E4L_MAY_PACK | E4L_MAY_ZERO : 0) |
	       (flags & E4L_REPACK_FREE ? E4L_MAY_AWAY : 0);
}

static unsigned int allowed_for_dir(unsigned int flags)
{
	return (flags & E4L_REPACK_DIRS ? E4L_MAY_MOVE | E4L_MAY_PACK : 0) |
	       (flags & (E4L_REPACK_FILES | E4L_REPACK_FREE) ?
		E4L_MAY_AWAY : 0);
}

/*
 * Returns the changes (E4L_MAY_*) that the options and the inode's attributes
 * allow.
 */
static unsigned int allowed_for(const struct e4l_candidates *c,
				const struct e4l_piece *p)
{
	unsigned int flags = c->run->what.flags;
	unsigned int allowed = LINUX_S_ISDIR(p->inode->i_mode) ?
			       allowed_for_dir(flags) :
			       allowed_for_file(flags);

	if (flags & E4L_REPACK_NO_MOVE)
		allowed &= ~(E4L_MAY_MOVE | E4L_MAY_AWAY);
	if (p->inode->i_flags & EXT4_ENCRYPT_FL)
		allowed &= ~E4L_MAY_ZERO;
	return allowed;
}

/*
 * Returns the reason to skip the file, or E4L_SKIP_NONE if the file may be
 * changed.  Does not consider whether the file is a swap file.
 */
static enum e4l_skip reason_to_keep(const struct e4l_candidates *c,
				    const struct e4l_piece *p)
{
	const struct e4l_repack_what *what = &c->run->what;

	if (what->exclude && ext2fs_test_inode_bitmap2(what->exclude, p->ino))
		return E4L_SKIP_EXCLUDED;
	if (p->map == E4L_MAP_INDIRECT)
		return E4L_SKIP_INDIRECT;
	if (c->too_large)
		return E4L_SKIP_MEMORY;
	if (!(what->flags & E4L_REPACK_MOVE_IMMUTABLE) &&
	    (p->inode->i_flags & EXT2_IMMUTABLE_FL))
		return E4L_SKIP_IMMUTABLE;
	return E4L_SKIP_NONE;
}

static void skip(const struct e4l_candidates *c, const struct e4l_piece *p,
		 enum e4l_skip why, uint64_t extents)
{
	e4l_run_skip(c->run, E4L_SKIP_FILE, p->ino, why, extents);
}

/*
 * Numbers of splits (a written extent adjacent to an unwritten one).  @too_long
 * counts unwritten extents that are longer than the limit for zeroing.
 * @beyond_end counts unwritten extents that end beyond the end of the file.
 * @others counts all other splits.
 */
struct splits {
	uint64_t too_long, beyond_end, others;
};

static void count_splits(const struct e4l_candidates *c,
			 const struct e4l_piece *p, struct splits *s)
{
	uint64_t eof = e4l_blocks_of(EXT2_I_SIZE((struct ext2_inode *)p->inode),
				     c->e->fs->blocksize);
	struct e4l_state_run last = { 0 }, run, *u;
	size_t i = 0;

	for (; e4l_next_state_run(c->extents, c->n_extents, &i, &run);
	     last = run) {
		if (!e4l_runs_touch(&last, &run))
			continue;
		u = run.unwritten ? &run : &last;
		if (u->lblk + u->len > eof)
			s->beyond_end++;
		else if (u->len > c->run->limits.zero_extent_blocks)
			s->too_long++;
		else
			s->others++;
	}
}

/* Returns the reason to report for a fragmented file without E4L_MAY_MOVE. */
static enum e4l_skip why_not_moved(const struct e4l_candidates *c)
{
	return e4l_run_has(c->run, E4L_REPACK_NO_MOVE) ? E4L_SKIP_NO_MOVE :
							 E4L_SKIP_NOT_FILES;
}

static void skip_splits(const struct e4l_candidates *c,
			const struct e4l_piece *p, unsigned int allowed,
			const struct splits *s)
{
	if (p->inode->i_flags & EXT4_ENCRYPT_FL)
		skip(c, p, E4L_SKIP_ENCRYPTED, s->too_long + s->others);
	else if (!(allowed & E4L_MAY_ZERO))
		skip(c, p, E4L_SKIP_NOT_TREES, s->too_long + s->others);
	else
		skip(c, p, E4L_SKIP_UNWRITTEN_LONG, s->too_long);
	skip(c, p, E4L_SKIP_BEYOND_END, s->beyond_end);
}

/*
 * Reports the extents that could be saved if the user had requested more
 * changes.
 */
static void skip_what_is_not_asked(const struct e4l_candidates *c,
				   const struct e4l_piece *p,
				   unsigned int allowed)
{
	const struct e4l_file_score *score = c->score;
	uint64_t excess = score->extents - score->ideal_extents;
	struct splits s = { 0 };

	count_splits(c, p, &s);
	if (excess + score->splits < c->run->what.min_excess) {
		skip(c, p, E4L_SKIP_MIN_EXCESS, excess + s.too_long + s.others);
		return;
	}
	if (LINUX_S_ISDIR(p->inode->i_mode) &&
	    !e4l_run_has(c->run, E4L_REPACK_DIRS)) {
		skip(c, p, E4L_SKIP_NOT_DIRS, excess);
		return;
	}
	if (!(allowed & E4L_MAY_PACK))
		skip(c, p, E4L_SKIP_NOT_TREES, score->mergeable);
	if (!(allowed & E4L_MAY_MOVE) && excess > score->mergeable)
		skip(c, p, why_not_moved(c), excess - score->mergeable);
	skip_splits(c, p, allowed, &s);
}

/*
 * Returns the number of extents that could be saved.  If no extent could be
 * saved, returns the number of fragments that could be saved.
 */
static uint64_t could_save(const struct e4l_file_score *score)
{
	uint64_t extents = score->extents - score->ideal_extents +
			   score->splits;

	return extents ? extents : score->fragments - score->logical_runs;
}

static void add_to_layout(struct e4l_candidates *c, const struct e4l_piece *p)
{
	const struct e4l_file_score *score = c->score;
	struct e4l_layout *l = &c->layout;

	l->files++;
	l->fragmented_files += score->fragments > score->logical_runs;
	l->extents += score->extents;
	l->fragments += score->fragments;
	l->excess_fragments += score->fragments - score->logical_runs;
	l->tree_blocks += score->tree_blocks;
	if (LINUX_S_ISDIR(p->inode->i_mode))
		l->dir_blocks += score->blocks;
}

/*
 * Whether the file may be a swap file.  The content of such a file must be read
 * before the permitted changes are known.
 */
static bool could_be_swap(const struct e4l_candidates *c,
			  const struct e4l_piece *p)
{
	return !e4l_run_has(c->run, E4L_REPACK_MOVE_SWAP) && !c->asked &&
	       LINUX_S_ISREG(p->inode->i_mode) &&
	       e4l_swap_fits(EXT2_I_SIZE(p->inode));
}

errcode_t e4l_candidates_settle(struct e4l_candidates *c,
				const struct e4l_piece *p)
{
	const struct e4l_file_score *score = c->score;
	uint64_t excess = score->extents - score->ideal_extents;
	unsigned int allowed = allowed_for(c, p);

	if (!e4l_run_selects(c->run, p->ino))
		return 0;
	add_to_layout(c, p);
	if (c->why)
		skip(c, p, c->why, could_save(score));
	if (c->why || p->map != E4L_MAP_EXTENTS)
		return 0;
	skip_what_is_not_asked(c, p, allowed);
	if (excess + score->splits < c->run->what.min_excess)
		allowed &= E4L_MAY_AWAY;
	if (allowed & E4L_MAY_AWAY && could_be_swap(c, p))
		allowed |= E4L_MAY_ASK;
	return c->offer(c, p, allowed, c->priv);
}

/*
 * Whether the planner may move the file to improve the file itself, and not
 * only to help other files.  Joining fragments is an improvement even if no
 * extent is saved because one fragment is written and the next is unwritten.
 */
static bool may_gain(const struct e4l_file_score *score)
{
	return e4l_score_can_be_better(score) || score->fragments > 1;
}

/* ------------------------------------------------------ input from the scan */

/*
 * Whether @more additional extents of the current inode exceed the memory
 * limit.
 */
static bool is_too_large(const struct e4l_candidates *c, size_t more)
{
	uint64_t bytes = c->run->limits.mem_bytes / 2;

	return bytes && c->n_extents + more > bytes / E4L_CANDIDATE_EXTENT_BYTES;
}

errcode_t e4l_candidates_gather(struct e4l_candidates *c,
				const struct e4l_piece *p)
{
	errcode_t err;

	c->damaged |= p->damaged;
	if (p->first) {
		c->n_extents = c->n_tree = 0;
		c->too_large = false;
	}
	c->too_large |= is_too_large(c, p->n_extents);
	if (c->too_large)
		return 0;
	if (p->first && p->last) {
		c->extents = p->extents;
		c->n_extents = p->n_extents;
		c->tree = p->tree;
		c->n_tree = p->n_tree;
		return 0;
	}
	err = e4l_append(&c->own_extents, &c->n_extents, &c->max_extents,
			 p->extents, p->n_extents, sizeof(*c->own_extents));
	if (!err)
		err = e4l_append(&c->own_tree, &c->n_tree, &c->max_tree,
				 p->tree, p->n_tree, sizeof(*c->own_tree));
	c->extents = c->own_extents;
	c->tree = c->own_tree;
	return err;
}

errcode_t e4l_candidates_inode(struct e4l_candidates *c,
			       const struct e4l_piece *last,
			       const struct e4l_file_score *score)
{
	c->score = score;
	if (last->damaged || !e4l_is_file(c->e->fs, last->ino))
		return 0;
	c->asked = false;
	c->why = reason_to_keep(c, last);
	return !c->why && e4l_run_selects(c->run, last->ino) &&
	       may_gain(score) && could_be_swap(c, last) ?
	       e4l_candidates_wait(c, last) : e4l_candidates_settle(c, last);
}

/* ---------------------------------------------------------- begin and end */

errcode_t e4l_candidates_begin(struct e4l_candidates *c, struct e4l *e,
			       struct e4l_repack_run *run)
{
	*c = (struct e4l_candidates) {
		.e = e, .run = run, .scratch = malloc(E4L_GATHER_BYTES),
	};
	return c->scratch ? 0 : ENOMEM;
}

/* Frees the memory that the largest file needed during the scan. */
static void forget_pieces(struct e4l_candidates *c)
{
	free(c->own_extents);
	free(c->own_tree);
	c->own_extents = NULL;
	c->own_tree = NULL;
	c->max_extents = c->max_tree = 0;
	c->extents = NULL;
	c->tree = NULL;
	c->n_extents = c->n_tree = 0;
}

errcode_t e4l_candidates_finish(struct e4l_candidates *c)
{
	errcode_t err = e4l_candidates_settle_all(c);

	forget_pieces(c);
	return err ? err : c->damaged ? E4L_ET_DAMAGED : 0;
}

void e4l_candidates_end(struct e4l_candidates *c)
{
	forget_pieces(c);
	e4l_candidates_forget_waiting(c);
	free(c->waiting);
	free(c->scratch);
}
