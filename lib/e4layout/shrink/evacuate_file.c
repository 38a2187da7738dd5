/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * evacuate_file: moves an inode that has an extent tree, in one or more steps.
 * A step moves some fragments and replaces the tree.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/apply/make.h"
#include "e4layout/base/array.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/format/csum.h"
#include "e4layout/format/extent_tree_build.h"
#include "e4layout/read/runs.h"
#include "evacuate_work.h"

#define TAIL_BYTES	8 /* bytes of an orphan block's magic and checksum */

struct mover {
	struct e4l_evac *ev;
	struct e4l_evac_job *job;
	struct e4l_fragments new;
	/*
	 * maximum number of clusters to move in a step, and number of clusters
	 * placed in the current step
	 */
	uint64_t limit, moving;
	/* logical and physical cluster after the last placed cluster */
	uint64_t next_lc, next;
	bool whole;			/* move all clusters, to defragment */
	struct e4l_run *took;	/* clusters taken for the current step */
	size_t n_took;
};

static bool is_orphan_file(const struct mover *m)
{
	struct ext2_super_block *sb = m->ev->e->fs->super;

	return ext2fs_has_feature_orphan_file(sb) &&
	       m->job->ino == sb->s_orphan_file_inum;
}

/* ------------------------------------------------------------------- places */

static void keep(struct mover *m, const struct e4l_run *got)
{
	m->took[m->n_took++] = *got;
	m->ev->held += got->len;
}

static errcode_t take(struct mover *m, uint64_t want, struct e4l_run *got)
{
	errcode_t err = e4l_grow(&m->took, m->n_took, sizeof(*m->took));

	if (!err)
		err = e4l_evac_take(m->ev, want, got);
	if (!err)
		keep(m, got);
	return err;
}

/*
 * Takes free clusters for the @want clusters of the file from logical cluster
 * @lc on.  If there are @want free clusters directly after the clusters taken
 * for the preceding logical clusters, takes these free clusters.
 */
static errcode_t take_for(struct mover *m, uint64_t lc, uint64_t want,
			  struct e4l_run *got)
{
	struct e4l_space *space = m->ev->space;
	errcode_t err;

	if (lc != m->next_lc || !m->next ||
	    e4l_space_after(space, m->next) < want)
		return take(m, want, got);
	*got = (struct e4l_run) { m->next, want };
	err = e4l_grow(&m->took, m->n_took, sizeof(*m->took));
	if (!err)
		err = e4l_space_take(space, got->start, got->len);
	if (!err)
		keep(m, got);
	return err;
}

static errcode_t untake_all(struct mover *m)
{
	errcode_t err = 0;

	while (m->n_took && !err)
		err = e4l_evac_untake(m->ev, &m->took[--m->n_took]);
	m->ev->held = 0;
	return err;
}

/*
 * Takes free clusters for the @n clusters of the file from logical cluster @lc
 * on.
 */
static errcode_t place(struct mover *m, uint64_t lc, uint64_t n)
{
	struct e4l_run got;
	errcode_t err = 0;

	for (; n && !err; n -= got.len, lc += got.len) {
		err = take_for(m, lc, n, &got);
		if (!err)
			err = e4l_fragments_add(&m->new, lc, got.start,
						got.len);
		if (err)
			break;
		m->moving += got.len;
		m->next_lc = lc + got.len;
		m->next = got.start + got.len;
	}
	return err;
}

/*
 * Takes free clusters for the parts of a fragment that are in the range to
 * evacuate.
 */
static errcode_t place_fragment(struct mover *m, const struct e4l_fragment *f)
{
	uint64_t at = f->pc, end = f->pc + f->n;
	struct e4l_run part;
	errcode_t err = 0;

	for (; at < end && !err && m->moving < m->limit;
	     at = part.start + part.len) {
		if (!e4l_evac_part(m->ev, at, end - at, &part))
			break;
		if (part.len > m->limit - m->moving)
			part.len = m->limit - m->moving;
		err = place(m, f->lc + (part.start - f->pc), part.len);
	}
	return err;
}

