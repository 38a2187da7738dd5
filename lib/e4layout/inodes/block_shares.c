/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A quota is the number of inodes that a directory shall have in a block of the
 * inode tables.  A pinned directory is a directory whose inodes stay in their
 * blocks.  e4l_quotas_make() assigns the quotas in rounds.  Each round discards
 * the quotas of the previous round, and assigns the quotas of all directories:
 *
 *  1. For a pinned directory, the quotas equal the present numbers of inodes.
 *  2. A directory that needs a whole block gets a whole block.  The directory
 *     with the most inodes in a block has precedence for the block.
 *  3. The remaining inodes are assigned directory by directory.  The directory
 *     with the most remaining inodes is first.  The inodes go into a block in
 *     which the directory already has inodes.  If no such block has enough free
 *     inodes, the inodes go into the block with the smallest sufficient number
 *     of free inodes.  If no block has enough free inodes, the inodes go into
 *     several blocks.
 *
 * If a round gives a directory more blocks than the directory had, the
 * directory is pinned in all later rounds.  When all directories are pinned, no
 * inode moves, and the round is the last.
 */
#include "config.h"
#include "block_shares.h"
#include "e4layout/base/array.h"

/*
 * e4l_quotas_make() assigns inodes to blocks in rounds.  A pinned directory
 * keeps its inodes in their blocks.  After MAX_ROUNDS rounds, each directory
 * that got at least as many blocks as before is pinned.  After 2 * MAX_ROUNDS
 * rounds, all directories are pinned, which ends the rounds.
 */
#define MAX_ROUNDS	16

#define NONE		UINT32_MAX

struct share {
	struct e4l_quotas *q;
	/*
	 * number of cells (pairs of directory and block) that the caller passed
	 */
	size_t n_own;
	/*
	 * Indexes of the caller's cells (pairs of directory and block).
	 * @by_dir is sorted by directory, and @by_count by descending number of
	 * inodes.  first[dir] is the index in @by_dir of the first cell of
	 * directory dir.
	 */
	uint32_t *first, *by_dir, *by_count;
	uint32_t *dirs;	/* directories, sorted by descending @need */
	uint32_t *need; /* per directory: inodes not yet assigned to a block */
	/*
	 * per directory: number of inode-table blocks that had inodes of the
	 * directory before the first round (@had), and number of inode-table
	 * blocks that the current round assigns to the directory (@used)
	 */
	uint32_t *had, *used;
	bool *pinned;
	/*
	 * left[b] is the number of free inodes in inode-table block b.  next[b]
	 * and prev[b] link block b into the list of all blocks with an equal
	 * number of free inodes.  head[n] is the first block with n free
	 * inodes.
	 */
	uint16_t *left;
	uint32_t *next, *prev;
	uint32_t *head;
	/*
	 * per block: index of the cell (pair of directory and block) of the
	 * current directory
	 */
	uint32_t *mine;
	/*
	 * best[n]: of the current directory's cells (pairs of directory and
	 * block) with n free inodes in the block, the index of the cell that
	 * is_better() prefers
	 */
	uint32_t *best;
};

/* ---------------------------------------------- free inodes in table blocks */

static void unlist(struct share *s, uint32_t block)
{
	if (s->prev[block] == NONE)
		s->head[s->left[block]] = s->next[block];
	else
		s->next[s->prev[block]] = s->next[block];
	if (s->next[block] != NONE)
		s->prev[s->next[block]] = s->prev[block];
}

static void enlist(struct share *s, uint32_t block)
{
	uint32_t *head = &s->head[s->left[block]];

	s->next[block] = *head;
	s->prev[block] = NONE;
	if (*head != NONE)
		s->prev[*head] = block;
	*head = block;
}

static void take(struct share *s, uint32_t block, uint32_t n)
{
	unlist(s, block);
	s->left[block] -= n;
	enlist(s, block);
}

/*
 * Inserts each block into the list of blocks with the same number of free
 * inodes.  Each list is in ascending order of block indexes.
 */
static void list_blocks(struct share *s)
{
	uint32_t i;

	for (i = 0; i <= s->q->per_block; i++)
		s->head[i] = NONE;
	for (i = s->q->blocks; i--; ) {
		s->left[i] = s->q->room[i];
		enlist(s, i);
	}
}

/*
 * Of the blocks with at least @n free inodes, returns a block with the fewest
 * free inodes.  If all blocks have fewer than @n free inodes, returns NONE.
 */
