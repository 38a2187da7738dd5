/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <e4layout/context.h>
#include "e4layout/base/array.h"
#include "e4layout/format/tree_size.h"
#include "cost.h"
#include "make.h"
#include "e4layout/read/runs.h"
#include "steps.h"
#include "e4layout/plan/model.h"
#include "e4layout/read/zero_runs.h"

/*
 * a step moves at least this number of data blocks per tree block of the file
 */
#define TREE_PARTS	8

/* The planned moves of one file in one batch. */
struct job {
	struct e4l_plan *p;
	const struct e4l_geometry *geo;
	uint32_t file;
	const struct e4l_plan_move *tree_moves;
	size_t n_tree_moves;
	bool pack, finish;
	/* clusters still to be moved, with their targets */
	struct e4l_fragments todo;
	/* extents and tree blocks of the file after the steps made so far */
	struct e4l_extent *ex;
	size_t n_ex;
	blk64_t *tree;
	size_t n_tree;
};

/* ---------------------------------------------------- changes since the plan */

/*
 * Adds the number of clusters of @m that are in fragment @f to *@len, and the
 * e4l_place_sum() of these clusters to *@sum.
 */
static void add_overlap(const struct e4l_plan_move *m,
			const struct e4l_fragment *f, uint32_t *len,
			uint32_t *sum)
{
	uint64_t from = m->lstart > f->lc ? m->lstart : f->lc;
	uint64_t end = (uint64_t)f->lc + f->n;
	uint64_t to = (uint64_t)m->lstart + m->len;

	if (end < to)
		to = end;
	if (from >= to)
		return;
	*len += to - from;
	*sum += e4l_place_sum(f->pc + (from - f->lc), to - from);
}

/*
 * Checks that the clusters of the @n moves are at the physical clusters at
 * which the plan has found them.  If clusters are elsewhere, returns
 * E4L_ET_CHANGED.
 */
static errcode_t check_places(const struct e4l_geometry *geo,
			      const struct e4l_plan_move *m, size_t n,
			      const struct e4l_extent *ex, size_t n_ex)
{
	struct e4l_walk walk = e4l_walk_extents(ex, n_ex, geo->cluster_blocks);
	const struct e4l_plan_move *end = m + n;
	uint32_t len = 0, sum = 0;
	struct e4l_fragment f;
	errcode_t err = n ? e4l_check_clusters(ex, n_ex, geo->cluster_blocks) :
			    0;

	while (!err && m < end && e4l_next_fragment(&walk, &f)) {
		while (m < end) {
			add_overlap(m, &f, &len, &sum);
			if (len < m->len)
				break;
			if (sum != m->sum)
				return E4L_ET_CHANGED;
			m++;
			len = sum = 0;
		}
	}
	return err || m < end ? E4L_ET_CHANGED : 0;
}

/* ---------------------------------------------------------------------- tree */

/*
 * Ranks of the tree blocks of a file.  If the tree shrinks, blocks of higher
 * ranks are freed first.
 */
enum rank { KEPT, SPARE, SURPLUS, RANKS };

/*
 * Returns the planner's record of tree block number @i of the tree blocks that
 * @file keeps.
 */
static struct e4l_frag *kept_block(struct e4l_plan *p, uint32_t file, uint32_t i)
{
	const struct e4l_owner *o = &p->owner[file];

	return &p->frag[p->item[o->first_item + o->n_items - o->n_kept +
				i].first];
}

static enum rank rank_of(const struct job *j, blk64_t blk)
{
	const struct e4l_plan *m = j->p;
	const struct e4l_owner *o = &m->owner[j->file];
	uint32_t cluster = blk / j->geo->cluster_blocks, i;

	for (i = 0; i < o->n_kept; i++)
		if (kept_block(j->p, j->file, i)->start == cluster)
			return KEPT;
	for (i = o->n_spare - o->n_surplus; i < o->n_spare; i++)
		if (m->spare[o->first_spare + i] == cluster)
			return SURPLUS;
	return SPARE;
}

