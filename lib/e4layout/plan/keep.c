/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "e4layout/format/csum.h"
#include "e4layout/format/format.h"
#include "e4layout/read/es_cache.h"
#include "keep.h"
#include "runs.h"

#define GET_ENTRIES	256		/* of the cache, at once */
#define SUM_RUNS	128		/* likewise: to sum a few bytes takes long */

/*
 * Files of more extents are read again each time, if they can be: that takes no
 * longer than to find them in the cache, which takes 84 bytes for each.
 */
#define KEEP_EXTENTS	(1u << 17)

static uint32_t sum_of(const struct e4l_extent *ex, size_t n)
{
	uint64_t buf[SUM_RUNS][4];
	struct e4l_state_run run;
	uint32_t sum = n;
	size_t i = 0, k = 0;

	while (e4l_next_state_run(ex, n, &i, &run)) {
		buf[k][0] = run.lblk;
		buf[k][1] = run.len;
		buf[k][2] = run.pblk;
		buf[k][3] = run.unwritten;
		if (++k < SUM_RUNS)
			continue;
		sum = e4l_crc32c(sum, buf, sizeof(buf));
		k = 0;
	}
	return e4l_crc32c(sum, buf, k * sizeof(*buf));
}

static errcode_t insert(struct e4l_keep *k, ext2_ino_t ino, uint64_t lblk,
			uint64_t end, enum e4l_es_state state, blk64_t pblk)
{
	struct e4l_es es = {
		.lblk = lblk, .len = end - lblk, .state = state, .pblk = pblk,
	};

	return lblk < end ? e4l_es_insert(k->cache, ino, &es) : 0;
}

/* Holes too, so that it is known when something is missing. */
static errcode_t fill_cache(struct e4l_keep *k, ext2_ino_t ino,
			    const struct e4l_extent *ex, size_t n)
{
	struct e4l_state_run run;
	uint64_t end = 0;
	size_t i = 0;
	errcode_t err = 0;

	while (!err && e4l_next_state_run(ex, n, &i, &run)) {
		err = insert(k, ino, end, run.lblk, E4L_ES_HOLE, 0);
		end = run.lblk + run.len;
		if (!err)
			err = insert(k, ino, run.lblk, end, run.unwritten ?
				     E4L_ES_UNWRITTEN : E4L_ES_WRITTEN,
				     run.pblk);
	}
	return err ? err : insert(k, ino, end, FILE_MAX_BLOCKS, E4L_ES_HOLE,
				  0);
}

static bool is_kept(const struct e4l_keep *k, const struct e4l_kept *kept)
{
	return kept->n_packed <= KEEP_EXTENTS || !k->reread;
}

errcode_t e4l_keep_put(struct e4l_keep *k, ext2_ino_t ino,
		       const struct e4l_extent *ex, size_t n,
		       struct e4l_kept *ret)
{
	*ret = (struct e4l_kept) {
		.sum = sum_of(ex, n), .n_packed = e4l_pack(ex, n, NULL),
	};
	e4l_es_forget(k->cache, ino);
	return is_kept(k, ret) ? fill_cache(k, ino, ex, n) : 0;
}

/* Appends a run as entries, of which there is room for @max. */
static bool add_run(struct e4l_extent *ex, size_t *n, size_t max,
		    const struct e4l_es *es)
{
	struct e4l_state_run run = {
		.lblk = es->lblk, .len = es->len, .pblk = es->pblk,
		.unwritten = es->state == E4L_ES_UNWRITTEN,
	};

	if (e4l_cut_run(&run, NULL) > max - *n)
		return false;
	*n += e4l_cut_run(&run, ex + *n);
	return true;
}

/* Whether the cache still has all of them. */
static bool get_cached(struct e4l_keep *k, ext2_ino_t ino,
		       const struct e4l_kept *kept, struct e4l_extent *ex)
{
	struct e4l_es es[GET_ENTRIES];
	uint64_t at = 0;
	size_t n = 0, found, i;

	while (at < FILE_MAX_BLOCKS) {
		found = e4l_es_lookup_many(k->cache, ino, at, es, GET_ENTRIES);
		if (!found)
			return false;
		for (i = 0; i < found; i++)
			if (es[i].state != E4L_ES_HOLE &&
			    !add_run(ex, &n, kept->n_packed, &es[i]))
				return false;
		at = es[found - 1].lblk + es[found - 1].len;
	}
	return n == kept->n_packed;
}

errcode_t e4l_keep_read(struct e4l_keep *k, ext2_ino_t ino,
			struct e4l_extent **ex, size_t *n)
{
	errcode_t err;

	*ex = NULL;
	*n = 0;
	k->files_reread++;
	err = k->reread(ino, ex, n, k->priv);
	if (!err && !e4l_well_formed(*ex, *n))
		err = E4L_ET_CHANGED;
	if (!err)
		return 0;
	free(*ex);
	*ex = NULL;
	return err;
}

/*
 * Files are gone through in turns, so that each would be forgotten before its
 * turn came again if what is read again were kept at the cost of others.
 */
static errcode_t read_again(struct e4l_keep *k, ext2_ino_t ino,
			    const struct e4l_kept *kept,
			    struct e4l_extent **ex)
{
	size_t n;
	errcode_t err;

	e4l_es_forget(k->cache, ino);
	err = e4l_keep_read(k, ino, ex, &n);
	if (!err && (sum_of(*ex, n) != kept->sum ||
		     e4l_pack(*ex, n, *ex) != kept->n_packed))
		err = E4L_ET_CHANGED;
	/* a hole before each, and the last */
	if (!err && is_kept(k, kept) &&
	    e4l_es_has_room(k->cache, 2 * kept->n_packed + 1))
		err = fill_cache(k, ino, *ex, kept->n_packed);
	if (err) {
		free(*ex);
		*ex = NULL;
	}
	return err;
}

errcode_t e4l_keep_get(struct e4l_keep *k, ext2_ino_t ino,
		       const struct e4l_kept *kept, struct e4l_extent **ex)
{
	if (!is_kept(k, kept))
		return read_again(k, ino, kept, ex);
	*ex = calloc(kept->n_packed + 1, sizeof(**ex));
	if (!*ex)
		return ENOMEM;
	if (get_cached(k, ino, kept, *ex))
		return 0;
	free(*ex);
	return read_again(k, ino, kept, ex);
}
