/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * dirs: what directories contain.
 *
 *  1. add_piece() collects where directories lie;
 *  2. when there are many, or no more, they are read in rounds of consecutive
 *     directories: their blocks are sorted and go through a pipeline;
 *  3. each block is parsed where it was read.  For locality, a directory of
 *     one block is counted there; what longer ones hold is collected as pairs
 *     of directory and inode, sorted and counted at the round's end; and one
 *     that would be too much for that gets a bit for each inode.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "e4layout/format/dir_block.h"
#include "e4layout/format/dir_use.h"
#include "dirs.h"
#include "e4layout/base/io_pool.h"

#define BATCH_RUNS	(256u << 10)	/* and as many directories */
#define ROUND_BYTES	(8u << 20)	/* of directories of several blocks */
#define JOB_BLOCKS	64
#define SPREAD_BLOCKS	4	/* of few inodes, which may lie anywhere */

/* A directory of the current batch. */
struct dir {
	ext2_ino_t ino;
	uint32_t generation;
	size_t run;		/* its first */
	uint64_t blocks;	/* in this batch */
	struct e4l_dir_use use;	/* blocks: by its map */
	bool encrypted;
	bool has_hashes;	/* after its names */
	bool stays;		/* as it is: see judge_use() */
	bool begun;		/* it began in an earlier batch */
	bool last;		/* it ends in this one */
};

struct run {
	blk64_t pblk;
	uint32_t lblk;
	uint32_t len;
	uint32_t dir;		/* index */
};

struct e4l_dirs {
	struct e4l *e;
	struct e4l_dirs_ops ops;
	void *priv;
	pthread_mutex_t lock;		/* held around callbacks */
	struct dir *dirs;
	size_t n_dirs;
	struct run *runs;
	size_t n_runs;
	uint64_t claimed;		/* blocks, so far */
	ext2_ino_t lost_found;		/* where mke2fs makes it, or is named */
	uint8_t *is_dir;		/* a bit for each inode, if needed */
	/* the round */
	size_t run, end_run;		/* next() has given what is before */
	uint32_t in_run;		/* blocks of it */
	bool huge;			/* it is one directory, too long */
	uint64_t *pairs;		/* index of the directory, inode */
	size_t n_pairs;
	uint8_t *seen;			/* by the huge one; a bit per inode */
};

/* Blocks side by side on the disk, mostly of different directories. */
struct job {
	struct e4l_dirs *d;
	struct e4l_want wants[JOB_BLOCKS];
	struct {
		uint32_t dir, lblk;
		struct e4l_dir_use use;	/* of the block */
		bool damaged;
	} of[JOB_BLOCKS];
	size_t n;
	char *scratch;
	ext2_ino_t *inos;		/* the directory, what a block holds */
	size_t n_inos;
	uint64_t *pairs;
	size_t n_pairs;
	struct e4l_dir_locality done[JOB_BLOCKS];
	size_t n_done;
	struct e4l_damage *damage;
	size_t n_damage;
	struct e4l_dir_use *use;	/* of the block at hand */
	unsigned int hash_bytes;	/* of each of its entries */
	ext2_ino_t lost_found;		/* if it is named there */
	errcode_t err;
};

static bool get_bit(const uint8_t *bits, ext2_ino_t ino)
{
	return bits[ino / 8] & 1 << ino % 8;
}

static void set_bit(uint8_t *bits, ext2_ino_t ino)
{
	bits[ino / 8] |= 1 << ino % 8;
}

static uint8_t *new_bits(ext2_filsys fs)
{
	return calloc(fs->super->s_inodes_count / 8 + 1, 1);
}

/* ----------------------------------------------------------------- locality */

/* Counts inodes that come in order, perhaps several times. */
struct counter {
	ext2_filsys fs;
	struct e4l_dir_locality l;
	ext2_ino_t last_ino;
	uint64_t end;		/* of the inode-table block that it is in */
};

/* The first inode behind the inode-table block that @ino is in. */
static uint64_t itable_block_end(ext2_filsys fs, ext2_ino_t ino)
{
	uint32_t per_group = fs->super->s_inodes_per_group;
	uint32_t per_block = EXT2_INODES_PER_BLOCK(fs->super);
	uint32_t index = (ino - 1) % per_group;
	uint32_t end = (index / per_block + 1) * per_block;

	return (uint64_t)ino - index + (end < per_group ? end : per_group);
}

