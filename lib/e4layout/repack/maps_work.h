/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* maps_work: types and functions that planning and execution share. */
#ifndef E4L_MAPS_WORK_H
#define E4L_MAPS_WORK_H

#include <e4layout/dirs.h>
#include "e4layout/apply/apply.h"
#include "candidates.h"
#include "claims.h"
#include "maps.h"
#include "reread.h"
#include "e4layout/plan/plan.h"

/* Savings of a file.  A negative number means that the file gets worse. */
struct e4l_file_change {
	ext2_ino_t ino;			/* must be first, for e4l_u32_cmp() */
	int64_t excess;			/* excess fragments before the plan */
	int64_t extents, fragments, tree_blocks;
	/* for a finished step: index of the plan's first unfinished move */
	size_t end;
};

struct e4l_maps {
	struct e4l *e;		/* must be first, for e4l_refuse_damage() */
	struct e4l_repack_run *run;
	struct e4l_claims *claims;
	struct e4l_candidates candidates;
	struct e4l_scorer scorer;	/* scorer of the current inode */
	struct e4l_dirs *dirs;		/* NULL if locality is not counted */
	struct e4l_plan_options opt;
	struct e4l_plan *plan;
	/* files that have excess fragments; only @ino and @excess are set */
	struct e4l_file_change *files;
	struct e4l_file_change *planned; /* planned changes of each file */
	struct e4l_file_change *done;	/* changes of each finished step */
	size_t n_files, n_planned, n_done;
	struct e4l_maps_load *loads; /* struct e4l_load of each planned step */
	size_t n_loads, max_loads;
	uint32_t *groups; /* block groups that the steps in @loads change */
	size_t n_groups, max_groups;
	struct e4l_free_histogram free;
	uint64_t large_free;	/* free blocks in large free extents */
};

/*
 * Whether the run only plans, on a filesystem that other programs may change.
 * Apparent damage may then result from a concurrent change.
 */
bool e4l_maps_is_changing(const struct e4l_maps *m);
/*
 * Sets the members of run->result->after that describe files to the state after
 * the changes @v.
 */
errcode_t e4l_maps_set_after(struct e4l_maps *m,
			     const struct e4l_file_change *v, size_t n);
/* Copies the statistics of free space to @l. */
void e4l_maps_set_free(const struct e4l_maps *m, struct e4l_layout *l);
errcode_t e4l_maps_count_free(const struct e4l_block_run *run, void *maps);

/*
 * Counts the blocks that a step copies and zeroes.  Records what the step adds
 * to a transaction (struct e4l_load).  This function is a callback for
 * e4l_plan_foresee().
 */
errcode_t e4l_maps_note_load(const struct e4l_step *step, void *maps);
/*
 * Counts the transactions of the plan.  Call this function after
 * e4l_maps_note_load() has been called for all steps.
 */
errcode_t e4l_maps_count_transactions(struct e4l_maps *m);

/*
 * Reads the maps of the files of the first *@n moves again.  If these files
 * have too many extents, reads the files of fewer moves and sets *@n to the
 * number of these moves.  @ret must be freed even after an error.
 */
errcode_t e4l_maps_reread(struct e4l_maps *m, struct e4l *e,
			  const struct e4l_plan_move *moves, size_t *n,
			  struct e4l_reread *ret);

#endif