/* Places the whole file in one free extent. */
static errcode_t place_whole(struct mover *m, struct e4l_walk walk)
{
	struct e4l_fragment f;
	struct e4l_run got;
	errcode_t err = take(m, m->job->clusters, &got);

	if (!err && got.len < m->job->clusters)
		err = E4L_ET_CHANGED;
	m->moving = m->job->clusters;
	while (!err && e4l_next_fragment(&walk, &f)) {
		err = e4l_fragments_add(&m->new, f.lc, got.start, f.n);
		got.start += f.n;
	}
	return err;
}

static errcode_t place_all(struct mover *m)
{
	struct e4l_walk walk = e4l_walk_extents(m->job->extents,
						m->job->n_extents,
						m->ev->geo.cluster_blocks);
	struct e4l_fragment f;
	errcode_t err = 0;

	m->moving = 0;
	m->new.n = 0;
	if (m->whole)
		return place_whole(m, walk);
	while (!err && m->moving < m->limit && e4l_next_fragment(&walk, &f))
		err = place_fragment(m, &f);
	return err;
}

/*
 * Whether the whole file should move to one free extent: the file has several
 * fragments, at least half of its clusters must move anyway, and the longest
 * free extent holds the file.
 */
static bool is_better_whole(const struct mover *m)
{
	const struct e4l_evac_job *job = m->job;
	uint64_t start;

	return !job->special && job->todo * 2 >= job->clusters &&
	       e4l_count_excess(job->extents, job->n_extents) &&
	       e4l_space_largest(m->ev->space, &start) >= job->clusters;
}

/* --------------------------------------------------------------------- tree */

static errcode_t use_tree_block(struct mover *m, struct e4l_step *step,
				blk64_t blk)
{
	errcode_t err = e4l_grow(&step->tree, step->n_tree,
				 sizeof(*step->tree));

	(void)m;
	if (!err)
		step->tree[step->n_tree++] = blk;
	return err;
}

/* Adds the cluster of tree block @blk to the clusters that the step frees. */
static errcode_t give_tree_block(const struct mover *m, struct e4l_step *step,
				 blk64_t blk)
{
	blk64_t ratio = m->ev->geo.cluster_blocks;

	return e4l_step_add_run(&step->give, &step->n_give,
				blk / ratio * ratio, ratio);
}

static errcode_t new_tree_block(struct mover *m, struct e4l_step *step)
{
	blk64_t ratio = m->ev->geo.cluster_blocks;
	struct e4l_run got;
	errcode_t err = take(m, 1, &got);

	if (!err)
		err = e4l_step_add_run(&step->take, &step->n_take,
				       got.start * ratio, ratio);
	return err ? err : use_tree_block(m, step, got.start * ratio);
}

static errcode_t plan_tree(struct mover *m, struct e4l_step *step)
{
	const struct e4l_evac_job *job = m->job;
	struct e4l_extent_tree_shape shape;
	errcode_t err = 0;
	size_t i;

	e4l_extent_tree_shape(step->n_new, m->ev->geo.blocksize, &shape);
	/* a large tree is written to new blocks, without the journal */
	step->tree_is_new = shape.blocks > m->ev->geo.txn_blocks / 4;
	for (i = 0; i < job->n_tree && !err; i++) {
		blk64_t blk = job->tree[i].pblk;

		if (step->tree_is_new || step->n_tree == shape.blocks ||
		    e4l_evac_is_in(m->ev, blk))
			err = give_tree_block(m, step, blk);
		else
			err = use_tree_block(m, step, blk);
	}
	while (step->n_tree < shape.blocks && !err)
		err = new_tree_block(m, step);
	return err;
}

