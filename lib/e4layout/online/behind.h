/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * behind: what was moved until it is on the disk.  Only then are the blocks in
 * which it was given up, which the donor has: a device that does not take what
 * is written where the file is now (one that is provisioned thinly has no space
 * left, a sector is bad) must not cost a byte.
 */
#ifndef E4L_BEHIND_H
#define E4L_BEHIND_H

#include <ext2fs/ext2fs.h>
#include "resident.h"

#define E4L_BEHIND	32

/* Blocks of a file that were swapped with those of a donor. */
struct e4l_moved {
	struct e4l_resident pages;	/* whose fd is the file, to be read */
	int donor_fd;			/* borrowed */
	uint64_t lblk, donor_lblk, len;
};

/* What waits, the oldest at @first. */
struct e4l_behind {
	struct e4l_moved v[E4L_BEHIND];
	size_t first, n, pages;
	/* One could not be written, and is where it was, or is not either. */
	void (*failed)(ext2_ino_t ino, bool put_back, void *priv);
	void *priv;
};

/* The file of @fd, if possible so that others can execute it; -1: an errno. */
int e4l_behind_open(int fd);

/*
 * Has it written out; of what waits in @b, as much is finished that it stays
 * short.  Takes @m.
 */
void e4l_behind_add(struct e4l_behind *b, struct e4l_moved *m);

/* Finishes all of it. */
void e4l_behind_finish(struct e4l_behind *b);

#endif
