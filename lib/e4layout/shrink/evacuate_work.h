/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* evacuate_work: types and functions that the parts of evacuate share. */
#ifndef E4L_EVACUATE_WORK_H
#define E4L_EVACUATE_WORK_H

#include "e4layout/apply/apply.h"
#include "e4layout/dirs/space.h"
#include "evacuate.h"

/* An inode that has blocks in the ranges to evacuate. */
struct e4l_evac_job {
	ext2_ino_t ino;
	uint32_t generation;
	bool indirect;
	bool special;		/* not a file: see e4l_is_file() */
	bool regular;		/* see e4l_apply_is_opaque() */
	uint64_t todo;		/* clusters to move */
	uint64_t clusters;	/* clusters of data */
	struct e4l_extent *extents;
	size_t n_extents;
	struct e4l_tree_block *tree;
	size_t n_tree;
};

/* An inode and its attribute block. */
struct e4l_evac_xattr {
	blk64_t blk;		/* must be first: see e4l_u64_cmp() */
	ext2_ino_t ino;
};

struct e4l_evac {
	struct e4l *e;		/* must be first: see e4l_refuse_damage() */
	struct e4l_repack_run *run;
	const struct e4l_evacuation *what;
	struct e4l_evacuated *result;
	struct e4l_geometry geo;
	struct e4l_run *empty;	/* @what->empty, in clusters */
	struct e4l_space *space;	/* in clusters */
	/* clusters freed by the running transaction, which keep content */
	struct e4l_run *given;
	size_t n_given;
	struct e4l_evac_job *jobs;
	size_t n_jobs;
	struct e4l_evac_xattr *xattrs;
	size_t n_xattrs;
	uint64_t todo;		/* clusters that are not moved yet */
	uint64_t held;		/* clusters taken for the current step */
	/* pieces of the current inode of the scan */
	struct e4l_extent *extents;
	struct e4l_tree_block *tree;
	size_t n_extents, max_extents, n_tree, max_tree;
	/* the session */
	struct e4l_journal *j;
	struct e4l_quota *quota;
	struct e4l_apply *apply;	/* NULL: no extent file was changed */
	uint64_t told;		/* transactions of @apply counted so far */
	struct e4l_txn *txn;	/* of blocks that @apply does not move */
};

/* Whether the cluster with block @blk must become free. */
bool e4l_evac_is_in(const struct e4l_evac *ev, blk64_t blk);

/*
 * Finds the first part of the @len clusters from @start on that must become
 * free.  Returns false if there is none.
 */
bool e4l_evac_part(const struct e4l_evac *ev, uint64_t start, uint64_t len,
		   struct e4l_run *part);

/*
 * Takes up to @want free clusters, fewer only if no free extent is long enough.
 * Commits the running transaction if that frees clusters.  ENOSPC: nothing is
 * free.
 */
errcode_t e4l_evac_take(struct e4l_evac *ev, uint64_t want,
			struct e4l_run *got);
/* Reverts e4l_evac_take(). */
errcode_t e4l_evac_untake(struct e4l_evac *ev, const struct e4l_run *got);

/*
 * Notes that the running transaction frees @run.  The clusters can be taken
 * after its commit, unless they must become free.
 */
errcode_t e4l_evac_give(struct e4l_evac *ev, const struct e4l_block_run *run);

/* Commits the running transaction. */
errcode_t e4l_evac_settle(struct e4l_evac *ev);

/* Begins a transaction in @ev->txn, or commits it and begins another one. */
errcode_t e4l_evac_begin(struct e4l_evac *ev);

/*
 * Allocates a block for the content of block @from, which is not data, and
 * frees @from, in @ev->txn.  Copies nothing.
 */
errcode_t e4l_evac_block(struct e4l_evac *ev, blk64_t from, blk64_t *to);

/* evacuate_file.c: moves an inode that has an extent tree. */
errcode_t e4l_evac_file(struct e4l_evac *ev, struct e4l_evac_job *job);
/* evacuate_indirect.c: moves an inode that has an indirect map. */
errcode_t e4l_evac_indirect(struct e4l_evac *ev, struct e4l_evac_job *job);
/* evacuate_xattr.c: moves all attribute blocks. */
errcode_t e4l_evac_xattrs(struct e4l_evac *ev);

#endif
