/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The planner.  Fragments are moved first, as often as what that frees makes
 * more moves possible; then runs are zeroed in the layout that results, and
 * trees are packed; and all that again for as long as something changes, since
 * tree blocks that are not needed any more are free space, too.
 */
#include "config.h"
#include "e4layout/base/array.h"
#include "e4layout/base/internal.h"
#include "clear.h"
#include "cut.h"
#include "draft.h"
#include "fill.h"
#include "move.h"
#include "pack.h"
#include "plug.h"
#include "room.h"
#include "runs.h"
#include "slide.h"
#include "trade.h"

#define ASK_EACH	64		/* files to move that nothing is read of */
#define CLEAR_PASSES	16		/* for long free runs, at most */
#define BACK_PASSES	2		/* to where free space must be */
#define FILES_SHARE	3		/* of files in one run: measured */

/* What makes a file one that may be moved away. */
#define AWAY	(E4L_PLAN_ROOM | E4L_PLAN_FREE)

struct e4l_plan {
	struct e4l_plan_options opt;	/* budgets are what is left of them */
	struct e4l_draft draft;
	struct e4l_movables movables;
	struct e4l_room room;
	bool makes_room;		/* some file may be moved for it */
	struct e4l_clear clear;
	bool clears;			/* likewise */
	uint64_t in_long;		/* clusters that must be, see plan.h */
	uint64_t to_follow;		/* blocks that files_follow copies */
	struct e4l_left *left;
	size_t n_left;
	uint64_t longest_blocks;	/* free run, once it is made */
};

static bool is_power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

static bool is_whole(const struct e4l_geometry *geo, uint64_t blocks)
{
	return blocks % geo->cluster_blocks == 0;
}

static bool is_valid(const struct e4l_plan_options *opt)
{
	const struct e4l_geometry *geo = &opt->geo;

	return geo->blocksize && is_power_of_two(geo->cluster_blocks) &&
	       geo->group_blocks && is_whole(geo, geo->group_blocks) &&
	       is_whole(geo, geo->stripe_blocks) &&
	       is_whole(geo, opt->part_blocks) &&
	       is_whole(geo, opt->long_run_blocks) &&
	       is_whole(geo, opt->free_run_blocks) &&
	       (opt->reread || !opt->cache);
}

static uint64_t long_clusters(const struct e4l_plan *p)
{
	return p->opt.long_run_blocks / p->opt.geo.cluster_blocks;
}

static errcode_t begin_draft(struct e4l_plan *p)
{
	uint64_t unit = p->opt.long_run_blocks ? long_clusters(p) : UINT64_MAX;
	struct e4l_draft *d = &p->draft;
	errcode_t err = 0;

	*d = (struct e4l_draft) {
		.disk = {
			.geo = &p->opt.geo, .space = e4l_space_new(),
		},
		.keep = {
			.cache = p->opt.cache, .reread = p->opt.reread,
			.priv = p->opt.priv,
		},
		.part_blocks = p->opt.part_blocks,
		.go_on = p->opt.go_on, .enough = p->opt.enough,
		.priv = p->opt.priv,
		.most_bytes = p->opt.plan_bytes ? p->opt.plan_bytes :
						  E4L_NO_LIMIT,
	};
	if (!d->disk.space)
		return ENOMEM;
	if (!p->opt.bounds_at_end)
		d->disk.most_runs = p->opt.most_free_runs;
	if (!p->opt.bounds_at_end || p->opt.longest_stays)
		d->disk.least_longest = p->opt.longest_kept_blocks /
					p->opt.geo.cluster_blocks;
	if (!p->opt.cache)
		err = e4l_es_new(E4L_NO_LIMIT, &d->keep.cache);
	return err ? err : e4l_space_count(d->disk.space, unit);
}

static struct e4l_movables begin_movables(const struct e4l_plan_options *opt)
{
	return (struct e4l_movables) {
		.may_move = opt->may_move, .priv = opt->priv,
		.most = opt->room_bytes ? opt->room_bytes /
			sizeof(struct e4l_movable) : SIZE_MAX,
	};
}

