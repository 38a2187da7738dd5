/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* evacuate_work: types and functions that the parts of evacuate share. */
#ifndef E4L_EVACUATE_WORK_H
#define E4L_EVACUATE_WORK_H

#include "e4layout/apply/apply.h"
#include "e4layout/dirs/space.h"
#include "evacuate.h"

/* An inode that has blocks in the range to evacuate. */
struct e4l_evac_job {
	ext2_ino_t ino;
	uint32_t generation;
	bool indirect;
	bool special;		/* metadata: e4l_is_file() is false */
	/* regular file, but no EA inode: e4l_apply_is_opaque() is true */
	bool regular;
	uint64_t todo;		/* number of clusters to move */
	uint64_t clusters;	/* number of data clusters */
	struct e4l_extent *extents;
	size_t n_extents;
	struct e4l_tree_block *tree;
	size_t n_tree;
};

/* An inode and its attribute block. */
struct e4l_evac_xattr {
	blk64_t blk;		/* must be first, for e4l_u64_cmp() */
	ext2_ino_t ino;
};

struct e4l_evac {
	struct e4l *e;		/* must be first, for e4l_refuse_damage() */
	struct e4l_repack_run *run;
	const struct e4l_evacuation *what;
	struct e4l_evacuated *result;
	struct e4l_geometry geo;
	struct e4l_run empty;	/* the range @what->empty, in clusters */
	struct e4l_space *space;	/* free clusters outside the range */
	/*
	 * clusters that the running transaction frees; must not be overwritten
	 * before the commit
	 */
	struct e4l_run *given;
	size_t n_given;
	struct e4l_evac_job *jobs;
	size_t n_jobs;
	struct e4l_evac_xattr *xattrs;
	size_t n_xattrs;
	uint64_t todo;		/* number of clusters that are not moved yet */
	uint64_t held;	/* number of clusters taken for the current step */
	/* pieces of the current inode of the scan */
	struct e4l_extent *extents;
	struct e4l_tree_block *tree;
	size_t n_extents, max_extents, n_tree, max_tree;
	/* the journal session */
	struct e4l_journal *j;
	struct e4l_quota *quota;
	struct e4l_apply *apply; /* NULL unless files with extents are moved */
	/* transaction for blocks that @apply does not move */
	struct e4l_txn *txn;
};

/* Whether the cluster of block @blk is in the range to evacuate. */
bool e4l_evac_is_in(const struct e4l_evac *ev, blk64_t blk);

/*
 * Finds the first part of the @len clusters from cluster @start on that is in
 * the range to evacuate.  If no cluster is in the range, returns false.
 */
bool e4l_evac_part(const struct e4l_evac *ev, uint64_t start, uint64_t len,
		   struct e4l_run *part);

/*
 * Takes up to @want contiguous free clusters.  If no free extent has @want
 * clusters, takes the largest free extent.  If no cluster is free, first
 * commits the running steps, which can free clusters.  Returns ENOSPC if no
 * cluster is free after the commit.
 */
errcode_t e4l_evac_take(struct e4l_evac *ev, uint64_t want,
			struct e4l_run *got);
/* Returns clusters from e4l_evac_take() to the free space of @ev. */
errcode_t e4l_evac_untake(struct e4l_evac *ev, const struct e4l_run *got);

/*
 * Records that the running transaction frees @run.  After the commit of the
 * transaction, the clusters of @run outside the range to evacuate can be
 * taken.
 */
errcode_t e4l_evac_give(struct e4l_evac *ev, const struct e4l_block_run *run);

/*
 * Commits the running transaction.  Then, the clusters that the transaction has
 * freed can be taken.
 */
errcode_t e4l_evac_settle(struct e4l_evac *ev);

/*
 * Commits the running transaction, if any, and begins a transaction in
 * @ev->txn.
 */
errcode_t e4l_evac_begin(struct e4l_evac *ev);

/*
 * Allocates block *@to for the content of @from, a block that is not data, and
 * frees @from, both in transaction @ev->txn.  The caller copies the content.
 */
errcode_t e4l_evac_block(struct e4l_evac *ev, blk64_t from, blk64_t *to);

/* evacuate_file.c: moves an inode that has an extent tree. */
errcode_t e4l_evac_file(struct e4l_evac *ev, struct e4l_evac_job *job);
/* evacuate_indirect.c: moves an inode that has an indirect map. */
errcode_t e4l_evac_indirect(struct e4l_evac *ev, struct e4l_evac_job *job);
/* evacuate_xattr.c: moves all attribute blocks out of the range. */
errcode_t e4l_evac_xattrs(struct e4l_evac *ev);

#endif
