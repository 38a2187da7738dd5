/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * plan: chooses the target layout of a filesystem and schedules the moves that
 * lead there.  Pure: no I/O.  doc/architecture.md explains the algorithm.
 *
 *  - An item has to end up contiguous: one logical run of a file, or one tree
 *    block that the file still needs.
 *  - A wall is what cannot move: metadata, and files that are not added.
 *  - A region is a stretch of the disk that is to be free at the end.
 *  - A slot is a target, start and length, for any item of that length.
 *
 * e4l_plan_new(), e4l_plan_add_file() and e4l_plan_add_free() for everything,
 * e4l_plan_make(); then the moves, which apply/steps.h turns into steps.
 */
#ifndef E4L_PLAN_H
#define E4L_PLAN_H

#include <e4layout/extents.h>
#include <e4layout/free_space.h>
#include "e4layout/format/geometry.h"

#ifndef E4L_NO_LIMIT
#define E4L_NO_LIMIT	UINT64_MAX
#endif

/* What may be done to a file. */
#define E4L_PLAN_PACK	0x1	/* merge its extents, shrink its tree */
#define E4L_PLAN_ZEROOUT 0x2	/* zero short unwritten runs */
#define E4L_PLAN_MOVE	0x4	/* join its fragments */
#define E4L_PLAN_AWAY	0x8	/* evacuate it from a region or a slot */
#define E4L_PLAN_ASK	0x10	/* but ask may_move() before */
#define E4L_PLAN_AT_ONCE 0x20	/* only as a whole: no transaction holds its tree */

struct e4l_plan_options {
	struct e4l_geometry geo;
	/* The longest unwritten run that may be zeroed; 0: none. */
	uint32_t zeroout_max_blocks;
	uint64_t zeroout_budget_blocks;	/* over all files, or E4L_NO_LIMIT */
	uint64_t copy_budget_blocks;	/* likewise; unwritten blocks are free */
	/* A step copies no more than this, if that can be.  0: no limit. */
	uint64_t part_blocks;
	uint64_t large_blocks;		/* what makes a free extent a large one */
	bool free_space;		/* consolidate free space */
	uint64_t region_blocks;		/* the longest region; 0: no limit */
	uint64_t mem_bytes;		/* 0: no limit */
	/*
	 * Asked before a file with E4L_PLAN_ASK is evacuated.  @extents is where
	 * it is, whatever state it has.  NULL: it may.
	 */
	bool (*may_move)(ext2_ino_t ino, const struct e4l_extent *extents,
			 size_t n, void *priv);
	/* Asked now and then: an error ends the planning.  NULL: no one does. */
	errcode_t (*go_on)(void *priv);
	/* Asked before each batch: true, and the plan ends there.  NULL: no. */
	bool (*enough)(void *priv);
	void *priv;
};

/* A file as it is now. */
struct e4l_plan_file {
	ext2_ino_t ino;
	unsigned int allowed;		/* E4L_PLAN_* */
	uint64_t eof_blk;		/* blocks up to the end of the file */
	blk64_t goal;			/* a block of the inode's group */
	const struct e4l_extent *extents;	/* in logical order */
	size_t n_extents;
	/* None without E4L_PLAN_PACK: tree blocks stay where they are. */
	const struct e4l_tree_block *tree;
	size_t n_tree;
};

/* Opaque: files and free space, and what to do about them. */
struct e4l_plan;

/* Errors: E4L_ET_BAD_ARGUMENT (sizes that make no sense), ENOMEM. */
errcode_t e4l_plan_new(const struct e4l_plan_options *options,
		       struct e4l_plan **ret);
/* NULL is allowed. */
void e4l_plan_free(struct e4l_plan *p);

/* Adds a free extent; fits e4l_free_space().  Only whole clusters count. */
errcode_t e4l_plan_add_free(const struct e4l_block_run *run, void *plan);

/*
 * Adds a free extent that the plan must not use: it is a wall, but counts as free
 * space, which a plan must not make worse.
 */
errcode_t e4l_plan_add_other_free(const struct e4l_block_run *run, void *plan);

/*
 * Adds a file, of which the planner keeps no more than where its fragments are.
 * Errors: E4L_ET_BAD_ARGUMENT (extents out of order, overlapping or longer than
 * an entry may be; fewer tree blocks than they need), ENOMEM.
 */