/*
 * Records in the plan that the tree block at cluster @from has moved to cluster
 * @to.
 */
static void note_kept(struct job *j, uint32_t from, uint32_t to)
{
	uint32_t i;

	for (i = 0; i < j->p->owner[j->file].n_kept; i++) {
		struct e4l_frag *f = kept_block(j->p, j->file, i);

		if (f->start != from)
			continue;
		f->start = to;
		return;
	}
}

/*
 * Returns the target cluster of tree block @blk, or E4L_NONE if the block
 * stays.
 */
static uint32_t tree_target(const struct job *j, blk64_t blk)
{
	uint32_t cluster = blk / j->geo->cluster_blocks;
	size_t i;

	for (i = 0; i < j->n_tree_moves; i++)
		if (j->tree_moves[i].lstart == cluster)
			return j->tree_moves[i].to;
	return E4L_NONE;
}

static errcode_t give_block(const struct job *j, struct e4l_step *step,
			    blk64_t blk)
{
	uint32_t ratio = j->geo->cluster_blocks;

	return e4l_step_add_run(&step->give, &step->n_give,
				blk / ratio * ratio, ratio);
}

/*
 * Adds tree block @blk to the tree of the step.  If the plan moves @blk, adds
 * the block to which @blk moves, and frees @blk.
 */
static errcode_t use_block(struct job *j, struct e4l_step *step, blk64_t blk)
{
	uint32_t ratio = j->geo->cluster_blocks, to = tree_target(j, blk);
	errcode_t err;

	if (to == E4L_NONE) {
		step->tree[step->n_tree++] = blk;
		return 0;
	}
	err = give_block(j, step, blk);
	if (!err)
		err = e4l_step_add_run(&step->take, &step->n_take,
				       (blk64_t)to * ratio, ratio);
	step->tree[step->n_tree++] = (blk64_t)to * ratio;
	return err;
}

/*
 * Chooses blocks for the new tree from the file's tree blocks, in the order of
 * enum rank.  The step frees the file's other tree blocks.  If the file has too
 * few tree blocks, chooses no blocks and sets *@fits to false.
 */
static errcode_t put_tree(struct job *j, struct e4l_step *step, bool *fits)
{
	size_t need = e4l_ideal_tree_blocks(step->n_new, j->geo->blocksize);
	size_t left[RANKS] = { 0 }, rest = need, i;
	enum rank rank;
	errcode_t err = 0;

	*fits = need <= j->n_tree;
	step->tree = calloc(need + 1, sizeof(*step->tree));
	if (!step->tree)
		return ENOMEM;
	if (!*fits)
		return 0;
	for (i = 0; i < j->n_tree; i++)
		left[rank_of(j, j->tree[i])]++;
	for (rank = KEPT; rank < RANKS; rank++) {
		left[rank] = left[rank] < rest ? left[rank] : rest;
		rest -= left[rank];
	}
	for (i = 0; i < j->n_tree && !err; i++) {
		rank = rank_of(j, j->tree[i]);
		if (!left[rank]) {
			err = give_block(j, step, j->tree[i]);
			continue;
		}
		left[rank]--;
		err = use_block(j, step, j->tree[i]);
	}
	e4l_sort(step->tree, step->n_tree, sizeof(*step->tree),
		 e4l_u64_cmp);
	return err;
}

/* --------------------------------------------------------------------- steps */

/*
 * Returns the smallest number of extents that need @tree tree blocks.  Some
 * values of @tree are impossible, because an extent that needs another index
 * block adds two tree blocks.  For an impossible value, uses the next lower
 * possible value.
 */
