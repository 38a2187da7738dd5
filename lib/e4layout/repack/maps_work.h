/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* maps_work: what planning and execution of e4l_maps share. */
#ifndef E4L_MAPS_WORK_H
#define E4L_MAPS_WORK_H

#include <e4layout/dirs.h>
#include "e4layout/apply/apply.h"
#include "candidates.h"
#include "claims.h"
#include "maps.h"
#include "reread.h"
#include "e4layout/plan/plan.h"

/* What a file loses. */
struct e4l_file_change {
	ext2_ino_t ino;			/* first: see e4l_u32_cmp() */
	int64_t excess;			/* excess fragments that it had */
	int64_t extents, fragments, tree_blocks;
	size_t end;			/* moves that are done with it */
};

struct e4l_maps {
	struct e4l *e;			/* first: see e4l_refuse_damage() */
	struct e4l_repack_run *run;
	struct e4l_claims *claims;
	struct e4l_candidates candidates;
	struct e4l_scorer scorer;	/* of the inode at hand */
	struct e4l_dirs *dirs;		/* NULL: locality is not read */
	struct e4l_plan_options opt;
	struct e4l_plan *plan;
	struct e4l_file_change *files;	/* with excess, by number */
	struct e4l_file_change *planned;	/* of each file in the plan */
	struct e4l_file_change *done;	/* of each step that was made */
	size_t n_files, n_planned, n_done;
	struct e4l_free_histogram free;
	uint64_t large_free;		/* of it, in large extents */
};

/* A plan of a mounted filesystem: apparent damage is a change meanwhile. */
bool e4l_maps_is_changing(const struct e4l_maps *m);
/* The layout when the changes @v are made. */
errcode_t e4l_maps_set_after(struct e4l_maps *m,
			     const struct e4l_file_change *v, size_t n);
/* What was counted of free space. */
void e4l_maps_set_free(const struct e4l_maps *m, struct e4l_layout *l);
errcode_t e4l_maps_count_free(const struct e4l_block_run *run, void *maps);

/*
 * Reads the files of the first *@n moves again, or of fewer if these have very many
 * extents: *@n is then how many moves these have.  To be freed in any case.
 */
errcode_t e4l_maps_reread(struct e4l_maps *m, struct e4l *e,
			  const struct e4l_plan_move *moves, size_t *n,
			  struct e4l_reread *ret);

#endif
