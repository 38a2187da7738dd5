/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * regroup_exchange: exchanges inodes between blocks of the inode tables, if
 * there are too few free inodes for windows (ranges of free inodes):
 *
 *  1. members: list the inodes of every directory, by the inode-table block
 *     that contains them after the moves planned so far;
 *  2. quotas: assign the number of inodes per directory and block
 *     (block_shares.c);
 *  3. flows: choose the inodes that move, with their old and new blocks;
 *  4. trails: order the moves so that each inode finds a free inode number
 *     (trails.c), and divide the moves into groups.  After a group, no
 *     directory has more blocks than before the exchange, unless the group has
 *     LONG_GROUP moves.
 *
 * Files with several names are not moved, because a move would have to save
 * blocks in all of their directories.
 *
 * Example: 4224 inodes are in 64 directories whose files were created
 * alternately, and use 4106 inode-table blocks.  With 109 free inodes, windows
 * reduce the number of blocks to 3670, and exchanges to 1034.  With 445 free
 * inodes, windows reach the minimum.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "regroup_work.h"
#include "block_shares.h"
#include "trails.h"
#include "e4layout/base/array.h"
#include "e4layout/format/dirent.h"
#include "windows.h"

/*
 * Bytes of memory that an exchange needs per inode: one element of each array,
 * and 52 bytes in trails.c.
 */
#define MEMBER_BYTES	(sizeof(struct member_at) + sizeof(struct e4l_cell) + \
			 sizeof(struct flow) + \
			 sizeof(struct e4l_trail_move) + 52)

/*
 * Moves are planned in groups, and a run may be stopped after each group.  A
 * group has at least GROUP_MOVES moves.  After LONG_GROUP moves, a group ends
 * even if a directory has more blocks than before the exchange.
 */
#define GROUP_MOVES	64
#define LONG_GROUP	16384

/* value of @lblk for the inode of the directory itself */
#define SELF		UINT32_MAX

static const char several[] = "counting the names of an inode";

struct member_at {
	/*
	 * index in x->nr; until list_blocks() has run, number of the
	 * inode-table block
	 */
	uint32_t block;
	uint32_t dir : 31, fixed : 1;
	ext2_ino_t ino;			/* inode number before all moves */
	/*
	 * logical directory block with the entry of the inode; SELF: the inode
	 * is the directory's own inode
	 */
	uint32_t lblk;
};

/*
 * A move of an inode from one cell (pair of directory and block) to another: an
 * index in x->m, and two indexes in x->q.cells.
 */
struct flow {
	uint32_t member, from, to;
};

struct e4l_exchange {
	struct regroup *r;
	struct member_at *m;
	size_t n_m, most;
	struct e4l_quotas q;
	uint32_t *nr; /* inode-table block numbers, by block index */
	uint16_t *room, *vacant;
	struct flow *flows;
	size_t n_flows;
	struct e4l_trail_step *steps;
	size_t n_steps;
	/*
	 * for each directory: number of blocks before the exchange (@had), and
	 * after the planned moves (@has)
	 */
	uint32_t *had, *has;
	/*
	 * number of directories with more blocks than before the exchange
	 * (@worse), and with fewer blocks (@better)
	 */
	uint32_t worse, better;
	/* number of inode-table blocks that the planned moves save */
	int64_t saved;
	ext2_ino_t left; /* inode number that the last planned move freed */
	ext2_ino_t place; /* temporary inode number for E4L_TRAIL_AWAY */
	bool away; /* an inode temporarily has the number @place */
};

/* --------------------------------------------------------------- 1. members */

static errcode_t add_member(struct e4l_exchange *x, uint32_t dir,
			    ext2_ino_t ino, uint32_t lblk, bool fixed)
{
	struct regroup *r = x->r;
	errcode_t err;

	if (x->n_m == x->most)
		return 0;
	err = e4l_grow(&x->m, x->n_m, sizeof(*x->m));
	if (err)
		return err;
	x->m[x->n_m++] = (struct member_at) {
		.block = block_of(r, e4l_regroup_number_of(r, ino)),
		.dir = dir, .fixed = fixed, .ino = ino, .lblk = lblk,
	};
	return 0;
}

static bool is_fixed(const struct regroup *r, ext2_ino_t ino)
{
	return e4l_numbers_why(r->numbers, ino) ||
	       !e4l_regroup_is_asked(r, ino) || e4l_regroup_is_linked(r, ino);
}

