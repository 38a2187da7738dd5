/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A transaction that gives files new maps has three parts:
 *
 *  1. e4l_apply_step() allocates and frees the blocks that the step lists in
 *     @take and @give.  e4l_apply_step() also builds the new tree, makes the
 *     inode point to the tree, and records the blocks to copy and to zero.
 *  2. e4l_apply_commit() zeroes and copies the recorded blocks, with several
 *     large requests at a time.  After the copies, e4l_apply_commit() writes
 *     new tree blocks and directory blocks.  In the last committed transaction,
 *     every destination is free or unwritten.
 *  3. e4l_apply_commit() commits the transaction.  The journal flushes the
 *     copied blocks before the commit.
 */
#include "config.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <e4layout/model.h>
#include "apply.h"
#include "e4layout/base/array.h"
#include "e4layout/format/extent_tree_build.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/journal/journal.h"
#include "cost.h"
#include "step.h"

#define COPY_BYTES	(2u << 20)	/* bytes per copy job */
/* bytes that are copied between two flushes */
#define FLUSH_BYTES	(32u << 20)
#define ZERO_BYTES	(1u << 20)
#define ZERO_JOB_BYTES	(16u << 20)
/* longest time between two calls of stop(), in seconds */
#define ASK_SECONDS	2

struct range {
	blk64_t from;		/* first source block of a copy */
	blk64_t to;
	uint64_t len;
};

struct ranges {
	struct range *v;
	size_t n;
	uint64_t blocks;
};

/* New blocks of a tree or a directory that are contiguous on the disk. */
struct new_blocks {
	blk64_t blk;
	unsigned int n;
	const char *data;
	char *own; /* buffer to free after the write; NULL: free nothing */
};

struct e4l_apply {
	struct e4l *e;
	struct e4l_apply_options opt;
	struct e4l_txn *txn;
	struct e4l_packer packer;
	uint64_t steps;
	struct ranges copies, zeroes;
	struct new_blocks *new;
	size_t n_new;
	uint64_t new_blocks; /* number of blocks in all elements of @new */
	/* number of blocks written after the last call of stop() */
	uint64_t unasked_blocks;
	double asked; /* time of the last call of stop(), in seconds */
	struct e4l_apply_stats stats;
};

static errcode_t push(struct ranges *r, blk64_t from, blk64_t to, uint64_t len)
{
	errcode_t err = e4l_grow(&r->v, r->n, sizeof(*r->v));

	if (err)
		return err;
	r->v[r->n++] = (struct range) { .from = from, .to = to, .len = len };
	r->blocks += len;
	return 0;
}

static int by_to(const void *a, const void *b)
{
	blk64_t x = ((const struct range *)a)->to;
	blk64_t y = ((const struct range *)b)->to;

	return x < y ? -1 : x > y;
}

/* ------------------------------------------------------------------ 1. step */

/*
 * Returns the stripe size in blocks, as ext4_get_stripe_size() in Linux
 * computes it without mount options.
 *
 * The stripe size is the stripe width.  If the width is 0 or larger than a
 * group, the stripe size is the stride.  If the stride is also larger than a
 * group, or the stripe size is not a multiple of the cluster size, returns 0.
 */
static uint32_t stripe_of(ext2_filsys fs)
{
	uint32_t width = fs->super->s_raid_stripe_width;
	uint32_t stride = fs->super->s_raid_stride;
	uint32_t most = fs->super->s_blocks_per_group;
	uint32_t stripe = width && width <= most ? width :
			  stride <= most ? stride : 0;

	return stripe % EXT2FS_CLUSTER_RATIO(fs) ? 0 : stripe;
}

struct e4l_geometry e4l_geometry_of(struct e4l *e, io_channel external)
{
	ext2_filsys fs = e->fs;