/* One free run of @clusters will do. */
static void aim_at(struct e4l_clear *c, uint64_t clusters)
{
	c->aim = clusters;
	if (c->floor > clusters)
		c->floor = clusters;
}

static struct e4l_clear begin_clear(struct e4l_plan *p)
{
	uint64_t aim = p->opt.free_run_blocks / p->opt.geo.cluster_blocks;
	struct e4l_clear c = {
		.movables = &p->movables, .aim = E4L_NO_LIMIT,
		.floor = long_clusters(p),
	};

	if (aim)
		aim_at(&c, aim);
	return c;
}

errcode_t e4l_plan_new(const struct e4l_plan_options *options,
		       struct e4l_plan **ret)
{
	struct e4l_plan *p;
	errcode_t err;

	*ret = NULL;
	if (E4L_HAS_UNKNOWN(options) || E4L_HAS_UNKNOWN(&options->geo))
		return E4L_ET_OPTION;
	if (!is_valid(options))
		return E4L_ET_BAD_ARGUMENT;
	p = calloc(1, sizeof(*p));
	if (!p)
		return ENOMEM;
	p->opt = *options;
	if (p->opt.zeroout_max_blocks > E4L_UNWRITTEN_MAX_BLOCKS)
		p->opt.zeroout_max_blocks = E4L_UNWRITTEN_MAX_BLOCKS;
	p->movables = begin_movables(options);
	p->room = (struct e4l_room) { .movables = &p->movables };
	p->clear = begin_clear(p);
	err = begin_draft(p);
	if (err)
		e4l_plan_free(p);
	else
		*ret = p;
	return err;
}

void e4l_plan_free(struct e4l_plan *p)
{
	if (!p)
		return;
	e4l_draft_free(&p->draft);
	if (!p->opt.cache)
		e4l_es_free(p->draft.keep.cache);
	free(p->movables.v);
	free(p->left);
	free(p);
}

errcode_t e4l_plan_add_free(const struct e4l_block_run *run, void *plan)
{
	struct e4l_plan *p = plan;

	return e4l_space_add_run(p->draft.disk.space, run,
				 p->opt.geo.cluster_blocks);
}

/* ------------------------------------------------------------------- files */

static errcode_t copy_tree(struct e4l_file *f,
			   const struct e4l_plan_file *file)
{
	size_t i;

	f->tree = calloc(f->n_tree + 1, sizeof(*f->tree));
	if (!f->tree)
		return ENOMEM;
	for (i = 0; i < f->n_tree; i++)
		f->tree[i] = file->tree[i].pblk;
	qsort(f->tree, f->n_tree, sizeof(*f->tree), e4l_u64_cmp);
	return 0;
}

static errcode_t weigh_file(const struct e4l_plan *p,
			    const struct e4l_plan_file *file, struct e4l_file *f)
{
	errcode_t err;

	*f = (struct e4l_file) {
		.ino = file->ino, .goal = file->goal,
		.n_tree = file->n_tree, .had_tree = file->n_tree,
		.rules = {
			.allowed = file->allowed, .eof_blk = file->eof_blk,
			.cluster_blocks = p->opt.geo.cluster_blocks,
			.zeroout_max_blocks = p->opt.zeroout_max_blocks,
		},
	};
	err = e4l_weigh(&f->rules, file->extents, file->n_extents, &f->w);
	f->had = f->w.fragments;
	f->had_extents = f->w.n_ex;
	if (err != E4L_ET_BAD_ARGUMENT)
		return err;
	f->rules.allowed &= ~(E4L_PLAN_MOVE | AWAY);
	f->left[E4L_LEFT_MISALIGNED] = f->w.fragments - 1;
	return 0;
}

/*
 * A file that nothing can be gained from may be moved to make room: *@done if
 * no more is to be kept of it than its place, or nothing.
 */
static errcode_t keep_place(struct e4l_plan *p, struct e4l_file *f,
			    const struct e4l_plan_file *file, bool *done)
{
	struct e4l_movables *list = &p->movables;
	errcode_t err = 0;

	*done = !(f->rules.allowed & E4L_PLAN_ROOM) || !file->n_extents ||
		list->n >= list->most;
	if (!*done && !f->n_tree)
		err = e4l_movables_add(list, f->ino, file->extents,
				       file->n_extents,
				       p->opt.geo.cluster_blocks, done);
	if (err != E4L_ET_BAD_ARGUMENT)
		return err;
	*done = true;
	return 0;
}

