/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dirs: reads the entries of directories.
 *
 *  1. e4l_dirs_add_piece() collects extents of directories;
 *  2. flush() reads the collected extents in rounds.  A pipeline reads the
 *     blocks of a round, which belong to consecutive directories, in the order
 *     of block numbers;
 *  3. the thread that has read a block parses the block (tally.h).
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include "e4layout/base/array.h"
#include "e4layout/base/io_pool.h"
#include "dirs.h"
#include "tally.h"

/* flush() is called when this number of runs or directories is collected */
#define BATCH_RUNS	(256u << 10)

struct run {
	blk64_t pblk;
	uint32_t lblk;
	uint32_t len;
	uint32_t dir;		/* index of the directory in tally.dirs */
};

struct e4l_dirs {
	struct e4l *e;
	struct e4l_tally tally;
	struct run *runs;
	size_t n_runs;
	/* number of blocks in all runs, to detect loops in maps */
	uint64_t claimed;
	/* indexes of runs in the current round: the next run, and the end */
	size_t run, end_run;
	/* number of blocks of runs[run] that are already in jobs */
	uint32_t in_run;
};

/*
 * Blocks to read in disk order.  The blocks can belong to several directories.
 */
struct job {
	struct e4l_dirs *d;
	struct e4l_want wants[E4L_PART_BLOCKS];
	struct { uint32_t dir, lblk; } of[E4L_PART_BLOCKS];
	size_t n;
	char *scratch;
	struct e4l_tally_part part;
};

static void visit_block(const struct e4l_want *want, const void *block,
			errcode_t why, void *priv)
{
	struct job *job = priv;

	e4l_part_block(&job->part, job->of[want->slot].dir,
		       job->of[want->slot].lblk, want->blk, block);
}

/* ----------------------------------------------------------------- pipeline */

static bool dirs_next(void *arg, void *priv)
{
	struct e4l_dirs *d = priv;
	struct job *job = arg;

	for (job->n = 0; job->n < E4L_PART_BLOCKS && d->run < d->end_run; ) {
		const struct run *run = &d->runs[d->run];

		job->of[job->n].dir = run->dir;
		job->of[job->n].lblk = run->lblk + d->in_run;
		job->wants[job->n] = (struct e4l_want) {
			.blk = run->pblk + d->in_run, .slot = job->n,
		};
		job->n++;
		if (++d->in_run == run->len) {
			d->run++;
			d->in_run = 0;
		}
	}
	return job->n;
}

static errcode_t dirs_work(void *arg, void *priv)
{
	struct job *job = arg;

	e4l_part_begin(&job->part);
	e4l_gather(job->d->e, job->wants, job->n, job->scratch, visit_block,
		   job);
	return job->part.err;
}

static errcode_t dirs_done(void *arg, void *priv)
{
	return e4l_part_take(&((struct job *)arg)->part);
}

static errcode_t job_init(void *arg, void *priv)
{
	struct job *job = arg;

	job->d = priv;
	if (posix_memalign((void **)&job->scratch, 4096, E4L_GATHER_BYTES))
		return ENOMEM;
	return e4l_part_init(&job->part, &job->d->tally);
}

static void job_release(void *arg, void *priv)
{
	struct job *job = arg;

	free(job->scratch);
	e4l_part_release(&job->part);
}

/* ------------------------------------------------------------------- rounds */

static int run_cmp(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->pblk != y->pblk)
		return x->pblk < y->pblk ? -1 : 1;
	return x->dir < y->dir ? -1 : x->dir > y->dir;
}

/*
 * Reads the unread blocks of the directories from tally.dirs[0] to
 * tally.dirs[@end - 1].
 */
static errcode_t read_until(struct e4l_dirs *d, size_t end)
{
	static const struct e4l_pipe_ops pipe_ops = {
		.job_bytes = sizeof(struct job),
		.init = job_init, .release = job_release,
		.next = dirs_next, .work = dirs_work, .done = dirs_done,
	};

	d->run = d->end_run;
	while (d->end_run < d->n_runs && d->runs[d->end_run].dir < end)
		d->end_run++;
	if (d->run == d->end_run)
		return 0;
	qsort(d->runs + d->run, d->end_run - d->run, sizeof(*d->runs), run_cmp);
	return e4l_pipe_run(d->e, &pipe_ops, d);
}

/*
 * Reads all collected blocks, and empties the batch.  If more pieces of the
 * last directory may follow, keeps the last directory as the first directory of
 * the next batch.
 */
static errcode_t flush(struct e4l_dirs *d)
{
	struct e4l_tally *t = &d->tally;
	size_t i, n;
	errcode_t err = 0;

	d->end_run = 0;
	for (i = 0; i < t->n_dirs && !err; i += n) {
		err = e4l_tally_begin(t, i, &n);
		if (!err)
			err = read_until(d, i + n);
		if (!err)
			err = e4l_tally_end(t, i, n);
	}
	n = t->n_dirs && !t->dirs[t->n_dirs - 1].last;
	if (n) {
		t->dirs[0] = t->dirs[t->n_dirs - 1];
		t->dirs[0].begun = true;
		t->dirs[0].blocks = 0;
	}
	t->n_dirs = n;
	d->n_runs = 0;
	return err;
}

/* ---------------------------------------------------- pieces of directories */