static uint32_t find_tight(const struct share *s, uint32_t n)
{
	for (; n <= s->q->per_block; n++)
		if (s->head[n] != NONE)
			return s->head[n];
	return NONE;
}

/* -------------------------------- inodes of a block assigned to a directory */

static void give(struct share *s, uint32_t nr, uint32_t n)
{
	struct e4l_cell *cell = &s->q->cells[nr];

	if (!n)
		return;
	s->used[cell->dir] += !cell->quota && !cell->fixed;
	cell->quota += n;
	s->need[cell->dir] -= n;
	take(s, cell->block, n);
}

/*
 * Assigns @n inodes of directory @dir to @block, in which the directory has no
 * inodes so far.
 */
static errcode_t give_new(struct share *s, uint32_t dir, uint32_t block,
			  uint32_t n)
{
	struct e4l_quotas *q = s->q;
	errcode_t err = e4l_grow(&q->cells, q->n_cells, sizeof(*q->cells));

	if (err)
		return err;
	q->cells[q->n_cells++] = (struct e4l_cell) {
		.dir = dir, .block = block,
	};
	give(s, q->n_cells - 1, n);
	return 0;
}

static uint32_t at_most(uint32_t n, uint32_t most)
{
	return n < most ? n : most;
}

/*
 * Prepares a counting sort in descending order of keys.  On entry, count[key]
 * is the number of elements with this key, for keys from 0 to @most.  On
 * return, count[key] is the index of the first element with this key in the
 * sorted array.
 */
static void begin_at(uint32_t *count, uint32_t most)
{
	uint32_t i, n, sum = 0;

	for (i = most + 1; i--; sum += n) {
		n = count[i];
		count[i] = sum;
	}
}

/* ---------------------------------------------------- 1. pinned directories */

static void begin_round(struct share *s)
{
	struct e4l_cell *cell;
	uint32_t i;

	s->q->n_cells = s->n_own;
	list_blocks(s);
	for (i = 0; i < s->q->dirs; i++)
		s->need[i] = s->used[i] = 0;
	for (cell = s->q->cells; cell < s->q->cells + s->n_own; cell++) {
		cell->quota = 0;
		s->need[cell->dir] += cell->count;
		s->used[cell->dir] += cell->fixed;
	}
	for (i = 0; i < s->n_own; i++)
		if (s->pinned[s->q->cells[i].dir])
			give(s, i, s->q->cells[i].count);
}

/* ---------------------------------------------------- 2. whole table blocks */

/*
 * Examines blocks that already hold inodes of a directory and have at least
 * @least free inodes.  If the directory needs all free inodes of such a block,
 * assigns the free inodes to the directory.
 */
static void give_own(struct share *s, uint32_t least)
{
	size_t i;

	for (i = 0; i < s->n_own; i++) {
		const struct e4l_cell *cell = &s->q->cells[s->by_count[i]];
		uint32_t left = s->left[cell->block];

		if (left >= least && s->need[cell->dir] >= left)
			give(s, s->by_count[i], left);
	}
}

/*
 * If all inodes of a block are free, and a directory can fill the block,
 * assigns the block to the directory.
 */
static errcode_t give_whole(struct share *s)
{
	uint32_t whole = s->q->per_block, dir;
	errcode_t err = 0;

	for (dir = 0; dir < s->q->dirs && !err; dir++)
		while (!err && s->need[dir] >= whole && s->head[whole] != NONE)
			err = give_new(s, dir, s->head[whole], whole);
	return err;
}

/* -------------------------------------------------- 3. partial table blocks */

/*
 * A cell has the inodes of a directory in a block.  Returns whether the
 * directory should get inodes in the block of cell @a rather than of cell @b.
 * A block is better if it will hold inodes of the directory in any case.  If
 * the blocks do not differ in this, the block with more inodes of the directory
 * is better.
 */
static bool is_better(const struct e4l_cell *a, const struct e4l_cell *b)
{
	bool has = a->fixed || a->quota, had = b->fixed || b->quota;

	return has != had ? has : a->count > b->count;
}

static void learn_own(struct share *s, uint32_t dir)
{
	uint32_t i, *best;

	for (i = 0; i <= s->q->per_block; i++)
		s->best[i] = NONE;
	for (i = s->first[dir]; i < s->first[dir + 1]; i++) {
		const struct e4l_cell *cell = &s->q->cells[s->by_dir[i]];

		s->mine[cell->block] = s->by_dir[i];
		best = &s->best[s->left[cell->block]];
		if (*best == NONE || is_better(cell, &s->q->cells[*best]))
			*best = s->by_dir[i];
	}
}