/* Blocks of the shortest run that @f lacks, if that is @why. */
static uint64_t lacks(const struct e4l_plan *p, const struct e4l_file *f,
		      enum e4l_left_why why)
{
	bool is_why = why == f->why && (why == E4L_LEFT_NO_ROOM ||
					why == E4L_LEFT_CROWDED);

	return is_why ? (uint64_t)f->lacks * p->opt.geo.cluster_blocks : 0;
}

static errcode_t add_left(struct e4l_plan *p, const struct e4l_file *f,
			  enum e4l_left_why why, uint64_t extents)
{
	errcode_t err = e4l_grow(&p->left, p->n_left, sizeof(*p->left));

	if (!err)
		p->left[p->n_left++] = (struct e4l_left) {
			.ino = f->ino, .why = why, .extents = extents,
			.blocks = lacks(p, f, why),
		};
	return err;
}

/* There is no memory for it. */
static errcode_t pass_over(struct e4l_plan *p, struct e4l_file *f)
{
	uint64_t *extents = &f->left[E4L_LEFT_MEMORY];

	e4l_leave(f, E4L_PLAN_MERGE | E4L_PLAN_ZEROOUT | E4L_PLAN_MOVE,
		  E4L_LEFT_MEMORY);
	return *extents ? add_left(p, f, E4L_LEFT_MEMORY, *extents) : 0;
}

static errcode_t keep_file(struct e4l_plan *p, struct e4l_file *f,
			   const struct e4l_plan_file *file)
{
	struct e4l_draft *d = &p->draft;
	errcode_t err;

	if (d->bytes > d->most_bytes / 2)
		return pass_over(p, f);
	err = copy_tree(f, file);
	if (err)
		return err;
	d->n_files++;
	d->bytes += sizeof(*f) + (f->n_tree + 1) * sizeof(*f->tree);
	return e4l_keep_put(&d->keep, f->ino, file->extents, file->n_extents,
			    &f->kept);
}

/* What the plan that follows copies of the file. */
static errcode_t weigh_following(struct e4l_plan *p,
				 const struct e4l_plan_file *file)
{
	const struct e4l_rules rules = {
		.allowed = E4L_PLAN_MOVE,
		.cluster_blocks = p->opt.geo.cluster_blocks,
	};
	struct e4l_weight w;
	errcode_t err = e4l_weigh(&rules, file->extents, file->n_extents, &w);

	if (!err)
		p->to_follow += w.cost;
	return err == E4L_ET_BAD_ARGUMENT ? 0 : err;
}

errcode_t e4l_plan_add_file(struct e4l_plan *p,
			    const struct e4l_plan_file *file)
{
	struct e4l_draft *d = &p->draft;
	struct e4l_file *f;
	bool done = false;
	errcode_t err;

	if (file->allowed & ~(E4L_PLAN_MERGE | E4L_PLAN_ZEROOUT |
			      E4L_PLAN_MOVE | AWAY) ||
	    E4L_HAS_UNKNOWN(file))
		return E4L_ET_OPTION;
	if (!e4l_well_formed(file->extents, file->n_extents) ||
	    file->n_tree < e4l_ideal_tree_blocks(file->n_extents,
						 p->opt.geo.blocksize) ||
	    (file->allowed & AWAY && !p->opt.reread))
		return E4L_ET_BAD_ARGUMENT;
	err = e4l_grow(&d->files, d->n_files, sizeof(*d->files));
	if (err)
		return err;
	f = &d->files[d->n_files];
	err = weigh_file(p, file, f);
	if (!err && p->opt.files_follow && f->w.fragments > 1)
		err = weigh_following(p, file);
	p->makes_room |= f->rules.allowed & E4L_PLAN_ROOM;
	p->clears |= f->rules.allowed & E4L_PLAN_FREE;
	if (f->rules.allowed & AWAY)
		f->rules.allowed |= E4L_PLAN_ROOM;
	if (!err && !f->w.excess && !f->w.n_zero && !e4l_is_loose(d, f) &&
	    !f->left[E4L_LEFT_MISALIGNED])
		err = keep_place(p, f, file, &done);
	return err || done ? err : keep_file(p, f, file);
}

