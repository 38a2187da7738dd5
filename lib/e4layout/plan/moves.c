/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * moves: adds moves to an attempt (struct e4l_work), and updates the layout of
 * the attempt.
 */
#include "config.h"
#include "e4layout/base/array.h"
#include "e4layout/format/tree_size.h"
#include "work.h"
#include "e4layout/read/zero_runs.h"

static errcode_t add_move(struct e4l_work *w, const struct e4l_plan_move *move)
{
	errcode_t err = e4l_reserve(&w->move, w->n_moves, &w->max_moves, 1,
				    sizeof(*w->move));

	if (err)
		return err;
	w->move[w->n_moves] = *move;
	w->move[w->n_moves++].batch = w->batch;
	return 0;
}

/*
 * Copies the bits of w->unwritten for @len clusters from cluster @from to @to.
 */
static void move_states(struct e4l_work *w, uint32_t from, uint32_t to,
			uint32_t len)
{
	uint32_t ratio = w->m->opt.geo.cluster_blocks, at, end;

	from *= ratio;
	to *= ratio;
	len *= ratio;
	e4l_map_set(w->unwritten, to, to + len, false);
	for (at = from; ; at = end) {
		at = e4l_map_next(w->unwritten, at, from + len, true);
		if (at == from + len)
			return;
		end = e4l_map_next(w->unwritten, at, from + len, false);
		e4l_map_set(w->unwritten, to + (at - from), to + (end - from),
			    true);
	}
}

/*
 * Records in the layout that fragment @f moves to cluster @to.  If @waits is
 * true, the fragment stays loose, because a later batch will move the fragment
 * again.
 */
static void put_fragment(struct e4l_work *w, uint32_t f, uint32_t to,
			 bool waits)
{
	struct e4l_frag *frag = &w->frag[f];
	uint32_t file = w->item[frag->item].file;
	uint64_t blocks = frag->lstart == E4L_NONE ? 0 :	/* a tree block */
			  e4l_plan_written(w->unwritten,
					    w->m->opt.geo.cluster_blocks,
					    frag->start, frag->len);

	w->moved[file] = true;
	w->copied += blocks;
	if (w->unwritten)
		move_states(w, frag->start, to, frag->len);
	e4l_map_set(w->used, to, to + frag->len, true);
	e4l_map_set(w->given, frag->start, frag->start + frag->len, true);
	e4l_map_set(w->loose, frag->start, frag->start + frag->len, false);
	if (waits)
		e4l_map_set(w->loose, to, to + frag->len, true);
	frag->start = to;
}

static void note_source(const struct e4l_frag *f, struct e4l_plan_move *move)
{
	move->sum += e4l_place_sum(f->start, f->len);
	move->len += f->len;
}

static struct e4l_plan_move begin_move(const struct e4l_work *w, uint32_t f,
				       uint32_t file, uint32_t to)
{
	const struct e4l_frag *frag = &w->frag[f];
	bool tree = frag->lstart == E4L_NONE;

	return (struct e4l_plan_move) {
		.file = file, .to = to,
		.kind = tree ? E4L_MOVE_TREE : E4L_MOVE_DATA,
		.lstart = tree ? frag->start : frag->lstart,
	};
}

/*
 * Marks an item as moved.  If the item was the last fragmented item of the
 * file, calls e4l_move_finish(), which zeroes unwritten runs and packs the
 * tree.
 */
static errcode_t end_item(struct e4l_work *w, uint32_t i)
{
	uint32_t file = w->item[i].file;

	w->item[i].state = E4L_MOVED;
	w->to_move -= w->item[i].len;
	if (!w->item[i].broken)
		return 0;
	w->item[i].broken = false;
	return --w->broken_items[file] ? 0 : e4l_move_finish(w, file);
}

/*
 * Returns the number of fragments of item @i.  Fragments that are adjacent on
 * the disk count as one fragment.
 */
static uint32_t count_pieces(const struct e4l_work *w, uint32_t i)
{
	uint32_t f = w->item[i].first, end = E4L_NONE, pieces = 0, n;

	for (n = w->item[i].n; n; n--, f = w->frag[f].next) {
		pieces += w->frag[f].start != end;
		end = w->frag[f].start + w->frag[f].len;
	}
	return pieces;
}

