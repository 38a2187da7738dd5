/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "array.h"
#include "io_pool.h"

/*
 * Returns limits for reads; @rotates is true for a rotating disk.
 *
 * A gap between two wanted blocks is read if reading the gap takes no longer
 * than another request.  On an SSD with 1.2 GB/s and 12 us per request (queue
 * depth 16), the break-even gap is 14 KiB.  With warm caches, the break-even
 * gap is less than 8 KiB.  On a rotating disk, a short seek and the rotational
 * delay take as long as reading 800 KiB.  However, the disk can serve many
 * queued requests in one revolution, so that reading large gaps does not pay.
 */
struct e4l_reading e4l_reading_for(bool rotates)
{
	return rotates ? (struct e4l_reading) { 128u << 10, 1u << 20, true } :
			 (struct e4l_reading) { 8u << 10, 256u << 10, false };
}

/*
 * The size of one readahead request.  The kernel silently limits a request to
 * the readahead size or the largest I/O size of the device, whichever is
 * larger.  On common devices, this limit is at least 128 KiB.
 */
#define READAHEAD_BYTES (128u << 10)

errcode_t e4l_read(struct e4l *e, blk64_t blk, unsigned int count, void *buf)
{
	io_channel io = e->fs->io;
	bool shared = io->flags & CHANNEL_FLAGS_THREADS;
	errcode_t err;

	atomic_fetch_add_explicit(&e->reads, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&e->read_bytes,
				  (uint64_t)count * e->fs->blocksize,
				  memory_order_relaxed);
	if (!shared)
		pthread_mutex_lock(&e->io_lock);
	err = io_channel_read_blk64(io, blk, count, buf);
	if (!shared)
		pthread_mutex_unlock(&e->io_lock);
	return err;
}

/*
 * The negative count passed to io_channel_write_blk64() is in bytes, and makes
 * unix_io bypass its cache.
 */
errcode_t e4l_write(struct e4l *e, blk64_t blk, unsigned int count,
		    const void *buf)
{
	unsigned int blocksize = e->fs->blocksize;
	bool few = count <= INT_MAX / blocksize;
	io_channel io = e->fs->io;
	bool shared = io->flags & CHANNEL_FLAGS_THREADS;
	errcode_t err;

	if (!shared)
		pthread_mutex_lock(&e->io_lock);
	err = io_channel_write_blk64(io, blk, few ? -(int)(count * blocksize) :
					      (int)count, buf);
	if (!shared)
		pthread_mutex_unlock(&e->io_lock);
	return err;
}

/*
 * Changes the block size and changes it back, because unix_io allocates its
 * cache again if the block size changes.
 */
errcode_t e4l_renew_buffers(io_channel io)
{
	unsigned int size = io->block_size;
	errcode_t err = io_channel_set_blksize(io, size == 1024 ? 2048 : 1024);

	return err ? err : io_channel_set_blksize(io, size);
}

void e4l_readahead(struct e4l *e, blk64_t blk, blk64_t count)
{
	blk64_t piece = READAHEAD_BYTES / e->fs->blocksize;
	blk64_t n;

	for (; count; blk += n, count -= n) {
		n = count < piece ? count : piece;
		if (io_channel_cache_readahead(e->fs->io, blk, n))
			return;
		atomic_fetch_add_explicit(&e->readaheads, 1,
					  memory_order_relaxed);
	}
}

void e4l_announce(int fd, uint64_t pos, uint64_t bytes)
{
	uint64_t n;

	for (; bytes; pos += n, bytes -= n) {
		n = bytes < READAHEAD_BYTES ? bytes : READAHEAD_BYTES;
		if (posix_fadvise(fd, pos, n, POSIX_FADV_WILLNEED))
			return;
	}
}

/* ------------------------------------------------------------------- gather */

/*
 * Returns the number of the sorted @wants that the next read should fetch.
 * Sets *@count to the length of the read in blocks.
 */
static size_t run_length(const struct e4l *e, const struct e4l_want *wants,
			 size_t n, unsigned int *count)
{
	blk64_t start = wants[0].blk;
	unsigned int gap = e->reading.gap_bytes / e->fs->blocksize;
	unsigned int max = e->reading.gather_bytes / e->fs->blocksize;
	size_t i;

	*count = 1;
	for (i = 1; i < n; i++) {
		blk64_t end = start + *count;

		if (wants[i].blk > end + gap || wants[i].blk - start >= max)
			break;
		*count = wants[i].blk - start + 1;
	}
	return i;
}

/* After a failed read of several blocks, reads the wanted blocks one by one. */
static void visit_singly(struct e4l *e, const struct e4l_want *wants, size_t n,
			 void *scratch,
			 void (*visit)(const struct e4l_want *, const void *,
				       errcode_t, void *),
			 void *priv)
{
	errcode_t err;
	size_t i;

	for (i = 0; i < n; i++) {
		err = e4l_read(e, wants[i].blk, 1, scratch);
		visit(&wants[i], err ? NULL : scratch, err, priv);
	}
}