/* What fits nowhere as a whole may have been kept from moving in parts. */
static enum e4l_left_why why_left(const struct e4l_file *f)
{
	bool fits = f->why != E4L_LEFT_NO_ROOM && f->why != E4L_LEFT_CROWDED;

	return fits || (f->why_parts != E4L_LEFT_COPY_BUDGET &&
			f->why_parts != E4L_LEFT_FREE_RUNS) ? f->why :
							      f->why_parts;
}

/* Lists what is left of @f now that the plan is made. */
static errcode_t list_left(struct e4l_plan *p, struct e4l_file *f)
{
	enum e4l_left_why why;
	errcode_t err = 0;

	f->left[why_left(f)] += f->w.excess;
	if (p->opt.zeroout_budget_blocks != E4L_NO_LIMIT)
		f->left[E4L_LEFT_ZEROOUT_BUDGET] = f->w.n_zero;
	for (why = 0; why < E4L_LEFT_REASONS && !err; why++)
		if (f->left[why])
			err = add_left(p, f, why, f->left[why]);
	return err;
}

static errcode_t list_all_left(struct e4l_plan *p)
{
	struct e4l_draft *d = &p->draft;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < d->n_files && !err; i++)
		err = list_left(p, &d->files[i]);
	return err;
}

const struct e4l_left *e4l_plan_left(const struct e4l_plan *p, size_t *n)
{
	*n = p->n_left;
	return p->left;
}

static uint64_t find_longest(const struct e4l_plan *p)
{
	uint64_t at;

	return e4l_space_largest(p->draft.disk.space, &at) *
	       p->opt.geo.cluster_blocks;
}

uint64_t e4l_plan_longest(const struct e4l_plan *p)
{
	return p->longest_blocks;
}

/* ------------------------------------------------------------------ moving */

static int best_first(const void *va, const void *vb)
{
	const struct e4l_file *a = *(struct e4l_file *const *)va;
	const struct e4l_file *b = *(struct e4l_file *const *)vb;
	/* neither number exceeds 2^32 */
	uint64_t gain_a = a->w.excess * b->w.cost;
	uint64_t gain_b = b->w.excess * a->w.cost;

	if (gain_a != gain_b)
		return gain_a > gain_b ? -1 : 1;
	return a->ino < b->ino ? -1 : a->ino > b->ino;
}

static unsigned int magnitude(const struct e4l_file *f)
{
	return 63 - __builtin_clzll(f->w.longest | 1);
}

/*
 * Of what is about as long, neighbours: where all of them move, what they leave is
 * one run for the next.
 */
static int longest_first(const void *va, const void *vb)
{
	const struct e4l_file *a = *(struct e4l_file *const *)va;
	const struct e4l_file *b = *(struct e4l_file *const *)vb;

	if (magnitude(a) != magnitude(b))
		return magnitude(a) > magnitude(b) ? -1 : 1;
	if (a->goal != b->goal)
		return a->goal < b->goal ? -1 : 1;
	return a->ino < b->ino ? -1 : a->ino > b->ino;
}

/*
 * Puts the files to move in order: first those that the budget is best spent
 * on, of them the ones that need the longest runs before others break them;
 * then the others, best first, should something be left.
 */
static errcode_t move_order(struct e4l_plan *p, struct e4l_file ***ret,
			    size_t *n_ret)
{
	struct e4l_draft *d = &p->draft;
	uint64_t left = p->opt.copy_budget_blocks;
	struct e4l_file **all, **order;
	size_t i, n = 0, taken = 0, rest;

	*ret = NULL;
	*n_ret = 0;
	all = calloc(d->n_files + 1, sizeof(*all));
	order = calloc(d->n_files + 1, sizeof(*order));
	if (!all || !order) {
		free(all);
		free(order);
		return ENOMEM;
	}
	for (i = 0; i < d->n_files; i++)
		if (d->files[i].w.excess)
			all[n++] = &d->files[i];
	qsort(all, n, sizeof(*all), best_first);
	for (i = 0, rest = 0; i < n; i++) {
		if (all[i]->w.cost <= left) {
			left -= left == E4L_NO_LIMIT ? 0 : all[i]->w.cost;
			order[taken++] = all[i];
		} else {
			all[rest++] = all[i];
		}
	}
	qsort(order, taken, sizeof(*order), longest_first);
	memcpy(order + taken, all, rest * sizeof(*all));
	free(all);
	*ret = order;
	*n_ret = n;
	return 0;
}

