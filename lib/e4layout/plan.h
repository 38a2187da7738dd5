/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plan: what to merge, zero and move. */
#ifndef E4LAYOUT_PLAN_H
#define E4LAYOUT_PLAN_H

#include <e4layout/es_cache.h>
#include <e4layout/free_space.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What may be done to a file. */
#define E4L_PLAN_MERGE		0x1	/* pack its extents and its tree */
#define E4L_PLAN_ZEROOUT	0x2	/* zero short unwritten runs */
#define E4L_PLAN_MOVE		0x4	/* put fragments together */
#define E4L_PLAN_ROOM		0x8	/* move it out of the way of another */
#define E4L_PLAN_FREE		0x80	/* or of a long free run */

#define E4L_NO_LIMIT		UINT64_MAX

/* What a filesystem fixes: its sizes, and what a transaction of it holds. */
struct e4l_geometry {
	uint32_t blocksize;		/* in bytes */
	uint32_t cluster_blocks;	/* a power of two; 1 without bigalloc */
	uint32_t group_blocks;
	uint32_t first_blk;		/* that group 0 begins with */
	uint32_t groups_per_desc;	/* in one block; 0 is 1 */
	uint32_t txn_blocks;		/* of metadata; 0: no limit */
	uint32_t quota_blocks;		/* that one step changes at most */
	/*
	 * A RAID's stripe, whole clusters: what begins on one, and is as long,
	 * does so where it goes when it makes way.  0: there is none.
	 */
	uint32_t stripe_blocks;
	uint32_t reserved[8];
};

struct e4l_plan_options {
	struct e4l_geometry geo;
	/*
	 * The longest unwritten run that may be zeroed; 0: none.  Runs over
	 * E4L_UNWRITTEN_MAX_BLOCKS are never zeroed.
	 */
	uint32_t zeroout_max_blocks;
	uint64_t zeroout_budget_blocks;	/* over all files; or E4L_NO_LIMIT */
	uint64_t copy_budget_blocks;	/* likewise; unwritten blocks are free */
	/*
	 * How many blocks make a long free run (0: none is), whole clusters,
	 * and how many must be free in such runs for others to be used freely:
	 * see e4l_plan_make().
	 */
	uint64_t long_run_blocks;
	uint64_t long_blocks_kept;
	/*
	 * A step copies or zeroes no more blocks than this, or eight times those
	 * of the file's tree, if that can be: see e4l_plan_make().  Whole
	 * clusters; 0: no limit.
	 */
	uint64_t part_blocks;
	/*
	 * Where extents are kept until there is a step for their file; borrowed.
	 * NULL: in a cache of the planner's own, without limit.
	 */
	struct e4l_es_cache *cache;
	/*
	 * Finds a file's extents once more, as they were added, when @cache has
	 * forgotten some, or never knew them, as of files of more than 131072
	 * extents: an array that is freed by free(3).
	 * Must not be NULL when @cache is not, or when any file has
	 * E4L_PLAN_ROOM or E4L_PLAN_FREE.
	 */
	errcode_t (*reread)(ext2_ino_t ino, struct e4l_extent **extents,
			    size_t *n, void *priv);
	void *priv;
	/*
	 * Asked once more, when there is a place for it, whether a file with
	 * E4L_PLAN_ROOM or E4L_PLAN_FREE may be moved out of the way; NULL: it
	 * may.
	 */
	bool (*may_move)(ext2_ino_t ino, const struct e4l_extent *extents,
			 size_t n, void *priv);
	/*
	 * Memory for where such files are, 16 bytes for each fragment: those
	 * for which it is not enough stay.  0: there is no limit.
	 */
	uint64_t room_bytes;
	/*
	 * Memory for the files that something can be gained from, half of it,
	 * and for what is to be done about them: once it is used up, others stay
	 * as they are.  0: there is no limit.
	 */
	uint64_t plan_bytes;
	/*
	 * Asked before room is sought for a file, or a zone to be emptied, which
	 * can take long, and before some others are planned: an error ends the
	 * planning.  NULL: there is none.
	 */
	errcode_t (*go_on)(void *priv);
	/*
	 * Asked before each file to move once there is a step: true, and none
	 * is planned any more; all else is as for a plan of those before it.  And
	 * once there are zones that can be emptied: true, and no others are
	 * looked for.
	 * NULL: there is time for all.
	 */
	bool (*enough)(void *priv);
	/*
	 * With E4L_PLAN_FREE: one free run of so many blocks will do.  0: as long
	 * and as many as can be.
	 */
	uint64_t free_run_blocks;
	/*
	 * Free space is never in more runs than so many (0: no limit), nor its
	 * longest run shorter than so many blocks, or it is no further from that
	 * than before: what would make it so is left, and other things may be done
	 * in its place.
	 */
	uint64_t most_free_runs, longest_kept_blocks;
	/*
	 * With E4L_PLAN_FREE: only once all is done, and as far as can be, and so is
	 * long_blocks_kept.  For that some things are moved twice, and files may lose
	 * fewer fragments than they could.
	 */
	bool bounds_at_end;
	bool longest_stays;		/* but the longest run, all the time */
	/*
	 * With E4L_PLAN_FREE: a plan follows that puts files together.  If that
	 * copies more than is free, one free run of a third of it, beside
	 * longest_kept_blocks, will do, unless free_run_blocks says what does.
	 */
	bool files_follow;
	/*
	 * A plan follows that makes long free runs: what finds none that holds it
	 * waits for it, and is neither moved in parts nor given room.
	 */
	bool free_follows;
	uint64_t reserved[7];
};

