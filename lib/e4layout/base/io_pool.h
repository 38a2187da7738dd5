/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * io_pool: reads with many requests in flight and several threads.
 *
 * All I/O uses the filesystem's io_channel, so that io_managers for undo files,
 * tests and injected faults stay in effect.  Ranges are announced with
 * io_channel_cache_readahead() well before they are read, which keeps many
 * requests in flight.  Jobs run on several threads.  All reads are in announced
 * ranges, so that the kernel's own readahead does not start.
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
 * Writes @count blocks from @buf to @blk at once.  Bypasses the cache of
 * unix_io, because unix_io writes cached blocks later and one by one.  Does not
 * set the failure detail of @e.
 */
errcode_t e4l_write(struct e4l *e, blk64_t blk, unsigned int count,
		    const void *buf);

/*
 * Drops the cached blocks of @io and allocates the cache of @io again.  Returns
 * ENOMEM or EXT2_ET_NO_MEMORY if there is no memory for the cache.  Callers use
 * e4l_renew_buffers() after ext2fs_open2(), which ignores a lack of memory for
 * the cache.
 */
errcode_t e4l_renew_buffers(io_channel io);

/* Announces that @count blocks from @blk will be read soon. */
void e4l_readahead(struct e4l *e, blk64_t blk, blk64_t count);

/*
 * Announces that @bytes bytes from byte @pos of the file @fd will be read soon.
 */
void e4l_announce(int fd, uint64_t pos, uint64_t bytes);

/*
 * Returns the sizes of reads for a rotating disk (@rotates) or for any other
 * device.
 */
struct e4l_reading e4l_reading_for(bool rotates);

/* A block that e4l_gather() must read. */
struct e4l_want {
	blk64_t blk;
	uint32_t slot;		/* the caller's number for the block */
};

/*
 * Sorts @wants by block, and reads the @n blocks in disk order with few large
 * reads.  All reads are announced before the first read.  Calls @visit for each
 * block with the content of the block or, if the block cannot be read, with
 * NULL and the error.  @scratch has E4L_GATHER_BYTES, the largest size of a
 * read.
 */
#define E4L_GATHER_BYTES (1u << 20)
void e4l_gather(struct e4l *e, struct e4l_want *wants, size_t n, void *scratch,
		void (*visit)(const struct e4l_want *want, const void *block,
			      errcode_t why, void *priv),
		void *priv);

/*
 * An ordered parallel pipeline.  next() fills one job at a time, work() runs
 * for several jobs at once, and done() finishes one job at a time.  Jobs are
 * finished in the order in which next() has filled them.  next() must be quick,
 * because it runs under the pipeline's lock.  If there is only one job, no
 * thread is started.
 */
struct e4l_pipe_ops {
	size_t job_bytes;
	/*
	 * init() prepares a zeroed job slot before its first use, under the
	 * pipeline's lock.  release() frees the slot, even if init() has
	 * failed.
	 */
	errcode_t (*init)(void *job, void *priv);
	void (*release)(void *job, void *priv);
	/* Fills @job.  Returns false if there are no more jobs. */
	bool (*next)(void *job, void *priv);
	/*
	 * work() does the work of a job, and done() finishes the job.  If
	 * either returns an error, the pipeline ends.
	 */
	errcode_t (*work)(void *job, void *priv);
	errcode_t (*done)(void *job, void *priv);
};

/*
 * Runs jobs until next() returns false or a job fails.  Returns the first error
 * of a job, ENOMEM, or E4L_ET_INTERRUPTED after e4l_interrupt().
 */
errcode_t e4l_pipe_run(struct e4l *e, const struct e4l_pipe_ops *ops,
		       void *priv);

#endif
