/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes the planned image.  The items are in disk order.  A chunk is a
 * physically contiguous range of items of at most CHUNK_BYTES, and is written
 * by one call.
 *
 * If the source is a directory, several threads fill a chunk in parts, from the
 * source and from the plan; the thread that finishes the last part writes the
 * chunk.  If the source is a device or an archive, each thread takes a batch of
 * chunks and reads their content in the order of the source.
 *
 * Reads and writes overlap, many reads are in flight, each block is written
 * once, and the result does not depend on the order of the threads.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "e4layout/format/extent_tree_build.h"
#include "pop_source.h"
#include "populate.h"

#define CHUNK_BYTES	(4u << 20)
#define PART_BYTES	(CHUNK_BYTES / 8)
#define DIRECT_ALIGN	4096
#define MAX_WRITERS	24
#define BATCH_BYTES	((size_t)16 << 20)
#define BATCH_CHUNKS	64
/*
 * run_batches() starts one thread for BATCH_THREADS threads of run_parts(),
 * because a batch needs as much memory as BATCH_THREADS threads.
 */
#define BATCH_THREADS	8

struct chunk {
	/*
	 * first block of the chunk, and first block after all parts that
	 * threads have taken so far
	 */
	uint64_t pblk, end;
	unsigned int busy;	/* number of threads that are filling parts */
	bool whole;		/* threads have taken all parts of the chunk */
	bool in_use;
	char *buf;
};

/*
 * The work that a thread takes at once: fill the blocks [pblk, end).  The first
 * block may be inside @item.
 */
struct part {
	struct chunk *chunk;
	size_t item;
	/* number of blocks of @item that belong to earlier parts */
	uint32_t skip;
	uint64_t pblk, end;
};

/* Chunks that one thread fills and writes.  Each chunk has one part. */
struct batch {
	struct chunk chunks[BATCH_CHUNKS];
	struct part parts[BATCH_CHUNKS];
	unsigned int n;
	char *buf;		/* buffer of BATCH_BYTES bytes */
};

struct writing {
	struct e4l_populate *p;
	pthread_mutex_t lock;	/* protects all members below, and p->fs->io */
	pthread_cond_t free;	/* signaled when a chunk becomes free */
	/*
	 * the next block to give to a thread: block @skip of the item with the
	 * index @item
	 */
	size_t item;
	uint32_t skip;
	struct chunk chunks[MAX_WRITERS];
	unsigned int n_chunks;
	struct chunk *open;	/* chunk of the next block; NULL: a new chunk */
	uint32_t part_bytes;
	struct e4l_source source; /* initial value of each thread's source */
	unsigned int batches;	/* number of threads that have a batch buffer */
	char *bufs;
	uint64_t done, total;	/* written blocks, and blocks to write */
	errcode_t err;
};

struct writer {
	struct writing *w;
	struct e4l_source source;
	/* source for content that is needed immediately */
	struct e4l_source now;
};

/* ------------------------------------------------------------- inode tables */

/*
 * Reads the block @pblk of an inode table that mke2fs may have written, and
 * zeroes the inodes that mke2fs has not allocated.
 */
static errcode_t read_old_inodes(struct writer *me, uint64_t pblk,
				 uint64_t first_ino, char *buf)
{
	struct e4l_populate *p = me->w->p;
	uint32_t i, per = p->bs / p->isize;
	errcode_t err;

	if (first_ino > p->max_old)
		return 0;
	pthread_mutex_lock(&me->w->lock);
	err = io_channel_read_blk64(p->fs->io, pblk, 1, buf);
	pthread_mutex_unlock(&me->w->lock);
	for (i = 0; i < per; i++)
		if (first_ino + i > p->max_old || !p->old[first_ino + i])
			memset(buf + i * p->isize, 0, p->isize);
	return err;
}