/* Merges the fragments of an item that has become contiguous. */
static void merge_fragments(struct e4l_work *w, uint32_t i)
{
	struct e4l_work_item *it = &w->item[i];
	struct e4l_frag *first = &w->frag[it->first];
	uint32_t f = first->next;

	for (; it->n > 1; it->n--) {
		first->len += w->frag[f].len;
		first->next = w->frag[f].next;
		w->frag[f].len = 0;
		f = first->next;
	}
}

static errcode_t waits_whole(struct e4l_work *w, uint32_t i)
{
	if (!w->item[i].broken)
		return 0;
	w->item[i].broken = false;
	return --w->broken_items[w->item[i].file] ? 0 :
	       e4l_move_finish(w, w->item[i].file);
}

/*
 * Whether a move of the @n fragments from @f on exceeds the copy budget.  If
 * the move exceeds the budget, sets w->spent.
 */
static bool is_too_much(struct e4l_work *w, uint32_t f, uint32_t n)
{
	uint64_t budget = w->m->opt.copy_budget_blocks, blocks = w->copied;
	const struct e4l_frag *frag;

	for (; budget != E4L_NO_LIMIT && n; n--, f = frag->next) {
		frag = &w->frag[f];
		if (frag->lstart != E4L_NONE)
			blocks += e4l_plan_written(w->unwritten,
					w->m->opt.geo.cluster_blocks,
					frag->start, frag->len);
	}
	w->spent |= blocks > budget;
	return blocks > budget;
}

errcode_t e4l_move_item(struct e4l_work *w, uint32_t i, uint32_t to,
			bool waits)
{
	const struct e4l_work_item *it = &w->item[i];
	struct e4l_plan_move move = begin_move(w, it->first, it->file, to);
	uint32_t f = it->first, n;
	errcode_t err;

	if (is_too_much(w, f, it->n))
		return 0;
	for (n = it->n; n; n--, f = w->frag[f].next)
		note_source(&w->frag[f], &move);
	err = add_move(w, &move);
	if (err)
		return err;
	w->excess -= count_pieces(w, i) - 1;
	for (n = it->n, f = it->first; n; n--, f = w->frag[f].next) {
		put_fragment(w, f, to, waits);
		to += w->frag[f].len;
	}
	merge_fragments(w, i);
	return waits ? waits_whole(w, i) : end_item(w, i);
}

errcode_t e4l_move_rest(struct e4l_work *w, uint32_t i, uint32_t to)
{
	const struct e4l_work_item *it = &w->item[i];
	uint32_t f = it->first, n, next;
	struct e4l_plan_move move = { 0 };
	errcode_t err = 0;

	if (is_too_much(w, f, it->n))
		return 0;
	w->excess -= count_pieces(w, i) - 1;
	for (n = it->n; n && !err; n--, f = next) {
		next = w->frag[f].next;
		if (w->frag[f].start != to) {
			if (!move.len)
				move = begin_move(w, f, it->file, to);
			note_source(&w->frag[f], &move);
			put_fragment(w, f, to, false);
		}
		to += w->frag[f].len;
		if (move.len && (n == 1 || w->frag[next].start == to)) {
			err = add_move(w, &move);
			move.len = 0;
		}
	}
	if (err)
		return err;
	merge_fragments(w, i);
	return end_item(w, i);
}

errcode_t e4l_move_fragment(struct e4l_work *w, uint32_t f, uint32_t to)
{
	struct e4l_plan_move move = begin_move(w, f,
				w->item[w->frag[f].item].file, to);
	errcode_t err;

	if (is_too_much(w, f, 1))
		return 0;
	note_source(&w->frag[f], &move);
	w->item[w->frag[f].item].touched = w->batch;
	err = add_move(w, &move);
	if (!err)
		put_fragment(w, f, to, true);
	return err;
}

/*
 * Returns one extent for the fragment *@f and the fragments that continue *@f
 * on the disk.  Sets *@f to the first fragment after the extent.
 */
