/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Pass 2: the content of directories.
 *
 *  1. the root of each index is read, because the root has the hash version;
 *  2. all blocks of directories are read in disk order on all processors; the
 *     thread that has read a block checks the block;
 *  3. the hashes of names are compared with the hash ranges in each index.
 *
 * If the layout is not checked, steps 1 and 2 run once for all directories.  If
 * the layout is checked, steps 1 and 2 run for one round of directories at a
 * time, as tally.h requires.
 *
 * Threads share the number of links of each inode, and the parent of each
 * directory.  If a directory has several parents, the parent with the lowest
 * inode number is recorded.  The result therefore does not depend on the timing
 * of threads.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/format/dir_block.h"
#include "e4layout/format/host_inode.h"
#include "e4layout/base/io_pool.h"
#include "layout.h"
#include "pass2_block.h"
#include "pass2_htree.h"

#define BATCH_DIRS	(64u << 10)

struct pass2 {
	struct check *ck;
	struct e4l_tally *tally;	/* NULL: the layout is not checked */
	/* index in ck->dirs of the batch's first directory */
	uint32_t first_dir;
	/*
	 * positions in ck->runs: next run to read (@run), and end of the runs
	 * of the current directories (@end_run)
	 */
	size_t run, end_run;
	/* number of blocks of ck->runs[@run] that jobs already contain */
	uint32_t in_run;
	bool roots; /* true while only the roots of htree indexes are read */
};

struct job {
	struct pass2 *p;
	struct e4l_want wants[E4L_PART_BLOCKS];
	struct { uint32_t dir, lblk; bool is_inline; } of[E4L_PART_BLOCKS];
	size_t n;
	size_t runs; /* number of ck->runs up to this job, for progress */
	char *scratch;
	void *inode; /* buffer for an inode in host byte order */
	struct dir_judge judge;
	struct e4l_tally_part part;
};

/* ---------------------------------------------------------------- sorting */

static blk64_t inode_block(ext2_filsys fs, ext2_ino_t ino)
{
	dgrp_t group = (ino - 1) / fs->super->s_inodes_per_group;

	return ext2fs_inode_table_loc(fs, group) +
	       (ino - 1) % fs->super->s_inodes_per_group /
	       EXT2_INODES_PER_BLOCK(fs->super);
}

/*
 * Sets the location of each inline directory, which has a run of length 0, to
 * the block of the inode table that contains the inode.
 */
static void place_inline(struct check *ck)
{
	size_t i;

	for (i = 0; i < ck->n_runs; i++)
		if (!ck->runs[i].len)
			ck->runs[i].pblk = inode_block(ck->fs,
					ck->dirs[ck->runs[i].dir].ino);
}

static int run_cmp(const void *a, const void *b)
{
	const struct dir_run *x = a, *y = b;

	if (x->pblk != y->pblk)
		return x->pblk < y->pblk ? -1 : 1;
	return x->dir < y->dir ? -1 : x->dir > y->dir;
}

/* ------------------------------------------------------------------ blocks */

/*
 * Returns the inode of an inline directory from @block of the inode table, in
 * host byte order.  The inode is valid until the next call for @job.
 */
static const struct ext2_inode_large *inode_in(struct job *job,
					       const struct dir *dir,
					       const char *block)
{
	ext2_filsys fs = job->p->ck->fs;
	unsigned int at = (dir->ino - 1) % fs->super->s_inodes_per_group %
			  EXT2_INODES_PER_BLOCK(fs->super);

	return e4l_host_inode(fs, job->inode, block +
			      (size_t)at * EXT2_INODE_SIZE(fs->super));
}

static void judge(struct job *job, struct dir *dir, const struct e4l_want *want,
		  const void *block)
{
	if (job->of[want->slot].is_inline)
		e4l_dir_judge_inline(&job->judge, dir,
				     inode_in(job, dir, block));
	else
		e4l_dir_judge_block(&job->judge, dir, want->blk,
				    job->of[want->slot].lblk, block);
}

/*
 * Passes @block to the functions of tally.h that compute the locality of @dir.
 * @block is NULL if the block cannot be read.
 */
