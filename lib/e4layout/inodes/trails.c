/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The moves of inodes are the edges of a graph, and the blocks of the inode
 * tables are its nodes.  A trail is a sequence of moves, in the reverse order
 * of the edges.  The first inode moves to a free inode number; each other inode
 * moves to the number that the previous inode has left.
 *
 * If more inodes arrive in a block than leave the block, the block must have
 * free inodes; trails begin in such a block.  Trails end in a block that more
 * inodes leave.  An additional node, the pool, has an edge from each beginning
 * and an edge to each end of a trail.  In this graph, every node has as many
 * incoming as outgoing edges, so each connected component is one closed trail
 * (Hierholzer).
 *
 * The trail through the pool comes first.  Each other trail begins in a block
 * with a spare free inode.  If no block of the trail has a spare free inode,
 * one inode of the trail first moves to a temporary number.
 */
#include "config.h"
#include "trails.h"
#include "e4layout/base/array.h"

/*
 * used instead of the index of a move, for an edge that is not a move, but
 * begins or ends at the additional node "pool"
 */
#define POOLED	UINT32_MAX

/*
 * A block on a trail (sequence of moves), and the index of the move that leaves
 * the block.
 */
struct stop {
	uint32_t block, move;
};

struct trails {
	const struct e4l_trail_move *moves;
	size_t n;
	uint32_t blocks;
	/*
	 * @in has the indexes of all moves, sorted by destination block;
	 * first[block] is the index in @in of the first move to the block
	 */
	uint32_t *first, *in;
	/*
	 * per destination block: index in @in of the first move that is in no
	 * trail
	 */
	uint32_t *next;
	/*
	 * per block: at first, number of arriving inodes minus number of
	 * leaving inodes.  Each trail that begins or ends in the block brings
	 * the number closer to 0 by 1.
	 */
	int32_t *excess;
	uint32_t *vacant; /* per block: number of free inodes after all moves */
	/* all blocks with a lower index have an excess of 0 or less */
	uint32_t begin;
	struct stop *stack;
	/*
	 * indexes of the moves of one trail (sequence of moves), in reverse
	 * order
	 */
	uint32_t *way;
	size_t n_way;
	struct e4l_trail_step *steps;
	size_t n_steps;
};

/*
 * Finds an edge to node @block that no trail contains yet: a move, or an edge
 * to or from the pool, which is node t->blocks.  Sets *@ret to the edge and to
 * the node from which the edge comes.  If there is no such edge, returns false.
 */
static bool step_back(struct trails *t, uint32_t block, struct stop *ret)
{
	uint32_t pool = t->blocks;

	if (block == pool) {
		while (t->begin < pool && t->excess[t->begin] <= 0)
			t->begin++;
		if (t->begin == pool)
			return false;
		t->excess[t->begin]--;
		*ret = (struct stop) { t->begin, POOLED };
	} else if (t->next[block] < t->first[block + 1]) {
		ret->move = t->in[t->next[block]++];
		ret->block = t->moves[ret->move].from;
	} else if (t->excess[block] < 0) {
		t->excess[block]++;
		*ret = (struct stop) { pool, POOLED };
	} else {
		return false;
	}
	return true;
}

/*
 * Makes one closed trail in t->way of all moves that are connected with @block.
 */
static void walk(struct trails *t, uint32_t block)
{
	size_t n = 1;

	t->n_way = 0;
	t->stack[0] = (struct stop) { block, POOLED };
	while (n) {
		if (step_back(t, t->stack[n - 1].block, &t->stack[n])) {
			n++;
			continue;
		}
		if (--n)
			t->way[t->n_way++] = t->stack[n].move;
	}
}

/*
 * Returns the index in t->moves of element @i of the closed trail t->way, in
 * the order of execution.  If the element is an edge to or from the additional
 * node "pool", and not a move, returns POOLED.  The element after the last is
 * the first again.
 */
static uint32_t nth(const struct trails *t, size_t i)
{
	return t->way[t->n_way - 1 - i % t->n_way];
}

static void add_step(struct trails *t, uint32_t move, enum e4l_trail_kind kind)
{
	t->steps[t->n_steps++] = (struct e4l_trail_step) { move, kind };
}

static void add_pooled(struct trails *t)
{
	enum e4l_trail_kind kind = E4L_TRAIL_BEGIN;
	size_t i;

	for (i = 0; i < t->n_way; i++) {
		if (nth(t, i) == POOLED) {
			kind = E4L_TRAIL_BEGIN;
			continue;
		}
		add_step(t, nth(t, i), kind);
		kind = E4L_TRAIL_ON;
	}
}