static errcode_t learn_entry(struct regroup *r, uint32_t dir,
			     const struct e4l_dirent *entry, uint32_t lblk)
{
	if (e4l_regroup_find(r, entry->ino) != E4L_NO_DIR)
		return 0;
	return add_member(r->exchange, dir, entry->ino, lblk,
			  is_fixed(r, entry->ino));
}

static errcode_t learn_dir(struct e4l_exchange *x, uint32_t dir)
{
	struct regroup *r = x->r;
	ext2_ino_t ino = map_of(r, dir)->ino;
	errcode_t err = add_member(x, dir, ino, SELF, is_fixed(r, ino) ||
				   e4l_regroup_dir_fixed(r, dir));

	return err ? err : e4l_regroup_read(r, dir, learn_entry);
}

/*
 * Sorts by inode-table block, then by directory.  Within a directory, inodes
 * that must not move come first, then the directory's own inode.
 */
static int by_place(const void *va, const void *vb)
{
	const struct member_at *a = va, *b = vb;

	if (a->block != b->block)
		return e4l_u32_cmp(&a->block, &b->block);
	if (a->dir != b->dir)
		return a->dir < b->dir ? -1 : 1;
	if (a->fixed != b->fixed)
		return a->fixed ? -1 : 1;
	if ((a->lblk == SELF) != (b->lblk == SELF))
		return a->lblk == SELF ? -1 : 1;
	return e4l_u32_cmp(&a->ino, &b->ino);
}

static bool lacks_room(const struct regroup *r, uint32_t dir)
{
	return e4l_regroup_lacks_room(r, dir) && !r->fates[dir].planned;
}

/*
 * Removes the inodes of directory @dir from x->m, and records that @dir and all
 * later directories are skipped.  Call this function if the memory limit is
 * reached while the inodes of @dir are listed.
 */
static void drop_rest(struct e4l_exchange *x, uint32_t dir)
{
	while (x->n_m && x->m[x->n_m - 1].dir == dir)
		x->n_m--;
	for (; dir < x->r->g.n_dirs; dir++)
		if (lacks_room(x->r, dir))
			x->r->fates[dir].why = E4L_SKIP_MEMORY;
}

static errcode_t learn_all(struct e4l_exchange *x)
{
	struct regroup *r = x->r;
	errcode_t err = 0;
	uint32_t i;

	for (i = 0; i < r->g.n_dirs && x->n_m < x->most && !err; i++)
		err = should_stop(r) ? E4L_ET_INTERRUPTED : learn_dir(x, i);
	if (x->n_m == x->most)
		drop_rest(x, i ? i - 1 : 0);
	if (!err && x->n_m)
		qsort(x->m, x->n_m, sizeof(*x->m), by_place);
	return err;
}

/* ---------------------------------------------------------------- 2. quotas */

/*
 * Fills x->nr with the numbers of the inode-table blocks that hold the inodes
 * in the array x->m.  In x->m, replaces each block number by its index in
 * x->nr.
 */
static errcode_t list_blocks(struct e4l_exchange *x)
{
	uint32_t nr, n = 0;
	size_t i;

	for (i = 0; i < x->n_m; i++)
		n += !i || x->m[i].block != x->m[i - 1].block;
	x->nr = calloc(n + 1, sizeof(*x->nr));
	x->room = calloc(n + 1, sizeof(*x->room));
	x->vacant = calloc(n + 1, sizeof(*x->vacant));
	if (!x->nr || !x->room || !x->vacant)
		return ENOMEM;
	for (i = n = 0; i < x->n_m; i++) {
		nr = x->m[i].block;
		if (!n || nr != x->nr[n - 1]) {
			x->nr[n] = nr;
			x->vacant[n] = x->room[n] =
				e4l_regroup_count_free(x->r, nr);
			n++;
		}
		x->m[i].block = n - 1;
		x->room[n - 1] += !x->m[i].fixed;
		if (x->room[n - 1] > x->r->per_block)
			return e4l_fail(x->r->e, E4L_ET_DAMAGED, several,
					x->m[i].ino, 0);
	}
	x->q.blocks = n;
	return 0;
}

static errcode_t add_to_cell(struct e4l_exchange *x, const struct member_at *m)
{
	struct e4l_quotas *q = &x->q;
	struct e4l_cell *cell = q->n_cells ? &q->cells[q->n_cells - 1] : NULL;
	errcode_t err;

	if (!cell || cell->block != m->block || cell->dir != m->dir) {
		err = e4l_grow(&q->cells, q->n_cells, sizeof(*q->cells));
		if (err)
			return err;
		cell = &q->cells[q->n_cells++];
		*cell = (struct e4l_cell) { .dir = m->dir, .block = m->block };
	}
	if (m->fixed)
		cell->fixed = true;
	else
		cell->count++;
	return 0;
}