/* Adds the steps, if there are any, and pays for them. */
static errcode_t add_moves(struct e4l_plan *p, struct e4l_file *f,
			   const struct e4l_steps *steps)
{
	uint64_t *budget = &p->opt.copy_budget_blocks;
	size_t i;

	if (!steps->n)
		return 0;
	for (i = 0; i < steps->n && *budget != E4L_NO_LIMIT; i++)
		*budget -= steps->v[i].bytes_to_copy / p->opt.geo.blocksize;
	return e4l_draft_add(&p->draft, f, steps->v, steps->n);
}

/*
 * Whether @f, which would have taken from the long runs that are kept, most
 * probably would again: unless what it gives is enough.
 */
static bool would_take_long(const struct e4l_plan *p, const struct e4l_file *f)
{
	const struct e4l_draft *d = &p->draft;

	return f->why == E4L_LEFT_LONG_RUNS &&
	       e4l_space_in_long(d->disk.space) < d->in_long + f->lacks;
}

/*
 * Whether @f, which was not moved since it lacked a run, most probably still does:
 * unless there is room for it where it is.
 */
static bool lacks_run(const struct e4l_plan *p, const struct e4l_file *f)
{
	bool any = f->why == E4L_LEFT_NO_ROOM;

	return (any || would_take_long(p, f)) &&
	       !e4l_space_holds(p->draft.disk.space,
				any ? 0 : long_clusters(p), 1, f->lacks);
}

static errcode_t move_file(struct e4l_plan *p, struct e4l_file *f,
			   bool partial, bool *moved)
{
	struct e4l_draft *d = &p->draft;
	struct e4l_mover mover = {
		.m = {
			.n_entries = f->w.n_ex,
			.tree = f->tree, .n_tree = f->n_tree,
			.budget = p->opt.copy_budget_blocks,
			.part = e4l_part_blocks(d, f),
		},
		.goal = f->goal, .why = f->why,
		.long_run = long_clusters(p), .in_long = d->in_long,
		.only_short = partial && would_take_long(p, f),
	};
	struct e4l_steps steps = { 0 };
	struct e4l_extent *ex;
	errcode_t err;

	err = e4l_draft_extents(d, f, &ex, &mover.m.n_ex);
	if (err)
		return err;
	mover.m.ex = ex;
	err = e4l_move_file(&d->disk, &mover, partial, &steps);
	f->why = mover.why;
	if (partial)
		f->why_parts = steps.n ? E4L_LEFT_NO_ROOM : mover.why;
	f->lacks = mover.lacks;
	if (mover.too_large)
		e4l_leave(f, E4L_PLAN_MOVE, E4L_LEFT_TXN);
	if (!err)
		err = add_moves(p, f, &steps);
	*moved |= steps.n;
	free(ex);
	free(steps.v);
	return err;
}

/* How files are moved: whole if that most probably can be, partially, whole. */
enum manner { MOVE_LIKELY, MOVE_PARTIAL, MOVE_WHOLE };

/* The files to move, in order, from the first that is still in pieces. */
struct queue {
	struct e4l_file **v;
	size_t n, first;
	size_t looked;			/* at files, in all passes */
	uint64_t least;			/* clusters that each lacks; 0: not known */
};

/* What of @f, which was not moved, is known of all that is left. */
static void note_lacking(struct queue *q, const struct e4l_file *f)
{
	uint64_t lacks = f->why == E4L_LEFT_NO_ROOM ? f->lacks : 0;

	if (f->w.excess && q->least > lacks)
		q->least = lacks;
}

