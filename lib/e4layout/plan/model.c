/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <e4layout/context.h>
#include "e4layout/base/array.h"
#include "e4layout/format/tree_size.h"
#include "e4layout/read/fragments.h"
#include "model.h"
#include "e4layout/read/runs.h"
#include "e4layout/read/zero_runs.h"

/* most memory that the planner needs per fragment, item and file, in bytes */
#define FRAG_BYTES	96
#define ITEM_BYTES	64
#define OWNER_BYTES	(2 * sizeof(struct e4l_owner))
#define MAPS		10	/* number of bitmaps with one bit per cluster */

static bool is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static bool is_valid(const struct e4l_plan_options *opt)
{
	const struct e4l_geometry *geo = &opt->geo;
	uint32_t ratio = geo->cluster_blocks;

	return geo->blocksize && is_power_of_two(ratio) && geo->blocks &&
	       geo->group_blocks && geo->group_blocks % ratio == 0 &&
	       geo->stripe_blocks % ratio == 0;
}

/*
 * Returns the number of clusters in the model, a multiple of E4L_WORD_BITS.  If
 * opt->mem_bytes is set, the model covers at most mem_bytes / 2 clusters,
 * because the bitmaps need memory for each cluster.
 */
static uint32_t window(const struct e4l_plan_options *opt)
{
	uint32_t ratio = opt->geo.cluster_blocks;
	uint64_t most = (UINT32_MAX - E4L_WORD_BITS) / ratio;
	uint64_t clusters = (opt->geo.blocks + ratio - 1) / ratio;

	if (opt->mem_bytes && most > opt->mem_bytes / 2)
		most = opt->mem_bytes / 2;
	if (clusters > most)
		clusters = most;
	return (clusters + E4L_WORD_BITS - 1) / E4L_WORD_BITS * E4L_WORD_BITS;
}

static errcode_t begin(struct e4l_plan *m)
{
	size_t bytes;

	if (!is_valid(&m->opt))
		return E4L_ET_BAD_ARGUMENT;
	if (m->opt.zeroout_max_blocks > E4L_UNWRITTEN_MAX_BLOCKS)
		m->opt.zeroout_max_blocks = E4L_UNWRITTEN_MAX_BLOCKS;
	m->clusters = window(&m->opt);
	m->large = m->opt.large_blocks / m->opt.geo.cluster_blocks;
	if (!m->large)
		m->large = 1;
	bytes = m->clusters / 8;
	m->used = malloc(bytes);
	if (!m->used)
		return ENOMEM;
	memset(m->used, 0xff, bytes);
	return 0;
}

errcode_t e4l_plan_new(const struct e4l_plan_options *options,
		       struct e4l_plan **ret)
{
	struct e4l_plan *m = calloc(1, sizeof(*m));
	errcode_t err;

	*ret = NULL;
	if (!m)
		return ENOMEM;
	m->opt = *options;
	err = begin(m);
	if (err)
		e4l_plan_free(m);
	else
		*ret = m;
	return err;
}

void e4l_plan_free(struct e4l_plan *m)
{
	if (!m)
		return;
	free(m->move);
	free(m->used);
	free(m->unwritten);
	free(m->other_free);
	free(m->look);
	free(m->frag);
	free(m->item);
	free(m->owner);
	free(m->spare);
	free(m->zero);
	free(m->skipped);
	free(m);
}

const struct e4l_plan_move *e4l_plan_moves(const struct e4l_plan *p, size_t *n)
{
	*n = p->n_moves;
	return p->move;
}

ext2_ino_t e4l_plan_ino(const struct e4l_plan *p, uint32_t file)
{
	return p->owner[file].ino;
}

uint64_t e4l_plan_extents(const struct e4l_plan *p, uint32_t file)
{
	return p->owner[file].extents;
}

const struct e4l_plan_result *e4l_plan_result(const struct e4l_plan *p)
{
	return &p->result;
}

const struct e4l_plan_skipped *e4l_plan_skipped(const struct e4l_plan *p,
						size_t *n)
{
	*n = p->n_skipped;
	return p->skipped;
}