static void forget_own(struct share *s, uint32_t dir)
{
	uint32_t i;

	for (i = s->first[dir]; i < s->first[dir + 1]; i++)
		s->mine[s->q->cells[s->by_dir[i]].block] = NONE;
}

/* Returns whether the block of cell s->best[n] still has @n free inodes. */
static bool has_own(const struct share *s, uint32_t n)
{
	uint32_t cell = s->best[n];

	return cell != NONE && s->left[s->q->cells[cell].block] == n;
}

/*
 * Finds a block that already holds inodes of the directory and has at least @n
 * free inodes.  Returns the index in s->q->cells of the cell (pair of directory
 * and block) that is_better() prefers.  If no block is found, returns NONE.
 */
static uint32_t find_own(const struct share *s, uint32_t n)
{
	const struct e4l_cell *cells = s->q->cells;
	uint32_t found = NONE, cell;

	for (; n <= s->q->per_block; n++) {
		cell = s->best[n];
		if (has_own(s, n) && (found == NONE ||
				      is_better(&cells[cell], &cells[found])))
			found = cell;
	}
	return found;
}

/*
 * Returns a block with the most free inodes, if possible a block that the
 * directory already uses.  If no inode is free, returns NONE.
 */
static uint32_t find_roomy(const struct share *s)
{
	uint32_t n;

	for (n = s->q->per_block; n; n--)
		if (s->head[n] != NONE)
			return has_own(s, n) ? s->q->cells[s->best[n]].block :
					       s->head[n];
	return NONE;
}

/*
 * If a block holds inodes of the directory that must not move, the directory
 * uses the block in any case.  Assigns more inodes of the directory to these
 * blocks.
 */
static void give_fixed(struct share *s, uint32_t dir)
{
	uint32_t whole = s->q->per_block, i;

	for (i = s->first[dir]; i < s->first[dir + 1] && s->need[dir]; i++) {
		const struct e4l_cell *cell = &s->q->cells[s->by_dir[i]];
		uint32_t need = s->need[dir];
		uint32_t n = at_most(s->left[cell->block], need);

		if (!cell->fixed)
			continue;
		if ((need - n + whole - 1) / whole == (need + whole - 1) / whole)
			n = at_most(n, cell->count);
		give(s, s->by_dir[i], n);
	}
}

static errcode_t give_in(struct share *s, uint32_t dir, uint32_t block)
{
	uint32_t n = at_most(s->need[dir], s->left[block]);

	if (s->mine[block] == NONE)
		return give_new(s, dir, block, n);
	give(s, s->mine[block], n);
	return 0;
}

static errcode_t give_rest(struct share *s, uint32_t dir)
{
	errcode_t err = 0;
	uint32_t block;

	give_fixed(s, dir);
	learn_own(s, dir);
	while (s->need[dir] && !err) {
		uint32_t own = find_own(s, s->need[dir]);

		if (own != NONE) {
			give(s, own, s->need[dir]);
			break;
		}
		block = find_tight(s, s->need[dir]);
		if (block == NONE)
			block = find_roomy(s);
		/*
		 * NONE is impossible: the free inodes of all blocks are enough
		 * for all directories
		 */
		err = block == NONE ? EINVAL : give_in(s, dir, block);
	}
	forget_own(s, dir);
	return err;
}

/*
 * Sorts directories by the number of unassigned inodes, in descending order.
 * Directories that need a whole block or more count as equal.
 */
static void sort_dirs(struct share *s)
{
	uint32_t whole = s->q->per_block, *end = s->best, i;

	for (i = 0; i <= whole; i++)
		end[i] = 0;
	for (i = 0; i < s->q->dirs; i++)
		end[at_most(s->need[i], whole)]++;
	begin_at(end, whole);
	for (i = 0; i < s->q->dirs; i++)
		s->dirs[end[at_most(s->need[i], whole)]++] = i;
}

static errcode_t give_rests(struct share *s)
{
	errcode_t err = 0;
	uint32_t i;

	sort_dirs(s);
	for (i = 0; i < s->q->dirs && !err && s->need[s->dirs[i]]; i++)
		err = give_rest(s, s->dirs[i]);
	return err;
}

/* ------------------------------------------------------------------- rounds */