static void count_ino(struct counter *c, ext2_ino_t ino)
{
	if (ino == c->last_ino)
		return;
	c->l.inodes++;
	c->last_ino = ino;
	if (ino < c->end)
		return;
	c->l.itable_blocks++;
	c->end = itable_block_end(c->fs, ino);
}

static struct e4l_dir_locality counted(struct counter *c, ext2_ino_t dir)
{
	uint32_t per_block = EXT2_INODES_PER_BLOCK(c->fs->super);

	c->l.dir = dir;
	c->l.itable_blocks_ideal = (c->l.inodes + per_block - 1) / per_block;
	c->l.spread = c->l.itable_blocks > 2 * c->l.itable_blocks_ideal +
					   SPREAD_BLOCKS;
	return c->l;
}

static bool is_subdir(const struct e4l_dirs *d, const struct e4l_dirent *entry)
{
	if (d->is_dir)
		return get_bit(d->is_dir, entry->ino);
	return entry->file_type == EXT2_FT_DIR;
}

struct e4l_dir_locality e4l_count_locality(ext2_filsys fs, ext2_ino_t dir,
					   ext2_ino_t *inos, size_t n)
{
	struct counter c = { .fs = fs };
	size_t i;

	for (i = 1; i < n && inos[i - 1] <= inos[i]; i++)
		;
	if (i < n)
		qsort(inos, n, sizeof(*inos), e4l_u32_cmp);
	for (i = 0; i < n; i++)
		count_ino(&c, inos[i]);
	return counted(&c, dir);
}

/* ------------------------------------------------------------------- blocks */

static void job_damage(struct job *job, ext2_ino_t ino, blk64_t blk,
		       errcode_t why)
{
	if (e4l_grow(&job->damage, job->n_damage, sizeof(*job->damage)))
		job->err = ENOMEM;
	else
		job->damage[job->n_damage++] = (struct e4l_damage) {
			.ino = ino, .blk = blk, .why = why,
		};
}

static bool is_wanted(struct e4l_dirs *d, const struct e4l_dirent *entry)
{
	return d->ops.entry &&
	       (!d->ops.wanted || d->ops.wanted(entry, d->priv));
}

/* Keeps what decides whether its directory is worth being built anew. */
static void note_use(struct job *job, const struct e4l_dirent *entry)
{
	if (e4l_dirent_is_dotdot(entry))
		return;
	e4l_dir_use_add(job->use, dirent_bytes(entry->name_len) +
				  job->hash_bytes);
	if (entry->dir == EXT2_ROOT_INO && entry->name_len == 10 &&
	    !memcmp(entry->name, "lost+found", 10))
		job->lost_found = entry->ino;
}

/*
 * Hands out the entries of a part of a directory; those that count for locality
 * go to job->inos as well.
 */
static void parse(struct job *job, struct e4l_dir_walk *w, blk64_t blk)
{
	struct e4l_dirs *d = job->d;
	struct e4l_dirent entry;
	enum e4l_dir_step step;
	bool locked = false;

	while (!job->err && (step = e4l_dir_next(w, &entry)) != DIR_END) {
		if (step == DIR_BAD) {
			job_damage(job, w->dir, blk, E4L_ET_DIR_CORRUPT);
			continue;
		}
		note_use(job, &entry);
		if (is_wanted(d, &entry)) {
			if (!locked)
				pthread_mutex_lock(&d->lock);
			locked = true;
			job->err = d->ops.entry(&entry, d->priv);
		}
		if (!e4l_dirent_is_dotdot(&entry) && !is_subdir(d, &entry))
			job->inos[job->n_inos++] = entry.ino;
	}
	if (locked)
		pthread_mutex_unlock(&d->lock);
}