	return (struct e4l_geometry) {
		.blocksize = fs->blocksize,
		.cluster_blocks = EXT2FS_CLUSTER_RATIO(fs),
		.group_blocks = fs->super->s_blocks_per_group,
		.txn_blocks = e4l_journal_room(e, external),
		.first_blk = fs->super->s_first_data_block,
		.groups_per_desc = EXT2_DESC_PER_BLOCK(fs->super),
		.quota_blocks = QUOTA_TXN_BLOCKS,
		.inodes_per_block = EXT2_INODES_PER_BLOCK(fs->super),
		.stripe_blocks = stripe_of(fs),
		.blocks = ext2fs_blocks_count(fs->super),
	};
}

/*
 * Returns the number of clusters of @blocks blocks, rounded up.  The last
 * cluster of a filesystem can be partial.
 */
static uint64_t clusters_of(ext2_filsys fs, uint64_t blocks)
{
	return EXT2FS_B2C(fs, blocks + EXT2FS_CLUSTER_RATIO(fs) - 1);
}

int64_t e4l_step_grows(ext2_filsys fs, const struct e4l_step *step)
{
	uint64_t taken = 0;
	size_t i;

	for (i = 0; i < step->n_take; i++)
		taken += step->take[i].len;
	return clusters_of(fs, taken) - clusters_of(fs, e4l_step_gives(step));
}

static uint64_t noted_blocks(const struct e4l_apply *a)
{
	return a->copies.blocks + a->zeroes.blocks + a->new_blocks;
}

static errcode_t commit(struct e4l_apply *a);

errcode_t e4l_apply_make_room(struct e4l_apply *a,
			      const struct e4l_step *step, uint32_t more)
{
	struct e4l_load load;
	bool full = false;
	errcode_t err = e4l_step_load(a->opt.geo, step, more, &load);
	uint64_t blocks = e4l_load_cost(&load);

	if (!err && blocks > e4l_journal_capacity(a->opt.journal))
		err = E4L_ET_TXN_FULL;
	if (!err)
		e4l_packer_add(&a->packer, &load, &full);
	free(load.groups.v);
	if (err || !a->txn)
		return err;
	/*
	 * the transaction may already have other blocks, which the packer does
	 * not know
	 */
	full |= blocks > e4l_txn_room(a->txn);
	return full ? commit(a) : 0;
}

static errcode_t exchange_blocks(struct e4l_apply *a,
				 const struct e4l_step *step)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < step->n_take && !err; i++)
		err = e4l_txn_alloc(a->txn, step->take[i].pblk,
				    step->take[i].len);
	for (i = 0; i < step->n_give && !err; i++)
		err = e4l_txn_free(a->txn, step->give[i].pblk,
				   step->give[i].len);
	return err;
}

/*
 * Sets *@needed to whether the content of file @ino must be copied.  On an
 * overlay, the content of regular files is not needed.
 */
static errcode_t needs_data(struct e4l_apply *a, ext2_ino_t ino, bool *needed)
{
	struct ext2_inode_large *inode;
	errcode_t err;

	*needed = true;
	if (!a->e->over)
		return 0;
	inode = calloc(1, EXT2_INODE_SIZE(a->e->fs->super) + sizeof(*inode));
	if (!inode)
		return ENOMEM;
	err = e4l_txn_read_inode(a->txn, ino, inode);
	*needed = !e4l_is_file(a->e->fs, ino) || !e4l_apply_is_opaque(inode);
	free(inode);
	return err;
}

static errcode_t note_data(struct e4l_apply *a,
			   const struct e4l_step *step)
{
	const struct e4l_move *m = step->moves, *end = m + step->n_moves;
	bool needed;
	errcode_t err = needs_data(a, step->ino, &needed);
	size_t i;

	if (err || !needed)
		return err;

	for (; m < end && !err; m++)
		if (m->copy)
			err = push(&a->copies, m->from, m->to, m->len);
	for (i = 0; i < step->n_zero && !err; i++)
		err = push(&a->zeroes, 0, step->zero[i].pblk,
			   step->zero[i].len);
	return err;
}

/*
 * Records @n new blocks, from @blk on, that e4l_apply_commit() writes.  The
 * blocks are not journaled, because no metadata on disk refers to the blocks
 * before the commit.  Takes ownership of @own.
 */