static struct e4l_extent next_stretch(const struct e4l_work *w, uint32_t *f)
{
	uint32_t ratio = w->m->opt.geo.cluster_blocks, n = 0;
	const struct e4l_frag *first = &w->frag[*f];

	do {
		n += w->frag[*f].len;
		*f = w->frag[*f].next;
	} while (*f != E4L_NONE && w->frag[*f].start == first->start + n);
	return (struct e4l_extent) {
		.lblk = first->lstart * ratio, .len = n * ratio,
		.pblk = (blk64_t)first->start * ratio,
	};
}

/*
 * Whether the unwritten run @run is to be zeroed, ends in the extent @s, and
 * can be merged with other blocks of @s.  next_stretch() has returned @s.
 */
static bool saves_extents(const struct e4l_zero_run *run,
			  const struct e4l_extent *s)
{
	uint64_t end = run->lblk + (uint64_t)run->len;
	uint64_t s_end = s->lblk + (uint64_t)s->len;

	return run->chosen && end <= s_end &&
	       ((run->before && run->lblk > s->lblk) ||
		(run->behind && end < s_end));
}

/*
 * Returns the number of blocks to zero in the current layout of the file.  If
 * @write is set, marks the blocks to zero as written.
 */
static uint64_t zero_runs(struct e4l_work *w, uint32_t file, bool write)
{
	const struct e4l_owner *o = &w->m->owner[file];
	const struct e4l_zero_run *run;
	uint64_t blocks = 0, at;
	struct e4l_extent s;
	uint32_t i, f;
	size_t n;

	if (!o->zeroes)
		return 0;
	run = e4l_zero_of_file(w->m->zero, w->m->n_zero, file, &n);
	/*
	 * the planner does not know where the blocks of a file are that cannot
	 * be moved: count all chosen runs of such a file
	 */
	for (; n && !o->n_items; n--, run++)
		blocks += run->chosen ? run->len : 0;
	for (i = 0; w->unwritten && i < o->n_items - o->n_kept && n; i++) {
		f = w->m->item[o->first_item + i].first;
		while (f != E4L_NONE && n) {
			s = next_stretch(w, &f);
			for (; n && run->lblk < s.lblk + (uint64_t)s.len;
			     n--, run++) {
				at = s.pblk + (run->lblk - s.lblk);
				if (!saves_extents(run, &s) ||
				    !e4l_map_test(w->unwritten, at))
					continue;
				blocks += run->len;
				if (write)
					e4l_map_set(w->unwritten, at,
						    at + run->len, false);
			}
		}
	}
	return blocks;
}

static bool is_whole(const struct e4l_work *w, const struct e4l_owner *o)
{
	uint32_t i;

	for (i = 0; i < o->n_items; i++)
		if (e4l_work_pieces(w, o->first_item + i) > 1)
			return false;
	return true;
}

/*
 * Records that the spare tree blocks [@i, @end) of a file become free at the
 * end of the batch.
 */
static void give_spares(struct e4l_work *w, const struct e4l_owner *o,
			uint32_t i, uint32_t end)
{
	uint32_t c;

	for (; i < end; i++) {
		c = w->m->spare[o->first_spare + i];
		e4l_map_set(w->given, c, c + 1, true);
		e4l_map_set(w->loose, c, c + 1, false);
	}
}

/*
 * Adds a move that packs the tree of the file.  @kind is E4L_MOVE_PACK or
 * E4L_MOVE_FINISH.
 */
static errcode_t add_pack(struct e4l_work *w, uint32_t file,
			  unsigned int kind)
{
	return add_move(w, &(struct e4l_plan_move) {
			.file = file, .kind = kind, .lstart = E4L_NONE });
}

errcode_t e4l_move_finish(struct e4l_work *w, uint32_t file)
{
	const struct e4l_owner *o = &w->m->owner[file];
	uint8_t *state = &w->finished[file];
	bool whole = *state < E4L_FINISHED && is_whole(w, o);
	uint32_t first = whole ? 0 : o->n_spare - o->n_surplus;
	uint32_t end = *state < E4L_PACKED ? o->n_spare :
		       o->n_spare - o->n_surplus;
	uint64_t zeroes;

	if (*state >= E4L_FINISHED)
		return 0;
	zeroes = zero_runs(w, file, false);
	if (*state == E4L_IMPROVED && !whole && !zeroes)
		return 0;
	w->zeroed += zeroes;
	*state = whole ? E4L_FINISHED : E4L_IMPROVED;
	if (first == end && !o->loose && !zeroes)
		return 0;
	give_spares(w, o, first, end);
	w->moved[file] = false;
	return add_pack(w, file, E4L_MOVE_FINISH);
}