/* A file as it is now. */
struct e4l_plan_file {
	ext2_ino_t ino;
	unsigned int allowed;		/* E4L_PLAN_* */
	uint64_t eof_blk;		/* blocks up to the end of the file */
	blk64_t goal;			/* a block of the inode's group */
	const struct e4l_extent *extents;	/* in logical order */
	size_t n_extents;
	const struct e4l_tree_block *tree;	/* its tree blocks, any order */
	size_t n_tree;
	uint64_t reserved[4];
};

struct e4l_move {
	blk64_t from;
	blk64_t to;
	blk64_t len;
	bool copy;			/* false: unwritten, nothing to copy */
};

/*
 * What to do to one file at once.  Extents and moves are in logical order.  A
 * step is whole in itself: whoever carries it out allocates @take, copies and
 * zeroes, replaces the tree by one of @new_extents in the blocks @tree (in the
 * order of e4l_extent_tree_build()), and frees @give.
 */
struct e4l_step {
	ext2_ino_t ino;
	/*
	 * Steps of one batch do not depend on each other, but for those of one
	 * file, which are neighbours.  They may use what steps of earlier
	 * batches give, so that those must be durable first.
	 */
	unsigned int batch;
	/* NULL: see e4l_step_extents(). */
	struct e4l_extent *new_extents;
	size_t n_old, n_new;		/* extents */
	uint64_t old_fragments, new_fragments;
	struct e4l_move *moves;		/* or packed: e4l_step_next_move() */
	size_t n_moves;
	struct e4l_block_run *zero;	/* unwritten now, written then */
	size_t n_zero;
	/* whole clusters; see e4l_step_next_given() */
	struct e4l_block_run *take, *give;
	size_t n_take, n_give;
	blk64_t *tree;
	size_t n_tree;
	/* All of @tree is the end of @take: nobody refers to it before. */
	bool tree_is_new;
	uint64_t fragments_saved;	/* of clusters */
	uint64_t bytes_to_copy;
	uint64_t bytes_to_zero;
	/* Not NULL: what it moves, and the first that it gives, are in here. */
	struct e4l_packed *packed;
	uint64_t reserved[3];
};

/* Opaque: files and free space, and what to do about them. */
struct e4l_plan;

/*
 * Creates a planner.  It does no I/O and knows only what it is told.  Errors:
 * E4L_ET_BAD_ARGUMENT (a size is 0, the group is not whole clusters, or what is
 * forgotten could not be found again), ENOMEM.
 */
errcode_t e4l_plan_new(const struct e4l_plan_options *options,
		       struct e4l_plan **ret);
/* NULL is allowed. */
void e4l_plan_free(struct e4l_plan *p);

/*
 * Adds a run of free blocks, which must not overlap another; fits
 * e4l_free_space().  Clusters that are not whole are left out.
 */
errcode_t e4l_plan_add_free(const struct e4l_block_run *run, void *plan);

/*
 * Adds a file.  If there is something to gain from it, its extents go to the
 * cache, in place of what that knew of the inode; otherwise it is forgotten:
 * memory is used for candidates only.  A file whose blocks
 * are not aligned with their clusters, as bigalloc demands, is not moved.
 * Errors: E4L_ET_BAD_ARGUMENT (extents out of order, overlapping or longer than
 * an entry may be; fewer tree blocks than the extents need), ENOMEM.
 */
