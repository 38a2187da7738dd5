/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The kernel's call that swaps blocks of two files. */
#ifndef E4L_MOVE_EXT_H
#define E4L_MOVE_EXT_H

#include <stdint.h>
#include <sys/ioctl.h>

struct move_extent {
	uint32_t reserved, donor_fd;
	uint64_t orig_start, donor_start, len, moved_len;
};
#define EXT4_IOC_MOVE_EXT _IOWR('f', 15, struct move_extent)

#define MOVE_TRIES	3	/* while the kernel says EBUSY */

#endif
