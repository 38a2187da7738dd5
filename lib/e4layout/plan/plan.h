/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * plan: chooses the target layout of a filesystem, and schedules the moves that
 * lead to the target layout.  The planner does no I/O.  doc/architecture.md
 * explains the algorithm.
 *
 * - An item is a logical run of a file, or a tree block that the file still
 *   needs.  The plan makes each item contiguous.
 * - A wall is a used part of the disk that cannot be moved: metadata, or a
 *   file that was not added.
 * - A region is a contiguous part of the disk that must be free at the end.
 * - A slot is a target with a start and a length.  A slot can be reserved for
 *   one item.  An unreserved slot takes any item of the slot's length.
 *
 * Order of calls: e4l_plan_new(); e4l_plan_add_file() and e4l_plan_add_free()
 * for all files and free extents; e4l_plan_make().  apply/steps.h converts the
 * moves into steps.
 */
#ifndef E4L_PLAN_H
#define E4L_PLAN_H

#include <e4layout/extents.h>
#include <e4layout/free_space.h>
#include "e4layout/format/geometry.h"

#ifndef E4L_NO_LIMIT
#define E4L_NO_LIMIT	UINT64_MAX
#endif

/* Permitted changes of a file. */
#define E4L_PLAN_PACK	0x1	/* merge extents, shrink the tree */
#define E4L_PLAN_ZEROOUT 0x2	/* zero short unwritten extents */
#define E4L_PLAN_MOVE	0x4	/* move the file to join its fragments */
#define E4L_PLAN_AWAY	0x8	/* move the file out of a region or a slot */
/* call may_move() before moving the file away */
#define E4L_PLAN_ASK	0x10
/*
 * the file's tree does not fit into a transaction, so that the file must be
 * moved completely or not at all
 */
#define E4L_PLAN_AT_ONCE 0x20

struct e4l_plan_options {
	struct e4l_geometry geo;
	/*
	 * maximum length of an unwritten run that may be zeroed, in blocks; 0
	 * forbids zeroing
	 */
	uint32_t zeroout_max_blocks;
	/* maximum number of blocks to zero in all files, or E4L_NO_LIMIT */
	uint64_t zeroout_budget_blocks;
	/*
	 * maximum number of written blocks to copy in all files, or
	 * E4L_NO_LIMIT
	 */
	uint64_t copy_budget_blocks;
	/*
	 * Maximum number of blocks that a step should copy, or 0 for no limit.
	 * A step may copy more blocks, for example to keep a fragment whole.
	 */
	uint64_t part_blocks;
	uint64_t large_blocks;	/* minimum length of a large free extent */
	bool free_space;		/* consolidate free space */
	/* maximum length of a region in blocks, or 0 for no limit */
	uint64_t region_blocks;
	/* maximum memory of the planner in bytes, or 0 for no limit */
	uint64_t mem_bytes;
	/*
	 * Called before a file with E4L_PLAN_ASK is moved away.  Returns
	 * whether the file may be moved.  @extents has the first fragment of
	 * the file as one extent; the member unwritten is not set.  If may_move
	 * is NULL, every file may be moved away.
	 */
	bool (*may_move)(ext2_ino_t ino, const struct e4l_extent *extents,
			 size_t n, void *priv);
	/*
	 * Called regularly during planning.  If go_on() returns an error, the
	 * planning ends.  May be NULL.
	 */
	errcode_t (*go_on)(void *priv);
	/*
	 * Called before each batch.  If the result is true, the plan ends
	 * before that batch.  May be NULL.
	 */
	bool (*enough)(void *priv);
	void *priv;
};

/* A file with its layout before the plan. */
struct e4l_plan_file {
	ext2_ino_t ino;
	unsigned int allowed;		/* E4L_PLAN_* */
	uint64_t eof_blk; /* first logical block after the end of the file */
	blk64_t goal;			/* a block in the inode's block group */
	const struct e4l_extent *extents;	/* in logical order */
	size_t n_extents;
	/*
	 * Tree blocks of the file.  If E4L_PLAN_PACK is not set, @n_tree may be
	 * 0; the tree blocks are then walls.
	 */
	const struct e4l_tree_block *tree;
	size_t n_tree;
};

/* The files and the free space of a filesystem, and the plan for them. */
struct e4l_plan;

/*
 * Makes a plan without files and free space.  Errors: E4L_ET_BAD_ARGUMENT
 * (invalid sizes), ENOMEM.
 */
errcode_t e4l_plan_new(const struct e4l_plan_options *options,
		       struct e4l_plan **ret);
/* Frees @p; NULL is allowed. */
void e4l_plan_free(struct e4l_plan *p);

/*
 * Adds a free extent.  Clusters that are only partly free count as used.  This
 * function can be the callback of e4l_free_space().
 */
errcode_t e4l_plan_add_free(const struct e4l_block_run *run, void *plan);

/*
 * Adds a free extent that the plan must not use.  The extent is a wall, but
 * counts as free space when layouts are compared.
 */
errcode_t e4l_plan_add_other_free(const struct e4l_block_run *run, void *plan);