static errcode_t note_blocks(struct e4l_apply *a, blk64_t blk, unsigned int n,
			     const char *data, char *own)
{
	errcode_t err = e4l_grow(&a->new, a->n_new, sizeof(*a->new));

	if (err) {
		free(own);
		return err;
	}
	a->new[a->n_new++] = (struct new_blocks) {
		.blk = blk, .n = n, .data = data, .own = own,
	};
	a->new_blocks += n;
	return 0;
}

/*
 * Journals the new content @from of block @blk, which the inode on disk already
 * uses.
 */
static errcode_t journal_block(struct e4l_apply *a, blk64_t blk,
			       const char *from)
{
	void *data;
	errcode_t err = e4l_txn_new_block(a->txn, blk, &data);

	if (!err)
		memcpy(data, from, a->e->fs->blocksize);
	return err;
}

/*
 * Journals a tree whose blocks the inode on disk already uses.  Frees @blocks.
 */
static errcode_t journal_tree(struct e4l_apply *a,
			      const struct e4l_step *step, char *blocks)
{
	size_t blocksize = a->e->fs->blocksize, i;
	errcode_t err = 0;

	for (i = 0; i < step->n_tree && !err; i++)
		err = journal_block(a, step->tree[i], blocks + i * blocksize);
	free(blocks);
	return err;
}

/*
 * Calls note_blocks() for each series of contiguous tree blocks.  With
 * bigalloc, no tree blocks are contiguous, because each tree block has a
 * cluster of its own.
 */
static errcode_t note_tree(struct e4l_apply *a, const struct e4l_step *step,
			   char *blocks)
{
	size_t blocksize = a->e->fs->blocksize, i, n;
	char *own = blocks;
	errcode_t err = 0;

	for (i = 0; i < step->n_tree && !err; i += n, own = NULL) {
		for (n = 1; i + n < step->n_tree &&
			    step->tree[i + n] == step->tree[i] + n; n++)
			;
		err = note_blocks(a, step->tree[i], n, blocks + i * blocksize,
				  own);
	}
	return err;
}

/*
 * Journals the new content of a directory from block @blk on.  The inode on
 * disk already uses these blocks.  Frees dir->blocks.
 */
static errcode_t journal_dir(struct e4l_apply *a, blk64_t blk,
			     const struct e4l_new_dir *dir)
{
	size_t blocksize = a->e->fs->blocksize;
	errcode_t err = 0;
	unsigned int i;

	for (i = 0; i < dir->n && !err; i++)
		err = journal_block(a, blk + i, dir->blocks + i * blocksize);
	free(dir->blocks);
	return err;
}

/*
 * Builds the extent tree of @step.  Adds the blocks of the tree to the blocks
 * to write or to journal.  Stores the root of the tree, which belongs into the
 * inode, at @root.
 */
static errcode_t put_tree(struct e4l_apply *a, const struct e4l_step *step,
			  uint32_t generation, void *root)
{
	char *blocks = calloc(step->n_tree + 1, a->e->fs->blocksize);
	errcode_t err;

	if (!blocks)
		return ENOMEM;
	err = e4l_extent_tree_build(a->e->fs, step->ino, generation,
				    step->new_extents, step->n_new, step->tree,
				    root, blocks);
	if (err) {
		free(blocks);
		return err;
	}
	return step->tree_is_new ? note_tree(a, step, blocks) :
				   journal_tree(a, step, blocks);
}

/*
 * Updates i_blocks by the number of clusters that @step adds to or removes from
 * the inode.
 */
static errcode_t count_in_inode(ext2_filsys fs, struct ext2_inode *inode,
				const struct e4l_step *step)
{
	int64_t more = e4l_step_grows(fs, step);

	if (!more)
		return 0;
	return more > 0 ? ext2fs_iblk_add_blocks(fs, inode, more) :
			  ext2fs_iblk_sub_blocks(fs, inode, -more);
}

/*
 * Sets the size and the index flag of a directory according to the new content
 * @dir.
 */
