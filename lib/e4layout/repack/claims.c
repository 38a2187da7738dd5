/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "e4layout/base/owners.h"
#include "claims.h"
#include "e4layout/format/own_blocks.h"

struct run {
	uint64_t start, len;	/* in clusters */
};

struct e4l_claims {
	struct e4l *e;
	struct e4l_owners *owners;
	uint64_t clusters;
	struct {
		ext2_ino_t ino;
		uint64_t cluster;
	} *xattr;
	size_t n_xattr;
	struct run *runs;		/* clusters of the current file */
	size_t max_runs;
};

/*
 * Number of extents that are sorted at a time if a cluster has one block.  If
 * clusters have several blocks, all extents of a file are sorted together,
 * because two extents may share a cluster.
 */
#define AT_ONCE		(1u << 16)

static const char doing[] = "checking the owners of blocks";

/*
 * Claims one run of clusters for inode @ino.  If a cluster already has an
 * owner, or is outside the filesystem, returns an error.
 */
static errcode_t claim(struct e4l_claims *c, ext2_ino_t ino, uint64_t start,
		       uint64_t len)
{
	uint64_t inside = start < c->clusters ? c->clusters - start : 0;
	uint64_t taken = 0, first;
	errcode_t err;

	err = e4l_owners_claim(c->owners, start, len < inside ? len : inside,
			       &taken, &first);
	if (err)
		return err;
	if (taken)
		return e4l_fail(c->e, E4L_ET_BLOCK_SHARED, doing, ino,
				EXT2FS_C2B(c->e->fs, first));
	if (len > inside)
		return e4l_fail(c->e, E4L_ET_BLOCK_RANGE, doing, ino,
				EXT2FS_C2B(c->e->fs, start + inside));
	return 0;
}

/*
 * Marks the clusters of the filesystem's metadata as owned.  A cluster may be
 * marked twice, because several metadata blocks can share a cluster.
 */
static errcode_t mark(struct e4l_claims *c, blk64_t blk, blk64_t len)
{
	uint64_t i = EXT2FS_B2C(c->e->fs, blk), taken = 0, first;
	uint64_t n = EXT2FS_B2C(c->e->fs, blk + len - 1) - i + 1;

	if (!len || i >= c->clusters)
		return 0;
	return e4l_owners_claim(c->owners, i, n < c->clusters - i ? n :
				c->clusters - i, &taken, &first);
}

static errcode_t mark_group(struct e4l_claims *c, dgrp_t group)
{
	struct e4l_own_run runs[E4L_OWN_RUNS];
	size_t n = e4l_own_blocks(c->e->fs, group, runs), i;
	errcode_t err = 0;

	for (i = 0; i < n && !err; i++)
		err = mark(c, runs[i].blk, runs[i].len);
	return err;
}

errcode_t e4l_claims_new(struct e4l *e, struct e4l_claims **ret)
{
	struct e4l_claims *c = calloc(1, sizeof(*c));
	errcode_t err = 0;
	dgrp_t group;

	*ret = NULL;
	if (!c)
		return ENOMEM;
	c->e = e;
	c->clusters = EXT2FS_B2C(e->fs,
				 ext2fs_blocks_count(e->fs->super) - 1) + 1;
	c->owners = e4l_owners_new(c->clusters);
	if (!c->owners)
		err = ENOMEM;
	for (group = 0; group < e->fs->group_desc_count && !err; group++)
		err = mark_group(c, group);
	if (err)
		e4l_claims_free(c);
	else
		*ret = c;
	return err;
}

void e4l_claims_free(struct e4l_claims *c)
{
	if (!c)
		return;
	e4l_owners_free(c->owners);
	free(c->xattr);
	free(c->runs);
	free(c);
}

/* Returns the number of clusters at the start of @run that @prev also has. */
static uint64_t shared_clusters(const struct run *prev, const struct run *run)
{
	uint64_t end = prev->start + prev->len;

	return end > run->start ? end - run->start : 0;
}

/*
 * Converts @extents to sorted runs of clusters in c->runs, without duplicates.
 * Sets *@used to the number of runs.
 */