errcode_t e4l_plan_note_skipped(struct e4l_plan *m, ext2_ino_t ino, enum e4l_plan_skip why,
			 uint64_t extents, uint64_t blocks)
{
	errcode_t err;

	if (!extents)
		return 0;
	err = e4l_grow(&m->skipped, m->n_skipped, sizeof(*m->skipped));
	if (!err)
		m->skipped[m->n_skipped++] = (struct e4l_plan_skipped) {
			.ino = ino, .why = why, .extents = extents,
			.blocks = blocks,
		};
	return err;
}

/*
 * Sets the bits of @map to @value for the clusters that are completely in @run.
 */
static void mark_run(const struct e4l_plan *m, const struct e4l_block_run *run,
		     uint64_t *map, bool value)
{
	uint32_t ratio = m->opt.geo.cluster_blocks;
	uint64_t first = (run->pblk + ratio - 1) / ratio;
	uint64_t end = (run->pblk + run->len) / ratio;

	if (end > m->clusters)
		end = m->clusters;
	if (first < end)
		e4l_map_set(map, first, end, value);
}

errcode_t e4l_plan_add_free(const struct e4l_block_run *run, void *plan)
{
	struct e4l_plan *m = plan;

	mark_run(m, run, m->used, false);
	return 0;
}

errcode_t e4l_plan_add_other_free(const struct e4l_block_run *run, void *plan)
{
	struct e4l_plan *m = plan;

	if (!m->other_free) {
		m->other_free = calloc(m->clusters / 8, 1);
		m->look = malloc(m->clusters / 8);
	}
	if (!m->other_free || !m->look)
		return ENOMEM;
	mark_run(m, run, m->other_free, true);
	return 0;
}

/* ---------------------------------------------------------------- unwritten */

uint64_t e4l_plan_written(const uint64_t *unwritten, uint32_t ratio,
			   uint32_t start, uint32_t len)
{
	uint64_t blocks = (uint64_t)len * ratio;

	if (!unwritten)
		return blocks;
	return blocks - e4l_map_count(unwritten, start * ratio,
				      (start + len) * ratio);
}

/*
 * Marks the blocks [@start, @end) as unwritten, so that moves do not copy them.
 */
static errcode_t mark_unwritten(struct e4l_plan *m, blk64_t start, blk64_t end)
{
	uint64_t blocks = (uint64_t)m->clusters * m->opt.geo.cluster_blocks;

	if (start >= end)
		return 0;
	if (!m->unwritten)
		m->unwritten = calloc(blocks / E4L_WORD_BITS, sizeof(uint64_t));
	if (!m->unwritten)
		return ENOMEM;
	e4l_map_set(m->unwritten, start, end, true);
	return 0;
}

/*
 * In the first and last cluster of @ex, marks the blocks that belong to no
 * extent as unwritten.
 */
static errcode_t mark_holes(struct e4l_plan *m, const struct e4l_extent *ex,
			    const struct e4l_extent *prev,
			    const struct e4l_extent *next)
{
	uint32_t ratio = m->opt.geo.cluster_blocks;
	blk64_t first = ex->pblk / ratio * ratio, end = ex->pblk + ex->len;
	blk64_t last = (end + ratio - 1) / ratio * ratio;
	errcode_t err;

	if (prev && prev->pblk + prev->len > first && prev->pblk < ex->pblk)
		first = prev->pblk + prev->len;
	if (next && next->pblk < last && next->pblk >= end)
		last = end;	/* the call for @next marks the later blocks */
	err = mark_unwritten(m, first, ex->pblk);
	return err ? err : mark_unwritten(m, end, last);
}

static errcode_t note_states(struct e4l_plan *m,
			     const struct e4l_plan_file *file)
{
	bool clusters = m->opt.geo.cluster_blocks > 1;
	const struct e4l_extent *ex = file->extents;
	size_t n = file->n_extents, i;
	errcode_t err = 0;

	for (i = 0; i < n && !err; i++) {
		if (ex[i].unwritten)
			err = mark_unwritten(m, ex[i].pblk,
					     ex[i].pblk + ex[i].len);
		if (!err && clusters)
			err = mark_holes(m, &ex[i], i ? &ex[i - 1] : NULL,
					 i + 1 < n ? &ex[i + 1] : NULL);
	}
	return err;
}

