/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "cost.h"
#include "pack.h"
#include "runs.h"
#include "zero.h"

/* How often what runs without a gain cost is spent again. */
#define ROUNDS 8

/* ------------------------------------------------------------ what to zero */

/* The runs that may be zeroed, in the order of their files; an array if none. */
static errcode_t collect(struct e4l_draft *d, struct e4l_zero_run **runs,
			 size_t *n)
{
	errcode_t err = e4l_grow(runs, 0, sizeof(**runs));
	struct e4l_extent *ex;
	size_t i, n_ex;

	for (i = 0; i < d->n_files && !err; i++) {
		const struct e4l_file *f = &d->files[i];

		if (!f->w.n_zero)
			continue;
		err = e4l_draft_extents(d, f, &ex, &n_ex);
		if (err)
			break;
		err = e4l_find_zero_runs(&f->rules, ex, n_ex, i, runs, n);
		free(ex);
	}
	return err;
}

/* Trims the @n runs of one file. */
static errcode_t trim_file(struct e4l_draft *d, struct e4l_zero_run *runs,
			   size_t n, bool *trimmed)
{
	const struct e4l_file *f = &d->files[runs->file];
	struct e4l_extent *ex;
	size_t n_ex;
	errcode_t err;

	if (f->w.largest <= E4L_WRITTEN_MAX_BLOCKS)
		return 0;
	err = e4l_draft_extents(d, f, &ex, &n_ex);
	if (err)
		return err;
	err = e4l_zero_trim(ex, n_ex, runs, n, trimmed);
	free(ex);
	return err;
}

/* How many of the @n @runs are of the first one's file. */
static size_t count_of_file(const struct e4l_zero_run *runs, size_t n)
{
	size_t i;

	for (i = 0; i < n && runs[i].file == runs[0].file; i++)
		;
	return i;
}

static errcode_t choose(struct e4l_draft *d, struct e4l_zero_run *runs,
			size_t n, uint64_t budget)
{
	unsigned int round;
	bool trimmed = true;
	errcode_t err = 0;
	size_t i, of_file;

	for (round = 0; trimmed && round < ROUNDS && !err; round++) {
		trimmed = false;
		err = e4l_zero_choose(runs, n, budget);
		for (i = 0; i < n && !err; i += of_file) {
			of_file = count_of_file(runs + i, n - i);
			err = trim_file(d, runs + i, of_file, &trimmed);
		}
	}
	return err;
}

/* ----------------------------------------------------------------- one file */

/* Whether free space may be as it is with @step; it was like @before. */
static errcode_t is_allowed(const struct e4l_draft *d,
			    const struct e4l_outlook *before,
			    const struct e4l_step *step,
			    enum e4l_left_why *why, bool *allowed)
{
	errcode_t err = e4l_steps_allowed(&d->disk, before, step, 1, allowed);

	if (!*allowed)
		*why = E4L_LEFT_FREE_RUNS;
	return err;
}

/* A step of its own; *@done is false if it cannot be, and it is known @why. */
static errcode_t pack_anew(struct e4l_draft *d, struct e4l_file *f,
			   struct e4l_step *step, enum e4l_left_why *why,
			   bool *done)
{
	const struct e4l_outlook before = e4l_space_outlook(d->disk.space);
	errcode_t err;
	bool placed;

	*done = false;
	err = e4l_step_put_tree(&d->disk, f->tree, f->n_tree,
				step->n_new ? step->new_extents->pblk : 0,
				step, &placed);
	if (!err && placed)
		err = e4l_step_fits(d->disk.geo, step, 0, done);
	if (!err && *done)
		err = is_allowed(d, &before, step, why, done);
	if (!err && *done)
		return e4l_draft_add(d, f, step, 1);
	if (!err)
		return e4l_step_drop(&d->disk, step);
	e4l_step_free(step);
	return err;
}

/* The same of what a step no longer needs of its tree. */
static errcode_t may_shrink(const struct e4l_draft *d,
			    const struct e4l_step *step, size_t need,
			    enum e4l_left_why *why, bool *allowed)
{
	struct e4l_block_run *give;
	size_t i, n = step->n_tree > need ? step->n_tree - need : 0;
	const struct e4l_outlook before = e4l_space_outlook(d->disk.space);
	errcode_t err;

	give = calloc(n + 1, sizeof(*give));
	if (!give)
		return ENOMEM;
	for (i = 0; i < n; i++)
		give[i] = (struct e4l_block_run) {
			step->tree[need + i], d->disk.geo->cluster_blocks,
		};
	err = is_allowed(d, &before, &(struct e4l_step) {
				.give = give, .n_give = n }, why, allowed);
	free(give);
	return err;
}

/* As part of the last step so far, likewise; takes over @ex. */
static errcode_t pack_amending(struct e4l_draft *d, struct e4l_file *f,
			       struct e4l_extent *ex, size_t n,
			       enum e4l_left_why *why, bool *done)
{
	const struct e4l_geometry *geo = d->disk.geo;
	const struct e4l_step *step = &d->steps[f->step - 1];
	size_t need = e4l_ideal_tree_blocks(n, geo->blocksize);
	errcode_t err;