/*
 * Adds a file.  The planner copies the positions of the fragments and does not
 * keep @file.  Errors: E4L_ET_BAD_ARGUMENT (the extents are out of order,
 * overlap or are too long, or there are fewer tree blocks than the extents
 * need), ENOMEM.
 */
errcode_t e4l_plan_add_file(struct e4l_plan *p,
			    const struct e4l_plan_file *file);

/*
 * Makes the plan; must be called once only.  Guarantees:
 *
 * - Every target is free when its batch begins.
 * - No batch increases the number of fragments.
 * - If no fragments are saved, neither the largest free extent nor the total
 *   length of large free extents decreases.
 * - If fragments are saved, the largest free extent keeps 90 % of its length.
 *   Large free extents keep their total length, or still have 95 % of free
 *   space.  Without free_space, it is sufficient if large free extents keep
 *   90 % of their total length.
 * - Good free space is not consolidated.  Free space is good if large free
 *   extents have 95 % of it, and if the largest free extent has 95 % of the
 *   maximum length that walls permit.
 *
 * To keep the guarantees, a plan can be limited to some of the files, or be
 * empty.  Errors: E4L_ET_BLOCK_SHARED (blocks with two owners, or free blocks
 * with an owner), errors of go_on(), ENOMEM.  After an error, only
 * e4l_plan_free() is allowed.
 */
errcode_t e4l_plan_make(struct e4l_plan *p);

/* Statistics of a layout.  Lengths are in blocks. */
struct e4l_plan_state {
	/* @excess: number of fragments minus number of logical runs */
	uint64_t fragments, excess;
	/* number of fragmented files among the added files */
	uint64_t fragmented_files;
	uint64_t free_extents, free_blocks;
	uint64_t largest_free_blocks, large_free_blocks;
};

struct e4l_plan_result {
	struct e4l_plan_state before, after;
	/* numbers of written blocks to copy, and of blocks to zero */
	uint64_t copy_blocks, zero_blocks;
	uint64_t batches, moves;
	uint64_t files;			/* files with moves */
};
const struct e4l_plan_result *e4l_plan_result(const struct e4l_plan *p);

/* Reasons why a plan does not improve a part of a file. */
enum e4l_plan_skip {
	E4L_PLAN_SKIP_NO_ROOM,	/* no free extent can become large enough */
	E4L_PLAN_SKIP_GUARD,		/* free space would get worse */
	E4L_PLAN_SKIP_COPY_BUDGET,
	E4L_PLAN_SKIP_ZEROOUT_BUDGET,
	/* blocks of the file are not aligned to clusters */
	E4L_PLAN_SKIP_MISALIGNED,
	E4L_PLAN_SKIP_TIME,		/* enough() ended the plan */
	E4L_PLAN_SKIP_MEMORY,	/* mem_bytes is too small for the fragments */
	E4L_PLAN_SKIP_REASONS
};

struct e4l_plan_skipped {
	ext2_ino_t ino;
	enum e4l_plan_skip why;
	uint64_t extents;	/* extents or fragments that could be saved */
	/*
	 * With E4L_PLAN_SKIP_NO_ROOM, length of the shortest skipped run.  With
	 * any other reason, 0.
	 */
	uint64_t blocks;
};
/*
 * Returns the skipped files, with one element per file and reason.  Sets *@n to
 * the number of elements.  The array belongs to @p.
 */
const struct e4l_plan_skipped *e4l_plan_skipped(const struct e4l_plan *p, size_t *n);

/*
 * A move of @len clusters of a file to contiguous clusters, which begin at @to.
 * The moved clusters begin at the logical cluster @lstart.  Moves of one batch
 * are independent of each other.  A move may use clusters that earlier batches
 * have freed.
 */
struct e4l_plan_move {
	uint32_t batch, file;
	uint32_t kind;		/* E4L_MOVE_* */
	/* first logical cluster; for E4L_MOVE_TREE, the old physical cluster */
	uint32_t lstart;
	uint32_t len, to;
	/* checksum (e4l_place_sum()) of the numbers of the old clusters */
	uint32_t sum;
};
#define E4L_MOVE_DATA	0
#define E4L_MOVE_TREE	1	/* move a tree block */
#define E4L_MOVE_PACK	2	/* pack the tree, move no data */
/* zero the unwritten runs that the planner has chosen, and pack the tree */
#define E4L_MOVE_FINISH	3

/*
 * Returns the moves, sorted by batch, file and kind, and sets *@n to their
 * number.  In a batch, the E4L_MOVE_FINISH of a file is therefore the last move
 * of the file.
 */
const struct e4l_plan_move *e4l_plan_moves(const struct e4l_plan *p, size_t *n);
ext2_ino_t e4l_plan_ino(const struct e4l_plan *p, uint32_t file);
/* Returns the number of extents of the file before the plan. */
uint64_t e4l_plan_extents(const struct e4l_plan *p, uint32_t file);

/*
 * Returns a checksum: the sum of the numbers of the @len clusters from @start
 * on, modulo 2^32.  The checksum of all clusters of a file does not depend on
 * how the clusters are divided into extents.
 */
static inline uint32_t e4l_place_sum(uint64_t start, uint64_t len)
{
	return (uint32_t)(start * len + (len & 1 ? (len - 1) / 2 * len :
						   len / 2 * (len - 1)));
}

#endif