static errcode_t fill_one_inode(struct writer *me, uint32_t id, char *buf)
{
	struct e4l_populate *p = me->w->p;
	const struct node *n = &p->t->nodes.v[id];
	char content[65536 + 64];	/* inode sizes are at most 64 KiB */
	errcode_t err = 0;

	memset(buf, 0, p->isize);
	if (n->flags & NODE_INLINE && S_ISREG(n->mode))
		err = e4l_source_want(&me->now, id, 0, n->size, content);
	if (!err)
		err = e4l_source_fetch(&me->now);
	return err ? err : e4l_pop_fill_inode(p, id, content, buf);
}

static errcode_t fill_table(struct writer *me, dgrp_t group, uint32_t skip,
			    uint32_t len, char *buf)
{
	struct e4l_populate *p = me->w->p;
	uint32_t per = p->bs / p->isize, i, id;
	uint64_t ino = (uint64_t)group * p->fs->super->s_inodes_per_group + 1 +
		       (uint64_t)skip * per;
	uint64_t pblk = ext2fs_inode_table_loc(p->fs, group) + skip;
	errcode_t err = 0;

	memset(buf, 0, (size_t)len * p->bs);
	for (; len && !err; len--, pblk++) {
		err = read_old_inodes(me, pblk, ino, buf);
		for (i = 0; i < per && !err; i++, ino++, buf += p->isize) {
			id = ino <= p->max_ino ? p->by_ino[ino] : 0;
			if (id)
				err = fill_one_inode(me, id, buf);
		}
	}
	return err;
}

/* -------------------------------------------------------------------- items */

static void fill_symlink(struct e4l_populate *p, uint32_t id, char *buf)
{
	const struct node *n = &p->t->nodes.v[id];

	memset(buf, 0, p->bs);
	memcpy(buf, p->t->names.v + n->pos, n->size);
}

static void fill_blob(struct e4l_populate *p, uint32_t id, uint64_t at,
		      size_t len, char *buf)
{
	const struct node *n = &p->t->nodes.v[id];
	size_t have = at < n->size ? n->size - at : 0;

	if (have > len)
		have = len;
	memcpy(buf, p->blobs.v[n->pos].bytes + at, have);
	memset(buf + have, 0, len - have);
}

/*
 * Fills @buf with the blocks [skip, skip + len) of the extent tree of @map.
 * The tree blocks are one cluster apart.
 */
static errcode_t fill_tree(struct e4l_populate *p, const struct map *map,
			   uint32_t skip, uint32_t len, char *buf)
{
	char root[I_BLOCK_BYTES], *blocks;
	errcode_t err = ENOMEM;
	uint32_t i;

	blocks = e4l_array_alloc(map->n_tree, p->bs);
	if (blocks)
		err = e4l_pop_make_tree(p, map, root, blocks);
	memset(buf, 0, (size_t)len * p->bs);
	for (i = skip; i < skip + len && !err; i++, buf += p->bs)
		if (i % p->ratio == 0)
			memcpy(buf, blocks + (size_t)(i / p->ratio) * p->bs,
			       p->bs);
	free(blocks);
	return err;
}

/*
 * Fills @buf with the blocks [skip, skip + len) of an item.  If the source is a
 * device or an archive, adds the ranges to the list of ranges to read.
 */
static errcode_t fill(struct writer *me, const struct item *item, uint32_t skip,
		      uint32_t len, char *buf)
{
	struct e4l_populate *p = me->w->p;
	uint64_t at = (uint64_t)skip * p->bs;
	size_t bytes = (size_t)len * p->bs;
	const struct seg *seg;

	switch ((enum item_kind)item->kind) {
	case ITEM_FILE:
		return e4l_source_want(&me->source, item->ref, at, bytes, buf);
	case ITEM_SEG:
		seg = &p->segs.v[item->ref];
		if (S_ISDIR(p->t->nodes.v[seg->node].mode))
			return e4l_pop_fill_dir(p, seg->node, seg->lblk + skip,
						len,
						buf);
		if (seg->unwritten) {
			memset(buf, 0, bytes);
			return 0;
		}
		return e4l_source_want(&me->source, seg->node,
				       (uint64_t)seg->lblk * p->bs + at, bytes,
				       buf);
	case ITEM_DIR:
		return e4l_pop_fill_dir(p, item->ref, skip, len, buf);
	case ITEM_SYMLINK:
		fill_symlink(p, item->ref, buf);
		return 0;
	case ITEM_TREE:
		return fill_tree(p, &p->t->maps.v[item->ref], skip, len, buf);
	case ITEM_XATTR:
		return e4l_pop_fill_xattr_block(p, item->ref, buf);
	case ITEM_BLOB:
		fill_blob(p, item->ref, at, bytes, buf);
		return 0;
	case ITEM_ITABLE:
		return fill_table(me, item->ref, skip, len, buf);
	}
	return 0;
}

