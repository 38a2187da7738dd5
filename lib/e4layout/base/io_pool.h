/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * io_pool: reads with many requests in flight and several threads.
 *
 * All I/O goes through the filesystem's io_channel, so that undo, test and
 * fault managers stay in effect.  Parallelism has two sources: ranges are
 * announced (io_channel_cache_readahead) well before they are read, which keeps
 * many requests in flight, and jobs run on several threads.  All reads hit
 * announced ranges, so that the kernel's own readahead does not start.
 */
#ifndef E4L_IO_POOL_H
#define E4L_IO_POOL_H

#include "internal.h"

/* Reads @count blocks from @blk into @buf.  Does not set the detail. */
errcode_t e4l_read(struct e4l *e, blk64_t blk, unsigned int count, void *buf);

/*
 * Writes @count blocks from @buf to @blk at once, and bypasses unix_io's cache,
 * which would write small requests block by block later.  Does not set the
 * detail.
 */
errcode_t e4l_write(struct e4l *e, blk64_t blk, unsigned int count,
		    const void *buf);

/*
 * Invalidates the cached blocks of @io and allocates its cache again.  ENOMEM
 * or EXT2_ET_NO_MEMORY: no memory, which ext2fs_open2() does not check.
 */
errcode_t e4l_renew_buffers(io_channel io);

/* Announces that @count blocks from @blk will be read soon. */
void e4l_readahead(struct e4l *e, blk64_t blk, blk64_t count);

/* Announces that @bytes at byte @pos of the file @fd will be read soon. */
void e4l_announce(int fd, uint64_t pos, uint64_t bytes);

/*
 * Sizes of reads for a device that rotates (a disk), or does not or is unknown.
 */
struct e4l_reading e4l_reading_for(bool rotates);

/* One wanted block. */
struct e4l_want {
	blk64_t blk;
	uint32_t slot;		/* the caller's number for the block */
};

/*
 * Reads the @n blocks of @wants, which it sorts by block: in disk order,
 * coalesced into large reads, all announced first.  Calls @visit for each block
 * with its content, or with NULL and the error.  @scratch has E4L_GATHER_BYTES,
 * the largest size of a read.
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
	 * Prepare and release a job slot, which starts zeroed.  Slots are
	 * prepared on their first use, under the pipeline's lock.
	 */
	errcode_t (*init)(void *job, void *priv);
	void (*release)(void *job, void *priv);
	/* Fills @job; false: there are no more jobs. */
	bool (*next)(void *job, void *priv);
	/*
	 * Work on a job, and finish a job in order.  An error ends the
	 * pipeline.
	 */
	errcode_t (*work)(void *job, void *priv);
	errcode_t (*done)(void *job, void *priv);
};

/*
 * Runs jobs until next() returns false, a job fails, or e4l_interrupt() is
 * called (E4L_ET_INTERRUPTED).
 */
errcode_t e4l_pipe_run(struct e4l *e, const struct e4l_pipe_ops *ops,
		       void *priv);

#endif
