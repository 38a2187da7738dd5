/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The end of a file's longest fragment fills many holes at once, and where it was
 * there is one free run: each hole but one is a run less, for a fragment each.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "cut.h"

/* A file, and how many fragments it may have more. */
struct giver {
	size_t file;
	uint64_t spare;
};

struct cutting {
	struct e4l_sweep s;
	uint64_t most_runs;		/* that is aimed at */
	struct e4l_run *hole;		/* the shortest first; empty: filled */
	size_t n_holes, first;		/* from there on some are not */
	/* the giver at hand */
	struct e4l_leaving file;
	const struct e4l_fragment *v;	/* its longest */
	size_t *taken;			/* holes */
	size_t n_taken;
	uint64_t clusters;		/* in them */
};

/* ------------------------------------------------------------------- givers */

static int most_first(const void *va, const void *vb)
{
	const struct giver *a = va, *b = vb;

	if (a->spare != b->spare)
		return a->spare > b->spare ? -1 : 1;
	return a->file < b->file ? -1 : a->file > b->file;
}

/* Files that may have several fragments more; to be freed. */
static errcode_t list_givers(const struct e4l_draft *d, struct giver **ret,
			     size_t *n)
{
	uint64_t spare;
	size_t i;

	*n = 0;
	*ret = calloc(d->n_files + 1, sizeof(**ret));
	if (!*ret)
		return ENOMEM;
	for (i = 0; i < d->n_files; i++) {
		spare = e4l_draft_spare(&d->files[i]);
		if (spare > 1)
			(*ret)[(*n)++] = (struct giver) { i, spare };
	}
	qsort(*ret, *n, sizeof(**ret), most_first);
	return 0;
}

/* -------------------------------------------------------------------- holes */

/* How many of @most extents more @f's tree, as large as it was, holds. */
static uint64_t tree_holds(const struct cutting *c, const struct e4l_file *f,
			   uint64_t most)
{
	unsigned int bs = c->s.d->disk.geo->blocksize;
	uint64_t low = 0, mid;

	while (low < most) {
		mid = most - (most - low) / 2;
		if (e4l_ideal_tree_blocks(f->w.n_packed + mid, bs) <=
		    f->had_tree)
			low = mid;
		else
			most = mid - 1;
	}
	return low;
}

/* Whether it is as it was listed; the one behind the file becomes longer. */
static bool is_hole(const struct cutting *c, const struct e4l_run *run)
{
	const struct e4l_space *space = c->s.d->disk.space;

	return run->len && run->start != c->v->pc + c->v->n &&
	       !e4l_space_before(space, run->start) &&
	       e4l_space_after(space, run->start) == run->len;
}

/* Takes @most holes at most, and less than what the fragment has. */
static errcode_t take_holes(struct cutting *c, uint64_t most)
{
	uint64_t room = c->v->n - 1;
	errcode_t err = 0;
	size_t i;

	if (room > c->s.budget)
		room = c->s.budget;
	for (i = c->first; i + 1 < c->n_holes && c->n_taken < most && !err;
	     i++) {
		const struct e4l_run *run = &c->hole[i];

		if (run->len > room - c->clusters)
			break;
		if (!is_hole(c, run))
			continue;
		err = e4l_space_take(c->s.d->disk.space, run->start, run->len);
		if (err)
			break;
		c->clusters += run->len;
		c->taken[c->n_taken++] = i;
	}
	return err;
}

/* ------------------------------------------------------------------ one file */

static const struct e4l_fragment *longest(const struct e4l_fragments *list)
{
	const struct e4l_fragment *best = list->v, *v;

	for (v = best; v < list->v + list->n; v++)
		if (v->n > best->n)
			best = v;
	return best;
}

/* The longest fragment without its end, and that, in slices. */
static errcode_t slice(struct cutting *c)
{
	struct e4l_fragments *new = &c->file.new;
	const struct e4l_fragment *v = c->v;
	uint64_t done = v->n - c->clusters;
	errcode_t err = e4l_fragments_add(new, v->lc, v->pc, done);
	size_t i;

	for (i = 0; i < c->n_taken && !err; i++) {
		const struct e4l_run *run = &c->hole[c->taken[i]];

		err = e4l_fragments_add(new, v->lc + done, run->start,
					run->len);
		done += run->len;
	}
	return err;
}

