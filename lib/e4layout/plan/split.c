/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "cost.h"
#include "packed.h"
#include "runs.h"
#include "split.h"

#define UNIT_MAX_BLOCKS	(1u << 30)

/* A part of the file, in one group before and in one after. */
struct unit {
	uint32_t lc, n;			/* clusters, as in struct e4l_shift */
	uint64_t from, to;
	uint32_t copy;			/* written blocks */
	uint32_t target;
};

/*
 * A fragment that is going to be, around the one that is at @seed now; clusters
 * @low to @high have moved, by the parts so far and the one at hand.
 */
struct target {
	uint32_t seed, low, high;
	uint32_t gain;			/* fragments that go in it */
};

struct split {
	const struct e4l_disk *disk;
	const struct e4l_moving *m;
	uint64_t fragments;		/* of blocks, before */
	struct target *targets;		/* one for each of m->new */
	uint32_t *order;		/* in which they come about */
	size_t turn;			/* of that, and where in it: */
	bool back;			/* from the seed down */
	uint32_t at;			/* the next cluster; down: behind it */
	size_t x;			/* of m->ex: it is in here, or near */
	struct unit *ahead;		/* those that move next, in turn */
	size_t n_ahead;
	size_t n_ex;			/* after the parts so far */
	const blk64_t *tree;
	size_t n_tree;
	struct e4l_steps parts;
	uint64_t copied;		/* blocks, by these */
	bool over_budget;
};

static uint64_t end_of(const struct e4l_fragment *v)
{
	return (uint64_t)v->lc + v->n;
}

/* -------------------------------------------------------------------- order */

/* What a fragment, or what is left of one in the target, is worth as a seed. */
struct seed {
	bool stays, whole;
	uint64_t clusters;
};

static bool is_better(const struct seed *a, const struct seed *b)
{
	if (a->stays != b->stays)
		return a->stays;
	if (a->whole != b->whole)
		return a->whole;
	return a->clusters < b->clusters;
}

/* Finds the seed of @t, which is to be @new; @v is the fragment that it begins in. */
static void find_seed(const struct e4l_fragment *new, struct e4l_fragment *v,
		      struct e4l_walk *old, struct target *t)
{
	struct seed best = { 0 }, seed;
	uint64_t at, end;

	for (at = new->lc; at < end_of(new); at = end) {
		end = end_of(v) < end_of(new) ? end_of(v) : end_of(new);
		seed = (struct seed) {
			.stays = v->pc + (at - v->lc) ==
				 new->pc + (at - new->lc),
			.whole = at == v->lc && end == end_of(v),
			.clusters = end - at,
		};
		t->gain += seed.whole || seed.stays;
		if (at == new->lc || is_better(&seed, &best)) {
			best = seed;
			t->seed = t->low = t->high = at;
		}
		if (end == end_of(v))
			e4l_next_fragment(old, v);
	}
}