static errcode_t make_quotas(struct e4l_exchange *x)
{
	errcode_t err = list_blocks(x);
	size_t i;

	for (i = 0; i < x->n_m && !err; i++)
		err = add_to_cell(x, &x->m[i]);
	if (err)
		return err;
	x->q.dirs = x->r->g.n_dirs;
	x->q.per_block = x->r->per_block;
	x->q.room = x->room;
	return e4l_quotas_make(&x->q);
}

/* ---------------------------------------------------------- 3. maximum flow */

/*
 * Cells that should get more inodes, sorted by directory.  A cell is a pair of
 * a directory and a block of the inode tables.
 */
struct wanting {
	/*
	 * first[dir]: index in @cell of the next cell (pair of directory and
	 * block) of directory dir that gets an inode
	 */
	uint32_t *first;
	uint32_t *cell;
};

static uint32_t lacks(const struct e4l_cell *cell)
{
	return cell->quota > cell->count ? cell->quota - cell->count : 0;
}

/*
 * Fills @w: lists each cell (pair of directory and block) once for each inode
 * that the cell should get, that is, quota - count times.
 */
static errcode_t list_wanting(struct e4l_exchange *x, struct wanting *w)
{
	const struct e4l_quotas *q = &x->q;
	uint32_t sum = 0, n;
	size_t i, j;

	w->first = calloc((size_t)q->dirs + 1, sizeof(*w->first));
	if (!w->first)
		return ENOMEM;
	for (i = 0; i < q->n_cells; i++)
		w->first[q->cells[i].dir] += lacks(&q->cells[i]);
	for (i = 0; i < q->dirs; i++, sum += n) {
		n = w->first[i];
		w->first[i] = sum;
	}
	w->cell = calloc((size_t)sum + 1, sizeof(*w->cell));
	x->flows = calloc((size_t)sum + 1, sizeof(*x->flows));
	if (!w->cell || !x->flows)
		return ENOMEM;
	for (i = 0; i < q->n_cells; i++)
		for (j = lacks(&q->cells[i]); j; j--)
			w->cell[w->first[q->cells[i].dir]++] = i;
	for (i = q->dirs; i; i--)
		w->first[i] = w->first[i - 1];
	w->first[0] = 0;
	return 0;
}

/*
 * If cell @cell (a pair of directory and block) has more inodes than planned,
 * plans moves of the surplus inodes to other cells of the directory.  The last
 * inode of the cell has the index @end - 1 in x->m.
 */
static void flow_out(struct e4l_exchange *x, struct wanting *w, uint32_t cell,
		     size_t end)
{
	const struct e4l_cell *c = &x->q.cells[cell];
	uint32_t n;

	for (n = c->count; n > c->quota; n--)
		x->flows[x->n_flows++] = (struct flow) {
			.member = --end, .from = cell,
			.to = w->cell[w->first[c->dir]++],
		};
}

static errcode_t make_flows(struct e4l_exchange *x)
{
	struct wanting w = { .first = NULL };
	errcode_t err = list_wanting(x, &w);
	uint32_t cell = 0;
	size_t i;

	/*
	 * the inodes in x->m and the cells (pairs of directory and block) in
	 * x->q.cells are in the same order
	 */
	for (i = 0; i < x->n_m && !err; i++)
		if (i + 1 == x->n_m || x->m[i].block != x->m[i + 1].block ||
		    x->m[i].dir != x->m[i + 1].dir)
			flow_out(x, &w, cell++, i + 1);
	free(w.first);
	free(w.cell);
	return err;
}

/* ---------------------------------------------------- 4. sequences of moves */

static errcode_t make_trails(struct e4l_exchange *x)
{
	struct e4l_trail_move *moves = calloc(x->n_flows + 1, sizeof(*moves));
	errcode_t err;
	size_t i;

	if (!moves)
		return ENOMEM;
	for (i = 0; i < x->n_flows; i++)
		moves[i] = (struct e4l_trail_move) {
			.from = x->q.cells[x->flows[i].from].block,
			.to = x->q.cells[x->flows[i].to].block,
			.heavy = x->m[x->flows[i].member].lblk == SELF,
		};
	err = e4l_trails_make(moves, x->n_flows, x->vacant, x->q.blocks,
			      &x->steps, &x->n_steps);
	free(moves);
	return err;
}