static errcode_t share_out(struct share *s)
{
	uint32_t whole = s->q->per_block;
	errcode_t err;

	begin_round(s);
	give_own(s, whole);
	err = give_whole(s);
	if (err)
		return err;
	/* assign the free inodes of blocks that are more than half free */
	give_own(s, whole / 2 + 1);
	return give_rests(s);
}

/*
 * Pins each directory whose number of blocks increases by more than @most in
 * the current round.  A pinned directory keeps its inodes where they are.  If
 * @most is -1, also pins each directory that saves no block.  If @most is
 * INT32_MIN, pins all directories.  Returns the number of directories that this
 * call has pinned.
 */
static uint32_t pin(struct share *s, int most)
{
	uint32_t n = 0, i;

	for (i = 0; i < s->q->dirs; i++) {
		if (s->pinned[i] ||
		    (int64_t)s->used[i] - s->had[i] <= most)
			continue;
		s->pinned[i] = true;
		n++;
	}
	return n;
}

static errcode_t go_round(struct share *s)
{
	unsigned int round = 0;
	errcode_t err;

	do {
		err = share_out(s);
		if (err || !pin(s, 0))
			return err;
		if (++round % MAX_ROUNDS == 0)
			pin(s, round > MAX_ROUNDS ? INT32_MIN : -1);
	} while (true);
}

/*
 * Sorts the indexes of the caller's cells (pairs of directory and block): by
 * directory in s->by_dir, and by number of inodes in s->by_count.
 */
static void sort_cells(struct share *s)
{
	const struct e4l_cell *cells = s->q->cells;
	uint32_t *at = s->best;
	size_t i;

	for (i = 0; i < s->n_own; i++) {
		s->first[cells[i].dir + 1]++;
		s->had[cells[i].dir]++;
		at[cells[i].count]++;
	}
	for (i = 0; i < s->q->dirs; i++)
		s->first[i + 1] += s->first[i];
	begin_at(at, s->q->per_block);
	/*
	 * here, need[dir] is the number of cells of directory dir that are
	 * already in @by_dir
	 */
	for (i = 0; i < s->n_own; i++) {
		s->by_count[at[cells[i].count]++] = i;
		s->by_dir[s->first[cells[i].dir] +
			  s->need[cells[i].dir]++] = i;
	}
}

static errcode_t start(struct share *s)
{
	size_t dirs = s->q->dirs + 1, blocks = s->q->blocks + 1;
	size_t per_block = s->q->per_block + 1;

	s->first = calloc(dirs + 1, sizeof(*s->first));
	s->by_dir = calloc(s->n_own + 1, sizeof(*s->by_dir));
	s->by_count = calloc(s->n_own + 1, sizeof(*s->by_count));
	s->dirs = calloc(dirs, sizeof(*s->dirs));
	s->need = calloc(dirs, sizeof(*s->need));
	s->had = calloc(dirs, sizeof(*s->had));
	s->used = calloc(dirs, sizeof(*s->used));
	s->pinned = calloc(dirs, sizeof(*s->pinned));
	s->left = calloc(blocks, sizeof(*s->left));
	s->next = calloc(blocks, sizeof(*s->next));
	s->prev = calloc(blocks, sizeof(*s->prev));
	s->mine = e4l_array_alloc(blocks, sizeof(*s->mine));
	s->head = calloc(per_block, sizeof(*s->head));
	s->best = calloc(per_block, sizeof(*s->best));
	if (!s->first || !s->by_dir || !s->by_count || !s->dirs || !s->need ||
	    !s->had || !s->used || !s->pinned || !s->left || !s->next ||
	    !s->prev || !s->mine || !s->head || !s->best)
		return ENOMEM;
	memset(s->mine, 0xff, blocks * sizeof(*s->mine));
	sort_cells(s);
	return 0;
}

static void finish(struct share *s)
{
	free(s->first);
	free(s->by_dir);
	free(s->by_count);
	free(s->dirs);
	free(s->need);
	free(s->had);
	free(s->used);
	free(s->pinned);
	free(s->left);
	free(s->next);
	free(s->prev);
	free(s->mine);
	free(s->head);
	free(s->best);
}

errcode_t e4l_quotas_make(struct e4l_quotas *q)
{
	struct share s = { .q = q, .n_own = q->n_cells };
	errcode_t err = start(&s);

	if (!err)
		err = go_round(&s);
	finish(&s);
	return err;
}