static int most_gain_first(const void *va, const void *vb, void *targets)
{
	uint32_t a = *(const uint32_t *)va, b = *(const uint32_t *)vb;
	const struct target *t = targets;

	if (t[a].gain != t[b].gain)
		return t[a].gain > t[b].gain ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* The seed of the target whose turn it is. */
static uint32_t seed_of(const struct split *s)
{
	return s->turn < s->m->new.n ? s->targets[s->order[s->turn]].seed : 0;
}

/*
 * So that the file has no more fragments on the way: what makes one of most
 * comes first, in each the smallest whole one, unless one stays, and then what
 * is next to that, up to the end and down to the start.
 */
static errcode_t sort_targets(struct split *s)
{
	const struct e4l_fragments *new = &s->m->new;
	struct e4l_walk old = e4l_walk_old(s->disk, s->m);
	struct e4l_fragment v;
	size_t i;

	s->targets = calloc(new->n + 1, sizeof(*s->targets));
	s->order = calloc(new->n + 1, sizeof(*s->order));
	if (!s->targets || !s->order)
		return ENOMEM;
	e4l_next_fragment(&old, &v);
	for (i = 0; i < new->n; i++) {
		find_seed(&new->v[i], &v, &old, &s->targets[i]);
		s->order[i] = i;
	}
	qsort_r(s->order, new->n, sizeof(*s->order), most_gain_first,
		s->targets);
	s->at = seed_of(s);
	return 0;
}

/* -------------------------------------------------------------------- units */

/* Clusters from @at to the end of the group of its first block. */
static uint64_t to_group_end(const struct e4l_geometry *geo, uint64_t at)
{
	uint64_t ratio = geo->cluster_blocks, group = geo->group_blocks;
	uint64_t in_group = (at * ratio - geo->first_blk) % group;

	return (group - in_group + ratio - 1) / ratio;
}

static int by_end(const void *extent, const void *blk)
{
	const struct e4l_extent *ex = extent;

	return (uint64_t)ex->lblk + ex->len <= *(const uint64_t *)blk ? -1 : 0;
}

/* Whether the @i'th extent is the first that ends behind block @blk of the file. */
static bool is_extent_at(const struct e4l_moving *m, size_t i, uint64_t blk)
{
	return (i >= m->n_ex || !by_end(&m->ex[i], &blk)) &&
	       (!i || (i <= m->n_ex && by_end(&m->ex[i - 1], &blk)));
}

/* Its index. */
static size_t extent_at(struct split *s, uint64_t blk)
{
	const struct e4l_moving *m = s->m;
	size_t i = s->x;

	if (is_extent_at(m, i, blk))
		return i;
	i += s->back ? -!!i : 1;
	if (!is_extent_at(m, i, blk))
		i = e4l_lower_bound(&blk, m->ex, m->n_ex, sizeof(*m->ex),
				    by_end);
	s->x = i;
	return i;
}

static uint64_t count_written(struct split *s, const struct e4l_shift *ch)
{
	uint64_t ratio = s->disk->geo->cluster_blocks;
	uint64_t from = ch->lc * ratio, to = (ch->lc + ch->n) * ratio;
	const struct e4l_extent *ex = s->m->ex;
	uint64_t start, end, written = 0;
	size_t i;

	for (i = extent_at(s, from); i < s->m->n_ex && ex[i].lblk < to; i++) {
		start = ex[i].lblk > from ? ex[i].lblk : from;
		end = ex[i].lblk + (uint64_t)ex[i].len;
		if (!ex[i].unwritten)
			written += (end < to ? end : to) - start;
	}
	return written;
}

/* The first clusters of @ch that may be a unit. */
static uint64_t unit_clusters(const struct split *s,
			      const struct e4l_shift *ch)
{
	uint64_t part = s->m->part < UNIT_MAX_BLOCKS ? s->m->part :
						       UNIT_MAX_BLOCKS;
	uint64_t most = part / s->disk->geo->cluster_blocks;
	uint64_t n = ch->n < most ? ch->n : most, end;

	end = to_group_end(s->disk->geo, ch->from);
	n = end < n ? end : n;
	end = to_group_end(s->disk->geo, ch->to);
	return end < n ? end : n;
}

/* Appends what moves of @ch, the last first if that is the turn. */
static errcode_t add_units(struct split *s, struct e4l_shift ch)
{
	size_t first = s->n_ahead, i;
	uint64_t left;
	errcode_t err;

	for (left = ch.from != ch.to ? ch.n : 0; left; left -= ch.n) {
		ch.n = left;
		ch.n = unit_clusters(s, &ch);
		err = e4l_grow(&s->ahead, s->n_ahead, sizeof(*s->ahead));
		if (err)
			return err;
		s->ahead[s->n_ahead++] = (struct unit) {
			.from = ch.from, .to = ch.to, .lc = ch.lc, .n = ch.n,
			.copy = count_written(s, &ch),
			.target = s->order[s->turn],
		};
		ch.lc += ch.n;
		ch.from += ch.n;
		ch.to += ch.n;
	}
	for (i = s->n_ahead; s->back && i > first + 1; first++) {
		struct unit last = s->ahead[--i];

		s->ahead[i] = s->ahead[first];
		s->ahead[first] = last;
	}
	return 0;
}

/* The clusters around @lc, of those of @new, that are one fragment now. */
static struct e4l_fragment old_at(struct split *s, uint64_t lc,
				  const struct e4l_fragment *new)
{
	unsigned int bits = e4l_cluster_bits(s->disk->geo->cluster_blocks);
	const struct e4l_extent *ex = s->m->ex, *end = ex + s->m->n_ex;
	const struct e4l_extent *a = ex + extent_at(s, lc << bits), *b = a;
	uint64_t from, to;

	while (a > ex && e4l_first_cluster(a, bits) > new->lc &&
	       e4l_goes_on(a - 1, a, bits))
		a--;
	while (b + 1 < end && e4l_end_cluster(b, bits) < end_of(new) &&
	       e4l_goes_on(b, b + 1, bits))
		b++;
	from = e4l_first_cluster(a, bits);
	from = from > new->lc ? from : new->lc;
	to = e4l_end_cluster(b, bits);
	to = to < end_of(new) ? to : end_of(new);
	return (struct e4l_fragment) {
		.lc = from, .pc = from + e4l_away(a, bits), .n = to - from,
	};
}

/* The target that goes on, or NULL: all have come. */
static const struct e4l_fragment *target_at(struct split *s)
{
	const struct e4l_fragment *v;

	while (s->turn < s->m->new.n) {
		v = &s->m->new.v[s->order[s->turn]];
		if (s->back ? s->at > v->lc : s->at < end_of(v))
			return v;
		s->turn += s->back;
		s->back = !s->back;
		s->at = seed_of(s);
	}
	return NULL;
}

/* What is in one fragment now, and is to be in one; false: that was all. */
static bool next_shift(struct split *s, struct e4l_shift *ch)
{
	const struct e4l_fragment *new = target_at(s);
	struct e4l_fragment old;
	uint64_t first, end;

	if (!new)
		return false;
	old = old_at(s, s->at - s->back, new);
	first = s->back ? old.lc : s->at;
	end = s->back ? s->at : end_of(&old);
	*ch = (struct e4l_shift) {
		.lc = first, .n = end - first,
		.from = old.pc + (first - old.lc),
		.to = new->pc + (first - new->lc),
	};
	s->at = s->back ? first : end;
	return true;
}

/* Finds the next @n units that move, if there are as many. */
static errcode_t look_ahead(struct split *s, size_t n)
{
	struct e4l_shift ch;
	errcode_t err = 0;

	while (!err && s->n_ahead < n && next_shift(s, &ch))
		err = add_units(s, ch);
	return err;
}

/* The first @n of them have moved, or never will. */
static void leave_behind(struct split *s, size_t n)
{
	s->n_ahead -= n;
	if (s->n_ahead)
		memmove(s->ahead, s->ahead + n, s->n_ahead * sizeof(*s->ahead));
}

/* -------------------------------------------------------------------- parts */

/* How many of the next units are copied in one part. */
static errcode_t count_by_copy(struct split *s, size_t *n)
{
	uint64_t copy = 0;
	errcode_t err;

	for (*n = 0; ; ++*n) {
		err = look_ahead(s, *n + 1);
		if (err || s->n_ahead == *n)
			return err;
		copy += s->ahead[*n].copy;
		if (copy > s->m->part && *n)
			return 0;
	}
}

/* How many of the next @high units, mostly all, change @room blocks of bitmaps. */
static errcode_t count_units(const struct split *s, size_t high, uint64_t room,
			     size_t *n)
{
	uint64_t ratio = s->disk->geo->cluster_blocks;
	size_t low = 0, mid = high, i;
	errcode_t err = 0;

	for (; low < high && !err; mid = low + (high - low + 1) / 2) {
		struct e4l_groups g = { .geo = s->disk->geo };

		/* one after the other: neighbours are in one group, mostly */
		for (i = 0; i < mid && !err; i++)
			err = e4l_groups_add(&g, s->ahead[i].from * ratio, 1);
		for (i = 0; i < mid && !err; i++)
			err = e4l_groups_add(&g, s->ahead[i].to * ratio, 1);
		if (e4l_groups_cost(&g) <= room)
			low = mid;
		else
			high = mid - 1;
		free(g.v);
	}
	*n = low;
	return err;
}

/* Where the next @n units are, and where they go. */
static errcode_t list_units(const struct split *s, size_t n,
			    struct e4l_fragments *from,
			    struct e4l_fragments *to)
{
	struct unit *v = calloc(n, sizeof(*v));
	errcode_t err = 0;
	size_t i;

	if (!v)
		return ENOMEM;
	memcpy(v, s->ahead, n * sizeof(*v));
	qsort(v, n, sizeof(*v), e4l_u32_cmp);
	for (i = 0; i < n && !err; i++) {
		err = e4l_fragments_add(from, v[i].lc, v[i].from, v[i].n);
		if (!err)
			err = e4l_fragments_add(to, v[i].lc, v[i].to, v[i].n);
	}
	free(v);
	return err;
}

/* Whether cluster @lc of @t has moved; where that ends to be so, or not. */
static bool has_moved(const struct target *t, uint64_t lc, uint64_t *end)
{
	bool moved = lc >= t->low && lc < t->high;

	if (moved && *end > t->high)
		*end = t->high;
	if (lc < t->low && *end > t->low)
		*end = t->low;
	return moved;
}

/* Fragments of the file after the parts so far. */
struct count {
	const struct split *s;
	size_t t;			/* of s->targets */
	uint64_t lc, pc;		/* where the last ends */
	size_t n;
};

static errcode_t count_shift(const struct e4l_shift *ch, void *priv)
{
	struct count *c = priv;
	uint64_t lc, pc, end;

	while (end_of(&c->s->m->new.v[c->t]) <= ch->lc)
		c->t++;
	for (lc = ch->lc; lc < ch->lc + ch->n; lc = end) {
		end = ch->lc + ch->n;
		pc = has_moved(&c->s->targets[c->t], lc, &end) ? ch->to :
								 ch->from;
		pc += lc - ch->lc;
		c->n += !c->n || lc != c->lc || pc != c->pc;
		c->lc = end;
		c->pc = pc + (end - lc);
	}
	return 0;
}

static size_t count_now(const struct split *s)
{
	struct count c = { .s = s };

	e4l_each_shift(e4l_walk_old(s->disk, s->m), &s->m->new, count_shift,
		       &c);
	return c.n;
}

/* What becomes of a file by a part of its move. */
enum outcome {
	TOO_LARGE,			/* for a transaction, or the budget */
	WORSE,				/* it has more fragments, or extents */
	GOOD
};

/* The file's runs of one state, as they are once all units that moved have. */
struct walk {
	const struct split *s;
	const struct e4l_extent *ex, *end;
	uint64_t at;			/* blocks of *ex gone through */
	size_t t;			/* of s->targets */
	uint64_t stop;			/* the next before this block of the file */
	bool moved;			/* have all moved, or none; if so: */
	uint64_t away;			/* from there to the place on the disk */
	struct e4l_state_run next;	/* not handed out yet */
};

static struct walk walk_file(const struct split *s)
{
	return (struct walk) {
		.s = s, .ex = s->m->ex, .end = s->m->ex + s->m->n_ex,
	};
}

/* Finds how far it is as at block @lblk of the file, which is mapped. */
static void find_stop(struct walk *w, uint64_t lblk)
{
	unsigned int bits = e4l_cluster_bits(w->s->disk->geo->cluster_blocks);
	const struct e4l_fragment *new = &w->s->m->new.v[w->t];
	uint64_t end;

	while (end_of(new) <= lblk >> bits)
		new++;
	w->t = new - w->s->m->new.v;
	end = end_of(new);
	w->moved = has_moved(&w->s->targets[w->t], lblk >> bits, &end);
	w->away = (new->pc - new->lc) << bits;
	w->stop = end << bits;
}

/* What is in one extent, and has moved or not. */
static bool next_piece(struct walk *w, struct e4l_state_run *piece)
{
	const struct e4l_extent *ex = w->ex;
	uint64_t first, len;

	if (ex == w->end)
		return false;
	first = ex->lblk + w->at;
	if (first >= w->stop)
		find_stop(w, first);
	len = ex->len - w->at;
	len = len < w->stop - first ? len : w->stop - first;
	*piece = (struct e4l_state_run) {
		.lblk = first, .len = len, .unwritten = ex->unwritten,
		.pblk = w->moved ? first + w->away : ex->pblk + w->at,
	};
	w->at += len;
	if (w->at == ex->len) {
		w->at = 0;
		w->ex++;
	}
	return true;
}

static bool next_run(struct walk *w, struct e4l_state_run *run)
{
	*run = w->next;
	w->next.len = 0;
	while (next_piece(w, &w->next)) {
		if (!run->len) {
			*run = w->next;
		} else if (run->unwritten == w->next.unwritten &&
			   e4l_runs_touch(run, &w->next)) {
			run->len += w->next.len;
		} else {
			return true;
		}
		w->next.len = 0;
	}
	return run->len;
}

/* Counts extents and fragments; where the file begins. */
static blk64_t count_extents(const struct split *s, struct e4l_step *step)
{
	struct e4l_state_run last = { 0 }, run;
	struct walk w = walk_file(s);
	blk64_t start = 0;

	for (; next_run(&w, &run); last = run) {
		start = step->n_new ? start : run.pblk;
		step->n_new += e4l_cut_run(&run, NULL);
		step->new_fragments += !e4l_runs_touch(&last, &run);
	}
	return start;
}

/* Lists them as the new extents of @step, which has counted them. */
static errcode_t list_extents(const struct split *s, struct e4l_step *step)
{
	struct e4l_state_run run;
	struct walk w = walk_file(s);
	size_t n = 0;

	e4l_packed_drop_extents(step);
	step->new_extents = calloc(step->n_new + 1, sizeof(*step->new_extents));
	if (!step->new_extents)
		return ENOMEM;
	while (next_run(&w, &run))
		n += e4l_cut_run(&run, step->new_extents + n);
	return 0;
}

/* The moves of @step, in the extents that there are from @from on. */
static errcode_t move_part(struct split *s,
			   const struct e4l_fragments *from,
			   const struct e4l_fragments *to,
			   struct e4l_step *step)
{
	const struct e4l_geometry *geo = s->disk->geo;
	uint64_t end = end_of(&from->v[from->n - 1]) * geo->cluster_blocks;
	size_t x = extent_at(s, (uint64_t)from->v->lc * geo->cluster_blocks);
	size_t last = extent_at(s, end - 1);

	last += last < s->m->n_ex;
	return e4l_step_move(geo, s->m->ex + x, last - x, e4l_walk_list(from),
			     to, step);
}

/* Makes the step that moves the next @n units, which have. */
static errcode_t make_part(struct split *s, size_t n, struct e4l_step *step,
			   enum outcome *outcome)
{
	struct e4l_fragments from = { 0 }, to = { 0 };
	blk64_t start = count_extents(s, step);
	bool placed, fits = false;
	errcode_t err;

	err = list_units(s, n, &from, &to);
	if (!err)
		err = move_part(s, &from, &to, step);
	free(from.v);
	free(to.v);
	if (!err)
		err = e4l_step_put_tree(s->disk, s->tree, s->n_tree, start,
					step, &placed);
	if (!err && placed)
		err = e4l_step_fits(s->disk->geo, step, 0, &fits);
	*outcome = !fits ? TOO_LARGE :
		   step->new_fragments > s->fragments ||
		   step->n_new > s->m->n_entries ? WORSE : GOOD;
	return err;
}

/* Likewise, but packed. */
static errcode_t pack_extents(const struct split *s, struct e4l_step *step)
{
	struct e4l_state_run last = { 0 }, run;
	struct walk w = walk_file(s);
	errcode_t err = 0;

	for (; !err && next_run(&w, &run); last = run)
		err = e4l_pack_extent_run(step, &last, &run);
	return err;
}

/*
 * Takes @step over.  Only the first part and the last keep extents, and only the
 * last may be changed any more: see keep_parts().
 */
static errcode_t keep_part(struct split *s, struct e4l_step *step)
{
	struct e4l_steps *parts = &s->parts;
	errcode_t err = e4l_grow(&parts->v, parts->n, sizeof(*parts->v));

	if (!err && !parts->n)
		err = pack_extents(s, step);
	if (err)
		return err;
	parts->v[parts->n++] = *step;
	s->n_ex = step->n_new;
	s->tree = step->tree;
	s->n_tree = step->n_tree;
	s->copied += step->bytes_to_copy / s->disk->geo->blocksize;
	return 0;
}

static uint64_t count_copy(const struct split *s, size_t n)
{
	uint64_t copy = 0;

	while (n)
		copy += s->ahead[--n].copy;
	return copy;
}

static void move_units(struct split *s, size_t n)
{
	const struct unit *u;

	for (u = s->ahead; u < s->ahead + n; u++) {
		struct target *t = &s->targets[u->target];

		if (u->lc >= t->seed)
			t->high = u->lc + u->n;
		else
			t->low = u->lc;
	}
}

/* They have not moved after all. */
static void unmove_units(struct split *s, size_t n)
{
	while (n--) {
		const struct unit *u = &s->ahead[n];
		struct target *t = &s->targets[u->target];

		if (u->lc >= t->seed)
			t->high = u->lc;
		else
			t->low = u->lc + u->n;
	}
}

/* Makes a part of the next @n units, if that is at least @good_enough. */
static errcode_t try_part(struct split *s, size_t n, enum outcome good_enough,
			  enum outcome *outcome)
{
	uint64_t copy = count_copy(s, n);
	struct e4l_step step = {
		.bytes_to_copy = copy * s->disk->geo->blocksize,
	};
	errcode_t err;

	*outcome = TOO_LARGE;
	if (copy > s->m->budget - s->copied) {
		s->over_budget = true;
		return 0;
	}
	move_units(s, n);
	err = make_part(s, n, &step, outcome);
	if (!err && *outcome < good_enough) {
		unmove_units(s, n);
		return e4l_step_drop(s->disk, &step);
	}
	if (!err)
		err = keep_part(s, &step);
	if (err)
		e4l_step_free(&step);
	return err;
}

/*
 * Makes a part of @n units or, if that is too large, of fewer, or, if the file
 * would be worse, of more; if neither helps, it is worse until the next part.
 * *@n is 0 if there is none.
 */
static errcode_t fit_part(struct split *s, size_t *n)
{
	enum outcome outcome;
	size_t worse = 0;
	errcode_t err = 0;

	while (*n && !err) {
		err = try_part(s, *n, worse == *n ? WORSE : GOOD, &outcome);
		if (err || outcome == GOOD || (outcome && worse == *n))
			break;
		if (outcome == WORSE) {
			worse = *n;
			*n += *n / 4 + 1;
			err = look_ahead(s, *n);
			*n = *n < s->n_ahead ? *n : s->n_ahead;
		} else if (worse) {
			*n = s->over_budget ? 0 : worse;
		} else {
			*n = *n * 3 / 4;
		}
	}
	return err;
}

/* Makes one part more, as large as it may be; *@n is 0 if there is none. */
static errcode_t next_part(struct split *s, size_t *n)
{
	uint64_t limit = s->disk->geo->txn_blocks;
	uint64_t fixed = e4l_inode_cost(s->disk->geo) +
			 (s->n_tree > limit / 2 ? 0 : s->n_tree);
	errcode_t err = count_by_copy(s, n);

	if (!err && limit && fixed < limit)
		err = count_units(s, *n, limit - fixed, n);
	else if (limit)
		*n = 0;
	return err ? err : fit_part(s, n);
}

static errcode_t drop_parts(struct split *s)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < s->parts.n && !err; i++)
		err = e4l_step_drop(s->disk, &s->parts.v[i]);
	for (; i < s->parts.n; i++)
		e4l_step_free(&s->parts.v[i]);
	free(s->parts.v);
	s->parts = (struct e4l_steps) { 0 };
	return err;
}