static errcode_t collect_runs(struct e4l_claims *c, ext2_ino_t ino,
			      const struct e4l_extent *extents, size_t n,
			      size_t *used)
{
	ext2_filsys fs = c->e->fs;
	size_t i;

	*used = 0;
	if (e4l_reserve(&c->runs, 0, &c->max_runs, n, sizeof(*c->runs)))
		return ENOMEM;
	for (i = 0; i < n; i++) {
		uint64_t first = EXT2FS_B2C(fs, extents[i].pblk);
		uint64_t last = EXT2FS_B2C(fs, extents[i].pblk +
					       extents[i].len - 1);

		c->runs[i] = (struct run) { first, last - first + 1 };
	}
	e4l_sort(c->runs, n, sizeof(*c->runs), e4l_u64_cmp);
	for (i = 0; i < n; i++) {
		uint64_t shared = !*used ? 0 :
				  shared_clusters(&c->runs[*used - 1],
						  &c->runs[i]);

		/* two extents may share a cluster, but never a block */
		if (shared > (EXT2FS_CLUSTER_RATIO(fs) > 1))
			return e4l_fail(c->e, E4L_ET_BLOCK_SHARED, doing, ino,
					EXT2FS_C2B(fs, c->runs[i].start));
		if (shared == c->runs[i].len)
			continue;
		c->runs[(*used)++] = (struct run) {
			c->runs[i].start + shared, c->runs[i].len - shared };
	}
	return 0;
}

errcode_t e4l_claims_file(struct e4l_claims *c, ext2_ino_t ino,
			  const struct e4l_extent *extents, size_t n,
			  const struct e4l_tree_block *tree, size_t n_tree)
{
	size_t most = EXT2FS_CLUSTER_RATIO(c->e->fs) > 1 ? n : AT_ONCE;
	size_t i, at, used;
	errcode_t err = 0;

	for (at = 0; at < n && !err; at += most) {
		err = collect_runs(c, ino, extents + at,
				   n - at < most ? n - at : most, &used);
		for (i = 0; i < used && !err; i++)
			err = claim(c, ino, c->runs[i].start, c->runs[i].len);
	}
	for (i = 0; i < n_tree && !err; i++)
		err = claim(c, ino, EXT2FS_B2C(c->e->fs, tree[i].pblk), 1);
	return err;
}

errcode_t e4l_claims_xattr(struct e4l_claims *c, ext2_ino_t ino, blk64_t blk)
{
	errcode_t err;

	if (!blk)
		return 0;
	if (blk >= ext2fs_blocks_count(c->e->fs->super))
		return e4l_fail(c->e, E4L_ET_BLOCK_RANGE, doing, ino, blk);
	err = e4l_grow(&c->xattr, c->n_xattr, sizeof(*c->xattr));
	if (err)
		return err;
	c->xattr[c->n_xattr].ino = ino;
	c->xattr[c->n_xattr++].cluster = EXT2FS_B2C(c->e->fs, blk);
	return 0;
}

errcode_t e4l_claims_check(struct e4l_claims *c)
{
	uint64_t taken = 0, first;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < c->n_xattr && !err; i++)
		if (e4l_owners_count(c->owners, c->xattr[i].cluster, 1, &first))
			err = e4l_fail(c->e, E4L_ET_BLOCK_SHARED, doing,
				       c->xattr[i].ino,
				       EXT2FS_C2B(c->e->fs, first));
	for (i = 0; i < c->n_xattr && !err; i++)
		err = e4l_owners_claim(c->owners, c->xattr[i].cluster, 1,
				       &taken, &first);
	return err;
}

errcode_t e4l_claims_free_run(const struct e4l_claims *c,
			      const struct e4l_block_run *run)
{
	ext2_filsys fs = c->e->fs;
	uint64_t start = EXT2FS_B2C(fs, run->pblk), first;
	uint64_t last = EXT2FS_B2C(fs, run->pblk + run->len - 1);

	if (!e4l_owners_count(c->owners, start, last - start + 1, &first))
		return 0;
	return e4l_fail(c->e, E4L_ET_BLOCK_NOT_IN_USE, doing, 0,
			EXT2FS_C2B(fs, first));
}