/* ------------------------------------------------------- parts of the image */

/*
 * Whether the next block to write is @end, or follows unused blocks of the
 * cluster that contains @end.  The next block must also be in the aligned range
 * of @size bytes that contains block @pblk.
 */
static bool goes_on(const struct writing *w, uint64_t pblk, uint64_t end,
		    unsigned int size)
{
	const struct e4l_populate *p = w->p;
	const struct item *i = &p->items.v[w->item];
	uint32_t blocks = size / p->bs;

	return w->item < p->items.n && i->pblk + w->skip >= end &&
	       i->pblk + w->skip - end < p->ratio &&
	       (i->pblk + w->skip) / blocks == pblk / blocks;
}

/* Returns the chunk for the next part, or NULL if no chunk is free. */
static struct chunk *find_chunk(struct writing *w)
{
	const struct item *i = &w->p->items.v[w->item];
	unsigned int n;

	if (w->open)
		return w->open;
	for (n = 0; n < w->n_chunks; n++) {
		struct chunk *c = &w->chunks[n];

		if (c->in_use)
			continue;
		c->in_use = true;
		c->whole = false;
		c->pblk = c->end = i->pblk + w->skip;
		w->open = c;
		return c;
	}
	return NULL;
}

/*
 * Sets *@part to the next blocks of chunk @c, which one thread will fill.  If
 * these blocks are the last blocks of the chunk, sets c->whole.
 */
static void cut_part(struct writing *w, struct chunk *c, struct part *part)
{
	const struct e4l_populate *p = w->p;
	uint32_t most = w->part_bytes / p->bs, n;

	*part = (struct part) {
		.chunk = c, .item = w->item, .skip = w->skip,
		.pblk = c->end, .end = c->end,
	};
	do {
		const struct item *i = &p->items.v[w->item];
		uint64_t at = i->pblk + w->skip;

		n = most - at % most;
		if (n < i->len - w->skip) {
			w->skip += n;
			part->end = at + n;
			break;
		}
		part->end = i->pblk + i->len;
		w->item++;
		w->skip = 0;
	} while (goes_on(w, part->pblk, part->end, w->part_bytes));
	c->end = part->end;
	c->busy++;
	c->whole = !goes_on(w, c->pblk, c->end, CHUNK_BYTES);
	if (c->whole)
		w->open = NULL;
}

/*
 * Sets *@part to the next range of blocks to fill.  If no chunk is free, waits
 * for a free chunk.  If all blocks are taken, or if writing has failed, returns
 * false.
 */
static bool next_part(struct writing *w, struct part *part)
{
	struct chunk *c;

	while (!w->err && w->item < w->p->items.n) {
		c = find_chunk(w);
		if (c) {
			cut_part(w, c, part);
			return true;
		}
		pthread_cond_wait(&w->free, &w->lock);
	}
	return false;
}

static errcode_t fill_part(struct writer *me, const struct part *part)
{
	struct e4l_populate *p = me->w->p;
	const struct item *item = &p->items.v[part->item];
	char *buf = part->chunk->buf;
	uint32_t skip = part->skip, len;
	uint64_t at = part->pblk, begin;
	errcode_t err = 0;

	if (e4l_is_interrupted(p->e))
		return E4L_ET_INTERRUPTED;
	buf += (at - part->chunk->pblk) * p->bs;
	for (; at < part->end && !err; item++, skip = 0) {
		begin = item->pblk + skip;
		memset(buf, 0, (begin - at) * p->bs);
		buf += (begin - at) * p->bs;
		at = begin;
		len = item->len - skip;
		if (len > part->end - at)
			len = part->end - at;
		err = fill(me, item, skip, len, buf);
		buf += (size_t)len * p->bs;
		at += len;
	}
	return err;
}