/* ------------------------------------------------------------- ideal layout */

/*
 * Returns a copy of the extents of the file.  If @allowed has E4L_PLAN_MOVE,
 * changes the positions in the copy so that each logical run has one fragment.
 */
static struct e4l_extent *joined(const struct e4l_plan_file *file,
				 unsigned int allowed)
{
	size_t n = file->n_extents, i;
	struct e4l_extent *ex = calloc(n + 1, sizeof(*ex));

	if (!ex)
		return NULL;
	memcpy(ex, file->extents, n * sizeof(*ex));
	/*
	 * extents that are contiguous in the file become contiguous on the disk
	 */
	for (i = 0; i < n && allowed & E4L_PLAN_MOVE; i++)
		ex[i].pblk = ex[i].lblk;
	return ex;
}

/*
 * If @allowed has E4L_PLAN_ZEROOUT, adds to m->zero the unwritten runs of the
 * file that may be zeroed.  Chooses all these runs if the number of zeroed
 * blocks is not limited.  Sets *@n to the number of extents that the file has
 * after the chosen runs are zeroed.
 */
static errcode_t add_zero_runs(struct e4l_plan *m,
			       const struct e4l_plan_file *file,
			       unsigned int allowed, struct e4l_extent *ex,
			       size_t *n)
{
	struct e4l_block_run *zero = NULL;
	size_t first = m->n_zero, n_zero = 0, i;
	errcode_t err = 0;

	*n = file->n_extents;
	if (allowed & E4L_PLAN_ZEROOUT)
		err = e4l_find_zero_runs(ex, *n, m->opt.zeroout_max_blocks,
					 file->eof_blk, m->n_owners, &m->zero,
					 &m->n_zero);
	for (i = first; i < m->n_zero; i++)
		m->zero[i].chosen = m->opt.zeroout_budget_blocks == E4L_NO_LIMIT;
	if (!err)
		err = e4l_zero_apply(ex, *n, m->zero + first,
				     m->n_zero - first, &zero, &n_zero);
	free(zero);
	*n = e4l_pack(ex, *n, NULL);
	return err;
}

/*
 * Sets *@n to the number of extents to which the changes in @allowed
 * (E4L_PLAN_*) can reduce the file.  Adds the unwritten runs of the file that
 * may be zeroed to m->zero.
 */
static errcode_t count_joined(struct e4l_plan *m,
			      const struct e4l_plan_file *file,
			      unsigned int allowed, size_t *n)
{
	struct e4l_extent *ex;
	errcode_t err;

	*n = 1;
	if (file->n_extents == 1)
		return 0;
	ex = joined(file, allowed);
	err = ex ? add_zero_runs(m, file, allowed, ex, n) : ENOMEM;
	free(ex);
	return err;
}

/*
 * Computes the number of tree blocks that the file will need.  Also computes
 * the number of extents and tree blocks that packing without moving data saves.
 */
static errcode_t weigh(struct e4l_plan *m, const struct e4l_plan_file *file,
		       struct e4l_owner *o)
{
	size_t before = m->n_zero, n, packed;
	errcode_t err = count_joined(m, file, o->allowed, &n);

	packed = e4l_pack(file->extents, file->n_extents, NULL);
	o->zeroes = m->n_zero > before;
	o->loose = file->n_extents - packed;
	o->extents = file->n_extents;
	o->n_kept = e4l_ideal_tree_blocks(n, m->opt.geo.blocksize);
	if (o->n_kept > file->n_tree ||
	    !(o->allowed & (E4L_PLAN_PACK | E4L_PLAN_MOVE)))
		o->n_kept = file->n_tree;
	if (!(o->allowed & E4L_PLAN_PACK)) {
		o->loose = 0;
		return err;
	}
	o->n_surplus = file->n_tree -
		       e4l_ideal_tree_blocks(packed, m->opt.geo.blocksize);
	if (!o->loose && o->n_surplus)
		o->loose = 1;
	return err;
}

