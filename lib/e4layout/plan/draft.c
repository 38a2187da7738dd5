/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "draft.h"
#include "runs.h"

/* A part copies as many times the blocks of the tree that it rewrites. */
#define TREE_SHARE 8

errcode_t e4l_draft_go_on(const struct e4l_draft *d)
{
	return d->go_on ? d->go_on(d->priv) : 0;
}

bool e4l_draft_is_late(struct e4l_draft *d)
{
	if (d->late)
		return true;
	d->why_late = d->bytes > d->most_bytes ? E4L_LEFT_MEMORY :
						 E4L_LEFT_TIME;
	d->late = d->why_late == E4L_LEFT_MEMORY ||
		  (d->enough && d->enough(d->priv));
	return d->late;
}

bool e4l_draft_is_over(struct e4l_draft *d)
{
	return d->n_steps && e4l_draft_is_late(d);
}

bool e4l_is_loose(const struct e4l_draft *d, const struct e4l_file *f)
{
	return f->rules.allowed & E4L_PLAN_MERGE &&
	       (f->w.n_packed < f->w.n_ex ||
		e4l_ideal_tree_blocks(f->w.n_packed, d->disk.geo->blocksize) <
		f->n_tree);
}

uint64_t e4l_part_blocks(const struct e4l_draft *d, const struct e4l_file *f)
{
	uint64_t most = d->part_blocks;

	if (!most)
		return E4L_NO_LIMIT;
	return most > TREE_SHARE * f->n_tree ? most : TREE_SHARE * f->n_tree;
}

void e4l_leave(struct e4l_file *f, unsigned int flags, enum e4l_left_why why)
{
	f->rules.allowed &= ~flags;
	if (flags & E4L_PLAN_MOVE) {
		f->left[why] += f->w.excess;
		f->w.excess = 0;
	}
	if (flags & E4L_PLAN_MERGE)
		f->left[why] += f->w.n_ex - f->w.n_packed;
	if (flags & E4L_PLAN_ZEROOUT) {
		f->left[why] += f->w.n_zero;
		f->w.n_zero = 0;
	}
}

errcode_t e4l_draft_extents(struct e4l_draft *d, const struct e4l_file *f,
			    struct e4l_extent **ex, size_t *n)
{
	const struct e4l_step *last;

	*n = f->w.n_packed;
	if (!f->step)
		return e4l_keep_get(&d->keep, f->ino, &f->kept, ex);
	last = &d->steps[f->step - 1];
	*ex = calloc(last->n_new + 1, sizeof(**ex));
	if (!*ex)
		return ENOMEM;
	*n = e4l_pack(last->new_extents, last->n_new, *ex);
	return 0;
}

/* Of neighbours in a batch, all but the first and the last can do without. */
static void forget_extents(struct e4l_draft *d)
{
	struct e4l_step *last = &d->steps[d->n_steps - 1];

	if (d->n_steps < 3 ||
	    last->ino != last[-2].ino || last->batch != last[-2].batch ||
	    last->ino != last[-1].ino || last->batch != last[-1].batch)
		return;
	d->bytes -= e4l_step_bytes(&last[-1]);
	free(last[-1].new_extents);
	last[-1].new_extents = NULL;
	d->bytes += e4l_step_bytes(&last[-1]);
}

/* @f is as @step leaves it. */
static errcode_t weigh_again(struct e4l_file *f, struct e4l_step *step)
{
	errcode_t err = 0;

	f->w.n_ex = step->n_new;
	f->w.fragments = step->new_fragments;
	if (step->new_extents)
		err = e4l_weigh(&f->rules, step->new_extents, step->n_new,
				&f->w);
	step->new_fragments = f->w.fragments;
	return err;
}

static errcode_t add_step(struct e4l_draft *d, struct e4l_file *f,
			  struct e4l_step *step)
{
	errcode_t err = e4l_step_give(&d->disk, step, 0);

	if (!err)
		err = e4l_grow(&d->steps, d->n_steps, sizeof(*d->steps));
	if (err) {
		e4l_step_free(step);
		return err;
	}
	step->ino = f->ino;
	step->batch = step->n_take || f->step ? d->batch : 0;
	step->n_old = f->w.n_ex;
	step->old_fragments = f->w.fragments;
	d->steps[d->n_steps++] = *step;
	d->bytes += e4l_step_bytes(step);
	forget_extents(d);
	return weigh_again(f, &d->steps[d->n_steps - 1]);
}

uint64_t e4l_draft_spare(const struct e4l_file *f)
{
	uint64_t fragments, extents;

	if (!f->step || !(f->rules.allowed & E4L_PLAN_MOVE) ||
	    f->had <= f->w.fragments || f->had_extents <= f->w.n_packed)
		return 0;
	fragments = f->had - f->w.fragments;
	extents = f->had_extents - f->w.n_packed;
	return fragments < extents ? fragments : extents;
}

errcode_t e4l_draft_add(struct e4l_draft *d, struct e4l_file *f,
			struct e4l_step *steps, size_t n)
{
	const struct e4l_step *last = &steps[n - 1];
	size_t i, n_tree = last->n_tree;
	errcode_t err = 0;

	/* never more blocks than it had before */
	memcpy(f->tree, last->tree, n_tree * sizeof(*f->tree));
	f->n_tree = n_tree;
	for (i = 0; i < n && !err; i++)
		err = add_step(d, f, &steps[i]);
	for (; i < n; i++)
		e4l_step_free(&steps[i]);
	e4l_es_forget(d->keep.cache, f->ino);
	f->step = d->n_steps;
	d->given = true;
	/* what trees have taken is not there to be kept, as for a new plan */
	if (e4l_space_in_long(d->disk.space) < d->in_long)
		d->in_long = e4l_space_in_long(d->disk.space);
	return err;
}

errcode_t e4l_draft_amend(struct e4l_draft *d, struct e4l_file *f,
			  struct e4l_extent *ex, size_t n)
{
	struct e4l_step *step = &d->steps[f->step - 1];
	errcode_t err;

	d->bytes -= e4l_step_bytes(step);
	free(step->new_extents);
	step->new_extents = ex;
	step->n_new = n;
	d->given = true;
	err = e4l_weigh(&f->rules, ex, n, &f->w);
	if (!err)
		err = e4l_step_shrink_tree(&d->disk, step);
	f->n_tree = step->n_tree;
	d->bytes += e4l_step_bytes(step);
	return err;
}

errcode_t e4l_draft_end_batch(struct e4l_draft *d)
{
	if (!d->given)
		return 0;
	d->given = false;
	d->batch++;
	return e4l_space_commit(d->disk.space);
}

void e4l_draft_free(struct e4l_draft *d)
{
	size_t i;

	for (i = 0; i < d->n_files; i++)
		free(d->files[i].tree);
	for (i = 0; i < d->n_steps; i++)
		e4l_step_free(&d->steps[i]);
	free(d->files);
	free(d->steps);
	e4l_space_free(d->disk.space);
}
