/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the planner share. */
#ifndef E4L_PLANP_H
#define E4L_PLANP_H

#include <e4layout/plan.h>
#include <e4layout/zeroout.h>
#include "e4layout/base/array.h"
#include "space.h"

/* A file that something can be gained from. */
struct e4l_candidate {
	ext2_ino_t ino;
	unsigned int allowed;
	uint64_t eof_blk;
	blk64_t goal;
	uint32_t sum;			/* of its extents before all steps */
	blk64_t *tree;			/* after all its steps so far */
	size_t n_tree;			/* ascending */
	size_t step;			/* its last step's index + 1, 0: none */
	uint64_t left[E4L_LEFT_REASONS];	/* extents */
	enum e4l_left_why why;		/* it was not moved */
	/* of its extents, which are elsewhere: see e4l_get_extents() */
	size_t n_ex;
	size_t n_packed;		/* the fewest that hold the same */
	uint64_t fragments, largest;	/* how many; blocks of the largest */
	size_t n_zero;			/* runs that may be zeroed */
	uint64_t excess;		/* fragments that moving may save */
	uint64_t cost;			/* written blocks that may be copied */
	uint64_t longest;		/* run to place, in clusters */
};

struct e4l_plan {
	struct e4l_plan_options opt;
	struct e4l_es_cache *cache;	/* opt.cache, or its own */
	uint64_t reread;		/* files */
	struct e4l_space *space;
	struct e4l_candidate *files;
	size_t n_files;
	struct e4l_step *steps;
	size_t n_steps;
	struct e4l_left *left;
	size_t n_left;
	uint64_t in_long;		/* clusters free in long runs, at least */
	unsigned int batch;
	bool given;			/* by a step of this batch */
};

/* Contiguous in the file and on the disk, in clusters. */
struct e4l_piece_of_file {
	uint64_t lc, pc, n;
};

/* Contiguous and of one state. */
struct e4l_state_run {
	uint64_t lblk, len;
	blk64_t pblk;
	bool unwritten;
};

/* An unwritten run that may be zeroed. */
struct e4l_zero_run {
	size_t file;
	uint32_t lblk;
	uint32_t len;
	uint8_t gain;			/* extents: 1 or 2 */
	bool chosen;
	bool banned;			/* it was found to save nothing */
};

/* Reads the state run that begins with ex[*i] and moves *i past it. */
void e4l_next_state_run(const struct e4l_extent *ex, size_t n, size_t *i,
			struct e4l_state_run *run);

/*
 * Packs @n extents into the fewest entries, in place when @out is @ex, and
 * returns their number; @out may be NULL.
 */
size_t e4l_pack(const struct e4l_extent *ex, size_t n, struct e4l_extent *out);

/* plan_keep.c */

/* Puts the extents of @c, which has no step yet, into the cache. */
errcode_t e4l_keep_extents(struct e4l_plan *p, struct e4l_candidate *c,
			   const struct e4l_extent *ex, size_t n);
/*
 * The extents of @c after all its steps so far, packed, in an array of the
 * caller's: the last step's, or from the cache, or read again.  Errors: what
 * reading says; E4L_ET_CHANGED: they are not what they were.
 */
errcode_t e4l_get_extents(struct e4l_plan *p, const struct e4l_candidate *c,
			  struct e4l_extent **ex, size_t *n);

/* plan_zero.c */

/* How many runs of extents of @c may be zeroed. */
size_t e4l_zero_count(const struct e4l_plan *p, const struct e4l_candidate *c,
		      const struct e4l_extent *ex, size_t n);
/* Appends the runs of file @index that may be zeroed, in logical order. */
errcode_t e4l_zero_collect(struct e4l_plan *p, size_t index,
			   struct e4l_zero_run **runs, size_t *n);
/* Chooses among @runs, which are in the order of their files. */
errcode_t e4l_zero_choose(struct e4l_plan *p, struct e4l_zero_run *runs,
			  size_t n);

/* plan_move.c */

/* Pieces in logical order. */
struct e4l_pieces {
	struct e4l_piece_of_file *v;
	size_t n;
};