static uint64_t fewest_extents(const struct job *j, uint64_t tree)
{
	uint64_t low = 0, high = tree * j->geo->blocksize + 1, mid;

	for (; high - low > 1; ) {
		mid = low + (high - low) / 2;
		if (e4l_ideal_tree_blocks(mid, j->geo->blocksize) <= tree)
			low = mid;
		else
			high = mid;
	}
	tree = e4l_ideal_tree_blocks(low, j->geo->blocksize);
	for (low = 0; high - low > 1; ) {
		mid = low + (high - low) / 2;
		if (e4l_ideal_tree_blocks(mid, j->geo->blocksize) < tree)
			low = mid;
		else
			high = mid;
	}
	return tree ? high : 0;
}

/*
 * If the new extents of @step need fewer tree blocks than the file has, splits
 * extents until the tree needs all tree blocks.  The tree must not shrink yet,
 * because later steps may need all tree blocks.
 */
static errcode_t fill_tree(const struct job *j, struct e4l_step *step)
{
	size_t want = fewest_extents(j, j->n_tree), n = 0, i, more;
	struct e4l_extent *v;

	if (step->n_new >= want)
		return 0;
	v = calloc(want + 1, sizeof(*v));
	if (!v)
		return ENOMEM;
	more = want - step->n_new;
	for (i = 0; i < step->n_new; i++) {
		struct e4l_extent x = step->new_extents[i];

		for (; more && x.len > 1; more--, x.lblk++, x.pblk++, x.len--) {
			v[n] = x;
			v[n++].len = 1;
		}
		v[n++] = x;
	}
	free(step->new_extents);
	step->new_extents = v;
	step->n_new = n;
	return 0;
}

static errcode_t zero(const struct job *j, struct e4l_step *step)
{
	const struct e4l_plan *m = j->p;
	const struct e4l_zero_run *runs;
	size_t n, i;
	errcode_t err;

	runs = e4l_zero_of_file(m->zero, m->n_zero, j->file, &n);
	err = e4l_zero_apply(step->new_extents, step->n_new, runs, n,
			     &step->zero, &step->n_zero);
	for (i = 0; i < step->n_zero; i++)
		step->bytes_to_zero += step->zero[i].len * j->geo->blocksize;
	step->n_new = e4l_pack(step->new_extents, step->n_new,
			       step->new_extents);
	return err;
}

/*
 * Whether the file has enough tree blocks for a step, and whether the step fits
 * into a transaction.
 */
enum fit { FITS, TREE_TOO_SMALL, TXN_TOO_SMALL };

/*
 * Makes a step that moves the clusters of @part.  Sets *@fit to whether the
 * step is possible.  @last is true if no clusters of the file remain to be
 * moved.
 */
static errcode_t make_step(struct job *j, const struct e4l_fragments *part,
			   bool last, struct e4l_step *step, enum fit *fit)
{
	bool fits_tree = false, fits_txn = false;
	errcode_t err;

	*step = (struct e4l_step) {
		.ino = e4l_plan_ino(j->p, j->file),
	};
	err = e4l_step_map(j->geo, j->ex, j->n_ex, part, step);
	if (!err)
		err = e4l_step_exchange(j->geo, j->ex, j->n_ex, part, step);
	if (!err && last && j->finish)
		err = zero(j, step);
	if (!err && !(last && j->pack))
		err = fill_tree(j, step);
	if (!err)
		err = put_tree(j, step, &fits_tree);
	if (!err && fits_tree)
		err = e4l_step_fits(j->geo, step, &fits_txn);
	*fit = !fits_tree ? TREE_TOO_SMALL : fits_txn ? FITS : TXN_TOO_SMALL;
	return err;
}

/* Sets @part to the first @most of the clusters that must move (j->todo). */
static errcode_t cut_part(const struct job *j, uint64_t most,
			  struct e4l_fragments *part)
{
	const struct e4l_fragment *v = j->todo.v, *end = v + j->todo.n;
	errcode_t err = 0;
	uint64_t n;

	*part = (struct e4l_fragments) { 0 };
	for (; v < end && most && !err; v++, most -= n) {
		n = v->n < most ? v->n : most;
		err = e4l_grow(&part->v, part->n, sizeof(*part->v));
		if (!err)
			part->v[part->n++] = (struct e4l_fragment) {
				v->pc, v->lc, n,
			};
	}
	return err;
}

