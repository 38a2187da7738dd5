/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plug_io: combines many small writes into few large writes. */
#ifndef E4L_PLUG_IO_H
#define E4L_PLUG_IO_H

#include <e4layout/context.h>

/*
 * A plug holds writes in memory, and later issues the held writes as few large
 * writes, in the order of positions on the device.  An unplug issues all held
 * writes.  The channel unplugs on flush, on close, and when the memory limit is
 * reached.  The channel also unplugs before a very large write, and before a
 * zeroout or discard that overlaps held writes.  Reads return the content of
 * held writes.  A flush is a barrier: a flush first unplugs, and then flushes
 * the channel below.
 *
 * Failures.  An unplug stops at the first failed write, and the call that
 * caused the unplug returns the error.  Data that were not written stay held:
 * reads return these data, and the next unplug tries again to write them.  If a
 * write call returns an error, the data of the failed call are not held.  As an
 * exception, a failed write_byte call of more than 256 KiB may hold the first
 * part of its data.  If writes fail on close, close returns the error and drops
 * the data.  A flush also returns the errors of flushing the channel below.
 *
 * A plugged channel must not be used by two threads at a time, even if the
 * channel below allows several threads.
 */

/* Default memory limit for held writes. */
#define E4L_PLUG_LIMIT_BYTES	(64ULL << 20)

/*
 * Puts a plug over @under.  On success, the plug owns @under and closes it.
 * @limit_bytes, 1 MiB to 1 TiB, is the limit of held writes.  Memory is
 * allocated as writes are held: 1.02 to 1.03 times the size of the held writes,
 * plus 4 MiB.  Errors, with @under unchanged: E4L_ET_BAD_ARGUMENT,
 * EXT2_ET_NO_MEMORY.
 */
errcode_t e4l_plug_io_wrap(io_channel under, uint64_t limit_bytes,
			   io_channel *ret);

/*
 * Puts a plug between @fs and its channel; closing @fs closes the plug.
 * Errors: E4L_ET_BAD_ARGUMENT (also if @fs is open on an e2image file),
 * EXT2_ET_NO_MEMORY.
 */
errcode_t e4l_plug_fs(ext2_filsys fs, uint64_t limit_bytes);

struct e4l_plug_stats {
	uint64_t asked;		/* number of write calls to the plug */
	uint64_t asked_bytes;
	uint64_t issued;	/* number of write calls to the channel below */
	uint64_t issued_bytes;	/* issued_bytes / issued is the mean size */
	uint64_t unplugs;
};
void e4l_plug_io_get_stats(io_channel plugged, struct e4l_plug_stats *stats);

#endif