static errcode_t write_chunk(struct e4l_populate *p, const struct chunk *c)
{
	uint64_t at = p->o.offset_bytes + c->pblk * p->bs;
	size_t len = (c->end - c->pblk) * p->bs, done = 0;
	int fd = p->target.direct_fd;
	ssize_t put;

	if (fd < 0 || at % DIRECT_ALIGN || len % DIRECT_ALIGN)
		fd = p->target.fd;
	while (done < len) {
		put = pwrite(fd, c->buf + done, len - done, at + done);
		if (put > 0)
			done += put;
		else if (put < 0 && errno == EINVAL && fd != p->target.fd)
			/* the file does not support O_DIRECT */
			fd = p->target.fd;
		else if (put == 0 || errno != EINTR)
			return e4l_fail(p->e, put ? errno : EIO,
					"writing the image", 0, c->pblk);
	}
	return 0;
}

static void account(struct writing *w, const struct chunk *c)
{
	struct e4l_populate *p = w->p;

	w->done += c->end - c->pblk;
	p->stats.writes++;
	p->stats.written_blocks += c->end - c->pblk;
	if (p->target.progress && !w->err)
		p->target.progress(w->done, w->total, p->target.priv);
}

/*
 * If no error has occurred, writes the filled chunk @c.  Releases the lock
 * during the write.
 */
static void finish_chunk(struct writing *w, const struct chunk *c)
{
	errcode_t err;

	if (w->err)
		return;
	pthread_mutex_unlock(&w->lock);
	err = write_chunk(w->p, c);
	pthread_mutex_lock(&w->lock);
	if (!w->err)
		w->err = err;
	account(w, c);
}

/*
 * Called when a thread has filled a part of chunk @c; @err is an error of
 * filling the part, or 0.  If all parts of the chunk are filled, writes the
 * chunk.
 */
static void finish_part(struct writing *w, struct chunk *c, errcode_t err)
{
	if (!w->err)
		w->err = err;
	if (--c->busy || !c->whole)
		return;
	finish_chunk(w, c);
	c->in_use = false;
	pthread_cond_broadcast(&w->free);
}

static void *write_parts(void *arg)
{
	struct writing *w = arg;
	struct writer me = {
		.w = w, .source = w->source, .now = w->source,
	};
	struct part part;
	errcode_t err;

	pthread_mutex_lock(&w->lock);
	while (next_part(w, &part)) {
		pthread_mutex_unlock(&w->lock);
		err = fill_part(&me, &part);
		pthread_mutex_lock(&w->lock);
		finish_part(w, part.chunk, err);
	}
	/* after an error, other threads may wait for a free chunk in vain */
	pthread_cond_broadcast(&w->free);
	pthread_mutex_unlock(&w->lock);
	e4l_source_close(&me.source);
	e4l_source_close(&me.now);
	return NULL;
}

/* ------------------------------------------------------------------ batches */

/*
 * Takes as many chunks as fit into the batch.  If no chunks are left, returns
 * false.
 */
static bool next_batch(struct writing *w, struct batch *b)
{
	const struct e4l_populate *p = w->p;
	size_t used = 0, bytes;

	for (b->n = 0; !w->err && w->item < p->items.n && b->n < BATCH_CHUNKS &&
	     used + CHUNK_BYTES <= BATCH_BYTES; b->n++) {
		struct chunk *c = &b->chunks[b->n];

		*c = (struct chunk) {
			.pblk = p->items.v[w->item].pblk + w->skip,
			.buf = b->buf + used,
		};
		c->end = c->pblk;
		cut_part(w, c, &b->parts[b->n]);
		bytes = (c->end - c->pblk) * p->bs;
		used += (bytes + DIRECT_ALIGN - 1) / DIRECT_ALIGN *
			DIRECT_ALIGN;
	}
	return b->n;
}