errcode_t e4l_plan_add_file(struct e4l_plan *p,
			    const struct e4l_plan_file *file);

/*
 * Makes the plan, once.  What it promises:
 *  - Moving: no contiguous logical run of a file that may be moved is left in
 *    several fragments while there is a free run that holds it, unless the copy
 *    budget is used up or long free runs are kept.  A run that fits nowhere is
 *    put in the fewest free runs that hold it or joined piecewise, whichever
 *    leaves fewer fragments, if it loses one and at least a quarter of them
 *    (rounded down) by it.  A fragment stays where it is if the rest fits
 *    beside it.  Under a budget, files come first that lose most fragments per
 *    block copied.  No file ever gets more extents.
 *  - Free space: in runs of long_run_blocks and more, as much is free after
 *    each batch as before the plan, or long_blocks_kept if that is less, but
 *    for trees that txn_blocks send elsewhere, and for pits, see below.  A file that would lessen that,
 *    however many fragments it would save, is put into shorter runs, or stays.
 *  - Zeroing: runs are zeroed whole or not at all.  As long as no extent grows
 *    over E4L_WRITTEN_MAX_BLOCKS by it, the result has the fewest extents that
 *    the budget can buy, and the fewest blocks zeroed for them.  The argument:
 *    unwritten runs of one fragment never touch each other, so that zeroing one
 *    saves two extents between two written neighbours and one beside a single
 *    neighbour, whatever happens to the others; among equals the shortest are
 *    best, and all splits of the budget between the two kinds are tried.  Where
 *    an extent would grow longer, runs that save nothing are left out and their
 *    cost is spent elsewhere; the result can then miss the best by as many
 *    extents as there are full ones.
 *  - Transactions: no step changes more than txn_blocks metadata blocks.  A move
 *    that would, or would copy more than part_blocks, is cut into several steps,
 *    of which each leaves the file whole, and with no more fragments and extents
 *    than it had.  Where it must have more in between, which a fragment of more
 *    than part_blocks can demand, the step goes on until it has not; only if
 *    txn_blocks are too few for that does it have more until the next step.
 *    Files for which txn_blocks are too few altogether are left alone:
 *    e4l_plan_left().  The copy budget may end a move between such steps.
 *  - Room: for a logical run that no free run holds, the stretch of the disk is
 *    emptied from which it takes the fewest copied blocks, of those that files
 *    with E4L_PLAN_ROOM, free space and the run itself make up, and that are any
 *    good.  What lies in it goes whole fragment by whole fragment into free runs
 *    outside that hold them; once that is durable, the run goes in.  All of it is
 *    within the copy budget, or not done.  Free space has no more runs after it
 *    than before it, or than before the plan, or than most_free_runs (no limit with
 *    bounds_at_end), and as much in long runs as for other moves.  No file gets
 *    more fragments, extents or tree blocks by it.
 *  - Long free runs: last of all, zones are emptied of files with E4L_PLAN_FREE.
 *    None is longer than the longest stretch between what stays, nor all of them
 *    than what is free; the longest come first, each where the least is to be
 *    copied, and none where nine tenths of it are free in one run.  What lies
 *    in them goes whole fragment by whole fragment into holes elsewhere, the
 *    tightest ones; nothing that has moved before in the plan does so again.
 *    Free space has no more runs after it, and as much in long ones; no file
 *    gets more fragments, extents or tree blocks, and the longest run gets no
 *    shorter.  With free_run_blocks there is
 *    one zone at most, no longer than that, and none if such a run is free.
 *    Without, as much as the longest run holds, or half of that and so on, is
 *    then emptied behind it, or else where the least is to be copied, into
 *    holes and into that run; 256 times at most, as long as each leaves fewer
 *    runs, copies no more than long_run_blocks for each of them, and some run
 *    stays as long.  Then what lies beside any free run goes into holes that
 *    are shorter than it, under the same conditions.  At last a hole that nothing
 *    fits into becomes a pit that is as long as what lies beside a long run: in
 *    one batch up to six of its neighbours go to the run's other end, of which
 *    half stays free, and in the next the pits are filled; 64 times at most, and
 *    for each run less no more than long_run_blocks are copied.  All of that comes
 *    again, with what has not moved yet, 16 times at most.
 *  - What is already ideal is not touched, but to make room or long free runs,
 *    and a plan for the result without the latter, with no budget, is empty.
 * What the plan is does not depend on what the cache could keep, unless
 * room_bytes or plan_bytes are not enough.
 * Errors: E4L_ET_BAD_ARGUMENT (blocks that are given back are free already:
 * files share blocks, or the bitmaps are wrong), E4L_ET_CHANGED (a file's
 * extents are not found again as they were added), those of reread(), ENOMEM.
 * After an error the planner can only be freed.
 */