void e4l_gather(struct e4l *e, struct e4l_want *wants, size_t n, void *scratch,
		void (*visit)(const struct e4l_want *want, const void *block,
			      errcode_t why, void *priv),
		void *priv)
{
	unsigned int count;
	size_t i, j, run;

	qsort(wants, n, sizeof(*wants), e4l_u64_cmp);
	for (i = 0; i < n; i += run) {
		run = run_length(e, wants + i, n - i, &count);
		e4l_readahead(e, wants[i].blk, count);
	}
	for (i = 0; i < n; i += run) {
		run = run_length(e, wants + i, n - i, &count);
		if (e4l_read(e, wants[i].blk, count, scratch)) {
			visit_singly(e, wants + i, run, scratch, visit, priv);
			continue;
		}
		for (j = i; j < i + run; j++)
			visit(&wants[j], (char *)scratch +
			      (wants[j].blk - wants[i].blk) * e->fs->blocksize,
			      0, priv);
	}
}

/* ----------------------------------------------------------------- pipeline */

#define MAX_HELPERS 63

enum job_state { JOB_FREE, JOB_WORKING, JOB_WORKED };

struct pipe {
	struct e4l *e;
	const struct e4l_pipe_ops *ops;
	void *priv;
	char *jobs;		/* @slots job slots of ops->job_bytes bytes */
	enum job_state *state;
	errcode_t *result;
	/* @slots: number of job slots; @ready: number of initialized slots */
	unsigned int slots, ready;
	unsigned int helpers; /* number of threads besides the caller */
	pthread_t helper[MAX_HELPERS];
	/*
	 * number of jobs filled and finished so far; job N is in slot N % slots
	 */
	uint64_t filled, finished;
	bool finishing;		/* a thread is inside done() */
	bool ended;		/* next() returned false, or a job failed */
	errcode_t err;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

static void *job_at(struct pipe *p, uint64_t number)
{
	return p->jobs + number % p->slots * p->ops->job_bytes;
}

static void fail_locked(struct pipe *p, errcode_t err)
{
	if (!p->err)
		p->err = err;
	p->ended = true;
}

/*
 * Finishes the oldest unfinished job, for which work() has returned.  Releases
 * the lock while done() runs.
 */
static void finish_one(struct pipe *p)
{
	uint64_t number = p->finished;
	unsigned int slot = number % p->slots;
	errcode_t err = p->result[slot];

	if (!err && !p->err) {
		p->finishing = true;
		pthread_mutex_unlock(&p->lock);
		err = p->ops->done(job_at(p, number), p->priv);
		pthread_mutex_lock(&p->lock);
		p->finishing = false;
	}
	if (err)
		fail_locked(p, err);
	p->state[slot] = JOB_FREE;
	p->finished++;
}

static errcode_t ready_slot(struct pipe *p, unsigned int slot)
{
	if (slot < p->ready)
		return 0;
	p->ready++;
	return p->ops->init(job_at(p, slot), p->priv);
}

static void *worker(void *arg);

/*
 * Starts another thread if there is more than one job.  Ignores a failure,
 * because the running threads can do all jobs.
 */
static void call_helper(struct pipe *p)
{
	if (p->filled > 1 && p->helpers + 1 < p->e->threads &&
	    p->helpers < MAX_HELPERS &&
	    !pthread_create(&p->helper[p->helpers], NULL, worker, p))
		p->helpers++;
}

/* Fills a job and works on it.  Releases the lock while work() runs. */
static void work_one(struct pipe *p)
{
	uint64_t number = p->filled;
	unsigned int slot = number % p->slots;
	errcode_t err = 0;

	if (e4l_is_interrupted(p->e))
		err = E4L_ET_INTERRUPTED;
	if (!err)
		err = ready_slot(p, slot);
	if (err) {
		fail_locked(p, err);
		return;
	}
	if (!p->ops->next(job_at(p, number), p->priv)) {
		p->ended = true;
		return;
	}
	p->filled++;
	p->state[slot] = JOB_WORKING;
	call_helper(p);
	pthread_mutex_unlock(&p->lock);
	err = p->ops->work(job_at(p, number), p->priv);
	pthread_mutex_lock(&p->lock);
	p->result[slot] = err;
	p->state[slot] = JOB_WORKED;
}

static void *worker(void *arg)
{
	struct pipe *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		if (!p->finishing && p->finished < p->filled &&
		    p->state[p->finished % p->slots] == JOB_WORKED)
			finish_one(p);
		else if (!p->ended && p->filled - p->finished < p->slots)
			work_one(p);
		else if (p->ended && p->finished == p->filled)
			break;
		else {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		pthread_cond_broadcast(&p->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

errcode_t e4l_pipe_run(struct e4l *e, const struct e4l_pipe_ops *ops,
		       void *priv)
{
	unsigned int slots = e->threads == 1 ? 1 : e->threads * 2;
	struct pipe p = {
		.e = e, .ops = ops, .priv = priv, .slots = slots,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};

	p.jobs = calloc(slots, ops->job_bytes);
	p.state = calloc(slots, sizeof(*p.state));
	p.result = calloc(slots, sizeof(*p.result));
	if (!p.jobs || !p.state || !p.result)
		p.err = ENOMEM;
	if (!p.err)
		worker(&p);
	while (p.helpers)
		pthread_join(p.helper[--p.helpers], NULL);
	while (p.ready)
		ops->release(job_at(&p, --p.ready), priv);
	free(p.jobs);
	free(p.state);
	free(p.result);
	return p.err;
}
