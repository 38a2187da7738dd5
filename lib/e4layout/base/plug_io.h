/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* plug_io: few, large writes in place of many small ones. */
#ifndef E4L_PLUG_IO_H
#define E4L_PLUG_IO_H

#include <e4layout/context.h>

/*
 * Holds writes back and issues them in the device's order as few, large ones.
 * It unplugs (issues what it holds) when flushed, when closed, when its memory
 * is full, and before a zeroout or discard that touches what it holds.  Reads
 * see what is held.  A flush is a barrier: it returns after the channel below
 * has been flushed.
 *
 * Failures.  An unplug stops at the first write that fails and returns its
 * error from the call that caused it.  What was not written stays held: reads
 * see it, and the next unplug tries it again.  A write that returns an error
 * is not held at all (with write_byte of more than 256 KiB, a first part may
 * be).  Closing with writes that still fail returns the error and gives them
 * up.  A write error that the channel below hides until its flush is returned
 * by the flush here.
 *
 * A plugged channel is for one thread at a time, whatever is below.
 */

/* Memory for held writes when nothing else is said. */
#define E4L_PLUG_LIMIT_BYTES	(64ULL << 20)

/*
 * Puts a plug over @under, which belongs to it when this succeeds and is
 * closed with it.  @limit_bytes is 1 MiB to 1 TiB; memory is taken as it is
 * needed, 1.02 to 1.03 of what is held and 4 MiB.
 * Errors: E4L_ET_BAD_ARGUMENT, EXT2_ET_NO_MEMORY.
 */
errcode_t e4l_plug_io_wrap(io_channel under, uint64_t limit_bytes,
			   io_channel *ret);

/*
 * Puts a plug under an open filesystem; closing @fs closes it.  Errors as
 * above; E4L_ET_BAD_ARGUMENT also when @fs is an image of metadata.
 */
errcode_t e4l_plug_fs(ext2_filsys fs, uint64_t limit_bytes);

struct e4l_plug_stats {
	uint64_t asked;		/* writes from above */
	uint64_t asked_bytes;
	uint64_t issued;	/* writes to the channel below */
	uint64_t issued_bytes;	/* over issued: their mean size */
	uint64_t unplugs;
	uint64_t reserved[4];
};
void e4l_plug_io_get_stats(io_channel plugged, struct e4l_plug_stats *stats);

#endif