errcode_t e4l_plan_make(struct e4l_plan *p);

/* How often reread() was called so far. */
uint64_t e4l_plan_reread(const struct e4l_plan *p);

/*
 * The steps, by batch and then by what they gain per byte copied or zeroed;
 * they belong to @p.
 */
const struct e4l_step *e4l_plan_steps(const struct e4l_plan *p, size_t *n);

/* A walk over what a step moves, or over what it gives; 0 at first. */
struct e4l_step_walk {
	size_t n, at;
	blk64_t from, to;
};
/* The next move of @step, or run that it gives; false: there is none. */
bool e4l_step_next_move(const struct e4l_step *step,
			struct e4l_step_walk *walk, struct e4l_move *move);
bool e4l_step_next_given(const struct e4l_step *step,
			 struct e4l_step_walk *walk, struct e4l_block_run *run);

/*
 * What the @n_old extents of a file are after @step: an array of step->n_new,
 * which is freed by free(3).  @old may be NULL for the first step of a file in
 * a batch; otherwise it is what the step before has left.  Errors:
 * E4L_ET_BAD_ARGUMENT (they are not those that the step was made for), ENOMEM.
 */
errcode_t e4l_step_extents(const struct e4l_extent *old, size_t n_old,
			   const struct e4l_step *step,
			   struct e4l_extent **ret);

/* Why a plan leaves something of a file that could be better. */
enum e4l_left_why {
	E4L_LEFT_NO_ROOM,	/* no free run is long enough */
	E4L_LEFT_LONG_RUNS,	/* it would cost long free runs */
	E4L_LEFT_COPY_BUDGET,
	E4L_LEFT_ZEROOUT_BUDGET,
	E4L_LEFT_TXN,		/* no transactions of txn_blocks hold it */
	E4L_LEFT_MISALIGNED,	/* its blocks do not fit into clusters */
	E4L_LEFT_CROWDED,	/* nor can room be made for it */
	E4L_LEFT_FREE_RUNS,	/* it would leave more, shorter free runs */
	E4L_LEFT_TIME,		/* enough() said so before it was its turn */
	E4L_LEFT_MEMORY,	/* plan_bytes were used up before it was */
	E4L_LEFT_REASONS
};

struct e4l_left {
	ext2_ino_t ino;
	enum e4l_left_why why;
	uint64_t extents;	/* or fragments, that it could have less */
	/* NO_ROOM, CROWDED: the shortest run that it lacks; else 0 */
	uint64_t blocks;
};

/* What the plan leaves, for each reason a file once; it belongs to @p. */
const struct e4l_left *e4l_plan_left(const struct e4l_plan *p, size_t *n);
/* What room was made for, and what it costs; all of it is in the steps. */
struct e4l_plan_room {
	uint64_t runs;		/* of files: each is one fragment then */
	uint64_t fragments_saved;
	uint64_t files_away;	/* moved out of the way */
	uint64_t blocks_away;	/* copied for that */
	uint64_t reserved[4];
};
void e4l_plan_room(const struct e4l_plan *p, struct e4l_plan_room *ret);

/* The zones that are emptied, and what it costs; all of it is in the steps. */
struct e4l_plan_free {
	uint64_t runs;		/* zones: each is free then */
	uint64_t files_away;
	uint64_t blocks_away;	/* copied for that */
	uint64_t free_runs_before, free_runs_after;	/* the whole plan */
	uint64_t longest_before;	/* free run, in blocks */
	/* With bounds_at_end: in long runs, less than must be. */
	uint64_t long_blocks_lacking;
	/* With files_follow: no longer run was sought than will do for them. */
	uint64_t for_files;		/* 0 or 1 */
	uint64_t reserved[2];
};
void e4l_plan_free_runs(const struct e4l_plan *p, struct e4l_plan_free *ret);

/* The longest free run, in blocks, once the plan is carried out. */
uint64_t e4l_plan_longest(const struct e4l_plan *p);

#ifdef __cplusplus
}
#endif
#endif