/* --------------------------------------------------------------- fragments */

static errcode_t add_frag(struct e4l_plan *m, const struct e4l_fragment *v)
{
	errcode_t err = e4l_reserve(&m->frag, m->n_frags, &m->max_frags, 1,
				    sizeof(*m->frag));

	if (err)
		return err;
	m->frag[m->n_frags] = (struct e4l_frag) {
		.start = v->pc, .len = v->n, .lstart = v->lc,
		.item = m->n_items - 1, .next = E4L_NONE,
	};
	if (m->item[m->n_items - 1].n++)
		m->frag[m->n_frags - 1].next = m->n_frags;
	m->item[m->n_items - 1].len += v->n;
	m->n_frags++;
	return 0;
}

static errcode_t add_item(struct e4l_plan *m, struct e4l_owner *o)
{
	errcode_t err = e4l_reserve(&m->item, m->n_items, &m->max_items, 1,
				    sizeof(*m->item));

	if (err)
		return err;
	m->item[m->n_items++] = (struct e4l_item) {
		.first = m->n_frags, .file = m->n_owners,
	};
	o->n_items++;
	return 0;
}

static errcode_t add_runs(struct e4l_plan *m, const struct e4l_plan_file *file,
			  struct e4l_owner *o)
{
	struct e4l_walk walk = e4l_walk_extents(file->extents, file->n_extents,
						m->opt.geo.cluster_blocks);
	uint64_t end = E4L_NO_LIMIT;
	struct e4l_fragment v;
	errcode_t err = 0;

	while (!err && e4l_next_fragment(&walk, &v)) {
		if (v.lc != end)
			err = add_item(m, o);
		if (!err)
			err = add_frag(m, &v);
		end = v.lc + (uint64_t)v.n;
	}
	return err;
}

/*
 * Adds file->tree[i] and all later tree blocks as spare tree blocks, because
 * the file will not need them.
 */
static errcode_t add_spares(struct e4l_plan *m,
			    const struct e4l_plan_file *file,
			    struct e4l_owner *o, size_t i)
{
	errcode_t err = 0;

	o->first_spare = m->n_spares;
	if (o->n_surplus > file->n_tree - i)
		o->n_surplus = file->n_tree - i;
	for (; i < file->n_tree && !err; i++, o->n_spare++) {
		err = e4l_reserve(&m->spare, m->n_spares, &m->max_spares, 1,
				  sizeof(*m->spare));
		if (!err)
			m->spare[m->n_spares++] = file->tree[i].pblk /
						  m->opt.geo.cluster_blocks;
	}
	return err;
}

static errcode_t add_tree(struct e4l_plan *m, const struct e4l_plan_file *file,
			  struct e4l_owner *o)
{
	uint32_t ratio = m->opt.geo.cluster_blocks;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < o->n_kept && !err; i++) {
		err = add_item(m, o);
		if (!err)
			err = add_frag(m, &(struct e4l_fragment) {
					.pc = file->tree[i].pblk / ratio,
					.n = 1, .lc = E4L_NONE });
	}
	return err ? err : add_spares(m, file, o, o->n_kept);
}

static bool is_within(const struct e4l_plan *m,
		      const struct e4l_plan_file *file)
{
	uint64_t end = (uint64_t)m->clusters * m->opt.geo.cluster_blocks;
	size_t i;

	for (i = 0; i < file->n_extents; i++)
		if (file->extents[i].pblk + file->extents[i].len > end)
			return false;
	for (i = 0; i < file->n_tree; i++)
		if (file->tree[i].pblk >= end)
			return false;
	return true;
}

/*
 * Whether the model has memory for the file.  The maps take a fixed part of the
 * memory.  An unfragmented file may use only the first half of the remaining
 * memory; the second half is reserved for fragmented files.
 */