static errcode_t change_dir(ext2_filsys fs, struct ext2_inode *inode,
			    const struct e4l_new_dir *dir)
{
	if (!LINUX_S_ISDIR(inode->i_mode))
		return E4L_ET_BAD_ARGUMENT;
	inode->i_flags &= ~EXT2_INDEX_FL;
	if (dir->indexed)
		inode->i_flags |= EXT2_INDEX_FL;
	return ext2fs_inode_size_set(fs, inode,
				     (ext2_off64_t)dir->n * fs->blocksize);
}

/*
 * Makes the inode point to the new tree.  If @dir is not NULL, the inode is a
 * directory with the new content @dir.
 */
static errcode_t put_inode(struct e4l_apply *a,
			   const struct e4l_step *step,
			   const struct e4l_new_dir *dir)
{
	ext2_filsys fs = a->e->fs;
	struct ext2_inode *inode = malloc(EXT2_INODE_SIZE(fs->super));
	errcode_t err;

	if (!inode)
		return ENOMEM;
	err = e4l_txn_read_inode(a->txn, step->ino, inode);
	if (!err && (!inode->i_links_count ||
		     !(inode->i_flags & EXT4_EXTENTS_FL) ||
		     inode->i_flags & EXT4_INLINE_DATA_FL))
		err = E4L_ET_BAD_ARGUMENT;
	if (!err && dir)
		err = change_dir(fs, inode, dir);
	if (!err)
		err = put_tree(a, step, inode->i_generation, inode->i_block);
	if (!err)
		err = count_in_inode(fs, inode, step);
	if (!err)
		err = e4l_quota_charge(a->opt.quota, a->txn, step->ino, inode,
				       e4l_step_grows(fs, step) *
				       EXT2_CLUSTER_SIZE(fs->super));
	if (!err)
		err = e4l_txn_put_inode(a->txn, step->ino, inode);
	free(inode);
	return err;
}

static errcode_t apply(struct e4l_apply *a, const struct e4l_step *step,
		       const struct e4l_new_dir *dir)
{
	errcode_t err = 0;

	e4l_fail(a->e, 0, NULL, 0, 0);
	if (!a->txn)
		err = e4l_txn_begin(a->opt.journal, &a->txn);
	if (!err)
		err = exchange_blocks(a, step);
	if (!err)
		err = note_data(a, step);
	if (!err)
		err = put_inode(a, step, dir);
	if (!err)
		a->steps++;
	if (err && !a->e->detail.doing)
		e4l_fail(a->e, err, "writing a new map for a file",
				    step->ino, 0);
	return err;
}

errcode_t e4l_apply_step(struct e4l_apply *a, const struct e4l_step *step)
{
	return apply(a, step, NULL);
}

errcode_t e4l_apply_dir(struct e4l_apply *a, const struct e4l_step *step,
			const struct e4l_new_dir *dir)
{
	errcode_t err = apply(a, step, dir);

	if (err) {
		free(dir->blocks);
		return err;
	}
	if (dir->own)
		return journal_dir(a, step->new_extents[0].pblk, dir);
	return note_blocks(a, step->new_extents[0].pblk, dir->n, dir->blocks,
			   dir->blocks);
}

/* ------------------------------------------------------------------ 2. data */

/*
 * A job copies blocks to several destinations, in disk order.  The job first
 * reads all source blocks, so that the reads are few and large.
 */
struct copy_job {
	struct e4l *e;
	/* destinations, in the order of the blocks in @buf */
	struct range *targets;
	size_t n_targets;
	unsigned int blocks;
	char *buf, *scratch;
	struct e4l_want *wants;
	errcode_t err;
};

struct copier {
	struct e4l_apply *a;
	size_t next; /* index of the copy that copy_next() continues with */
	/* number of blocks of copy @next that jobs already contain */
	uint64_t done;
	/* number of blocks written since the last flush */
	atomic_ullong unflushed;
};

