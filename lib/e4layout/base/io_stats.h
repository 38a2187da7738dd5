/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* io_stats: the reads of a context. */
#ifndef E4L_IO_STATS_H
#define E4L_IO_STATS_H

#include <e4layout/context.h>

/*
 * Reads that were made through @e.  With e4l_open(), gaps are larger where the
 * device that it is on in the end, beneath loop devices and partitions, rotates.
 */
struct e4l_io_stats {
	uint64_t reads;		/* calls to the io_manager */
	uint64_t bytes;		/* bytes they asked for */
	uint64_t readaheads;	/* ranges announced to the kernel beforehand */
	uint64_t gap_bytes;	/* what is read along between wanted blocks */
	uint64_t gather_bytes;	/* what one call reads of such at most */
	bool rotates;		/* why so */
	uint64_t reserved[1];
};
void e4l_get_io_stats(const struct e4l *e, struct e4l_io_stats *stats);

#endif
