/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* draft: the plan so far: files, and the steps that there are for them. */
#ifndef E4L_DRAFT_H
#define E4L_DRAFT_H

#include "keep.h"
#include "step.h"
#include "weigh.h"

/* A file that something can be gained from. */
struct e4l_file {
	ext2_ino_t ino;
	struct e4l_rules rules;
	blk64_t goal;
	struct e4l_kept kept;		/* its extents, before all steps */
	uint64_t had;			/* fragments, before all steps */
	size_t had_extents;		/* likewise */
	size_t had_tree;		/* blocks, likewise */
	/* after all its steps so far: */
	struct e4l_weight w;
	blk64_t *tree;			/* ascending */
	size_t n_tree;
	size_t step;			/* its last step's index + 1, 0: none */
	uint64_t left[E4L_LEFT_REASONS];	/* extents */
	enum e4l_left_why why;		/* it was not moved */
	enum e4l_left_why why_parts;	/* nor in parts, when that was tried */
	uint32_t lacks;			/* clusters in one run, or 0 */
};

struct e4l_draft {
	struct e4l_disk disk;
	/* Of struct e4l_plan_options: */
	errcode_t (*go_on)(void *priv);		/* or NULL */
	bool (*enough)(void *priv);		/* likewise */
	void *priv;
	uint64_t most_bytes;			/* plan_bytes, or E4L_NO_LIMIT */
	bool late;				/* nothing more is looked for */
	enum e4l_left_why why_late;
	uint64_t bytes;				/* of files and steps */
	struct e4l_keep keep;
	uint64_t part_blocks;		/* see struct e4l_plan_options */
	uint64_t in_long;		/* clusters to stay free in long runs */
	struct e4l_file *files;
	size_t n_files;
	struct e4l_step *steps;
	size_t n_steps;
	unsigned int batch;
	bool given;			/* by a step of this batch */
};

/* Asked wherever much may be tried: an error ends the plan. */
errcode_t e4l_draft_go_on(const struct e4l_draft *d);
/* Whether time or memory is short: what is found by now must do. */
bool e4l_draft_is_late(struct e4l_draft *d);
/* The same, once there are steps: nothing more is looked for. */
bool e4l_draft_is_over(struct e4l_draft *d);

/*
 * Of how many fragments, each of which adds an extent, @f may have more and still
 * no more of either than before all steps; 0 if it may not move, or does not.
 */
uint64_t e4l_draft_spare(const struct e4l_file *f);
/* Whether packing alone would make @f smaller. */
bool e4l_is_loose(const struct e4l_draft *d, const struct e4l_file *f);
/* The most blocks of @f that are copied, or zeroed, in one step. */
uint64_t e4l_part_blocks(const struct e4l_draft *d, const struct e4l_file *f);
/* What @flags say cannot be done, and @why: leaves @f alone so far. */
void e4l_leave(struct e4l_file *f, unsigned int flags, enum e4l_left_why why);

/*
 * The extents of @f after all its steps so far, packed, in an array of the
 * caller's.  Errors as for e4l_keep_get().
 */
errcode_t e4l_draft_extents(struct e4l_draft *d, const struct e4l_file *f,
			    struct e4l_extent **ex, size_t *n);
/*
 * Adds @n steps for @f, one after the other, with their trees.  Takes ownership
 * of what they hold, also on an error.
 */
errcode_t e4l_draft_add(struct e4l_draft *d, struct e4l_file *f,
			struct e4l_step *steps, size_t n);
/* Gives the last step of @f other new extents, which it takes over. */
errcode_t e4l_draft_amend(struct e4l_draft *d, struct e4l_file *f,
			  struct e4l_extent *ex, size_t n);
/* Makes free what the steps so far give; the next may use it. */
errcode_t e4l_draft_end_batch(struct e4l_draft *d);
/* Frees what it holds, but for the cache. */
void e4l_draft_free(struct e4l_draft *d);

#endif
