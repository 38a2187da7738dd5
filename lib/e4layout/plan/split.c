/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include "e4layout/base/array.h"
#include "cost.h"
#include "packed.h"
#include "runs.h"
#include "split.h"

/* -------------------------------------------------------------------- units */

#define UNIT_MAX_BLOCKS	(1u << 30)

/*
 * A part of the file, in one group before and in one after; packed, since a file
 * can have millions.
 */
struct unit {
	uint64_t from : 48, to : 48;	/* clusters, as in struct e4l_shift */
	uint32_t lc : 32, n : 32;
	uint32_t copy : 31;		/* written blocks, if it moves */
	uint32_t moved : 1;		/* already, or by the part at hand */
} __attribute__((packed));

struct split {
	const struct e4l_disk *disk;
	const struct e4l_moving *m;
	uint64_t fragments;		/* of blocks, before */
	size_t n_old;			/* of clusters */
	struct unit *units;		/* in logical order */
	size_t n_units;
	size_t x;			/* of m->ex, where units end so far */
	uint32_t *order;		/* those that move, as they will */
	size_t n_order;
	size_t n_ex;			/* after the parts so far */
	const blk64_t *tree;
	size_t n_tree;
	struct e4l_steps parts;
	uint64_t copied;		/* blocks, by these */
	bool over_budget;
};

/* Clusters from @at to the end of the group of its first block. */
static uint64_t to_group_end(const struct e4l_geometry *geo, uint64_t at)
{
	uint64_t ratio = geo->cluster_blocks, group = geo->group_blocks;
	uint64_t in_group = (at * ratio - geo->first_blk) % group;

	return (group - in_group + ratio - 1) / ratio;
}

