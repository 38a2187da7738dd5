/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* io_stats: statistics about the reads of a context. */
#ifndef E4L_IO_STATS_H
#define E4L_IO_STATS_H

#include <e4layout/context.h>

/*
 * Statistics about the reads of a context.  For a rotating disk, also below
 * loop devices and partitions, e4l_open() chooses larger gap_bytes and
 * gather_bytes.
 */
struct e4l_io_stats {
	uint64_t reads;		/* number of read calls to the io_manager */
	uint64_t bytes;		/* bytes read */
	uint64_t readaheads;	/* number of ranges announced to the kernel */
	/* largest gap between two wanted blocks that are read at once */
	uint64_t gap_bytes;
	/* largest size of a read of several wanted blocks */
	uint64_t gather_bytes;
	bool rotates;		/* the device is a rotating disk */
};
void e4l_get_io_stats(const struct e4l *e, struct e4l_io_stats *stats);

#endif
