/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* io_stats: statistics about the reads of a context. */
#ifndef E4L_IO_STATS_H
#define E4L_IO_STATS_H

#include <e4layout/context.h>

/*
 * Reads through @e.  e4l_open() chooses larger gap_bytes and gather_bytes if
 * the disk below all loop devices and partitions rotates.
 */
struct e4l_io_stats {
	uint64_t reads;		/* calls to the io_manager */
	uint64_t bytes;		/* bytes of these calls */
	uint64_t readaheads;	/* ranges announced to the kernel */
	/* largest gap between wanted blocks that is also read */
	uint64_t gap_bytes;
	/* largest size of a read of several wanted blocks */
	uint64_t gather_bytes;
	bool rotates;		/* the disk rotates */
};
void e4l_get_io_stats(const struct e4l *e, struct e4l_io_stats *stats);

#endif
