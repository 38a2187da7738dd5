/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* io_stats: statistics about the reads of a context. */
#ifndef E4L_IO_STATS_H
#define E4L_IO_STATS_H

#include <e4layout/context.h>

/*
 * Statistics about the reads of a context.  If the filesystem is on a rotating
 * disk, or on a loop device or partition of a rotating disk, e4l_open() chooses
 * larger gap_bytes and gather_bytes.
 */
struct e4l_io_stats {
	uint64_t reads;		/* number of read calls to the io_manager */
	uint64_t bytes;		/* bytes read */
	uint64_t readaheads;	/* number of ranges announced to the kernel */
	/* maximum gap between two wanted blocks that one read combines */
	uint64_t gap_bytes;
	/* maximum size of a read that combines wanted blocks, including gaps */
	uint64_t gather_bytes;
	bool rotates;		/* the device is a rotating disk */
};
void e4l_get_io_stats(const struct e4l *e, struct e4l_io_stats *stats);

#endif
