/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the parts of the planner share. */
#ifndef E4L_PLANP_H
#define E4L_PLANP_H

#include <errno.h>
#include <stdlib.h>
#include "space.h"

/* A file that something can be gained from. */
struct e4l_candidate {
	ext2_ino_t ino;
	unsigned int allowed;
	uint64_t eof_blk;
	blk64_t goal;
	struct e4l_extent *ex;		/* after all its steps so far */
	size_t n_ex;
	blk64_t *tree;			/* likewise, ascending */
	size_t n_tree;
	size_t step;			/* its last step's index + 1, 0: none */
	/* for the order of moving, brought up to date by each pass */
	uint64_t excess;		/* fragments */
	uint64_t cost;			/* written blocks that may be copied */
	uint64_t longest;		/* run to place, in clusters */
};

struct e4l_plan {
	struct e4l_plan_options opt;
	struct e4l_space *space;
	struct e4l_candidate *files;
	size_t n_files;
	struct e4l_file_plan *steps;
	size_t n_steps;
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

/*
 * Makes room for one element more in an array of @n elements of @size bytes,
 * that was only ever grown by this.
 */
static inline errcode_t e4l_grow(void *array, size_t n, size_t size)
{
	void **v = array, *more;

	if (n & (n - 1))
		return 0;
	more = reallocarray(*v, n ? 2 * n : 1, size);
	if (!more)
		return ENOMEM;
	*v = more;
	return 0;
}

/* Reads the state run that begins with ex[*i] and moves *i past it. */
void e4l_next_state_run(const struct e4l_extent *ex, size_t n, size_t *i,
			struct e4l_state_run *run);

/*
 * Packs @n extents into the fewest entries, in place when @out is @ex, and
 * returns their number; @out may be NULL.
 */
size_t e4l_pack(const struct e4l_extent *ex, size_t n, struct e4l_extent *out);

/* plan_zero.c */

/* Appends the runs of file @index that may be zeroed, in logical order. */
errcode_t e4l_zero_collect(const struct e4l_plan *p, size_t index,
			   struct e4l_zero_run **runs, size_t *n);
/* Chooses among @runs, which are in the order of their files. */
errcode_t e4l_zero_choose(const struct e4l_plan *p, struct e4l_zero_run *runs,
			  size_t n);

/* plan_move.c */

/*
 * The file's pieces.  Errors: ENOMEM, E4L_ET_BAD_ARGUMENT (not aligned with
 * clusters).
 */
errcode_t e4l_pieces(const struct e4l_extent *ex, size_t n, uint32_t ratio,
		     struct e4l_piece_of_file **ret, size_t *n_ret);
/* Sets @c's excess, cost and longest. */
errcode_t e4l_move_weigh(const struct e4l_plan *p, struct e4l_candidate *c);
/*
 * Moves what can be joined to one piece or, if @partial, to fewer pieces.
 * Adds a step if that gains something.
 */
errcode_t e4l_move_file(struct e4l_plan *p, struct e4l_candidate *c,
			bool partial, bool *moved);

/* plan.c */

/*
 * Adds a step for @c; its arrays but old_extents and tree are the caller's
 * work, and @step takes ownership of them, also on an error.  *@step's new
 * extents become @c's.
 */
errcode_t e4l_add_step(struct e4l_plan *p, struct e4l_candidate *c,
		       struct e4l_file_plan *step);
/* Frees what a step holds. */
void e4l_free_step(struct e4l_file_plan *step);

#endif