static void begin_pass(struct queue *q)
{
	size_t i;

	while (q->first < q->n && !q->v[q->first]->w.excess)
		q->first++;
	if (q->least)
		return;
	q->least = UINT64_MAX;
	for (i = q->first; i < q->n && q->least; i++)
		note_lacking(q, q->v[i]);
}

/* A pass over whole files ends when there is no run for any of those to come. */
static errcode_t move_pass(struct e4l_plan *p, struct queue *q,
			   enum manner manner, bool *moved)
{
	struct e4l_draft *d = &p->draft;
	bool likely = manner == MOVE_LIKELY;
	errcode_t err = 0;
	uint64_t at;
	size_t i;

	*moved = false;
	begin_pass(q);
	for (i = q->first; i < q->n && !err; i++) {
		struct e4l_file *f = q->v[i];

		if (++q->looked % ASK_EACH == 0)
			err = e4l_draft_go_on(d);
		if (err || !f->w.excess || (likely && lacks_run(p, f)))
			continue;
		if (e4l_draft_is_over(d)) {
			f->why = d->why_late;
			continue;
		}
		err = move_file(p, f, manner == MOVE_PARTIAL, moved);
		note_lacking(q, f);
		if (likely && e4l_space_largest(d->disk.space, &at) < q->least)
			break;
	}
	if (i == q->n)
		q->least = 0;
	return err ? err : e4l_draft_end_batch(d);
}

/*
 * Moves until nothing is left to gain: partially only what most probably does not
 * fit whole, and at last what would not have been expected to.  There may be as many
 * passes as files, where each leaves what the next one needs: so they keep the
 * order, unless less is left to copy.
 */
static errcode_t move_all(struct e4l_plan *p, bool *changed)
{
	enum manner manner = MOVE_LIKELY;
	struct queue q = { .n = 0 };
	bool moved, keep = false;
	errcode_t err = 0;

	for (;;) {
		if (!keep) {
			free(q.v);
			q = (struct queue) { .looked = q.looked };
			err = move_order(p, &q.v, &q.n);
		}
		if (!err)
			err = move_pass(p, &q, manner, &moved);
		if (err)
			break;
		*changed |= moved;
		if (p->draft.late || (!moved && manner == MOVE_WHOLE))
			break;
		keep = moved && manner == MOVE_LIKELY &&
		       p->opt.copy_budget_blocks == E4L_NO_LIMIT;
		manner = moved ? MOVE_LIKELY : manner + 1;
		if (manner == MOVE_PARTIAL && p->opt.free_follows)
			manner = MOVE_WHOLE;
	}
	free(q.v);
	return err;
}

/* --------------------------------------------------------------------- room */

/* Makes room for what is still in fragments, if that is asked for. */
static errcode_t room_pass(struct e4l_plan *p, bool *made)
{
	struct e4l_draft *d = &p->draft;
	struct e4l_file **order = NULL;
	size_t *files = NULL, n, i;
	errcode_t err;

	if (!p->makes_room || p->opt.free_follows)
		return 0;
	err = move_order(p, &order, &n);
	if (!err)
		files = calloc(n + 1, sizeof(*files));
	if (!err && !files)
		err = ENOMEM;
	/* new files of the draft may move all of them in memory */
	for (i = 0; i < n && !err; i++)
		files[i] = order[i] - d->files;
	free(order);
	if (!err && n)
		err = e4l_room_begin(&p->room, d);
	for (i = 0; i < n && !err; i++) {
		err = e4l_draft_go_on(d);
		if (e4l_draft_is_over(d))
			d->files[files[i]].why = d->why_late;
		else if (!err)
			err = e4l_room_make(&p->room, d, files[i],
					    &p->opt.copy_budget_blocks, made);
	}
	free(files);
	return err;
}

void e4l_plan_room(const struct e4l_plan *p, struct e4l_plan_room *ret)
{
	e4l_copy_out(ret, &p->room.made);
}

/* --------------------------------------------------------------- free space */