static errcode_t count_blocks(struct e4l_exchange *x)
{
	const struct e4l_cell *cell = x->q.cells;
	size_t i;

	x->had = calloc((size_t)x->q.dirs + 1, sizeof(*x->had));
	x->has = calloc((size_t)x->q.dirs + 1, sizeof(*x->has));
	if (!x->had || !x->has)
		return ENOMEM;
	for (i = 0; i < x->q.n_cells; i++, cell++)
		x->had[cell->dir] += cell->count || cell->fixed;
	for (i = 0; i < x->q.dirs; i++)
		x->has[i] = x->had[i];
	return 0;
}

/*
 * Returns how many fewer inode-table blocks the selected directories need if
 * each cell gets its quota of inodes.
 */
static uint64_t count_saved(const struct e4l_exchange *x)
{
	const struct e4l_cell *cell = x->q.cells;
	int64_t saved = 0;
	size_t i;

	for (i = 0; i < x->q.n_cells; i++, cell++)
		if (x->r->fates[cell->dir].wanted && !cell->fixed)
			saved += !!cell->count - !!cell->quota;
	return saved > 0 ? saved : 0;
}

static void count_dir(struct e4l_exchange *x, uint32_t dir, int sign)
{
	const struct fate *fate = &x->r->fates[dir];
	bool counts = fate->wanted && !fate->planned;

	x->worse += sign * (x->has[dir] > x->had[dir]);
	x->better += sign * (counts && x->has[dir] < x->had[dir]);
}

/* Adds @more, which is 1 or -1, to the number of blocks of directory @dir. */
static void change_blocks(struct e4l_exchange *x, uint32_t dir, int more)
{
	count_dir(x, dir, -1);
	x->has[dir] += more;
	count_dir(x, dir, 1);
	if (x->r->fates[dir].wanted)
		x->saved -= more;
}

static void leave_cell(struct e4l_exchange *x, struct e4l_cell *cell)
{
	if (!--cell->count && !cell->fixed)
		change_blocks(x, cell->dir, -1);
}

static void enter_cell(struct e4l_exchange *x, struct e4l_cell *cell)
{
	if (!cell->count++ && !cell->fixed)
		change_blocks(x, cell->dir, 1);
}

static ext2_ino_t free_in(const struct e4l_exchange *x, uint32_t nr)
{
	ext2_ino_t first = nr * x->r->per_block + 1;

	return e4l_inode_free_in(x->r->e->fs, x->r->map, first,
				 first + x->r->per_block);
}

/*
 * Returns a free inode number, in any block, for temporary use.  If no inode is
 * free, returns 0.  Each cycle of moves leaves as many free inodes as before,
 * so one free inode is enough for all cycles.
 */
static ext2_ino_t find_place(struct e4l_exchange *x)
{
	struct regroup *r = x->r;
	ext2_ino_t inodes = r->e->fs->super->s_inodes_count;

	if (x->place && ext2fs_test_inode_bitmap2(r->map, x->place))
		x->place = free_in(x, block_of(r, x->place));
	if (!x->place)
		x->place = e4l_inode_free_in(r->e->fs, r->map, 1, inodes +
					     (inodes < UINT32_MAX));
	return x->place;
}

static errcode_t add_move(struct e4l_exchange *x, const struct flow *flow,
			  ext2_ino_t from, ext2_ino_t to, bool back)
{
	const struct member_at *m = &x->m[flow->member];
	struct regroup *r = x->r;
	errcode_t err = e4l_grow(&r->moves, r->n_moves, sizeof(*r->moves));

	if (err || !to)
		return err ? err : EINVAL;
	r->moves[r->n_moves++] = (struct e4l_inode_move) {
		.from = from, .to = to, .first = m->ino,
		.again = from != m->ino || back,
		.self = m->lblk == SELF ? m->dir : E4L_NO_DIR,
		.dir = m->dir, .lblk = m->lblk,
	};
	ext2fs_mark_inode_bitmap2(r->map, to);
	ext2fs_unmark_inode_bitmap2(r->map, from);
	x->left = from;
	return 0;
}

/*
 * Returns the inode number to which a step of @kind moves an inode.  If no
 * inode number is free, returns 0.
 */
static ext2_ino_t place_for(struct e4l_exchange *x, enum e4l_trail_kind kind,
			    uint32_t block)
{
	if (kind == E4L_TRAIL_BEGIN)
		return free_in(x, x->nr[block]);
	return kind == E4L_TRAIL_AWAY ? find_place(x) : x->left;
}