errcode_t e4l_plan_add_file(struct e4l_plan *p,
			    const struct e4l_plan_file *file);

/*
 * Makes the plan, once.  What it promises:
 *  - Every target is free when its batch begins.
 *  - At the end of each batch there are no more fragments than at the start.
 *  - Free space is no worse: neither the largest free extent, nor the share of
 *    free space in large ones.  Where fragments are saved, a tenth of the largest
 *    may go, and large ones as far as 95 % of free space stays in them (without
 *    free_space: a tenth).  A plan that cannot keep that does less, or nothing.
 *  - Nothing is moved for free space that is good: 95 % of it in large extents,
 *    and the largest 95 % of what walls allow.
 * Errors: E4L_ET_BLOCK_SHARED (blocks with two owners, or free ones with one),
 * those of go_on(), ENOMEM.  Only e4l_plan_free() is allowed after one.
 */
errcode_t e4l_plan_make(struct e4l_plan *p);

/* A layout in figures, in blocks. */
struct e4l_plan_state {
	uint64_t fragments, excess;	/* those beyond one for each item */
	uint64_t fragmented_files;	/* of those that were added */
	uint64_t free_extents, free_blocks;
	uint64_t largest_free_blocks, large_free_blocks;
};

struct e4l_plan_result {
	struct e4l_plan_state before, after;
	uint64_t copy_blocks, zero_blocks;	/* without unwritten ones */
	uint64_t batches, moves;
	uint64_t files;			/* with something to do */
};
const struct e4l_plan_result *e4l_plan_result(const struct e4l_plan *p);

/* Why a plan leaves something of a file that could be better. */
enum e4l_plan_skip {
	E4L_PLAN_SKIP_NO_ROOM,	/* no free extent can become large enough */
	E4L_PLAN_SKIP_GUARD,		/* free space would get worse */
	E4L_PLAN_SKIP_COPY_BUDGET,
	E4L_PLAN_SKIP_ZEROOUT_BUDGET,
	E4L_PLAN_SKIP_MISALIGNED,	/* its blocks do not fit into clusters */
	E4L_PLAN_SKIP_TIME,		/* enough() ended the plan */
	E4L_PLAN_SKIP_MEMORY,	/* mem_bytes do not hold its fragments */
	E4L_PLAN_SKIP_REASONS
};

struct e4l_plan_skipped {
	ext2_ino_t ino;
	enum e4l_plan_skip why;
	uint64_t extents;	/* or fragments, that it could have less */
	uint64_t blocks;	/* NO_ROOM: the free extent that it lacks; or 0 */
};
/* For each reason a file once; belongs to @p. */
const struct e4l_plan_skipped *e4l_plan_skipped(const struct e4l_plan *p, size_t *n);

/*
 * One move of the plan: @len clusters of the file, from the logical cluster
 * @lstart on, go to @to in one piece.  Moves of one batch depend on nothing in
 * it; they may use what earlier batches free.
 */
struct e4l_plan_move {
	uint32_t batch, file;
	uint32_t kind;		/* E4L_MOVE_* */
	uint32_t lstart;	/* E4L_MOVE_TREE: the cluster that it leaves */
	uint32_t len, to;
	uint32_t sum;		/* of where it is, see e4l_place_sum() */
};
#define E4L_MOVE_DATA	0
#define E4L_MOVE_TREE	1	/* a tree block */
#define E4L_MOVE_PACK	2	/* nothing: its tree is packed where it is */
#define E4L_MOVE_FINISH	3	/* zero what is chosen, and pack it */

/* By batch and then by inode; what is finished comes last of its file. */
const struct e4l_plan_move *e4l_plan_moves(const struct e4l_plan *p, size_t *n);
ext2_ino_t e4l_plan_ino(const struct e4l_plan *p, uint32_t file);
/* How many extents it had. */
uint64_t e4l_plan_extents(const struct e4l_plan *p, uint32_t file);

/*
 * Tells where clusters are, in a way that does not depend on how they are cut:
 * the sum of the numbers of @len clusters from @start on.
 */
static inline uint32_t e4l_place_sum(uint64_t start, uint64_t len)
{
	return (uint32_t)(start * len + (len & 1 ? (len - 1) / 2 * len :
						   len / 2 * (len - 1)));
}

#endif