static errcode_t copy_init(void *arg, void *priv)
{
	struct copier *c = priv;
	struct copy_job *job = arg;
	size_t blocks = COPY_BYTES / c->a->e->fs->blocksize;

	job->wants = calloc(blocks, sizeof(*job->wants));
	job->targets = calloc(blocks, sizeof(*job->targets));
	if (!job->wants || !job->targets ||
	    posix_memalign((void **)&job->buf, 4096, COPY_BYTES) ||
	    posix_memalign((void **)&job->scratch, 4096, E4L_GATHER_BYTES))
		return ENOMEM;
	return 0;
}

static void copy_release(void *arg, void *priv)
{
	struct copy_job *job = arg;

	free(job->wants);
	free(job->targets);
	free(job->buf);
	free(job->scratch);
}

static bool is_behind(const struct range *a, blk64_t to)
{
	return a->to + a->len == to;
}

/*
 * Returns whether more than @room blocks can be copied to one contiguous
 * destination: the blocks of the copy c->next that are in no job yet, and the
 * blocks of the following copies whose destinations are adjacent.
 */
static bool exceeds(const struct copier *c, unsigned int room)
{
	const struct ranges *copies = &c->a->copies;
	uint64_t blocks = copies->v[c->next].len - c->done;
	size_t i = c->next + 1;

	while (blocks <= room && i < copies->n &&
	       is_behind(&copies->v[i - 1], copies->v[i].to))
		blocks += copies->v[i++].len;
	return blocks > room;
}

/* Adds the next @len blocks of the copy c->next to @job. */
static void add_copies(const struct copier *c, struct copy_job *job,
		       uint64_t len)
{
	const struct range *r = &c->a->copies.v[c->next];
	struct range *last = job->targets + job->n_targets - 1;
	blk64_t to = r->to + c->done;
	uint64_t i;

	if (job->n_targets && is_behind(last, to))
		last->len += len;
	else
		job->targets[job->n_targets++] = (struct range) {
			.to = to, .len = len,
		};
	for (i = 0; i < len; i++, job->blocks++)
		job->wants[job->blocks] = (struct e4l_want) {
			.blk = r->from + c->done + i, .slot = job->blocks,
		};
}

/*
 * Fills a job with copies.  Copies to adjacent destinations are written
 * together, if they fit into one job.  If the job does not have enough space
 * left, these copies go to the next job.  Returns false if no copies are left.
 */
static bool copy_next(void *arg, void *priv)
{
	struct copier *c = priv;
	struct copy_job *job = arg;
	const struct ranges *copies = &c->a->copies;
	unsigned int room = COPY_BYTES / c->a->e->fs->blocksize;
	const struct range *last = NULL;

	job->blocks = 0;
	job->n_targets = 0;
	job->err = 0;
	while (c->next < copies->n && room) {
		const struct range *r = &copies->v[c->next];
		uint64_t left = r->len - c->done;

		if (last && !is_behind(last, r->to) && exceeds(c, room))
			break;
		last = r;
		if (left > room)
			left = room;
		add_copies(c, job, left);
		room -= left;
		c->done += left;
		if (c->done == r->len) {
			c->next++;
			c->done = 0;
		}
	}
	return job->blocks > 0;
}

static void copy_visit(const struct e4l_want *want, const void *block,
		       errcode_t why, void *priv)
{
	struct copy_job *job = priv;
	size_t blocksize = job->e->fs->blocksize;

	if (block)
		memcpy(job->buf + want->slot * blocksize, block, blocksize);
	else
		job->err = e4l_fail(job->e, why, "reading a file's data", 0,
				    want->blk);
}

/*
 * Flushes the device if at least FLUSH_BYTES were written since the last flush.
 * Other threads continue to read.  The commit flushes the remaining blocks.
 */
static errcode_t flush_copies(struct copier *c)
{
	unsigned long long blocks = atomic_load(&c->unflushed);

	if (blocks < FLUSH_BYTES / c->a->e->fs->blocksize ||
	    !atomic_compare_exchange_strong(&c->unflushed, &blocks, 0))
		return 0;
	return e4l_journal_flush_beside(c->a->opt.journal);
}