static errcode_t clear_once(struct e4l_plan *p)
{
	uint64_t *budget = &p->opt.copy_budget_blocks;
	struct e4l_draft *d = &p->draft;
	errcode_t err = e4l_clear_make(&p->clear, d, budget);

	if (!err)
		err = e4l_slide_make(&p->clear, d, budget);
	if (!err)
		err = e4l_fill_make(&p->clear, d, budget);
	return err ? err : e4l_trade_make(&p->clear, d, budget);
}

/*
 * Files that take more than is free use up all long runs, which are to be made
 * once more then: so they get one, of a third of what they take, since what they
 * leave holds the others.
 */
static void aim_for_files(struct e4l_plan *p)
{
	uint64_t ratio = p->opt.geo.cluster_blocks;
	uint64_t aim = (p->to_follow / FILES_SHARE +
			p->opt.longest_kept_blocks) / ratio;
	uint64_t all;

	if (!p->to_follow || p->opt.free_run_blocks)
		return;
	all = e4l_space_sum(p->draft.disk.space);
	if (p->to_follow / ratio <= all || aim >= all)
		return;
	p->clear.made.for_files = 1;
	aim_at(&p->clear, aim);
}

/*
 * What one pass has moved is out of the way of the next, in which only what has
 * not moved yet does.
 */
static errcode_t clear_pass(struct e4l_plan *p)
{
	struct e4l_plan_free *made = &p->clear.made;
	struct e4l_disk *disk = &p->draft.disk;
	const struct e4l_outlook now = e4l_space_outlook(disk->space);
	uint64_t before = UINT64_MAX;
	unsigned int n = 0;
	errcode_t err = 0;

	if (disk->least_longest < now.longest)
		disk->least_longest = now.longest;
	if (p->opt.bounds_at_end)
		p->draft.in_long = p->in_long < now.in_long ? p->in_long :
							      now.in_long;

	while (p->clears && !p->draft.late && !err && n++ < CLEAR_PASSES &&
	       made->blocks_away != before) {
		before = made->blocks_away;
		err = clear_once(p);
	}
	made->free_runs_after = e4l_space_runs(p->draft.disk.space);
	return err;
}

/* Whether free space is not yet what it must be at the end. */
static bool is_beyond(const struct e4l_plan *p, const struct e4l_outlook *aim)
{
	return p->opt.bounds_at_end && p->clears && !p->draft.late &&
	       !e4l_plug_is_enough(p->draft.disk.space, aim);
}

/* One step on the way there: things move twice, then there are plugs, then slices. */
static errcode_t go_back(struct e4l_plan *p, const struct e4l_outlook *aim)
{
	uint64_t *budget = &p->opt.copy_budget_blocks;
	errcode_t err = clear_pass(p);

	if (!err && is_beyond(p, aim))
		err = e4l_plug_make(&p->clear, &p->draft, aim, budget);
	if (!err && is_beyond(p, aim))
		err = e4l_cut_make(&p->clear, &p->draft, aim->runs, budget);
	return err;
}

/* Brings it there, as far as can be: the run that slices leave can be filled, too. */
static errcode_t come_back(struct e4l_plan *p)
{
	const struct e4l_outlook aim = {
		.runs = p->opt.most_free_runs,
		.longest = p->opt.longest_kept_blocks /
			   p->opt.geo.cluster_blocks,
	};
	errcode_t err = 0;
	unsigned int i;

	p->clear.again = true;
	for (i = 0; i < BACK_PASSES && !err && is_beyond(p, &aim); i++)
		err = go_back(p, &aim);
	p->clear.made.free_runs_after = e4l_space_runs(p->draft.disk.space);
	return err;
}

void e4l_plan_free_runs(const struct e4l_plan *p, struct e4l_plan_free *ret)
{
	e4l_copy_out(ret, &p->clear.made);
}

/* -------------------------------------------------------------------- steps */

/* A step and what its file's steps of the batch, which are neighbours, gain. */
struct ranked {
	const struct e4l_step *step;
	double worth;
};

static double worth(const struct e4l_step *step, size_t n)
{
	double gain = 0, cost = 1;

	for (; n; n--, step++) {
		gain += (double)step->n_old - step->n_new +
			step->fragments_saved;
		cost += step->bytes_to_copy + step->bytes_to_zero;
	}
	return gain / cost;
}