/*
 * Finds the extent of the file that contains cluster number @most of j->todo,
 * counted from 1.  If @fragment is true, finds the fragment instead.  Returns
 * the number of clusters of j->todo up to the end of the extent or fragment.
 */
static uint64_t up_to_end(const struct job *j, uint64_t most, bool fragment)
{
	unsigned int bits = e4l_cluster_bits(j->geo->cluster_blocks);
	const struct e4l_fragment *v = j->todo.v, *end = v + j->todo.n;
	uint64_t sum = 0, lc, ex_end = 0;
	size_t i;

	for (; v < end && sum + v->n < most; v++)
		sum += v->n;
	if (v == end)
		return sum;
	lc = v->lc + (most - sum) - 1;
	for (i = 0; i < j->n_ex; i++) {
		ex_end = e4l_end_cluster(&j->ex[i], bits);
		if (ex_end > lc && (!fragment || i + 1 == j->n_ex ||
				    !e4l_goes_on(&j->ex[i], &j->ex[i + 1],
						 bits)))
			break;
	}
	if (i == j->n_ex || ex_end - v->lc > v->n)
		return sum + v->n;
	return sum + (ex_end - v->lc);
}

static uint64_t count_todo(const struct job *j)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < j->todo.n; i++)
		sum += j->todo.v[i].n;
	return sum;
}

/* Removes the first @n clusters from j->todo. */
static void drop_todo(struct job *j, uint64_t n)
{
	struct e4l_fragment *v = j->todo.v;
	size_t i = 0;

	for (; i < j->todo.n && v[i].n <= n; i++)
		n -= v[i].n;
	if (!i && !n)
		return;
	memmove(v, v + i, (j->todo.n - i) * sizeof(*v));
	j->todo.n -= i;
	if (j->todo.n) {
		v->pc += n;
		v->lc += n;
		v->n -= n;
	}
}

/*
 * Updates the extents and tree blocks in @j to the state after @step.  Takes
 * ownership of the arrays step->new_extents and step->tree.
 */
static errcode_t adopt(struct job *j, struct e4l_step *step)
{
	size_t i;

	for (i = 0; i < j->n_tree; i++) {
		uint32_t to = tree_target(j, j->tree[i]);

		if (to != E4L_NONE)
			note_kept(j, j->tree[i] / j->geo->cluster_blocks, to);
	}
	j->n_tree_moves = 0;
	free(j->ex);
	free(j->tree);
	j->ex = step->new_extents;
	j->n_ex = step->n_new;
	j->tree = step->tree;
	j->n_tree = step->n_tree;
	step->new_extents = NULL;
	step->tree = NULL;
	return 0;
}

/* The search for the number of clusters that a step moves. */
struct search {
	/*
	 * @most: number of clusters that the step should move; @all: number of
	 * clusters in j->todo
	 */
	uint64_t most, all;
	uint64_t n;		/* number of clusters to try next */
	bool longer;	/* @n was raised to the end of a fragment */
	bool may_split; /* a whole fragment does not fit: a step may split it */
	bool at_once;		/* a step of @all clusters has been tried */
};

static uint64_t fewer_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * Makes a step that moves the first @s->n clusters of j->todo.  Sets *@fit to
 * whether the step fits into the extent tree and into a transaction.
 */
static errcode_t try_step(struct job *j, const struct search *s,
			  struct e4l_step *step, enum fit *fit)
{
	struct e4l_fragments part;
	errcode_t err = cut_part(j, s->n, &part);

	if (!err)
		err = make_step(j, &part, s->n == s->all, step, fit);
	free(part.v);
	return err;
}

/*
 * If @step, which fits, would split a fragment, sets @s->n to include the whole
 * fragment, and returns true.
 */