/*
 * Returns the smallest number of extents that can map the blocks of @s, an
 * extent that next_stretch() has returned.
 */
static uint64_t count_extents(const struct e4l_work *w,
			      const struct e4l_extent *s)
{
	uint64_t end = s->pblk + s->len, at = s->pblk, next, n = 0;
	bool unwritten = false;

	for (; at < end; at = next) {
		next = end;
		if (w->unwritten) {
			unwritten = e4l_map_test(w->unwritten, at);
			next = e4l_map_next(w->unwritten, at, end, !unwritten);
		}
		n += (next - at + E4L_WRITTEN_MAX_BLOCKS - 1 + unwritten) /
		     E4L_WRITTEN_MAX_BLOCKS;
	}
	return n;
}

/*
 * Whether the extents of the file in the current layout fit into the inode.
 */
static bool fits_inode(const struct e4l_work *w, const struct e4l_owner *o)
{
	uint64_t extents = 0;
	struct e4l_extent s;
	uint32_t i, f;

	for (i = 0; i < o->n_items - o->n_kept; i++) {
		f = w->m->item[o->first_item + i].first;
		while (f != E4L_NONE) {
			s = next_stretch(w, &f);
			extents += count_extents(w, &s);
		}
	}
	return !e4l_ideal_tree_blocks(extents, w->m->opt.geo.blocksize);
}

/*
 * Records that all tree blocks of an unfinished file become free at the end of
 * the batch.  If @packed is set, omits the surplus tree blocks, which are
 * already free.
 */
static void give_tree(struct e4l_work *w, const struct e4l_owner *o, bool packed)
{
	const struct e4l_frag *frag;
	uint32_t i;

	give_spares(w, o, 0, o->n_spare - (packed ? o->n_surplus : 0));
	for (i = o->n_items - o->n_kept; i < o->n_items; i++) {
		frag = &w->frag[w->m->item[o->first_item + i].first];
		e4l_map_set(w->given, frag->start, frag->start + frag->len,
			    true);
	}
}

errcode_t e4l_move_repack(struct e4l_work *w, uint32_t file)
{
	const struct e4l_owner *o = &w->m->owner[file];
	bool finished = w->finished[file] >= E4L_FINISHED;

	if (!w->moved[file] || !(o->allowed & E4L_PLAN_PACK) ||
	    !(o->n_kept + (finished ? 0 : o->n_spare)))
		return 0;
	if (!finished && !fits_inode(w, o))
		return 0;
	if (!finished)
		give_tree(w, o, w->finished[file] >= E4L_PACKED);
	w->moved[file] = false;
	return add_pack(w, file, E4L_MOVE_FINISH);
}

errcode_t e4l_move_pack(struct e4l_work *w, uint32_t file)
{
	const struct e4l_owner *o = &w->m->owner[file];

	if (w->finished[file] != E4L_AS_BEFORE || !o->n_surplus)
		return 0;
	w->finished[file] = E4L_PACKED;
	give_spares(w, o, o->n_spare - o->n_surplus, o->n_spare);
	return add_pack(w, file, E4L_MOVE_PACK);
}

void e4l_end_batch(struct e4l_work *w)
{
	uint32_t i;

	/*
	 * the chosen unwritten runs are zeroed at their new positions, after
	 * all moves of the batch
	 */
	for (; w->n_settled < w->n_moves && w->unwritten; w->n_settled++)
		if (w->move[w->n_settled].kind == E4L_MOVE_FINISH)
			zero_runs(w, w->move[w->n_settled].file, true);
	for (i = 0; i < w->m->clusters / E4L_WORD_BITS; i++)
		if (w->given[i]) {
			w->used[i] &= ~w->given[i];
			w->given[i] = 0;
		}
	w->batch++;
}