static errcode_t copy_read(void *arg, void *priv)
{
	struct copier *c = priv;
	struct copy_job *job = arg;
	errcode_t err = flush_copies(c);

	if (err)
		return err;
	job->e = c->a->e;
	e4l_gather(job->e, job->wants, job->blocks, job->scratch, copy_visit,
		   job);
	return job->err;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/*
 * Reports that @blocks more blocks are written.  If the transaction writes more
 * than TXN_PARTS times part_blocks blocks, calls stop() when part_blocks blocks
 * were written or ASK_SECONDS have passed since the last call.
 */
static errcode_t tell(struct e4l_apply *a, uint64_t blocks)
{
	uint64_t part = a->opt.part_blocks;

	if (a->opt.progress)
		a->opt.progress(blocks, a->opt.priv);
	a->unasked_blocks += blocks;
	if (!a->opt.stop || noted_blocks(a) <= TXN_PARTS * part ||
	    (a->unasked_blocks < part && now() - a->asked < ASK_SECONDS))
		return 0;
	a->unasked_blocks = 0;
	a->asked = now();
	return a->opt.stop(true, a->opt.priv) ? E4L_ET_INTERRUPTED : 0;
}

static errcode_t copy_write(void *arg, void *priv)
{
	struct copier *c = priv;
	struct copy_job *job = arg;
	errcode_t err = e4l_journal_check(c->a->opt.journal);
	const char *data = job->buf;
	size_t i;

	for (i = 0; i < job->n_targets && !err; i++) {
		const struct range *t = &job->targets[i];

		err = e4l_write(job->e, t->to, t->len, data);
		if (err)
			return e4l_fail(job->e, err, "writing a file's data", 0,
					t->to);
		data += t->len * job->e->fs->blocksize;
	}
	atomic_fetch_add(&c->unflushed, job->blocks);
	return err ? err : tell(c->a, job->blocks);
}

static errcode_t copy_data(struct e4l_apply *a)
{
	static const struct e4l_pipe_ops ops = {
		.job_bytes = sizeof(struct copy_job),
		.init = copy_init, .release = copy_release,
		.next = copy_next, .work = copy_read, .done = copy_write,
	};
	struct copier c = { .a = a };

	if (!a->copies.n)
		return 0;
	qsort(a->copies.v, a->copies.n, sizeof(*a->copies.v), by_to);
	return e4l_pipe_run(a->e, &ops, &c);
}

/* A job that zeroes several ranges of blocks. */
struct zero_job {
	const struct range *ranges;
	size_t n;
	uint64_t blocks;
};

struct zeroer {
	struct e4l_apply *a;
	size_t next;			/* index of the next range to zero */
	void *zeroes;
};

static errcode_t zero_init(void *arg, void *priv)
{
	(void)arg, (void)priv;
	return 0;
}

static void zero_release(void *arg, void *priv)
{
	(void)arg, (void)priv;
}

static bool zero_next(void *arg, void *priv)
{
	struct zeroer *z = priv;
	struct zero_job *job = arg;
	const struct ranges *zeroes = &z->a->zeroes;
	uint64_t max = ZERO_JOB_BYTES / z->a->e->fs->blocksize;

	*job = (struct zero_job) { .ranges = &zeroes->v[z->next] };
	for (; z->next < zeroes->n && job->blocks < max; z->next++, job->n++)
		job->blocks += zeroes->v[z->next].len;
	return job->n > 0;
}

static errcode_t zero_range(const struct zeroer *z, const struct range *r)
{
	unsigned int max = ZERO_BYTES / z->a->e->fs->blocksize, n;
	blk64_t to = r->to;
	uint64_t left = r->len;
	errcode_t err;

	for (; left; left -= n, to += n) {
		n = left < max ? left : max;
		err = e4l_write(z->a->e, to, n, z->zeroes);
		if (err)
			return e4l_fail(z->a->e, err,
					"zeroing unwritten blocks", 0, to);
	}
	return 0;
}

/*
 * Flushes the blocks that earlier jobs have written.  While the device writes,
 * another thread fills the page cache.
 */
static errcode_t zero_work(void *arg, void *priv)
{
	(void)arg;
	return e4l_journal_flush_beside(((struct zeroer *)priv)->a->opt.journal);
}

static errcode_t zero_done(void *arg, void *priv)
{
	struct zeroer *z = priv;
	struct zero_job *job = arg;
	errcode_t err = e4l_journal_check(z->a->opt.journal);
	size_t i;

	for (i = 0; i < job->n && !err; i++)
		err = zero_range(z, &job->ranges[i]);
	return err ? err : tell(z->a, job->blocks);
}

static errcode_t zero_data(struct e4l_apply *a)
{
	static const struct e4l_pipe_ops ops = {
		.job_bytes = sizeof(struct zero_job),
		.init = zero_init, .release = zero_release,
		.next = zero_next, .work = zero_work, .done = zero_done,
	};
	struct zeroer z = { .a = a };
	errcode_t err;

	if (!a->zeroes.n)
		return 0;
	z.zeroes = calloc(1, ZERO_BYTES);
	if (!z.zeroes)
		return ENOMEM;
	qsort(a->zeroes.v, a->zeroes.n, sizeof(*a->zeroes.v), by_to);
	err = e4l_pipe_run(a->e, &ops, &z);
	free(z.zeroes);
	return err;
}

static errcode_t write_new(struct e4l_apply *a)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < a->n_new && !err; i++) {
		err = e4l_write(a->e, a->new[i].blk, a->new[i].n,
				a->new[i].data);
		if (err)
			e4l_fail(a->e, err,
				 "writing a new map, or a new directory", 0,
				 a->new[i].blk);
	}
	return err;
}