static errcode_t add_step(struct e4l_exchange *x,
			  const struct e4l_trail_step *step)
{
	const struct flow *flow = &x->flows[step->move];
	struct e4l_cell *to = &x->q.cells[flow->to];
	ext2_ino_t ino = e4l_regroup_number_of(x->r, x->m[flow->member].ino);
	bool back = step->kind == E4L_TRAIL_BACK;

	if (!back)
		leave_cell(x, &x->q.cells[flow->from]);
	if (step->kind != E4L_TRAIL_AWAY)
		enter_cell(x, to);
	x->away = step->kind == E4L_TRAIL_AWAY || (x->away && !back);
	return add_move(x, flow, back ? x->place : ino,
			place_for(x, step->kind, to->block), back);
}

/*
 * Returns whether the current group of moves ends here.  A run may be stopped
 * between groups.
 */
static bool ends_group(const struct e4l_exchange *x, const struct group *last)
{
	size_t moves = x->r->n_moves - last->end;

	return moves >= LONG_GROUP ||
	       (moves >= GROUP_MOVES && !x->away && !x->worse &&
		x->saved > last->saved);
}

static errcode_t add_group(struct e4l_exchange *x, uint64_t dirs)
{
	struct regroup *r = x->r;
	errcode_t err = e4l_grow(&r->groups, r->n_groups, sizeof(*r->groups));

	if (!err)
		r->groups[r->n_groups++] = (struct group) {
			.end = r->n_moves, .saved = x->saved,
			.dirs = dirs + x->better,
		};
	return err;
}

static errcode_t add_moves(struct e4l_exchange *x)
{
	struct group last = e4l_regroup_last_group(x->r);
	uint64_t dirs = last.dirs;
	errcode_t err = 0;
	size_t i;

	x->saved = last.saved;
	for (i = 0; i < x->n_steps && !err; i++) {
		err = add_step(x, &x->steps[i]);
		if (err || (i + 1 < x->n_steps && !ends_group(x, &last)))
			continue;
		err = add_group(x, dirs);
		last = e4l_regroup_last_group(x->r);
	}
	return err;
}

/*
 * Records in r->fates how many blocks each directory uses after the exchange.
 */
static void tell_fates(struct e4l_exchange *x)
{
	struct fate *fate = x->r->fates;
	uint32_t i;

	for (i = 0; i < x->q.dirs; i++, fate++) {
		if (x->has[i] == x->had[i])
			continue;
		fate->blocks -= x->had[i] - x->has[i];
		x->r->result->dirs_planned += fate->wanted && !fate->planned;
		fate->planned = true;
		fate->why = E4L_SKIP_NONE;
	}
}

static errcode_t make_plan(struct e4l_exchange *x)
{
	errcode_t err = learn_all(x);

	if (!err)
		err = make_quotas(x);
	if (!err)
		err = make_flows(x);
	if (!err)
		err = make_trails(x);
	/*
	 * The exchange is worthwhile only if at most as many inodes move as fit
	 * into the saved blocks.
	 */
	if (err || !x->n_steps ||
	    x->n_steps > count_saved(x) * x->r->per_block)
		return err;
	err = count_blocks(x);
	if (!err)
		err = add_moves(x);
	if (!err)
		tell_fates(x);
	return err;
}

static void free_all(struct e4l_exchange *x)
{
	free(x->m);
	free(x->q.cells);
	free(x->nr);
	free(x->room);
	free(x->vacant);
	free(x->flows);
	free(x->steps);
	free(x->had);
	free(x->has);
}

/*
 * Records for each directory that needs an exchange that an exchange is
 * impossible, because no inode is free.
 */
static void tell_nowhere(struct regroup *r)
{
	uint32_t i;

	for (i = 0; i < r->g.n_dirs; i++)
		if (lacks_room(r, i))
			r->fates[i].why = E4L_SKIP_INODES_FULL;
}

static bool is_wanted(const struct regroup *r)
{
	uint32_t i;

	for (i = 0; i < r->g.n_dirs; i++)
		if (e4l_regroup_lacks_room(r, i))
			return true;
	return false;
}

errcode_t e4l_regroup_exchange(struct regroup *r)
{
	struct e4l_exchange x = { .r = r };
	uint64_t left = e4l_regroup_mem(r) / 2;
	errcode_t err;

	if (!is_wanted(r))
		return 0;
	if (!find_place(&x)) {
		tell_nowhere(r);
		return 0;
	}
	left -= left < r->n_moves * E4L_MOVE_BYTES ?
		left : r->n_moves * E4L_MOVE_BYTES;
	x.most = left / MEMBER_BYTES;
	r->exchange = &x;
	err = make_plan(&x);
	r->exchange = NULL;
	free_all(&x);
	return err;
}
