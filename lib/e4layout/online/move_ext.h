/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * move_ext: calls EXT4_IOC_MOVE_EXT, the ioctl that swaps blocks of two files.
 */
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
 * Swaps @m->len blocks of @fd, which is open for reading and writing, with
 * blocks of the donor.  Holes are skipped.  After the call, @m describes the
 * blocks that were not swapped.
 *
 * If the kernel returns EBUSY, calls @unpin with the remaining blocks.  If
 * @unpin returns 0, tries again; if @unpin returns an errno, gives up.  Returns
 * 0 if all blocks are swapped, and otherwise an errno.
 */
int e4l_move_ext(int fd, struct move_extent *m,
		 int (*unpin)(const struct move_extent *left, void *priv),
		 void *priv);

#endif
