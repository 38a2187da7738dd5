/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * io_pool: how the library reads, and how it keeps several reads and several
 * processors busy.
 *
 * Everything goes through the filesystem's io_channel, so that undo, test and
 * fault managers stay in effect.  Parallelism comes from two places: ranges
 * are announced (io_channel_cache_readahead) well before they are read, so
 * that the device has many requests in flight, and jobs run on several threads.
 * Since only what was announced is fetched, and nothing else is ever missed in
 * the page cache, the kernel's own readahead has no occasion to start.
 */
#ifndef E4L_IO_POOL_H
#define E4L_IO_POOL_H

#include "internal.h"

/* Reads @count blocks from @blk into @buf.  Does not set the detail. */
errcode_t e4l_read(struct e4l *e, blk64_t blk, unsigned int count, void *buf);

/*
 * Writes @count blocks from @buf to @blk at once: unix_io's cache would write a
 * few of them one by one, later.  Does not set the detail.
 */
errcode_t e4l_write(struct e4l *e, blk64_t blk, unsigned int count,
		    const void *buf);

/*
 * Has @io forget what it holds of blocks, and make the buffers for them anew, which
 * fails without memory: ext2fs_open2() does not ask whether it could.
 */
errcode_t e4l_renew_buffers(io_channel io);

/* Announces that @count blocks from @blk will be read soon. */
void e4l_readahead(struct e4l *e, blk64_t blk, blk64_t count);

/* The same of any file, in bytes. */
void e4l_announce(int fd, uint64_t pos, uint64_t bytes);

/* How to read from what has to move a head, or has none as far as is known. */
struct e4l_reading e4l_reading_for(bool rotates);

/* One block that somebody wants. */
struct e4l_want {
	blk64_t blk;
	uint32_t slot;		/* the caller's; the order they came in */
};

/*
 * Reads the @n blocks of @wants, which it sorts by block: in disk order,
 * coalesced into large reads, all announced first.  Calls @visit for each with
 * the block's content, or with NULL and why it could not be read.  @scratch has
 * E4L_GATHER_BYTES, the most that is read by one call.
 */
#define E4L_GATHER_BYTES (1u << 20)
void e4l_gather(struct e4l *e, struct e4l_want *wants, size_t n, void *scratch,
		void (*visit)(const struct e4l_want *want, const void *block,
			      errcode_t why, void *priv),
		void *priv);

/*
 * An ordered parallel pipeline.  Jobs are filled one at a time by next(),
 * worked on by several threads at once, and finished by done() one at a time in
 * the order in which next() filled them.  next() must be quick: it runs under
 * the pipeline's lock.  The caller's thread is one of the workers, and the
 * others are not started for a single job.
 */
struct e4l_pipe_ops {
	size_t job_bytes;
	/*
	 * Prepares and releases one of the job slots, which start zeroed, as
	 * they are needed; like next().
	 */
	errcode_t (*init)(void *job, void *priv);
	void (*release)(void *job, void *priv);
	/* Fills @job; false when there is nothing left. */
	bool (*next)(void *job, void *priv);
	/* A result other than 0 ends the pipeline, in order. */
	errcode_t (*work)(void *job, void *priv);
	errcode_t (*done)(void *job, void *priv);
};

/*
 * Runs jobs until next() has no more, one fails, or e4l_interrupt() is called
 * (E4L_ET_INTERRUPTED).
 */
errcode_t e4l_pipe_run(struct e4l *e, const struct e4l_pipe_ops *ops,
		       void *priv);

#endif