static void tally(struct job *job, struct dir *dir, const struct e4l_want *want,
		  const void *block)
{
	if (!job->of[want->slot].is_inline)
		e4l_part_block(&job->part,
			       job->of[want->slot].dir - job->p->first_dir,
			       job->of[want->slot].lblk, want->blk, block);
	else if (block)
		e4l_part_inline(&job->part, dir->ino,
				inode_in(job, dir, block));
}

static void visit(const struct e4l_want *want, const void *block,
		  errcode_t why, void *priv)
{
	struct job *job = priv;
	struct check *ck = job->p->ck;
	struct dir *dir = &ck->dirs[job->of[want->slot].dir];

	if (!block) {
		e4l_check_noted(ck, why);
		FOUND(ck, DIR_READ, .ino = dir->ino, .blk = want->blk);
		dir_is_damaged(dir);
	} else if (job->p->roots) {
		e4l_htree_judge_root(ck, dir, want->blk, block);
	} else if (!(ck->opt->flags & E4L_CHECK_LAYOUT_ONLY)) {
		judge(job, dir, want, block);
	}
	if (job->p->tally && !job->p->roots)
		tally(job, dir, want, block);
}

/* Whether block @in_run of @run is the root of an index. */
static bool is_root(const struct check *ck, const struct dir_run *run,
		    uint32_t in_run)
{
	return run->len && !run->lblk && !in_run &&
	       ck->dirs[run->dir].flags & DIR_INDEX;
}

static void add_want(struct job *job, const struct dir_run *run,
		     uint32_t in_run)
{
	job->of[job->n].dir = run->dir;
	job->of[job->n].lblk = run->lblk + in_run;
	job->of[job->n].is_inline = !run->len;
	job->wants[job->n] = (struct e4l_want) {
		.blk = run->pblk + in_run, .slot = job->n,
	};
	job->n++;
}

static bool dirs_next(void *arg, void *priv)
{
	struct pass2 *p = priv;
	struct check *ck = p->ck;
	struct job *job = arg;

	for (job->n = 0; job->n < E4L_PART_BLOCKS && p->run < p->end_run; ) {
		const struct dir_run *run = &ck->runs[p->run];

		if (!p->roots || is_root(ck, run, p->in_run))
			add_want(job, run, p->in_run);
		if (p->roots || ++p->in_run >= run->len) {
			p->run++;
			p->in_run = 0;
		}
	}
	job->runs = p->run;
	return job->n;
}

static errcode_t dirs_work(void *arg, void *priv)
{
	struct job *job = arg;

	e4l_part_begin(&job->part);
	e4l_gather(job->p->ck->e, job->wants, job->n, job->scratch, visit,
		   job);
	return job->part.err;
}

static errcode_t dirs_done(void *arg, void *priv)
{
	const struct pass2 *p = priv;
	struct job *job = arg;
	struct check *ck = p->ck;

	if (ck->opt->progress && !p->roots)
		ck->opt->progress("directories", job->runs, ck->n_runs,
				  ck->opt->priv);
	return p->tally && !p->roots ? e4l_part_take(&job->part) : 0;
}

static errcode_t job_init(void *arg, void *priv)
{
	struct job *job = arg;
	errcode_t err;

	job->p = priv;
	job->inode = malloc(EXT2_INODE_SIZE(job->p->ck->fs->super));
	if (!job->inode ||
	    posix_memalign((void **)&job->scratch, 4096, E4L_GATHER_BYTES))
		return ENOMEM;
	err = e4l_dir_judge_init(&job->judge, job->p->ck);
	return err || !job->p->tally ? err :
	       e4l_part_init(&job->part, job->p->tally);
}

static void job_release(void *arg, void *priv)
{
	struct job *job = arg;

	e4l_part_release(&job->part);
	e4l_dir_judge_release(&job->judge);
	free(job->inode);
	free(job->scratch);
}

static errcode_t read_blocks(struct pass2 *p, size_t first, bool roots)
{
	static const struct e4l_pipe_ops ops = {
		.job_bytes = sizeof(struct job),
		.init = job_init, .release = job_release,
		.next = dirs_next, .work = dirs_work, .done = dirs_done,
	};

	p->run = first;
	p->in_run = 0;
	p->roots = roots;
	return e4l_pipe_run(p->ck->e, &ops, p);
}