static bool lengthen(const struct job *j, const struct e4l_step *step,
		     struct search *s)
{
	uint64_t end = up_to_end(j, s->n, true);

	if (s->may_split || end <= s->n ||
	    step->new_fragments <= step->old_fragments)
		return false;
	s->n = end;
	s->longer = true;
	return true;
}

/* Chooses another number of clusters after a step that does not fit. */
static errcode_t choose_other(const struct job *j, enum fit fit,
			      struct search *s)
{
	bool fits_tree = fit != TREE_TOO_SMALL;

	if (s->longer) {
		s->longer = false;
		s->may_split = true;
		s->n = fewer_of(s->most, s->all);
	} else if (!fits_tree && up_to_end(j, s->n, false) > s->n) {
		/*
		 * move the whole extent, because the tree has no space
		 * for another extent
		 */
		s->n = up_to_end(j, s->n, false);
	} else if (fits_tree && !s->at_once && s->n < s->all) {
		/* the tree of a completely moved file may be smaller */
		s->at_once = true;
		s->n = s->all;
	} else if (fits_tree && s->n > 1 && s->most > 1) {
		s->most = s->n = fewer_of(s->n, s->most) / 2;
	} else {
		return fits_tree ? E4L_ET_TXN_FULL : E4L_ET_CHANGED;
	}
	return 0;
}

/*
 * Makes a step that moves the first clusters of j->todo, and sets *@done to the
 * number of these clusters.
 *
 * First tries @most clusters.  If the step would add fragments, tries to move
 * all clusters of a fragment.  If the fragment does not fit into a transaction,
 * returns to @most clusters.
 *
 * If @most clusters do not fit, tries all clusters, because the tree of a
 * completely moved file can be smaller.  If all clusters do not fit, halves the
 * number of clusters until the step fits.
 */
static errcode_t next_step(struct job *j, uint64_t most, struct e4l_step *step,
			   uint64_t *done)
{
	struct search s = { .most = most, .all = count_todo(j) };
	enum fit fit;
	errcode_t err;

	s.n = fewer_of(s.most, s.all);
	for (;;) {
		err = try_step(j, &s, step, &fit);
		*done = s.n;
		if (err || (fit == FITS && !lengthen(j, step, &s)))
			return err;
		e4l_step_free(step);
		if (fit != FITS)
			err = choose_other(j, fit, &s);
		if (err)
			return err;
	}
}

static errcode_t run_job(struct job *j, uint32_t batch, uint64_t part,
			 errcode_t (*visit)(const struct e4l_step *, void *),
			 void *priv)
{
	struct e4l_step step = { 0 };
	uint64_t done;
	errcode_t err;

	do {
		err = next_step(j, part, &step, &done);
		if (err)
			break;
		drop_todo(j, done);
		step.batch = batch;
		err = visit(&step, priv);
		if (!err)
			err = adopt(j, &step);
		e4l_step_free(&step);
	} while (!err && j->todo.n);
	e4l_step_free(&step);
	return err;
}

static errcode_t begin_job(struct job *j, const struct e4l_plan_now *now)
{
	size_t i;

	j->ex = calloc(now->n_extents + 1, sizeof(*j->ex));
	j->tree = calloc(now->n_tree + 1, sizeof(*j->tree));
	if (!j->ex || !j->tree)
		return ENOMEM;
	memcpy(j->ex, now->extents, now->n_extents * sizeof(*j->ex));
	j->n_ex = now->n_extents;
	for (i = 0; i < now->n_tree; i++)
		j->tree[i] = now->tree[i].pblk;
	j->n_tree = now->n_tree;
	return 0;
}

static void end_job(struct job *j)
{
	free(j->ex);
	free(j->tree);
	free(j->todo.v);
}

/*
 * Records in @j which clusters and tree blocks the @n moves @m move.  The moves
 * must be sorted by kind.
 */