/* Appends a piece, or makes the last one longer. */
errcode_t e4l_push_piece(struct e4l_pieces *list, uint64_t lc, uint64_t pc,
			 uint64_t n);
/*
 * The file's pieces.  Errors: ENOMEM, E4L_ET_BAD_ARGUMENT (not aligned with
 * clusters).
 */
errcode_t e4l_get_pieces(const struct e4l_extent *ex, size_t n, uint32_t ratio,
			 struct e4l_pieces *ret);
/* Sets @c's excess, cost and longest. */
errcode_t e4l_move_weigh(const struct e4l_plan *p, struct e4l_candidate *c,
			 const struct e4l_extent *ex, size_t n);
/*
 * Moves what can be joined to one piece or, if @partial, to fewer pieces.
 * Adds a step if that gains something.
 */
errcode_t e4l_move_file(struct e4l_plan *p, struct e4l_candidate *c,
			bool partial, bool *moved);

/* Clusters that are contiguous before and after, perhaps at the same place. */
struct e4l_change {
	uint64_t lc, from, to, n;
};

/* Walks two lists of pieces that cover the same clusters. */
errcode_t e4l_each_change(const struct e4l_pieces *old,
			  const struct e4l_pieces *new,
			  errcode_t (*fn)(const struct e4l_change *, void *),
			  void *priv);
/*
 * Makes what moves @ex from @old to @new: the step's extents, moves, take and
 * give, but for the tree.
 */
errcode_t e4l_make_move(const struct e4l_plan *p, const struct e4l_extent *ex,
			size_t n, const struct e4l_pieces *old,
			const struct e4l_pieces *new,
			struct e4l_step *step);

/* A file, where its pieces are, and where they are to be. */
struct e4l_moving {
	struct e4l_candidate *c;
	struct e4l_extent *ex;
	size_t n_ex;
	struct e4l_pieces old, new;
	uint64_t copied;		/* blocks, by the steps that were added */
};

/* plan_split.c */

/*
 * The most metadata blocks that @step changes: its inode's, its tree's unless it
 * is new, what quota counts, and bitmaps and descriptors of the groups whose
 * blocks come or go.  @less: how many tree blocks it is going to give back
 * beside.
 */
errcode_t e4l_step_cost(const struct e4l_geometry *geo,
			const struct e4l_step *step, size_t less,
			uint64_t *blocks);
/* Whether it fits into a transaction. */
errcode_t e4l_step_fits(const struct e4l_plan *p,
			const struct e4l_step *step, size_t less,
			bool *fits);
/* The most blocks of @c that are copied, or zeroed, in one step. */
uint64_t e4l_part_blocks(const struct e4l_plan *p,
			 const struct e4l_candidate *c);
/*
 * Moves a file in several steps, or in none: *@done is false.  As far as the
 * copy budget goes; what does not move then is free again.
 */
errcode_t e4l_split_move(struct e4l_plan *p, struct e4l_moving *m, bool *done);

/* plan.c */

/* Whether the extents are in order, and none is longer than an entry may be. */
bool e4l_well_formed(const struct e4l_extent *ex, size_t n);
/* How many fragments there are; the @largest has so many blocks, or NULL. */
uint64_t e4l_count_fragments(const struct e4l_extent *ex, size_t n,
			     uint64_t *largest);

/*
 * Decides where the tree of @step is going to be, now that it is in @tree, and
 * what is given back of it.  False: there is no room for it.
 */
errcode_t e4l_place_tree(struct e4l_plan *p, const blk64_t *tree, size_t n,
			 struct e4l_step *step, bool *placed);
/* Takes that back, and frees what the step holds. */
errcode_t e4l_drop_step(struct e4l_plan *p, struct e4l_step *step);
/*
 * Adds @n steps for @c, one after the other, with their trees.  Takes ownership
 * of what they hold, also on an error.
 */
errcode_t e4l_add_steps(struct e4l_plan *p, struct e4l_candidate *c,
			struct e4l_step *steps, size_t n);
/* Frees what a step holds. */
void e4l_free_step(struct e4l_step *step);
/* No transaction holds what @flags say: leaves @c alone so far. */
void e4l_leave(struct e4l_candidate *c, unsigned int flags);

#endif
