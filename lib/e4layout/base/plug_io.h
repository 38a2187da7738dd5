/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* How well a plug combines writes. */
#ifndef E4L_PLUG_IO_INTERNAL_H
#define E4L_PLUG_IO_INTERNAL_H

#include <e4layout/plug_io.h>

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