/* What would have moved next stays after all. */
static errcode_t put_rest_back(struct split *s)
{
	errcode_t err = 0;

	while (!err && s->n_ahead) {
		const struct unit *u = &s->ahead[--s->n_ahead];

		err = e4l_space_add(s->disk->space, u->to, u->n);
		if (!err)
			err = look_ahead(s, 1);
	}
	return err;
}

/* Keeps the parts if that is any good. */
static errcode_t keep_parts(struct split *s)
{
	size_t now = count_now(s);
	struct e4l_step *last;
	errcode_t err;
	bool good = !s->n_ahead ||
		    (s->over_budget && s->parts.n &&
		     s->n_ex <= s->m->n_entries && now < s->m->n_old);

	if (!good)
		return drop_parts(s);
	last = &s->parts.v[s->parts.n - 1];
	last->fragments_saved = s->m->n_old - now;
	err = list_extents(s, last);
	return err ? err : put_rest_back(s);
}

/* Makes the parts: of all units, or of those before what is ahead. */
static errcode_t split_units(struct split *s)
{
	errcode_t err = sort_targets(s);
	size_t n = 1;

	if (!err)
		err = look_ahead(s, 1);
	while (!err && n && s->n_ahead) {
		err = next_part(s, &n);
		if (!err)
			leave_behind(s, n);
		if (!err)
			err = look_ahead(s, 1);
	}
	return err ? err : keep_parts(s);
}

errcode_t e4l_split_move(const struct e4l_disk *disk,
			 const struct e4l_moving *m, struct e4l_steps *steps)
{
	struct split s = {
		.disk = disk, .m = m, .n_ex = m->n_ex,
		.fragments = e4l_count_fragments(m->ex, m->n_ex, NULL),
		.tree = m->tree, .n_tree = m->n_tree,
	};
	errcode_t err = split_units(&s);

	free(s.targets);
	free(s.order);
	free(s.ahead);
	if (err)
		drop_parts(&s);
	*steps = s.parts;
	return err;
}