/* ---------------------------------------------------------------- 3. commit */

static void forget_batch(struct e4l_apply *a)
{
	while (a->n_new)
		free(a->new[--a->n_new].own);
	a->new_blocks = 0;
	a->txn = NULL;
	a->steps = 0;
	a->copies.n = a->zeroes.n = 0;
	a->copies.blocks = a->zeroes.blocks = 0;
}

static errcode_t commit(struct e4l_apply *a)
{
	errcode_t err;

	if (!a->txn)
		return 0;
	a->unasked_blocks = 0;
	a->asked = now();
	err = zero_data(a);
	if (!err)
		err = copy_data(a);
	if (!err)
		err = e4l_journal_check(a->opt.journal);
	if (!err)
		err = write_new(a);
	if (err) {
		e4l_txn_abort(a->txn);
		forget_batch(a);
		return err;
	}
	err = e4l_txn_commit(a->txn);
	if (!err) {
		a->stats.steps += a->steps;
		a->stats.copied_blocks += a->copies.blocks;
		a->stats.zeroed_blocks += a->zeroes.blocks;
		a->stats.transactions++;
	}
	forget_batch(a);
	return err;
}

errcode_t e4l_apply_commit(struct e4l_apply *a)
{
	e4l_packer_end(&a->packer);
	return commit(a);
}

errcode_t e4l_apply_open(struct e4l *e, const struct e4l_apply_options *options,
			 struct e4l_apply **ret)
{
	struct e4l_apply *a = calloc(1, sizeof(*a));
	errcode_t err;

	*ret = a;
	if (!a)
		return ENOMEM;
	a->e = e;
	a->opt = *options;
	err = e4l_packer_begin(&a->packer, options->geo,
			       e4l_journal_capacity(options->journal),
			       options->part_blocks);
	if (err) {
		e4l_apply_close(a);
		*ret = NULL;
	}
	return err;
}

void e4l_apply_stats(const struct e4l_apply *a, struct e4l_apply_stats *stats)
{
	*stats = a->stats;
}

void e4l_apply_close(struct e4l_apply *a)
{
	if (!a)
		return;
	e4l_txn_abort(a->txn);
	forget_batch(a);
	e4l_packer_free(&a->packer);
	free(a->new);
	free(a->copies.v);
	free(a->zeroes.v);
	free(a);
}