static errcode_t take_moves(struct job *j, const struct e4l_plan_move *m,
			    size_t n)
{
	errcode_t err;
	size_t i = 0;

	while (i < n && m[i].kind == E4L_MOVE_DATA)
		i++;
	err = check_places(j->geo, m, i, j->ex, j->n_ex);
	for (j->tree_moves = m + i; i < n && m[i].kind == E4L_MOVE_TREE; i++)
		j->n_tree_moves++;
	j->pack = i < n;
	j->finish = i < n && m[n - 1].kind == E4L_MOVE_FINISH;
	for (i = 0; i < n && m[i].kind == E4L_MOVE_DATA && !err; i++) {
		err = e4l_grow(&j->todo.v, j->todo.n, sizeof(*j->todo.v));
		if (!err)
			j->todo.v[j->todo.n++] = (struct e4l_fragment) {
				m[i].to, m[i].lstart, m[i].len,
			};
	}
	return err;
}

/*
 * Returns the number of clusters that a step should move.  Each step writes the
 * whole tree of the file.  If the tree is large, larger steps write the tree
 * less often.
 */
static uint64_t part_clusters(const struct e4l_plan *p, size_t n_tree)
{
	const struct e4l_plan_options *opt = &p->opt;
	uint64_t blocks = opt->part_blocks;

	if (!blocks)
		return E4L_NO_LIMIT;
	if (blocks < n_tree * TREE_PARTS)
		blocks = n_tree * TREE_PARTS;
	blocks /= opt->geo.cluster_blocks;
	return blocks ? blocks : 1;
}

errcode_t e4l_plan_steps(struct e4l_plan *p, const struct e4l_plan_move *moves,
			 size_t n, const struct e4l_plan_now *now,
			 errcode_t (*visit)(const struct e4l_step *step,
					    void *priv), void *priv)
{
	struct job j = {
		.p = p, .geo = &p->opt.geo,
		.file = moves->file,
	};
	errcode_t err = begin_job(&j, now);

	if (!err)
		err = take_moves(&j, moves, n);
	if (!err)
		err = run_job(&j, moves->batch, part_clusters(p, now->n_tree),
			      visit, priv);
	end_job(&j);
	return err;
}

/* ------------------------------------------------------------------- outcome */

/* Returns how many of the @n moves are in the same batch as the first move. */
static size_t count_of_batch(const struct e4l_plan_move *m, size_t n)
{
	size_t i;

	for (i = 1; i < n && m[i].batch == m->batch; i++)
		;
	return i;
}

errcode_t e4l_plan_foresee(struct e4l_plan *p,
			   const struct e4l_plan_move *moves, size_t n,
			   const struct e4l_plan_now *now,
			   errcode_t (*visit)(const struct e4l_step *step,
					      void *priv), void *priv,
			   struct e4l_plan_outcome *ret)
{
	struct job j = { .p = p, .file = moves->file, .geo = &p->opt.geo };
	uint32_t n_kept = p->owner[j.file].n_kept, i;
	uint32_t *kept = calloc(n_kept + 1ull, sizeof(*kept));
	errcode_t err = begin_job(&j, now);
	size_t of_batch;

	for (i = 0; kept && i < n_kept; i++)
		kept[i] = kept_block(p, j.file, i)->start;
	if (!kept)
		err = ENOMEM;
	for (; n && !err; n -= of_batch, moves += of_batch) {
		of_batch = count_of_batch(moves, n);
		err = take_moves(&j, moves, of_batch);
		if (!err)
			err = run_job(&j, moves->batch,
				      part_clusters(p, j.n_tree), visit, priv);
	}
	for (i = 0; kept && i < n_kept; i++)
		kept_block(p, j.file, i)->start = kept[i];
	free(kept);
	*ret = (struct e4l_plan_outcome) {
		.old_fragments = e4l_count_fragments(now->extents,
						     now->n_extents, NULL),
		.extents = j.n_ex, .tree_blocks = j.n_tree,
		.fragments = e4l_count_fragments(j.ex, j.n_ex, NULL),
	};
	end_job(&j);
	return err;
}