/* What locality makes of the inodes found in a block of dirs[@index]. */
static void collect(struct job *job, uint32_t index)
{
	const struct dir *dir = &job->d->dirs[index];
	size_t i;

	if (dir->blocks == 1 && !dir->begun && dir->last) {
		job->done[job->n_done] = e4l_count_locality(job->d->e->fs,
							    dir->ino, job->inos,
							    job->n_inos);
		job->done[job->n_done++].blocks = 1;
		return;
	}
	for (i = 1; i < job->n_inos; i++) {
		if (e4l_grow(&job->pairs, job->n_pairs, sizeof(*job->pairs))) {
			job->err = ENOMEM;
			return;
		}
		job->pairs[job->n_pairs++] = (uint64_t)index << 32 |
					     job->inos[i];
	}
}

static void visit_block(const struct e4l_want *want, const void *block,
			errcode_t why, void *priv)
{
	struct job *job = priv;
	ext2_filsys fs = job->d->e->fs;
	uint32_t index = job->of[want->slot].dir;
	const struct dir *dir = &job->d->dirs[index];
	size_t damages = job->n_damage;

	if (job->err)
		return;
	job->inos[0] = dir->ino;
	job->n_inos = 1;
	job->use = &job->of[want->slot].use;
	job->hash_bytes = dir->has_hashes ? DIR_HASH_BYTES : 0;
	*job->use = (struct e4l_dir_use) { 0 };
	if (!block)
		job_damage(job, dir->ino, want->blk, E4L_ET_READ_DIR);
	else if (!e4l_dir_block_csum_ok(fs, dir->ino, dir->generation, block))
		job_damage(job, dir->ino, want->blk, E4L_ET_DIR_CSUM);
	else
		parse(job, &(struct e4l_dir_walk) {
				.fs = fs, .dir = dir->ino,
				.encrypted = dir->encrypted,
				.has_dots = !job->of[want->slot].lblk,
				.buf = block, .len = fs->blocksize,
		      }, want->blk);
	job->of[want->slot].damaged = job->n_damage > damages;
	if (job->d->ops.locality)
		collect(job, index);
}

/* ----------------------------------------------------------------- pipeline */

static bool dirs_next(void *arg, void *priv)
{
	struct e4l_dirs *d = priv;
	struct job *job = arg;

	for (job->n = 0; job->n < JOB_BLOCKS && d->run < d->end_run; ) {
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

	job->n_pairs = job->n_done = job->n_damage = 0;
	job->lost_found = 0;
	job->err = 0;
	e4l_gather(job->d->e, job->wants, job->n, job->scratch, visit_block,
		   job);
	return job->err;
}

/* Puts a job's pairs with the round's. */
static errcode_t keep_pairs(struct e4l_dirs *d, const struct job *job)
{
	size_t i;

	for (i = 0; i < job->n_pairs; i++) {
		if (d->huge) {
			set_bit(d->seen, (ext2_ino_t)job->pairs[i]);
			continue;
		}
		if (e4l_grow(&d->pairs, d->n_pairs, sizeof(*d->pairs)))
			return ENOMEM;
		d->pairs[d->n_pairs++] = job->pairs[i];
	}
	return 0;
}

/* Tells what one job found, but for the entries. */
static errcode_t deliver(struct e4l_dirs *d, const struct job *job)
{
	errcode_t err = 0;
	size_t i;

	pthread_mutex_lock(&d->lock);
	for (i = 0; i < job->n_damage && !err && d->ops.damage; i++)
		err = d->ops.damage(&job->damage[i], d->priv);
	for (i = 0; i < job->n_done && !err; i++)
		err = d->ops.locality(&job->done[i], d->priv);
	pthread_mutex_unlock(&d->lock);
	return err;
}

/* What the job's blocks hold, for their directories. */
static void add_use(struct e4l_dirs *d, const struct job *job)
{
	size_t i;

	for (i = 0; i < job->n; i++) {
		struct dir *dir = &d->dirs[job->of[i].dir];
		const struct e4l_dir_use *use = &job->of[i].use;

		dir->use.bytes += use->bytes;
		if (dir->use.longest < use->longest)
			dir->use.longest = use->longest;
		dir->stays |= job->of[i].damaged;
	}
	if (job->lost_found)
		d->lost_found = job->lost_found;
}

static errcode_t dirs_done(void *arg, void *priv)
{
	struct job *job = arg;
	errcode_t err = deliver(priv, job);

	add_use(priv, job);
	return err ? err : keep_pairs(priv, job);
}

static errcode_t job_init(void *arg, void *priv)
{
	struct e4l_dirs *d = priv;
	struct job *job = arg;
	size_t entries = d->e->fs->blocksize / DIR_ENTRY_BYTES;

	job->d = d;
	if (posix_memalign((void **)&job->scratch, 4096, E4L_GATHER_BYTES))
		return ENOMEM;
	job->inos = calloc(1 + entries, sizeof(*job->inos));
	return job->inos ? 0 : ENOMEM;
}

static void job_release(void *arg, void *priv)
{
	struct job *job = arg;

	free(job->scratch);
	free(job->inos);
	free(job->pairs);
	free(job->damage);
}

/* ------------------------------------------------------------------- rounds */

static int run_cmp(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->pblk != y->pblk)
		return x->pblk < y->pblk ? -1 : 1;
	return x->dir < y->dir ? -1 : x->dir > y->dir;
}