/* The written blocks of @ch, which is behind the last. */
static uint64_t count_written(struct split *s, const struct e4l_shift *ch)
{
	uint64_t ratio = s->disk->geo->cluster_blocks;
	uint64_t from = ch->lc * ratio, to = (ch->lc + ch->n) * ratio;
	const struct e4l_extent *ex = s->m->ex;
	uint64_t start, end, written = 0;
	size_t i;

	while (s->x < s->m->n_ex &&
	       (uint64_t)ex[s->x].lblk + ex[s->x].len <= from)
		s->x++;
	for (i = s->x; i < s->m->n_ex && ex[i].lblk < to; i++) {
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

static errcode_t add_units(const struct e4l_shift *change, void *priv)
{
	struct split *s = priv;
	struct e4l_shift ch = *change;
	uint64_t left = ch.n;
	errcode_t err = 0;

	for (; left && !err; left -= ch.n) {
		ch.n = left;
		if (ch.from != ch.to)
			ch.n = unit_clusters(s, &ch);
		err = e4l_grow(&s->units, s->n_units, sizeof(*s->units));
		if (err)
			break;
		s->units[s->n_units++] = (struct unit) {
			.from = ch.from, .to = ch.to, .lc = ch.lc, .n = ch.n,
			.copy = count_written(s, &ch),
		};
		ch.lc += ch.n;
		ch.from += ch.n;
		ch.to += ch.n;
	}
	return err;
}

/* -------------------------------------------------------------------- order */

/* Units that are going to be one fragment, and those they gather around. */
struct target {
	size_t first, end;
	size_t seed, seed_end;		/* units that are one fragment now */
	size_t gain;			/* fragments that go in it */
};

/* Whether unit @i goes on where the one before ends, now or then. */
static bool goes_on(const struct split *s, size_t i, bool then)
{
	const struct unit *a, *b;

	if (!i || i == s->n_units)
		return false;
	a = &s->units[i - 1];
	b = &s->units[i];
	return a->lc + a->n == b->lc &&
	       (then ? a->to + a->n == b->to : a->from + a->n == b->from);
}

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

/* Finds the seed of the target that begins at t->first, and its end. */
static void find_seed(const struct split *s, struct target *t)
{
	struct seed best = { 0 }, seed;
	size_t i = t->first, start;

	do {
		seed = (struct seed) {
			.stays = s->units[i].from == s->units[i].to,
			.whole = !goes_on(s, i, false),
		};
		start = i;
		do {
			seed.clusters += s->units[i++].n;
		} while (goes_on(s, i, true) && goes_on(s, i, false));
		seed.whole &= !goes_on(s, i, false);
		t->gain += seed.whole || seed.stays;
		if (start == t->first || is_better(&seed, &best)) {
			best = seed;
			t->seed = start;
			t->seed_end = i;
		}
	} while (goes_on(s, i, true));
	t->end = i;
}

static int most_gain_first(const void *va, const void *vb)
{
	const struct target *a = va, *b = vb;

	if (a->gain != b->gain)
		return a->gain > b->gain ? -1 : 1;
	return a->first < b->first ? -1 : 1;
}

static void add_to_order(struct split *s, size_t i)
{
	if (s->units[i].from != s->units[i].to)
		s->order[s->n_order++] = i;
}

/*
 * So that the file has no more fragments on the way: what makes one of most
 * comes first, in each the smallest whole one, unless one stays, and then what
 * is next to that, up to the end and down to the start.
 */
static errcode_t sort_units(struct split *s)
{
	struct target *targets = NULL, *t;
	size_t n = 0, i, k;
	errcode_t err = 0;

	s->order = calloc(s->n_units + 1, sizeof(*s->order));
	if (!s->order)
		return ENOMEM;
	for (i = 0; i < s->n_units; i = targets[n++].end) {
		err = e4l_grow(&targets, n, sizeof(*targets));
		if (err)
			break;
		targets[n] = (struct target) { .first = i };
		find_seed(s, &targets[n]);
	}
	if (n)
		qsort(targets, n, sizeof(*targets), most_gain_first);
	for (t = targets; !err && t < targets + n; t++) {
		for (k = t->seed; k < t->end; k++)
			add_to_order(s, k);
		for (k = t->seed; k > t->first; k--)
			add_to_order(s, k - 1);
	}
	free(targets);
	return err;
}

/* -------------------------------------------------------------------- parts */

/* The @i'th unit that moves. */
static struct unit *in_turn(const struct split *s, size_t i)
{
	return &s->units[s->order[i]];
}

/* How many units from @first on are copied in one part. */
static size_t count_by_copy(const struct split *s, size_t first)
{
	uint64_t copy = 0;
	size_t i;

	for (i = first; i < s->n_order; i++) {
		copy += in_turn(s, i)->copy;
		if (copy > s->m->part && i > first)
			break;
	}
	return i - first;
}

/* How many of @high units from @first on change @room blocks of bitmaps. */
static errcode_t count_units(const struct split *s, size_t first, size_t high,
			     uint64_t room, size_t *n)
{
	uint64_t ratio = s->disk->geo->cluster_blocks;
	size_t low = 0, mid, i;
	errcode_t err = 0;

	while (low < high && !err) {
		struct e4l_groups g = { .geo = s->disk->geo };

		mid = low + (high - low + 1) / 2;
		/* one after the other: neighbours are in one group, mostly */
		for (i = first; i < first + mid && !err; i++)
			err = e4l_groups_add(&g, in_turn(s, i)->from * ratio, 1);
		for (i = first; i < first + mid && !err; i++)
			err = e4l_groups_add(&g, in_turn(s, i)->to * ratio, 1);
		if (e4l_groups_cost(&g) <= room)
			low = mid;
		else
			high = mid - 1;
		free(g.v);
	}
	*n = low;
	return err;
}

/* Where @n units from @first on are, and where they go. */
static errcode_t list_units(const struct split *s, size_t first, size_t n,
			    struct e4l_fragments *from,
			    struct e4l_fragments *to)
{
	uint32_t *v = calloc(n, sizeof(*v));
	errcode_t err = 0;
	size_t i;

	if (!v)
		return ENOMEM;
	memcpy(v, s->order + first, n * sizeof(*v));
	qsort(v, n, sizeof(*v), e4l_u32_cmp);
	for (i = 0; i < n && !err; i++) {
		const struct unit *u = &s->units[v[i]];

		err = e4l_fragments_add(from, u->lc, u->from, u->n);
		if (!err)
			err = e4l_fragments_add(to, u->lc, u->to, u->n);
	}
	free(v);
	return err;
}

/* In how many fragments the file is after the parts so far. */
static size_t count_now(const struct split *s)
{
	uint64_t lc = 0, pc = 0, at;
	size_t i, n = 0;

	for (i = 0; i < s->n_units; i++) {
		const struct unit *u = &s->units[i];

		at = u->moved ? u->to : u->from;
		n += !i || lc != u->lc || pc != at;
		lc = u->lc + u->n;
		pc = at + u->n;
	}
	return n;
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
	size_t x, u;			/* of s->m->ex and s->units */
	uint64_t at;			/* blocks of that extent gone through */
	struct e4l_state_run next;	/* not handed out yet */
};

/* What is in one extent and one unit. */
static bool next_piece(struct walk *w, struct e4l_state_run *piece)
{
	uint64_t ratio = w->s->disk->geo->cluster_blocks, first, end;
	const struct e4l_extent *ex = &w->s->m->ex[w->x];
	const struct unit *u = &w->s->units[w->u];

	if (w->x < w->s->m->n_ex && w->at == ex->len) {
		w->at = 0;
		w->x++;
		ex++;
	}
	if (w->x == w->s->m->n_ex)
		return false;
	first = ex->lblk + w->at;
	while (((uint64_t)u->lc + u->n) * ratio <= first)
		u++;
	end = ((uint64_t)u->lc + u->n) * ratio;
	w->u = u - w->s->units;
	*piece = (struct e4l_state_run) {
		.lblk = first, .pblk = ex->pblk + w->at,
		.len = ex->len - w->at, .unwritten = ex->unwritten,
	};
	if (u->moved)
		piece->pblk = u->to * ratio + (first - u->lc * ratio);
	if (piece->len > end - first)
		piece->len = end - first;
	w->at += piece->len;
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
	struct walk w = { .s = s };
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
	struct walk w = { .s = s };
	size_t n = 0;

	e4l_packed_drop_extents(step);
	step->new_extents = calloc(step->n_new + 1, sizeof(*step->new_extents));
	if (!step->new_extents)
		return ENOMEM;
	while (next_run(&w, &run))
		n += e4l_cut_run(&run, step->new_extents + n);
	return 0;
}

/* Makes the step that moves @n units from @first on, which have. */
static errcode_t make_part(struct split *s, size_t first, size_t n,
			   struct e4l_step *step, enum outcome *outcome)
{
	struct e4l_fragments from = { 0 }, to = { 0 };
	blk64_t start = count_extents(s, step);
	bool placed, fits = false;
	errcode_t err;

	err = list_units(s, first, n, &from, &to);
	if (!err)
		err = e4l_step_move(s->disk->geo, s->m->ex, s->m->n_ex, &from,
				    &to, step);
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
	struct walk w = { .s = s };
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

static uint64_t count_copy(const struct split *s, size_t first, size_t n)
{
	uint64_t copy = 0;

	while (n--)
		copy += in_turn(s, first++)->copy;
	return copy;
}

static void set_moved(struct split *s, size_t first, size_t n, bool moved)
{
	while (n--)
		in_turn(s, first++)->moved = moved;
}

/* Makes a part of @n units from @first on, if that is at least @good_enough. */
static errcode_t try_part(struct split *s, size_t first, size_t n,
			  enum outcome good_enough, enum outcome *outcome)
{
	uint64_t copy = count_copy(s, first, n);
	struct e4l_step step = {
		.bytes_to_copy = copy * s->disk->geo->blocksize,
	};
	errcode_t err;

	*outcome = TOO_LARGE;
	if (copy > s->m->budget - s->copied) {
		s->over_budget = true;
		return 0;
	}
	set_moved(s, first, n, true);
	err = make_part(s, first, n, &step, outcome);
	if (!err && *outcome < good_enough) {
		set_moved(s, first, n, false);
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
static errcode_t fit_part(struct split *s, size_t first, size_t *n)
{
	size_t rest = s->n_order - first, worse = 0;
	enum outcome outcome;
	errcode_t err = 0;

	while (*n && !err) {
		err = try_part(s, first, *n, worse == *n ? WORSE : GOOD,
			       &outcome);
		if (err || outcome == GOOD || (outcome && worse == *n))
			break;
		if (outcome == WORSE) {
			worse = *n;
			*n += *n / 4 + 1;
			*n = *n < rest ? *n : rest;
		} else if (worse) {
			*n = s->over_budget ? 0 : worse;
		} else {
			*n = *n * 3 / 4;
		}
	}
	return err;
}

/* Makes one part more, as large as it may be; *@n is 0 if there is none. */
static errcode_t next_part(struct split *s, size_t first, size_t *n)
{
	uint64_t limit = s->disk->geo->txn_blocks;
	uint64_t fixed = e4l_inode_cost(s->disk->geo) +
			 (s->n_tree > limit / 2 ? 0 : s->n_tree);
	size_t most = count_by_copy(s, first);
	errcode_t err = 0;

	*n = limit ? 0 : most;
	if (limit && fixed < limit)
		err = count_units(s, first, most, limit - fixed, n);
	return err ? err : fit_part(s, first, n);
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

/* The units from @first on do not move after all. */
static errcode_t put_rest_back(struct split *s, size_t first)
{
	errcode_t err = 0;

	for (; first < s->n_order && !err; first++)
		err = e4l_space_add(s->disk->space, in_turn(s, first)->to,
				    in_turn(s, first)->n);
	return err;
}

/* The parts move all units before @end: keeps them if that is any good. */
static errcode_t keep_parts(struct split *s, size_t end)
{
	size_t now = count_now(s);
	struct e4l_step *last;
	errcode_t err;
	bool good = end == s->n_order ||
		    (s->over_budget && s->parts.n &&
		     s->n_ex <= s->m->n_entries && now < s->n_old);

	if (!good)
		return drop_parts(s);
	last = &s->parts.v[s->parts.n - 1];
	last->fragments_saved = s->n_old - now;
	err = list_extents(s, last);
	return err ? err : put_rest_back(s, end);
}

/* Makes the parts. */
static errcode_t split_units(struct split *s)
{
	size_t first = 0, n = 1;
	errcode_t err = sort_units(s);

	for (; !err && n && first < s->n_order; first += n)
		err = next_part(s, first, &n);
	return err ? err : keep_parts(s, first);
}

errcode_t e4l_split_move(const struct e4l_disk *disk,
			 const struct e4l_moving *m, struct e4l_steps *steps)
{
	struct split s = {
		.disk = disk, .m = m, .n_ex = m->n_ex, .n_old = m->old.n,
		.fragments = e4l_count_fragments(m->ex, m->n_ex, NULL),
		.tree = m->tree, .n_tree = m->n_tree,
	};
	errcode_t err;

	err = e4l_each_shift(&m->old, &m->new, add_units, &s);
	if (!err)
		err = split_units(&s);
	free(s.units);
	free(s.order);
	if (err)
		drop_parts(&s);
	*steps = s.parts;
	return err;
}
