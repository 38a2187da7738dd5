/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "fragments.h"

errcode_t e4l_fragments_add(struct e4l_fragments *list, uint64_t lc,
			    uint64_t pc, uint64_t n)
{
	struct e4l_fragment *last = list->n ? &list->v[list->n - 1] : NULL;
	errcode_t err;

	if (last && last->lc + last->n == lc && last->pc + last->n == pc) {
		last->n += n;
		return 0;
	}
	err = e4l_grow(&list->v, list->n, sizeof(*list->v));
	if (!err)
		list->v[list->n++] = (struct e4l_fragment) { pc, lc, n };
	return err;
}

errcode_t e4l_fragments_of(const struct e4l_extent *ex, size_t n,
			   uint32_t ratio, struct e4l_fragments *ret)
{
	struct e4l_fragments list = { 0 };
	uint64_t lc, pc, end, next = 0, next_pc = 0;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < n && !err; i++) {
		lc = ex[i].lblk / ratio;
		pc = ex[i].pblk / ratio;
		end = (ex[i].lblk + (uint64_t)ex[i].len - 1) / ratio + 1;
		if (ex[i].lblk % ratio != ex[i].pblk % ratio ||
		    end > UINT32_MAX ||
		    (i && lc < next && pc + 1 != next_pc)) {
			err = E4L_ET_BAD_ARGUMENT;
			break;
		}
		if (i && lc < next) {	/* shares its first cluster */
			lc++;
			pc++;
		}
		if (lc < end)
			err = e4l_fragments_add(&list, lc, pc, end - lc);
		next = end;
		next_pc = pc + (end - lc);
	}
	if (err) {
		free(list.v);
		list = (struct e4l_fragments) { 0 };
	}
	*ret = list;
	return err;
}

size_t e4l_logical_run(const struct e4l_fragment *v, size_t n, uint64_t *len)
{
	size_t i;

	*len = v[0].n;
	for (i = 1; i < n && v[i - 1].lc + v[i - 1].n == v[i].lc; i++)
		*len += v[i].n;
	return i;
}

errcode_t e4l_each_shift(const struct e4l_fragments *old,
			 const struct e4l_fragments *new,
			 errcode_t (*fn)(const struct e4l_shift *, void *),
			 void *priv)
{
	const struct e4l_fragment *was = old->v, *is = new->v;
	uint64_t o = 0, w = 0;	/* how far in *was and *is */
	struct e4l_shift s;
	errcode_t err = 0;

	while (was < old->v + old->n && !err) {
		s = (struct e4l_shift) {
			.lc = was->lc + o, .from = was->pc + o,
			.to = is->pc + w, .n = was->n - o,
		};
		if (s.n > is->n - w)
			s.n = is->n - w;
		err = fn(&s, priv);
		o += s.n;
		w += s.n;
		if (o == was->n) {
			was++;
			o = 0;
		}
		if (w == is->n) {
			is++;
			w = 0;
		}
	}
	return err;
}