static int in_order(const void *va, const void *vb)
{
	const struct ranked *a = va, *b = vb;

	if (a->step->batch != b->step->batch)
		return a->step->batch < b->step->batch ? -1 : 1;
	if (a->worth != b->worth)
		return a->worth > b->worth ? -1 : 1;
	if (a->step->ino != b->step->ino)
		return a->step->ino < b->step->ino ? -1 : 1;
	return a->step < b->step ? -1 : a->step > b->step;
}

static errcode_t sort_steps(struct e4l_draft *d)
{
	struct ranked *ranked = calloc(d->n_steps + 1, sizeof(*ranked));
	struct e4l_step *steps = calloc(d->n_steps + 1, sizeof(*steps));
	size_t i, k, n;

	if (!ranked || !steps) {
		free(ranked);
		free(steps);
		return ENOMEM;
	}
	for (i = 0; i < d->n_steps; i += n) {
		const struct e4l_step *step = &d->steps[i];

		for (n = 1; i + n < d->n_steps && step[n].ino == step->ino &&
			    step[n].batch == step->batch; n++)
			;
		for (k = 0; k < n; k++)
			ranked[i + k] = (struct ranked) {
				.step = step + k,
				.worth = k ? ranked[i].worth : worth(step, n),
			};
	}
	qsort(ranked, d->n_steps, sizeof(*ranked), in_order);
	for (i = 0; i < d->n_steps; i++)
		steps[i] = *ranked[i].step;
	free(ranked);
	free(d->steps);
	d->steps = steps;
	return 0;
}

/* How many free runs there may be with room made: as many as now, or may be. */
static uint64_t room_runs(const struct e4l_plan *p)
{
	uint64_t now = p->clear.made.free_runs_before;

	if (p->opt.bounds_at_end)
		return UINT64_MAX;
	return now > p->opt.most_free_runs ? now : p->opt.most_free_runs;
}

/* Notes what there is of free space, and how much of it files may use. */
static void look_at_space(struct e4l_plan *p)
{
	uint64_t kept = p->opt.long_blocks_kept / p->opt.geo.cluster_blocks;
	struct e4l_draft *d = &p->draft;

	p->in_long = e4l_space_in_long(d->disk.space);
	if (p->in_long > kept)
		p->in_long = kept;
	d->in_long = p->opt.bounds_at_end ? 0 : p->in_long;
	p->clear.made.free_runs_before = e4l_space_runs(d->disk.space);
	p->clear.made.longest_before = find_longest(p);
	p->room.free_runs = room_runs(p);
}

/* What is in long runs now may be less than must be, if bounds are at the end. */
static void count_lacking(struct e4l_plan *p)
{
	uint64_t now = e4l_space_in_long(p->draft.disk.space);

	if (p->opt.bounds_at_end && now < p->in_long)
		p->clear.made.long_blocks_lacking =
			(p->in_long - now) * p->opt.geo.cluster_blocks;
}

errcode_t e4l_plan_make(struct e4l_plan *p)
{
	struct e4l_draft *d = &p->draft;
	bool changed;
	errcode_t err;

	look_at_space(p);
	do {
		changed = false;
		err = move_all(p, &changed);
		if (!err)
			err = e4l_pack_files(d, &p->opt.zeroout_budget_blocks,
					     &changed);
		if (!err && !changed)
			err = room_pass(p, &changed);
	} while (changed && !err && !p->draft.late);
	aim_for_files(p);
	if (!err)
		err = clear_pass(p);
	if (!err)
		err = come_back(p);
	count_lacking(p);
	if (!err)
		err = list_all_left(p);
	/* what carries the steps out needs the memory */
	p->longest_blocks = find_longest(p);
	e4l_space_free(d->disk.space);
	d->disk.space = NULL;
	return err ? err : sort_steps(d);
}

uint64_t e4l_plan_reread(const struct e4l_plan *p)
{
	return p->draft.keep.files_reread;
}

const struct e4l_step *e4l_plan_steps(const struct e4l_plan *p, size_t *n)
{
	*n = p->draft.n_steps;
	return p->draft.steps;
}