/* *@done is false if it cannot be, or is too much for its tree. */
static errcode_t make_steps(struct cutting *c, bool *done)
{
	const struct e4l_fragments *old = &c->file.old;
	const struct e4l_fragment *v;
	struct e4l_draft *d = c->s.d;
	errcode_t err = 0;

	for (v = old->v; v < old->v + old->n && !err; v++)
		err = v == c->v ? slice(c) :
		      e4l_fragments_add(&c->file.new, v->lc, v->pc, v->n);
	if (!err)
		err = e4l_leaving_steps(d, &c->file, done);
	*done = !err && *done && c->file.steps.v[c->file.steps.n - 1].n_tree <=
				 d->files[c->file.file].had_tree;
	return err;
}

static errcode_t try_steps(const struct cutting *c,
			   errcode_t (*change)(struct e4l_space *s,
					       uint64_t start, uint64_t len))
{
	const struct e4l_steps *steps = &c->file.steps;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < steps->n && !err; i++)
		err = e4l_step_try(&c->s.d->disk, &steps->v[i], change);
	return err;
}

static errcode_t judge(const struct cutting *c,
		       const struct e4l_outlook *before, bool *good)
{
	struct e4l_outlook now;
	errcode_t err = try_steps(c, e4l_space_try_give);

	if (!err)
		err = e4l_sweep_judge(&c->s, before, &now, good);
	*good = !err && *good && now.runs < before->runs;
	return err ? err : try_steps(c, e4l_space_untry_give);
}

static errcode_t carry_out(struct cutting *c, uint64_t *budget)
{
	struct e4l_draft *d = c->s.d;
	uint64_t copied = e4l_leaving_copied(d, &c->file);
	errcode_t err;
	size_t i;

	for (i = 0; i < c->n_taken; i++)
		c->hole[c->taken[i]].len = 0;
	d->files[c->file.file].why = E4L_LEFT_FREE_RUNS;
	c->s.c->made.blocks_away += copied;
	c->s.budget -= c->s.budget == E4L_NO_LIMIT ? 0 : c->clusters;
	*budget -= *budget == E4L_NO_LIMIT ? 0 : copied;
	err = e4l_leaving_add(d, &c->file);
	return err ? err : e4l_draft_end_batch(d);
}

static errcode_t undo(struct cutting *c)
{
	errcode_t err = e4l_leaving_drop(c->s.d, &c->file);
	size_t i;

	for (i = 0; i < c->n_taken && !err; i++) {
		const struct e4l_run *run = &c->hole[c->taken[i]];

		err = e4l_space_add(c->s.d->disk.space, run->start, run->len);
	}
	return err;
}

/* Fills what it can with the end of @g, if that leaves fewer runs. */
static errcode_t cut(struct cutting *c, const struct giver *g,
		     uint64_t *budget)
{
	const struct e4l_outlook before = e4l_space_outlook(c->s.d->disk.space);
	uint64_t most = before.runs - c->most_runs + 1;
	bool done = false;
	errcode_t err;

	if (most > g->spare)
		most = g->spare;
	most = tree_holds(c, &c->s.d->files[g->file], most);
	c->file = (struct e4l_leaving) { .file = g->file };
	c->n_taken = c->clusters = 0;
	err = most ? e4l_leaving_read(c->s.d, g->file, &c->file) : 0;
	if (!err && c->file.old.n) {
		c->v = longest(&c->file.old);
		err = take_holes(c, most);
		if (!err && c->n_taken)
			err = make_steps(c, &done);
		if (!err && done)
			err = judge(c, &before, &done);
		if (!err)
			err = done ? carry_out(c, budget) : undo(c);
	}
	e4l_leaving_free(&c->file);
	while (c->first < c->n_holes && !c->hole[c->first].len)
		c->first++;
	return err;
}

static bool is_enough(const struct cutting *c)
{
	return e4l_space_runs(c->s.d->disk.space) <= c->most_runs;
}

errcode_t e4l_cut_make(struct e4l_clear *clear, struct e4l_draft *d,
		       uint64_t runs, uint64_t *budget)
{
	struct cutting c = { .most_runs = runs };
	struct giver *givers = NULL;
	size_t n = 0, i;
	errcode_t err = e4l_sweep_begin(&c.s, clear, d, *budget);

	e4l_evict_begin(&c.s.ev);
	if (!err)
		err = e4l_sweep_runs(&c.s, e4l_shortest_first, &c.hole,
				     &c.n_holes);
	if (!err)
		err = list_givers(d, &givers, &n);
	c.taken = calloc(c.n_holes + 1, sizeof(*c.taken));
	if (!err && !c.taken)
		err = ENOMEM;
	for (i = 0; i < n && !err && !is_enough(&c) && !e4l_draft_is_late(d);
	     i++) {
		err = e4l_draft_go_on(d);
		if (!err)
			err = cut(&c, &givers[i], budget);
	}
	e4l_sweep_end(&c.s);
	free(c.taken);
	free(givers);
	free(c.hole);
	return err;
}