/*
 * Returns the number of the move with which a closed trail (sequence of moves)
 * should begin.  If no block of the trail has a free inode, sets *@away to
 * true.  In this case, the inode of the last move must move to a temporary
 * number before the first move.
 */
static size_t find_begin(const struct trails *t, bool *away)
{
	size_t light = 0, i;

	*away = false;
	for (i = 0; i < t->n_way; i++) {
		const struct e4l_trail_move *move = &t->moves[nth(t, i)];

		if (t->vacant[move->to])
			return i;
		if (!move->heavy)
			light = i;
	}
	*away = true;
	return light + 1;
}

static void add_closed(struct trails *t)
{
	bool away;
	size_t begin = find_begin(t, &away), last = t->n_way - 1, i;

	if (away)
		add_step(t, nth(t, begin + last), E4L_TRAIL_AWAY);
	for (i = 0; i <= last; i++)
		add_step(t, nth(t, begin + i), away && i == last ?
			 E4L_TRAIL_BACK : i || away ? E4L_TRAIL_ON :
			 E4L_TRAIL_BEGIN);
}

/*
 * Sorts the moves by destination block.  Computes the excess of each block: the
 * number of arriving inodes minus the number of leaving inodes.
 */
static void sort_moves(struct trails *t)
{
	size_t i;

	for (i = 0; i < t->n; i++) {
		t->first[t->moves[i].to + 1]++;
		t->excess[t->moves[i].to]++;
		t->excess[t->moves[i].from]--;
	}
	for (i = 0; i < t->blocks; i++) {
		t->first[i + 1] += t->first[i];
		t->next[i] = t->first[i];
	}
	for (i = 0; i < t->n; i++)
		t->in[t->next[t->moves[i].to]++] = i;
	for (i = 0; i < t->blocks; i++)
		t->next[i] = t->first[i];
}

static errcode_t count_vacant(struct trails *t, const uint16_t *vacant)
{
	uint32_t i;

	for (i = 0; i < t->blocks; i++) {
		if (t->excess[i] > vacant[i])
			return EINVAL;
		t->vacant[i] = vacant[i] - t->excess[i];
	}
	return 0;
}

static errcode_t start(struct trails *t)
{
	size_t blocks = (size_t)t->blocks + 1, n = t->n + 1;

	t->first = calloc(blocks + 1, sizeof(*t->first));
	t->next = calloc(blocks, sizeof(*t->next));
	t->excess = calloc(blocks, sizeof(*t->excess));
	t->vacant = calloc(blocks, sizeof(*t->vacant));
	t->in = calloc(n, sizeof(*t->in));
	/*
	 * for each move, the graph has at most three edges: the move itself, an
	 * edge from the pool, and an edge to the pool
	 */
	t->stack = calloc(3 * n, sizeof(*t->stack));
	t->way = calloc(3 * n, sizeof(*t->way));
	/*
	 * each closed trail has at least two moves, and needs at most one extra
	 * step
	 */
	t->steps = calloc(n + n / 2, sizeof(*t->steps));
	return t->first && t->next && t->excess && t->vacant && t->in &&
	       t->stack && t->way && t->steps ? 0 : ENOMEM;
}

static void finish(struct trails *t)
{
	free(t->first);
	free(t->next);
	free(t->excess);
	free(t->vacant);
	free(t->in);
	free(t->stack);
	free(t->way);
	free(t->steps);
}

static void walk_all(struct trails *t)
{
	uint32_t i;

	walk(t, t->blocks);
	add_pooled(t);
	for (i = 0; i < t->blocks; i++) {
		if (t->next[i] == t->first[i + 1])
			continue;
		walk(t, i);
		add_closed(t);
	}
}

errcode_t e4l_trails_make(const struct e4l_trail_move *moves, size_t n,
			  const uint16_t *vacant, uint32_t blocks,
			  struct e4l_trail_step **steps, size_t *n_steps)
{
	struct trails t = { .moves = moves, .n = n, .blocks = blocks };
	errcode_t err = start(&t);

	*steps = NULL;
	*n_steps = 0;
	if (!err) {
		sort_moves(&t);
		err = count_vacant(&t, vacant);
	}
	if (!err) {
		walk_all(&t);
		*steps = t.steps;
		*n_steps = t.n_steps;
		t.steps = NULL;
	}
	finish(&t);
	return err;
}