/* Replaces the tree in @job by the tree of the step. */
static errcode_t keep_tree(struct e4l_evac_job *job, const struct e4l_step *step)
{
	struct e4l_tree_block *tree = calloc(step->n_tree + 1, sizeof(*tree));
	size_t i;

	if (!tree)
		return ENOMEM;
	for (i = 0; i < step->n_tree; i++)
		tree[i].pblk = step->tree[i];
	free(job->tree);
	job->tree = tree;
	job->n_tree = step->n_tree;
	return 0;
}

/* --------------------------------------------------------------------- step */

/*
 * Removes blocks beyond the end of the filesystem from the runs that the step
 * frees.  The last cluster of a filesystem can be partial.
 */
static void cut_at_end(const struct mover *m, struct e4l_step *step)
{
	uint64_t blocks = m->ev->geo.blocks;
	size_t i;

	for (i = 0; i < step->n_give; i++)
		if (step->give[i].pblk + step->give[i].len > blocks)
			step->give[i].len = blocks - step->give[i].pblk;
}

static errcode_t make_step(struct mover *m, struct e4l_step *step)
{
	const struct e4l_evac_job *job = m->job;
	errcode_t err;
	size_t i;

	*step = (struct e4l_step) { .ino = job->ino };
	err = e4l_step_map(&m->ev->geo, job->extents, job->n_extents, &m->new,
			   step);
	if (!err)
		err = e4l_step_exchange(&m->ev->geo, job->extents,
					job->n_extents, &m->new, step);
	if (!err)
		err = plan_tree(m, step);
	cut_at_end(m, step);
	/* finish_special() writes the content of the orphan file */
	for (i = 0; i < step->n_moves && is_orphan_file(m); i++)
		step->moves[i].copy = false;
	return err;
}

static errcode_t give_all(struct mover *m, const struct e4l_step *step)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < step->n_give && !err; i++)
		err = e4l_evac_give(m->ev, &step->give[i]);
	return err;
}

/* Counts the clusters that the step moves out of the range to evacuate. */
static uint64_t count_moved(const struct mover *m, const struct e4l_step *step)
{
	uint64_t ratio = m->ev->geo.cluster_blocks, n = 0;
	struct e4l_run part;
	size_t i;

	for (i = 0; i < step->n_give; i++) {
		uint64_t at = step->give[i].pblk / ratio;
		uint64_t end = at + (step->give[i].len + ratio - 1) / ratio;

		for (; at < end && e4l_evac_part(m->ev, at, end - at, &part);
		     at = part.start + part.len)
			n += part.len;
	}
	return n;
}

static errcode_t apply_step(struct mover *m, struct e4l_step *step)
{
	struct e4l_evac_job *job = m->job;
	struct e4l_evac *ev = m->ev;
	uint64_t moved = count_moved(m, step);
	errcode_t err = e4l_apply_step(ev->apply, step);

	if (!err)
		err = give_all(m, step);
	if (!err)
		err = keep_tree(job, step);
	if (err)
		return err;
	m->n_took = 0;
	ev->held = 0;
	ev->todo -= moved < ev->todo ? moved : ev->todo;
	job->todo -= moved < job->todo ? moved : job->todo;
	ev->result->blocks += m->moving * ev->geo.cluster_blocks;
	free(job->extents);
	job->extents = step->new_extents;
	job->n_extents = step->n_new;
	step->new_extents = NULL;
	return 0;
}

/* ---------------------------------------------------------- the orphan file */