static errcode_t tell_damage(struct e4l_dirs *d, ext2_ino_t ino, blk64_t blk,
			     errcode_t why)
{
	struct e4l_damage damage = { .ino = ino, .blk = blk, .why = why };
	errcode_t err = 0;

	pthread_mutex_lock(&d->tally.lock);
	if (d->tally.ops.damage)
		err = d->tally.ops.damage(&damage, d->tally.priv);
	pthread_mutex_unlock(&d->tally.lock);
	return err;
}

static errcode_t read_inline(struct e4l_dirs *d, const struct e4l_piece *piece)
{
	struct e4l_tally_part part = { 0 };
	errcode_t err = e4l_part_init(&part, &d->tally);

	if (!err) {
		e4l_part_inline(&part, piece->ino, piece->inode);
		err = part.err ? part.err : e4l_part_take(&part);
	}
	e4l_part_release(&part);
	return err;
}

static struct e4l_tally_dir *last_dir(struct e4l_dirs *d)
{
	return &d->tally.dirs[d->tally.n_dirs - 1];
}

static errcode_t add_dir(struct e4l_dirs *d, const struct e4l_piece *piece)
{
	errcode_t err = e4l_tally_add(&d->tally, piece->ino,
				      piece->inode->i_generation,
				      piece->inode->i_flags);

	if (!err)
		last_dir(d)->stays = piece->map != E4L_MAP_EXTENTS;
	return err;
}

/*
 * Adds a run of blocks of the last directory.  If all directories together have
 * more blocks than the filesystem, reports damage, because a map refers to a
 * block repeatedly.
 */
static errcode_t add_run(struct e4l_dirs *d, ext2_ino_t ino,
			 const struct e4l_extent *x)
{
	blk64_t max = ext2fs_blocks_count(d->e->fs->super);
	struct e4l_tally_dir *dir = last_dir(d);

	if (x->unwritten)
		return tell_damage(d, ino, x->pblk, E4L_ET_DIR_CORRUPT);
	if (x->len > max - d->claimed)
		return tell_damage(d, ino, x->pblk, E4L_ET_TREE_LOOP);
	d->claimed += x->len;
	dir->blocks += x->len;
	dir->stays |= x->lblk != dir->use.blocks;
	dir->use.blocks += x->len;
	if (e4l_grow(&d->runs, d->n_runs, sizeof(*d->runs)))
		return ENOMEM;
	d->runs[d->n_runs++] = (struct run) {
		.pblk = x->pblk, .lblk = x->lblk, .len = x->len,
		.dir = d->tally.n_dirs - 1,
	};
	return 0;
}

errcode_t e4l_dirs_add_piece(struct e4l_dirs *d, const struct e4l_piece *piece)
{
	struct e4l_tally_dir *dir;
	errcode_t err = 0;
	size_t i;

	if (!LINUX_S_ISDIR(piece->inode->i_mode))
		return 0;
	if (piece->map == E4L_MAP_INLINE)
		return read_inline(d, piece);
	if (piece->first)
		err = add_dir(d, piece);
	for (i = 0; i < piece->n_extents && !err; i++)
		err = add_run(d, piece->ino, &piece->extents[i]);
	if (err)
		return err;
	dir = last_dir(d);
	dir->last = piece->last;
	dir->stays |= piece->last && dir->use.blocks * d->e->fs->blocksize !=
		      EXT2_I_SIZE((struct ext2_inode *)piece->inode);
	if (d->n_runs >= BATCH_RUNS || d->tally.n_dirs >= BATCH_RUNS)
		err = flush(d);
	return err;
}

errcode_t e4l_dirs_finish(struct e4l_dirs *d)
{
	return flush(d);
}

/* ---------------------------------------------------------- all directories */

errcode_t e4l_dirs_new(struct e4l *e, const struct e4l_dirs_ops *ops,
		       void *priv, struct e4l_dirs **ret)
{
	struct e4l_dirs *d;
	errcode_t err;

	*ret = NULL;
	d = calloc(1, sizeof(*d));
	if (!d)
		return ENOMEM;
	d->e = e;
	err = e4l_tally_init(&d->tally, e, ops, priv);
	if (err)
		e4l_dirs_free(d);
	else
		*ret = d;
	return err;
}

void e4l_dirs_free(struct e4l_dirs *d)
{
	if (!d)
		return;
	e4l_tally_release(&d->tally);
	free(d->runs);
	free(d);
}

struct reading {
	struct e4l_dirs *d;
	const struct e4l_dirs_ops *ops;
	void *priv;
};

static errcode_t reading_piece(const struct e4l_piece *piece, void *priv)
{
	return e4l_dirs_add_piece(((struct reading *)priv)->d, piece);
}

static errcode_t reading_damage(const struct e4l_damage *damage, void *priv)
{
	struct reading *r = priv;

	return r->ops->damage ? r->ops->damage(damage, r->priv) : 0;
}

errcode_t e4l_dirs_read(struct e4l *e, ext2fs_inode_bitmap only,
			const struct e4l_dirs_ops *ops, void *priv)
{
	static const struct e4l_scan_ops scan_ops = {
		.piece = reading_piece, .damage = reading_damage,
	};
	struct reading r = { .ops = ops, .priv = priv };
	errcode_t err;

	err = e4l_dirs_new(e, ops, priv, &r.d);
	if (!err)
		err = e4l_scan(e, E4L_SCAN_DIRS, only, &scan_ops, &r);
	if (!err)
		err = e4l_dirs_finish(r.d);
	e4l_dirs_free(r.d);
	return err;
}
