/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "packed.h"

#define NUMBER_BYTES	10		/* of 64 bits, 7 in each, at most */

/* Seven bits in a byte, the low ones first; the eighth: there is more. */
void e4l_put_number(struct e4l_bytes *o, uint64_t number)
{
	for (; number > 0x7F; number >>= 7)
		o->v[o->n++] = number | 0x80;
	o->v[o->n++] = number;
}

/* How far @number is from @before: twice as much, and one more if it is less. */
void e4l_put_apart(struct e4l_bytes *o, uint64_t number, uint64_t before)
{
	uint64_t apart = number - before;

	e4l_put_number(o, apart << 1 ^ (apart >> 63 ? UINT64_MAX : 0));
}

uint64_t e4l_take_number(const uint8_t *v, size_t *at)
{
	uint64_t number = 0;
	unsigned int shift = 0;

	for (; v[*at] & 0x80; shift += 7)
		number |= (uint64_t)(v[(*at)++] & 0x7F) << shift;
	return number | (uint64_t)v[(*at)++] << shift;
}

uint64_t e4l_take_apart(const uint8_t *v, size_t *at, uint64_t before)
{
	uint64_t apart = e4l_take_number(v, at);

	return before + (apart >> 1 ^ (apart & 1 ? UINT64_MAX : 0));
}

errcode_t e4l_bytes_reserve(struct e4l_bytes *o)
{
	return e4l_reserve(&o->v, o->n, &o->max, 3 * NUMBER_BYTES, 1);
}

static errcode_t put_moves(struct e4l_bytes *o, const struct e4l_step *step)
{
	const struct e4l_move *m = step->moves, *end = m + step->n_moves;
	blk64_t from = 0, to = 0;
	errcode_t err = 0;

	for (; m < end && !err; m++) {
		err = e4l_bytes_reserve(o);
		if (err)
			break;
		e4l_put_apart(o, m->from, from);
		e4l_put_apart(o, m->to, to);
		e4l_put_number(o, m->len << 1 | m->copy);
		from = m->from + m->len;
		to = m->to + m->len;
	}
	return err;
}

static errcode_t put_given(struct e4l_bytes *o, const struct e4l_step *step)
{
	const struct e4l_block_run *g = step->give, *end = g + step->n_give;
	blk64_t blk = 0;
	errcode_t err = 0;

	for (; g < end && !err; g++) {
		err = e4l_bytes_reserve(o);
		if (err)
			break;
		e4l_put_apart(o, g->pblk, blk);
		e4l_put_number(o, g->len);
		blk = g->pblk + g->len;
	}
	return err;
}

static errcode_t put_extents(struct e4l_bytes *o, const struct e4l_step *step)
{
	const struct e4l_extent *x = step->new_extents, *end = x + step->n_new;
	uint64_t lblk = 0, pblk = 0;
	errcode_t err = 0;

	for (; x < end && !err; x++) {
		err = e4l_bytes_reserve(o);
		if (err)
			break;
		e4l_put_apart(o, x->lblk, lblk);
		e4l_put_apart(o, x->pblk, pblk);
		e4l_put_number(o, (uint64_t)x->len << 1 | x->unwritten);
		lblk = (uint64_t)x->lblk + x->len;
		pblk = x->pblk + x->len;
	}
	return err;
}

/* What was reserved beyond what was needed is given back. */
static uint8_t *fit(struct e4l_bytes *o)
{
	uint8_t *v = realloc(o->v, o->n + !o->n);

	return v ? v : o->v;
}

errcode_t e4l_step_pack(struct e4l_step *step)
{
	struct e4l_packed *p = calloc(1, sizeof(*p));
	struct e4l_bytes o = { 0 };
	errcode_t err = p ? put_moves(&o, step) : ENOMEM;

	if (!err) {
		p->give_at = o.n;
		err = put_given(&o, step);
	}
	if (!err && step->new_extents) {
		p->has_extents = true;
		p->extents_at = o.n;
		err = put_extents(&o, step);
	}
	if (err) {
		free(o.v);
		free(p);
		return err;
	}
	p->v = fit(&o);
	free(step->moves);
	free(step->give);
	free(step->new_extents);
	step->moves = NULL;
	step->give = NULL;
	step->new_extents = NULL;
	step->packed = p;
	return 0;
}

void e4l_packed_free(struct e4l_packed *packed)
{
	if (packed)
		free(packed->v);
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
	move->from = e4l_take_apart(p->v, &walk->at, walk->from);
	move->to = e4l_take_apart(p->v, &walk->at, walk->to);
	len = e4l_take_number(p->v, &walk->at);
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

	if (walk->n == step->n_give)
		return false;
	if (!p) {
		*run = step->give[walk->n++];
		return true;
	}
	if (!walk->n)
		walk->at = p->give_at;
	run->pblk = e4l_take_apart(p->v, &walk->at, walk->from);
	run->len = e4l_take_number(p->v, &walk->at);
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
	uint64_t lblk = 0, pblk = 0, len;
	size_t at = p->extents_at;

	for (; ex < end; ex++) {
		lblk = e4l_take_apart(p->v, &at, lblk);
		pblk = e4l_take_apart(p->v, &at, pblk);
		len = e4l_take_number(p->v, &at);
		*ex = (struct e4l_extent) {
			.lblk = lblk, .pblk = pblk, .len = len >> 1,
			.unwritten = len & 1,
		};
		lblk += ex->len;
		pblk += ex->len;
	}
}