static bool has_memory(const struct e4l_plan *m,
		       const struct e4l_plan_file *file, uint64_t excess)
{
	uint64_t maps = m->clusters / 8ull * MAPS, most = m->opt.mem_bytes;
	uint64_t n = file->n_extents;
	uint64_t used = (m->n_frags + n + file->n_tree) * FRAG_BYTES +
			(m->n_items + n) * ITEM_BYTES +
			(m->n_owners + 1ull) * OWNER_BYTES;

	return !most || maps + (excess ? used : 2 * used) <= most;
}

/*
 * If the file is not aligned to clusters or does not fit into the model,
 * forbids moves in *@allowed, and adds the file to the skipped files.
 */
static errcode_t restrict_file(struct e4l_plan *m,
			       const struct e4l_plan_file *file,
			       unsigned int *allowed)
{
	uint64_t excess = e4l_count_excess(file->extents, file->n_extents);
	enum e4l_plan_skip why = E4L_PLAN_SKIP_MEMORY;

	if (e4l_check_clusters(file->extents, file->n_extents,
			       m->opt.geo.cluster_blocks)) {
		why = E4L_PLAN_SKIP_MISALIGNED;
		excess = file->n_extents - 1;
	} else if (is_within(m, file) && has_memory(m, file, excess)) {
		return 0;
	}
	*allowed &= E4L_PLAN_PACK | E4L_PLAN_ZEROOUT;
	return e4l_plan_note_skipped(m, file->ino, why, excess, 0);
}

static errcode_t add_owner(struct e4l_plan *m,
			   const struct e4l_plan_file *file,
			   struct e4l_owner *o)
{
	errcode_t err = 0;

	o->first_item = m->n_items;
	if (o->allowed & (E4L_PLAN_MOVE | E4L_PLAN_AWAY)) {
		err = add_runs(m, file, o);
		if (!err)
			err = add_tree(m, file, o);
		if (!err)
			err = note_states(m, file);
	} else if (!o->loose && !o->zeroes) {
		return 0;
	} else if (is_within(m, file)) {
		/* the file and the tree blocks that it needs stay in place */
		err = add_spares(m, file, o, o->n_kept);
		o->n_kept = 0;
	}
	if (!err)
		err = e4l_reserve(&m->owner, m->n_owners, &m->max_owners, 1,
				  sizeof(*m->owner));
	if (!err)
		m->owner[m->n_owners++] = *o;
	return err;
}

errcode_t e4l_plan_add_file(struct e4l_plan *m,
			    const struct e4l_plan_file *file)
{
	struct e4l_owner o = {
		.ino = file->ino, .allowed = file->allowed,
	};
	bool has_tree = file->n_tree || file->allowed & E4L_PLAN_PACK;
	errcode_t err;

	if (!e4l_well_formed(file->extents, file->n_extents) ||
	    (has_tree && file->n_tree <
			 e4l_ideal_tree_blocks(file->n_extents,
					       m->opt.geo.blocksize)))
		return E4L_ET_BAD_ARGUMENT;
	if (!o.allowed || !file->n_extents)
		return 0;
	err = restrict_file(m, file, &o.allowed);
	if (err || !o.allowed)
		return err;
	o.goal = file->goal / m->opt.geo.cluster_blocks;
	err = weigh(m, file, &o);
	return err ? err : add_owner(m, file, &o);
}

errcode_t e4l_plan_check(const struct e4l_plan *m)
{
	uint64_t *seen = calloc(m->clusters / E4L_WORD_BITS, sizeof(*seen));
	errcode_t err = 0;
	uint32_t i, end;

	if (!seen)
		return ENOMEM;
	for (i = 0; i < m->n_frags + m->n_spares && !err; i++) {
		const struct e4l_span run = i < m->n_frags ?
			(struct e4l_span) { m->frag[i].start, m->frag[i].len } :
			(struct e4l_span) { m->spare[i - m->n_frags], 1 };

		end = run.start + run.len;
		if (e4l_map_next(m->used, run.start, end, false) < end ||
		    e4l_map_next(seen, run.start, end, true) < end)
			err = E4L_ET_BLOCK_SHARED;
		e4l_map_set(seen, run.start, end, true);
	}
	free(seen);
	return err;
}