/* What building it anew would gain. */
static void judge_use(const struct e4l_dirs *d, const struct dir *dir,
		      struct e4l_dir_locality *l)
{
	const struct e4l_dir_use *u = &dir->use;
	uint64_t most;

	l->blocks = u->blocks;
	if (dir->stays || dir->ino == d->lost_found || u->blocks < 2)
		return;
	most = e4l_dir_most_blocks(u);
	if (most && most < u->blocks && e4l_dir_is_sparse(u))
		l->spare_blocks = u->blocks - most;
	l->wants_index = most && e4l_dir_is_outgrown(u);
}

static errcode_t tell_locality(struct e4l_dirs *d, const struct dir *dir,
			       struct e4l_dir_locality l)
{
	errcode_t err;

	judge_use(d, dir, &l);
	pthread_mutex_lock(&d->lock);
	err = d->ops.locality(&l, d->priv);
	pthread_mutex_unlock(&d->lock);
	return err;
}

/* The huge directory has been read to its end: counts it. */
static errcode_t count_seen(struct e4l_dirs *d, const struct dir *dir)
{
	struct counter c = { .fs = d->e->fs };
	ext2_ino_t ino, max = d->e->fs->super->s_inodes_count;

	set_bit(d->seen, dir->ino);
	for (ino = 1; ino <= max && ino; ino++)
		if (d->seen[ino / 8] == 0)
			ino |= 7;
		else if (get_bit(d->seen, ino))
			count_ino(&c, ino);
	free(d->seen);
	d->seen = NULL;
	return tell_locality(d, dir, counted(&c, dir->ino));
}

/* Directories @first to @end were read; those of one block are counted. */
static errcode_t count_pairs(struct e4l_dirs *d, size_t first, size_t end)
{
	errcode_t err = 0;
	size_t i, p = 0;

	if (d->n_pairs)
		qsort(d->pairs, d->n_pairs, sizeof(*d->pairs), e4l_u64_cmp);
	for (i = first; i < end && !err; i++) {
		struct counter c = { .fs = d->e->fs };
		ext2_ino_t own = d->dirs[i].ino;
		bool counted_own = false;

		if (d->dirs[i].blocks == 1)
			continue;
		for (; p < d->n_pairs && d->pairs[p] >> 32 == i; p++) {
			if (!counted_own && own <= (ext2_ino_t)d->pairs[p]) {
				count_ino(&c, own);
				counted_own = true;
			}
			count_ino(&c, (ext2_ino_t)d->pairs[p]);
		}
		if (!counted_own)
			count_ino(&c, own);
		err = tell_locality(d, &d->dirs[i], counted(&c, own));
	}
	d->n_pairs = 0;
	return err;
}

