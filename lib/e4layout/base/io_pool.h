/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * io_pool: reads with many requests in flight and several threads.
 *
 * All I/O goes through the filesystem's io_channel, so that io_managers for
 * undo files, tests and injected faults stay in effect.  Ranges are announced
 * (io_channel_cache_readahead) well before they are read, which keeps many
 * requests in flight, and jobs run on several threads.  All reads are in
 * announced ranges, so that the kernel's own readahead does not start.
 */
#ifndef E4L_IO_POOL_H
#define E4L_IO_POOL_H

#include "internal.h"

/*
 * Reads @count blocks from @blk into @buf.  Does not set the failure detail of
 * @e.
 */
errcode_t e4l_read(struct e4l *e, blk64_t blk, unsigned int count, void *buf);

/*
 * Writes @count blocks from @buf to @blk at once.  Bypasses unix_io's cache,
 * which would write a small request later, block by block.  Does not set the
 * failure detail of @e.
 */
errcode_t e4l_write(struct e4l *e, blk64_t blk, unsigned int count,
		    const void *buf);

/*
 * Invalidates the cached blocks of @io and allocates its cache again.  Returns
 * ENOMEM or EXT2_ET_NO_MEMORY if there is no memory for the cache, an error
 * that ext2fs_open2() ignores.
 */
errcode_t e4l_renew_buffers(io_channel io);

/* Announces that @count blocks from @blk will be read soon. */
void e4l_readahead(struct e4l *e, blk64_t blk, blk64_t count);

/* Announces that @bytes at byte @pos of the file @fd will be read soon. */
void e4l_announce(int fd, uint64_t pos, uint64_t bytes);

/*
 * Returns the sizes of reads for a rotating disk (@rotates) or for any other
 * device.
 */
struct e4l_reading e4l_reading_for(bool rotates);

/* One wanted block. */
struct e4l_want {
	blk64_t blk;
	uint32_t slot;		/* the caller's number for the block */
};

/*
 * Reads the @n blocks of @wants in disk order, with few large reads, which are
 * all announced first.  Sorts @wants by block.  Calls @visit for each block
 * with the content of the block, or with NULL and the error.  @scratch has
 * E4L_GATHER_BYTES, the largest size of a read.
 */
#define E4L_GATHER_BYTES (1u << 20)
void e4l_gather(struct e4l *e, struct e4l_want *wants, size_t n, void *scratch,
		void (*visit)(const struct e4l_want *want, const void *block,
			      errcode_t why, void *priv),
		void *priv);

/*
 * An ordered parallel pipeline.  next() fills one job at a time, work() runs
 * for several jobs at once, and done() finishes one job at a time, in the order
 * in which next() has filled them.  next() must be quick, because it runs under
 * the pipeline's lock.  The caller's thread does the work alone if there is
 * only one job.
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
