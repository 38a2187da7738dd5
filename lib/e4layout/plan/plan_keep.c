/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the extents of candidates are.  Those of a file without a step are in
 * the cache, or, when it has forgotten some of them, to be read again; a file
 * with steps has those of the last.  What is read again must be what the file
 * was added with.
 */
#include "config.h"
#include <errno.h>
#include "e4layout/format/csum.h"
#include "e4layout/read/es_cache.h"
#include "plan_internal.h"

#define FILE_BLOCKS	(1ULL << 32)	/* that a file can have */
#define GET_ENTRIES	256		/* of the cache, at once */

/* The same for extents that differ only in how runs are cut into entries. */
static uint32_t sum_of(const struct e4l_extent *ex, size_t n)
{
	struct e4l_state_run run;
	uint32_t sum = 0;
	size_t i = 0;

	while (i < n) {
		e4l_next_state_run(ex, n, &i, &run);
		sum = e4l_crc32c(sum, (uint64_t [4]) {
			run.lblk, run.len, run.pblk, run.unwritten,
		}, 4 * sizeof(uint64_t));
	}
	return sum;
}

static errcode_t insert(struct e4l_plan *p, ext2_ino_t ino, uint64_t lblk,
			uint64_t end, enum e4l_es_state state, blk64_t pblk)
{
	struct e4l_es es = {
		.lblk = lblk, .len = end - lblk, .state = state, .pblk = pblk,
	};

	return lblk < end ? e4l_es_insert(p->cache, ino, &es) : 0;
}

/* Holes too, so that it is known when something is missing. */
static errcode_t fill_cache(struct e4l_plan *p, ext2_ino_t ino,
			    const struct e4l_extent *ex, size_t n)
{
	struct e4l_state_run run;
	uint64_t end = 0;
	size_t i = 0;
	errcode_t err = 0;

	while (i < n && !err) {
		e4l_next_state_run(ex, n, &i, &run);
		err = insert(p, ino, end, run.lblk, E4L_ES_HOLE, 0);
		end = run.lblk + run.len;
		if (!err)
			err = insert(p, ino, run.lblk, end, run.unwritten ?
				     E4L_ES_UNWRITTEN : E4L_ES_WRITTEN,
				     run.pblk);
	}
	return err ? err : insert(p, ino, end, FILE_BLOCKS, E4L_ES_HOLE, 0);
}

errcode_t e4l_keep_extents(struct e4l_plan *p, struct e4l_candidate *c,
			   const struct e4l_extent *ex, size_t n)
{
	c->sum = sum_of(ex, n);
	e4l_es_forget(p->cache, c->ino);
	return fill_cache(p, c->ino, ex, n);
}

/* Appends a run as entries, of which there is room for @max. */
static bool add_run(struct e4l_extent *ex, size_t *n, size_t max,
		    const struct e4l_es *es)
{
	bool unwritten = es->state == E4L_ES_UNWRITTEN;
	uint32_t most = unwritten ? E4L_UNWRITTEN_MAX_BLOCKS :
				    E4L_WRITTEN_MAX_BLOCKS;
	uint64_t at, len;

	for (at = 0; at < es->len; at += len) {
		len = es->len - at < most ? es->len - at : most;
		if (*n == max)
			return false;
		ex[(*n)++] = (struct e4l_extent) {
			.lblk = es->lblk + at, .pblk = es->pblk + at,
			.len = len, .unwritten = unwritten,
		};
	}
	return true;
}

/* Whether the cache still has all of them. */
static bool get_cached(struct e4l_plan *p, const struct e4l_candidate *c,
		       struct e4l_extent *ex)
{
	struct e4l_es es[GET_ENTRIES];
	uint64_t at = 0;
	size_t n = 0, found, i;

	while (at < FILE_BLOCKS) {
		found = e4l_es_lookup_many(p->cache, c->ino, at, es,
					   GET_ENTRIES);
		if (!found)
			return false;
		for (i = 0; i < found; i++)
			if (es[i].state != E4L_ES_HOLE &&
			    !add_run(ex, &n, c->n_packed, &es[i]))
				return false;
		at = es[found - 1].lblk + es[found - 1].len;
	}
	return n == c->n_packed;
}

/*
 * Files are gone through in turns, so that each would be forgotten before its
 * turn came again if what is read again were kept at the cost of others.
 */
static errcode_t read_again(struct e4l_plan *p, const struct e4l_candidate *c,
			    struct e4l_extent **ex)
{
	size_t n = 0;
	errcode_t err;

	*ex = NULL;
	p->reread++;
	e4l_es_forget(p->cache, c->ino);
	err = p->opt.reread(c->ino, ex, &n, p->opt.priv);
	if (!err && (n != c->n_ex || !e4l_well_formed(*ex, n) ||
		     sum_of(*ex, n) != c->sum ||
		     e4l_pack(*ex, n, *ex) != c->n_packed))
		err = E4L_ET_CHANGED;
	/* a hole before each, and the last */
	if (!err && e4l_es_has_room(p->cache, 2 * c->n_packed + 1))
		err = fill_cache(p, c->ino, *ex, c->n_packed);
	if (err) {
		free(*ex);
		*ex = NULL;
	}
	return err;
}

errcode_t e4l_get_extents(struct e4l_plan *p, const struct e4l_candidate *c,
			  struct e4l_extent **ex, size_t *n)
{
	*n = c->n_packed;
	*ex = calloc(*n + 1, sizeof(**ex));
	if (!*ex)
		return ENOMEM;
	if (c->step) {
		if (*n)
			memcpy(*ex, p->steps[c->step - 1].new_extents,
			       *n * sizeof(**ex));
		return 0;
	}
	if (get_cached(p, c, *ex))
		return 0;
	free(*ex);
	return read_again(p, c, ex);
}