static errcode_t read_round(struct e4l_dirs *d, size_t first, size_t end)
{
	static const struct e4l_pipe_ops pipe_ops = {
		.job_bytes = sizeof(struct job),
		.init = job_init, .release = job_release,
		.next = dirs_next, .work = dirs_work, .done = dirs_done,
	};
	errcode_t err = 0;

	d->run = d->dirs[first].run;
	d->end_run = end < d->n_dirs ? d->dirs[end].run : d->n_runs;
	d->in_run = 0;
	if (d->huge && d->ops.locality && !d->seen) {
		d->seen = new_bits(d->e->fs);
		if (!d->seen)
			return ENOMEM;
	}
	if (d->run < d->end_run) {
		qsort(d->runs + d->run, d->end_run - d->run,
		      sizeof(*d->runs), run_cmp);
		err = e4l_pipe_run(d->e, &pipe_ops, d);
	}
	if (err || !d->ops.locality)
		return err;
	if (!d->huge)
		return count_pairs(d, first, end);
	return d->dirs[first].last ? count_seen(d, &d->dirs[first]) : 0;
}

/* How many directories from @first on make a round. */
static size_t round_length(struct e4l_dirs *d, size_t first)
{
	uint64_t max = ROUND_BYTES / d->e->fs->blocksize, long_blocks = 0;
	size_t i;

	for (i = first; i < d->n_dirs; i++) {
		const struct dir *dir = &d->dirs[i];

		d->huge = dir->begun || !dir->last || dir->blocks > max;
		if (d->huge && i == first)
			return 1;
		if (dir->blocks > 1)
			long_blocks += dir->blocks;
		if (d->huge || long_blocks > max)
			break;
	}
	d->huge = false;
	return i - first;
}

/* Reads all that has been collected; a directory cut here goes on later. */
static errcode_t flush(struct e4l_dirs *d)
{
	size_t i, n;
	errcode_t err = 0;

	for (i = 0; i < d->n_dirs && !err; i += n) {
		n = round_length(d, i);
		err = read_round(d, i, i + n);
	}
	n = d->n_dirs && !d->dirs[d->n_dirs - 1].last;
	if (n) {
		d->dirs[0] = d->dirs[d->n_dirs - 1];
		d->dirs[0].begun = true;
		d->dirs[0].run = d->dirs[0].blocks = 0;
	}
	d->n_dirs = n;
	d->n_runs = 0;
	return err;
}

/* ------------------------------------------------------------------- pieces */

static errcode_t tell_damage(struct e4l_dirs *d, ext2_ino_t ino, blk64_t blk,
			     errcode_t why)
{
	struct e4l_damage damage = { .ino = ino, .blk = blk, .why = why };
	errcode_t err = 0;

	pthread_mutex_lock(&d->lock);
	if (d->ops.damage)
		err = d->ops.damage(&damage, d->priv);
	pthread_mutex_unlock(&d->lock);
	return err;
}

/* An inline directory: the parent's number, entries, and more entries. */
static errcode_t read_inline(struct e4l_dirs *d, const struct e4l_piece *piece)
{
	ext2_filsys fs = d->e->fs;
	const char *i_block = (const char *)piece->inode->i_block;
	bool encrypted = piece->inode->i_flags & EXT4_ENCRYPT_FL;
	struct e4l_dirent dotdot = {
		.dir = piece->ino, .name = "..", .name_len = 2,
		.file_type = EXT2_FT_DIR,
		.ino = ext2fs_le32_to_cpu(piece->inode->i_block[0]),
	};
	struct e4l_dir_walk head = {
		.fs = fs, .dir = piece->ino, .encrypted = encrypted,
		.buf = i_block + DIR_INLINE_PARENT,
		.len = I_BLOCK_BYTES - DIR_INLINE_PARENT,
	}, tail = head;
	struct e4l_dir_use use = { 0 };
	struct job job = { .d = d, .n_inos = 1, .use = &use };

	tail.buf = e4l_inline_value(piece->inode, EXT2_INODE_SIZE(fs->super),
				    &tail.len);
	job.inos = calloc(1 + (head.len + tail.len) / DIR_ENTRY_BYTES,
			  sizeof(*job.inos));
	if (!job.inos)
		return ENOMEM;
	job.inos[0] = piece->ino;
	if (!dotdot.ino || dotdot.ino > fs->super->s_inodes_count)
		job_damage(&job, piece->ino, 0, E4L_ET_DIR_CORRUPT);
	else if (is_wanted(d, &dotdot))
		job.err = d->ops.entry(&dotdot, d->priv);
	parse(&job, &head, 0);
	parse(&job, &tail, 0);
	if (!job.err && d->ops.locality)
		job.done[job.n_done++] = e4l_count_locality(fs, piece->ino,
							    job.inos,
							    job.n_inos);
	if (!job.err)
		job.err = deliver(d, &job);
	free(job.inos);
	free(job.damage);
	return job.err;
}