	err = e4l_step_fits(geo, step, step->tree_is_new ? 0 :
				       step->n_tree - need, done);
	if (!err && *done)
		err = may_shrink(d, step, need, why, done);
	if (!err && *done)
		return e4l_draft_amend(d, f, ex, n);
	free(ex);
	return err;
}

/*
 * Packs one file, as far as @least extents are left, after zeroing what has been
 * chosen of it, as part of its last step so far if it has one and @amend.
 */
static errcode_t try_pack(struct e4l_draft *d, struct e4l_file *f,
			  const struct e4l_zero_run *runs, size_t n,
			  bool amend, size_t least, enum e4l_left_why *why,
			  bool *done)
{
	struct e4l_step fresh = { 0 };
	struct e4l_step *step = amend ? &d->steps[f->step - 1] : &fresh;
	uint64_t zeroed = step->bytes_to_zero;
	size_t n_zero = step->n_zero, n_ex;
	struct e4l_extent *ex;
	errcode_t err;

	err = e4l_draft_extents(d, f, &ex, &n_ex);
	if (err)
		return err;
	fresh.new_extents = ex;
	err = e4l_step_zero(d->disk.geo, ex, n_ex, runs, n, step);
	if (err) {
		e4l_step_free(&fresh);
		return err;
	}
	fresh.n_new = n_ex = least ? e4l_merge(ex, n_ex, least) :
				     e4l_pack(ex, n_ex, ex);
	err = amend ? pack_amending(d, f, ex, n_ex, why, done) :
		      pack_anew(d, f, &fresh, why, done);
	if (!err && !*done && amend) {
		step->n_zero = n_zero;
		step->bytes_to_zero = zeroed;
	}
	return err;
}

/* The fewest extents for which @f needs all blocks of its tree. */
static size_t fewest(const struct e4l_draft *d, const struct e4l_file *f)
{
	size_t low = 0, high = f->w.n_ex, mid;

	while (high - low > 1) {
		mid = low + (high - low) / 2;
		if (e4l_ideal_tree_blocks(mid, d->disk.geo->blocksize) <
		    f->n_tree)
			low = mid;
		else
			high = mid;
	}
	return high;
}

/*
 * The same, or leaves it.  If a block of its tree would be one free run too many,
 * as many extents stay as need it, unless these are too many for that.
 */
static errcode_t pack_file(struct e4l_draft *d, struct e4l_file *f,
			   const struct e4l_zero_run *runs, size_t n,
			   bool amend, bool *done)
{
	enum e4l_left_why why = E4L_LEFT_TXN;
	size_t least;
	errcode_t err = try_pack(d, f, runs, n, amend, 0, &why, done);

	if (err || *done)
		return err;
	least = fewest(d, f);
	if (why == E4L_LEFT_FREE_RUNS && !amend &&
	    least <= f->w.n_packed / 2)
		err = try_pack(d, f, runs, n, amend, least, &why, done);
	if (!err)
		e4l_leave(f, E4L_PLAN_MERGE | E4L_PLAN_ZEROOUT, why);
	return err;
}

static uint64_t count_chosen(const struct e4l_zero_run *runs, size_t n)
{
	uint64_t blocks = 0;

	for (; n; n--, runs++)
		blocks += runs->chosen ? runs->len : 0;
	return blocks;
}

/* How many of the @n @runs zero @most blocks, or a chosen one if it is longer. */
static size_t count_part(const struct e4l_zero_run *runs, size_t n,
			 uint64_t most)
{
	uint64_t blocks = 0, len;
	size_t i;

	for (i = 0; i < n; i++) {
		len = runs[i].chosen ? runs[i].len : 0;
		if (blocks && blocks + len > most)
			break;
		blocks += len;
	}
	return i;
}

/* The same as pack_file(), in several steps if there is much to zero. */
static errcode_t pack_in_parts(struct e4l_draft *d, struct e4l_file *f,
			       const struct e4l_zero_run *runs, size_t n,
			       uint64_t *budget)
{
	uint64_t most = e4l_part_blocks(d, f);
	bool amend = f->step, done = false;
	errcode_t err;
	size_t part;

	do {
		part = count_part(runs, n, most);
		err = pack_file(d, f, runs, part, amend, &done);
		if (done && *budget != E4L_NO_LIMIT)
			*budget -= count_chosen(runs, part);
		runs += part;
		n -= part;
		amend = false;
	} while (!err && done && count_chosen(runs, n));
	return err;
}

errcode_t e4l_pack_files(struct e4l_draft *d, uint64_t *budget, bool *changed)
{
	struct e4l_zero_run *runs = NULL;
	size_t n = 0, i, k, first;
	errcode_t err;

	err = collect(d, &runs, &n);
	if (!err)
		err = choose(d, runs, n, *budget);
	for (i = 0, k = 0; i < d->n_files && !err; i++) {
		for (first = k; k < n && runs[k].file == i; )
			k++;
		if (!count_chosen(runs + first, k - first) &&
		    !e4l_is_loose(d, &d->files[i]))
			continue;
		*changed = true;
		err = pack_in_parts(d, &d->files[i], runs + first, k - first,
				    budget);
	}
	free(runs);
	return err ? err : e4l_draft_end_batch(d);
}