static errcode_t fill_batch(struct writer *me, const struct batch *b)
{
	errcode_t err = 0;
	unsigned int i;

	for (i = 0; i < b->n && !err; i++)
		err = fill_part(me, &b->parts[i]);
	return err ? err : e4l_source_fetch(&me->source);
}

static void *write_batches(void *arg)
{
	struct writing *w = arg;
	struct writer me = {
		.w = w, .source = w->source, .now = w->source,
	};
	struct batch b;
	errcode_t err;
	unsigned int i;

	pthread_mutex_lock(&w->lock);
	b.buf = w->bufs + w->batches++ * BATCH_BYTES;
	while (next_batch(w, &b)) {
		pthread_mutex_unlock(&w->lock);
		err = fill_batch(&me, &b);
		pthread_mutex_lock(&w->lock);
		if (!w->err)
			w->err = err;
		for (i = 0; i < b.n; i++)
			finish_chunk(w, &b.chunks[i]);
	}
	pthread_mutex_unlock(&w->lock);
	e4l_source_close(&me.source);
	e4l_source_close(&me.now);
	return NULL;
}

/* ------------------------------------------------------------------ threads */

static errcode_t run_threads(struct writing *w, unsigned int n,
			     void *(*run)(void *))
{
	pthread_t threads[MAX_WRITERS];
	unsigned int i;
	errcode_t err = 0;

	for (i = 0; i < n && !err; i++)
		err = e4l_start_thread(&threads[i], run, w);
	for (n = err ? i - 1 : i; n--;)
		pthread_join(threads[n], NULL);
	return w->err ? w->err : err;
}

static bool make_bufs(struct writing *w, size_t bytes)
{
	void *bufs;

	if (posix_memalign(&bufs, CHUNK_BYTES, bytes))
		return false;
	madvise(bufs, bytes, MADV_HUGEPAGE);
	w->bufs = bufs;
	return true;
}

/*
 * Runs many threads that fill parts of chunks, because a thread waits whenever
 * it opens and reads a small file.
 */
static errcode_t run_parts(struct writing *w, unsigned int threads)
{
	unsigned int i;

	/*
	 * half as many chunks as threads, so that some chunks are written while
	 * others are filled
	 */
	w->n_chunks = (threads + 1) / 2;
	w->part_bytes = PART_BYTES;
	if (!make_bufs(w, (size_t)w->n_chunks * CHUNK_BYTES))
		return ENOMEM;
	for (i = 0; i < w->n_chunks; i++)
		w->chunks[i].buf = w->bufs + (size_t)i * CHUNK_BYTES;
	return run_threads(w, threads, write_parts);
}

/*
 * Runs few threads that fill batches of chunks, because larger batches need
 * fewer reads.
 */
static errcode_t run_batches(struct writing *w, unsigned int threads)
{
	unsigned int n = (threads + BATCH_THREADS - 1) / BATCH_THREADS;

	w->part_bytes = CHUNK_BYTES;
	w->source.reading = e4l_source_reading(w->p->t);
	if (!make_bufs(w, (size_t)n * BATCH_BYTES))
		return ENOMEM;
	return run_threads(w, n, write_batches);
}

errcode_t e4l_pop_write(struct e4l_populate *p)
{
	unsigned int n = p->o.threads < MAX_WRITERS ? p->o.threads :
						      MAX_WRITERS;
	struct writing w = { .p = p, .source.t = p->t };
	errcode_t err;
	size_t k;

	for (k = 0; k < p->items.n; k++)
		w.total += p->items.v[k].len;
	pthread_mutex_init(&w.lock, NULL);
	pthread_cond_init(&w.free, NULL);
	err = e4l_tree_is_by_path(p->t) ? run_parts(&w, n) :
					  run_batches(&w, n);
	pthread_cond_destroy(&w.free);
	pthread_mutex_destroy(&w.lock);
	free(w.bufs);
	return err;
}
