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

/*
 * Swaps @m->len blocks of @fd, which can be read and written, with those of the
 * donor; afterwards @m is what is left.  Where the kernel says EBUSY, @unpin,
 * told what is left, may do something about it, and returns 0 to try again, or
 * an errno.  Holes are passed over.  Returns an errno; 0: nothing is left.
 */
int e4l_move_ext(int fd, struct move_extent *m,
		 int (*unpin)(const struct move_extent *left, void *priv),
		 void *priv);

#endif