/*
 * Reads the unread directories with an index below @end in ck->dirs: first the
 * roots of their htree indexes, then all blocks.
 */
static errcode_t read_until(struct pass2 *p, size_t end)
{
	struct check *ck = p->ck;
	size_t first = p->end_run;
	bool indexed = false;
	errcode_t err = 0;

	for (; p->end_run < ck->n_runs && ck->runs[p->end_run].dir < end;
	     p->end_run++)
		indexed |= ck->dirs[ck->runs[p->end_run].dir].flags & DIR_INDEX;
	if (first == p->end_run)
		return 0;
	qsort(ck->runs + first, p->end_run - first, sizeof(*ck->runs), run_cmp);
	if (indexed && !(ck->opt->flags & E4L_CHECK_LAYOUT_ONLY))
		err = read_blocks(p, first, true);
	return err ? err : read_blocks(p, first, false);
}

/* ------------------------------------------------------------------ layout */

static uint32_t inode_flags(const struct dir *dir)
{
	return (dir->flags & DIR_HAD_INDEX ? EXT2_INDEX_FL : 0) |
	       (dir->flags & DIR_CASEFOLD ? EXT4_CASEFOLD_FL : 0) |
	       (dir->flags & DIR_ENCRYPTED ? EXT4_ENCRYPT_FL : 0);
}

/*
 * Adds @dir, whose runs begin at *@run, to the batch.  Advances *@run to the
 * first run of the next directory.
 */
static errcode_t add_to_batch(struct pass2 *p, const struct dir *dir,
			      size_t *run)
{
	struct check *ck = p->ck;
	struct e4l_tally_dir *to;
	errcode_t err = e4l_tally_add(p->tally, dir->ino, dir->generation,
				      inode_flags(dir));

	if (err)
		return err;
	to = &p->tally->dirs[p->tally->n_dirs - 1];
	to->stays = dir->flags & DIR_STAYS;
	to->last = true;
	for (; *run < ck->n_runs && &ck->dirs[ck->runs[*run].dir] == dir; ++*run)
		to->blocks += ck->runs[*run].len;
	to->use.blocks = to->blocks;
	return 0;
}

/* Reads the directories of one batch in rounds. */
static errcode_t read_batch(struct pass2 *p)
{
	struct e4l_tally *t = p->tally;
	errcode_t err = 0;
	size_t i, n;

	for (i = 0; i < t->n_dirs && !err; i += n) {
		err = e4l_tally_begin(t, i, &n);
		if (!err)
			err = read_until(p, p->first_dir + i + n);
		if (!err)
			err = e4l_tally_end(t, i, n);
	}
	p->first_dir += t->n_dirs;
	t->n_dirs = 0;
	return err;
}

/* Reads all directories in batches, and checks their layout. */
static errcode_t read_tallied(struct pass2 *p)
{
	struct check *ck = p->ck;
	struct e4l_tally t;
	errcode_t err = e4l_layout_tally(ck, &t);
	size_t i, run = 0;

	p->tally = &t;
	for (i = 0; i < ck->n_dirs && !err; i++) {
		err = add_to_batch(p, &ck->dirs[i], &run);
		if (!err && t.n_dirs == BATCH_DIRS)
			err = read_batch(p);
	}
	if (!err)
		err = read_batch(p);
	e4l_tally_release(&t);
	return err;
}

errcode_t e4l_pass2_dirs(struct check *ck)
{
	struct pass2 p = { .ck = ck };
	errcode_t err;
	size_t i;

	place_inline(ck);
	if (ck->n_dx) {
		ck->dx = calloc(ck->n_dx, sizeof(*ck->dx));
		if (!ck->dx)
			return ENOMEM;
	}
	err = ck->opt->flags & E4L_CHECK_NO_LAYOUT ?
	      read_until(&p, ck->n_dirs) : read_tallied(&p);
	for (i = 0; i < ck->n_dirs && !err; i++)
		if (ck->dirs[i].flags & DIR_INDEX)
			e4l_htree_compare(ck, &ck->dirs[i]);
	free(ck->dx);
	ck->dx = NULL;
	return err;
}
