/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "packed.h"

errcode_t e4l_bytes_reserve(struct e4l_bytes *o)
{
	return e4l_reserve(&o->v, o->n, &o->max, 3 * E4L_NUMBER_BYTES, 1);
}

/* Those of @step, which it gets when it has none. */
static struct e4l_packed *packed_of(struct e4l_step *step)
{
	if (!step->packed)
		step->packed = calloc(1, sizeof(*step->packed));
	return step->packed;
}

static errcode_t put_move(struct e4l_step *step, struct e4l_packing *k)
{
	struct e4l_packed *p = packed_of(step);
	errcode_t err = p ? e4l_bytes_reserve(&p->bytes) : ENOMEM;

	if (err || !k->move.len)
		return err;
	e4l_put_apart(&p->bytes, k->move.from, k->from);
	e4l_put_apart(&p->bytes, k->move.to, k->to);
	e4l_put_number(&p->bytes, k->move.len << 1 | k->move.copy);
	k->from = k->move.from + k->move.len;
	k->to = k->move.to + k->move.len;
	k->move.len = 0;
	step->n_moves++;
	p->give_at = p->bytes.n;
	return 0;
}

errcode_t e4l_pack_move(struct e4l_step *step, struct e4l_packing *k,
			const struct e4l_move *m)
{
	struct e4l_move *last = &k->move;
	errcode_t err;

	if (last->len && last->from + last->len == m->from &&
	    last->to + last->len == m->to && last->copy == m->copy) {
		last->len += m->len;
		return 0;
	}
	err = put_move(step, k);
	if (!err)
		*last = *m;
	return err;
}

static errcode_t put_given(struct e4l_step *step, struct e4l_packing *k)
{
	struct e4l_packed *p = step->packed;
	errcode_t err = e4l_bytes_reserve(&p->bytes);

	if (err || !k->run.len)
		return err;
	e4l_put_apart(&p->bytes, k->run.pblk, k->given);
	e4l_put_number(&p->bytes, k->run.len);
	k->given = k->run.pblk + k->run.len;
	k->run.len = 0;
	step->n_give++;
	p->n_give++;
	return 0;
}

errcode_t e4l_pack_given(struct e4l_step *step, struct e4l_packing *k,
			 const struct e4l_block_run *run)
{
	errcode_t err;

	if (k->run.len && k->run.pblk + k->run.len == run->pblk) {
		k->run.len += run->len;
		return 0;
	}
	err = put_move(step, k);
	if (!err)
		err = put_given(step, k);
	if (!err)
		k->run = *run;
	return err;
}

/* What was reserved beyond what was needed is given back. */
static void fit(struct e4l_bytes *o)
{
	uint8_t *v = realloc(o->v, o->n + !o->n);

	if (!v)
		return;
	o->v = v;
	o->max = o->n;
}

errcode_t e4l_packing_end(struct e4l_step *step, struct e4l_packing *k)
{
	errcode_t err = put_move(step, k);

	if (!err)
		err = put_given(step, k);
	if (!err)
		fit(&step->packed->bytes);
	return err;
}

errcode_t e4l_pack_extent_run(struct e4l_step *step,
			      const struct e4l_state_run *last,
			      const struct e4l_state_run *run)
{
	struct e4l_packed *p = step->packed;
	errcode_t err = e4l_bytes_reserve(&p->bytes);

	if (err)
		return err;
	if (!p->has_extents)
		p->extents_at = p->bytes.n;
	p->has_extents = true;
	e4l_put_apart(&p->bytes, run->lblk, last->lblk + last->len);
	e4l_put_apart(&p->bytes, run->pblk, last->pblk + last->len);
	e4l_put_number(&p->bytes, run->len << 1 | run->unwritten);
	return 0;
}

void e4l_packed_drop_extents(struct e4l_step *step)
{
	if (step->packed)
		step->packed->has_extents = false;
}

void e4l_packed_free(struct e4l_packed *packed)
{
	if (packed)
		free(packed->bytes.v);
	free(packed);
}

bool e4l_step_next_move(const struct e4l_step *step,
			struct e4l_step_walk *walk, struct e4l_move *move)
{
	const struct e4l_packed *p = step->packed;
	uint64_t len;

	if (walk->n == step->n_moves)
		return false;
	if (!p) {
		*move = step->moves[walk->n++];
		return true;
	}
	move->from = e4l_take_apart(p->bytes.v, &walk->at, walk->from);
	move->to = e4l_take_apart(p->bytes.v, &walk->at, walk->to);
	len = e4l_take_number(p->bytes.v, &walk->at);
	move->len = len >> 1;
	move->copy = len & 1;
	walk->from = move->from + move->len;
	walk->to = move->to + move->len;
	walk->n++;
	return true;
}

bool e4l_step_next_given(const struct e4l_step *step,
			 struct e4l_step_walk *walk, struct e4l_block_run *run)
{
	const struct e4l_packed *p = step->packed;
	size_t packed = p ? p->n_give : 0;

	if (walk->n == step->n_give)
		return false;
	if (walk->n >= packed) {
		*run = step->give[walk->n++ - packed];
		return true;
	}
	if (!walk->n)
		walk->at = p->give_at;
	run->pblk = e4l_take_apart(p->bytes.v, &walk->at, walk->from);
	run->len = e4l_take_number(p->bytes.v, &walk->at);
	walk->from = run->pblk + run->len;
	walk->n++;
	return true;
}

bool e4l_packed_has_extents(const struct e4l_step *step)
{
	return step->packed && step->packed->has_extents;
}

void e4l_packed_extents(const struct e4l_step *step, struct e4l_extent *ex)
{
	const struct e4l_packed *p = step->packed;
	const struct e4l_extent *end = ex + step->n_new;
	struct e4l_state_run run = { 0 };
	size_t at = p->extents_at;
	uint64_t len;

	while (ex < end) {
		run.lblk = e4l_take_apart(p->bytes.v, &at, run.lblk + run.len);
		run.pblk = e4l_take_apart(p->bytes.v, &at, run.pblk + run.len);
		len = e4l_take_number(p->bytes.v, &at);
		run.len = len >> 1;
		run.unwritten = len & 1;
		ex += e4l_cut_run(&run, ex);
	}
}
