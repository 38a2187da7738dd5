/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pass 2: what directories hold.
 *
 *  1. the root of each index is read, since it says how names are hashed;
 *  2. blocks of all directories are read in disk order, by all processors,
 *     each judged where it was read;
 *  3. what the blocks of one index say of each other is compared.
 *
 * Counting is all that different blocks do together: links by inode, and the
 * parent of a directory, which is the lowest of several.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/format/dir_block.h"
#include "e4layout/base/io_pool.h"
#include "check_internal.h"
#include "pass2_block.h"
#include "pass2_htree.h"

#define JOB_BLOCKS 64

struct pass2 {
	struct check *ck;
	size_t run;
	uint32_t in_run;		/* blocks of it that were given out */
	bool roots;			/* step 1 */
};

struct job {
	struct pass2 *p;
	struct e4l_want wants[JOB_BLOCKS];
	struct { uint32_t dir, lblk; bool is_inline; } of[JOB_BLOCKS];
	size_t n;
	size_t runs;			/* of all, up to this job's end */
	char *scratch;
	struct dir_judge judge;
};

/* ---------------------------------------------------------------- sorting */

static blk64_t inode_block(ext2_filsys fs, ext2_ino_t ino)
{
	dgrp_t group = (ino - 1) / fs->super->s_inodes_per_group;

	return ext2fs_inode_table_loc(fs, group) +
	       (ino - 1) % fs->super->s_inodes_per_group /
	       EXT2_INODES_PER_BLOCK(fs->super);
}

/* Runs of length 0 are inline directories: their inodes' blocks. */
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

static void visit_inline(struct job *job, unsigned int slot, const char *block)
{
	struct check *ck = job->p->ck;
	struct dir *dir = &ck->dirs[job->of[slot].dir];
	unsigned int at = (dir->ino - 1) % ck->fs->super->s_inodes_per_group %
			  EXT2_INODES_PER_BLOCK(ck->fs->super);

	dir_judge_inline(&job->judge, dir, (const void *)(block +
			 (size_t)at * EXT2_INODE_SIZE(ck->fs->super)));
}

static void visit(const struct e4l_want *want, const void *block,
		  errcode_t why, void *priv)
{
	struct job *job = priv;
	struct check *ck = job->p->ck;
	struct dir *dir = &ck->dirs[job->of[want->slot].dir];

	if (!block) {
		check_noted(ck, why);
		FOUND(ck, DIR_READ, .ino = dir->ino, .blk = want->blk);
		dir_is_damaged(dir);
	} else if (job->p->roots) {
		htree_judge_root(ck, dir, want->blk, block);
	} else if (job->of[want->slot].is_inline) {
		visit_inline(job, want->slot, block);
	} else {
		dir_judge_block(&job->judge, dir, want->blk,
				job->of[want->slot].lblk, block);
	}
}

/* Does step 1 want block @in_run of @run? */
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

	for (job->n = 0; job->n < JOB_BLOCKS && p->run < ck->n_runs; ) {
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

	e4l_gather(job->p->ck->e, job->wants, job->n, job->scratch, visit,
		   job);
	return 0;
}

static errcode_t dirs_done(void *arg, void *priv)
{
	const struct pass2 *p = priv;
	const struct job *job = arg;
	struct check *ck = p->ck;

	if (ck->opt->progress && !p->roots)
		ck->opt->progress("directories", job->runs, ck->n_runs,
				  ck->opt->priv);
	return 0;
}

static errcode_t job_init(void *arg, void *priv)
{
	struct job *job = arg;

	job->p = priv;
	if (posix_memalign((void **)&job->scratch, 4096, E4L_GATHER_BYTES))
		return ENOMEM;
	return dir_judge_init(&job->judge, job->p->ck);
}

static void job_release(void *arg, void *priv)
{
	struct job *job = arg;

	dir_judge_release(&job->judge);
	free(job->scratch);
}

static errcode_t read_dirs(struct check *ck, bool roots)
{
	static const struct e4l_pipe_ops ops = {
		.job_bytes = sizeof(struct job),
		.init = job_init, .release = job_release,
		.next = dirs_next, .work = dirs_work, .done = dirs_done,
	};
	struct pass2 p = { .ck = ck, .roots = roots };

	return e4l_pipe_run(ck->e, &ops, &p);
}

errcode_t pass2_dirs(struct check *ck)
{
	errcode_t err = 0;
	size_t i;

	place_inline(ck);
	if (ck->n_runs)
		qsort(ck->runs, ck->n_runs, sizeof(*ck->runs), run_cmp);
	if (ck->n_dx) {
		ck->dx = calloc(ck->n_dx, sizeof(*ck->dx));
		if (!ck->dx)
			return ENOMEM;
		err = read_dirs(ck, true);
	}
	if (!err)
		err = read_dirs(ck, false);
	for (i = 0; i < ck->n_dirs && !err; i++)
		if (ck->dirs[i].flags & DIR_INDEX)
			htree_compare(ck, &ck->dirs[i]);
	free(ck->dx);
	ck->dx = NULL;
	return err;
}