static errcode_t write_orphan_block(struct mover *m, char *buf, blk64_t blk)
{
	ext2_filsys fs = m->ev->e->fs;
	size_t tail = fs->blocksize - TAIL_BYTES;
	uint64_t le_blk = ext2fs_cpu_to_le64(blk);
	uint32_t words[2] = { ext2fs_cpu_to_le32(EXT4_ORPHAN_BLOCK_MAGIC) };
	uint32_t crc = e4l_inode_seed(fs, m->job->ino, m->job->generation);

	memset(buf, 0, fs->blocksize);
	crc = e4l_crc32c(crc, &le_blk, sizeof(le_blk));
	crc = e4l_crc32c(crc, buf, tail);
	if (ext2fs_has_feature_metadata_csum(fs->super))
		words[1] = ext2fs_cpu_to_le32(crc);
	memcpy(buf + tail, words, sizeof(words));
	return e4l_write(m->ev->e, blk, 1, buf);
}

/*
 * Writes empty orphan blocks to the new blocks of the orphan file.  A copy of
 * the old blocks would have wrong checksums, because the checksum of an orphan
 * block covers the block number.
 */
static errcode_t write_orphan_file(struct mover *m, const struct e4l_step *step)
{
	char *buf = malloc(m->ev->geo.blocksize);
	errcode_t err = buf ? 0 : ENOMEM;
	size_t i, k;

	if (!err)
		err = e4l_journal_check(m->ev->j);
	for (i = 0; i < step->n_moves && !err; i++)
		for (k = 0; k < step->moves[i].len && !err; k++)
			err = write_orphan_block(m, buf,
						 step->moves[i].to + k);
	free(buf);
	return err;
}

/*
 * Finishes a step for a special file (quota file or orphan file), in a
 * transaction of its own.
 */
static errcode_t finish_special(struct mover *m, const struct e4l_step *step)
{
	errcode_t err = is_orphan_file(m) ? write_orphan_file(m, step) : 0;

	return err ? err : e4l_evac_settle(m->ev);
}

/* -------------------------------------------------------------------- moves */

/*
 * Gives back the clusters of a step that did not fit into a transaction.  If
 * the step would have moved the whole file to one free extent, the next step
 * moves only clusters in the range to evacuate.  Otherwise, halves the size of
 * the next step.
 */
static errcode_t halve(struct mover *m)
{
	errcode_t err = untake_all(m);

	if (err)
		return err;
	if (m->whole) {
		m->whole = false;
		return 0;
	}
	if (m->moving <= 1)
		return e4l_fail(m->ev->e, E4L_ET_TXN_FULL,
				"evacuating a file", m->job->ino, 0);
	m->limit = m->moving / 2;
	return 0;
}

static errcode_t one_step(struct mover *m, bool *fits)
{
	struct e4l_step step;
	errcode_t err;

	err = place_all(m);
	if (err)
		return err;
	err = make_step(m, &step);
	if (!err)
		err = e4l_apply_make_room(m->ev->apply, &step, 0);
	*fits = err != E4L_ET_TXN_FULL;
	if (!*fits)
		err = halve(m);
	else if (!err)
		err = apply_step(m, &step);
	if (!err && *fits && m->job->special)
		err = finish_special(m, &step);
	e4l_step_free(&step);
	return err;
}

errcode_t e4l_evac_file(struct e4l_evac *ev, struct e4l_evac_job *job)
{
	struct mover m = {
		.ev = ev, .job = job, .limit = UINT64_MAX,
	};
	uint64_t before = e4l_count_fragments(job->extents, job->n_extents,
					      NULL), left;
	errcode_t err = 0;
	bool fits = false;

	/*
	 * changes of a quota file or orphan file get transactions of their own
	 */
	if (job->special)
		err = e4l_evac_settle(ev);
	m.whole = is_better_whole(&m);
	while (job->todo && !err) {
		left = job->todo;
		err = one_step(&m, &fits);
		m.whole &= !fits;
		if (!err && fits && job->todo == left)
			err = e4l_fail(ev->e, E4L_ET_CHANGED,
				       "evacuating a file", job->ino, 0);
	}
	ev->result->fragments_before += before;
	ev->result->fragments_after += e4l_count_fragments(job->extents,
							   job->n_extents, NULL);
	free(m.new.v);
	free(m.took);
	return err;
}