static errcode_t add_dir(struct e4l_dirs *d, const struct e4l_piece *piece)
{
	ext2_filsys fs = d->e->fs;
	uint32_t flags = piece->inode->i_flags;

	if (e4l_grow(&d->dirs, d->n_dirs, sizeof(*d->dirs)))
		return ENOMEM;
	d->dirs[d->n_dirs++] = (struct dir) {
		.ino = piece->ino, .run = d->n_runs,
		.generation = piece->inode->i_generation,
		.encrypted = flags & EXT4_ENCRYPT_FL,
		.has_hashes = flags & EXT4_ENCRYPT_FL &&
			      flags & EXT4_CASEFOLD_FL,
		.stays = piece->map != E4L_MAP_EXTENTS,
		.use = {
			.fs = fs,
			.indexed = flags & EXT2_INDEX_FL &&
				   ext2fs_has_feature_dir_index(fs->super),
		},
	};
	return 0;
}

/*
 * Directories cannot have more blocks than the filesystem: this ends what maps
 * that lead to the same blocks again and again would make endless.
 */
static errcode_t add_run(struct e4l_dirs *d, ext2_ino_t ino,
			 const struct e4l_extent *x)
{
	blk64_t max = ext2fs_blocks_count(d->e->fs->super);
	struct dir *dir = &d->dirs[d->n_dirs - 1];

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
		.dir = d->n_dirs - 1,
	};
	return 0;
}

errcode_t e4l_dirs_add_piece(struct e4l_dirs *d, const struct e4l_piece *piece)
{
	struct dir *dir;
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
	dir = &d->dirs[d->n_dirs - 1];
	dir->last = piece->last;
	dir->stays |= piece->last && dir->use.blocks * d->e->fs->blocksize !=
		      EXT2_I_SIZE((struct ext2_inode *)piece->inode);
	if (d->n_runs >= BATCH_RUNS || d->n_dirs >= BATCH_RUNS)
		err = flush(d);
	return err;
}

errcode_t e4l_dirs_finish(struct e4l_dirs *d)
{
	return flush(d);
}

/* ---------------------------------------------------------------------- all */

static errcode_t note_dir(const struct e4l_piece *piece, void *priv)
{
	struct e4l_dirs *d = priv;

	set_bit(d->is_dir, piece->ino);
	return 0;
}

/* Without the filetype feature, entries do not tell what is a directory. */
static errcode_t learn_dirs(struct e4l_dirs *d)
{
	static const struct e4l_scan_ops ops = { .piece = note_dir };

	d->is_dir = new_bits(d->e->fs);
	if (!d->is_dir)
		return ENOMEM;
	return e4l_scan(d->e, E4L_SCAN_NO_MAPS | E4L_SCAN_DIRS, NULL, &ops, d);
}

errcode_t e4l_dirs_new(struct e4l *e, const struct e4l_dirs_ops *ops,
		       void *priv, struct e4l_dirs **ret)
{
	struct e4l_dirs *d;
	errcode_t err = 0;

	*ret = NULL;
	if (E4L_HAS_UNKNOWN(ops))
		return e4l_fail(e, E4L_ET_OPTION, "reading directories", 0, 0);
	d = calloc(1, sizeof(*d));
	if (!d)
		return ENOMEM;
	d->e = e;
	d->ops = *ops;
	d->priv = priv;
	d->lost_found = EXT2_FIRST_INO(e->fs->super);
	pthread_mutex_init(&d->lock, NULL);
	if (ops->locality && !ext2fs_has_feature_filetype(e->fs->super))
		err = learn_dirs(d);
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
	pthread_mutex_destroy(&d->lock);
	free(d->dirs);
	free(d->runs);
	free(d->is_dir);
	free(d->pairs);
	free(d->seen);
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
