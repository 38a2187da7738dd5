/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * behind: keeps moved data in memory, and the file's old blocks in the donor,
 * until the data is on disk.  If the device cannot write the data to the new
 * blocks (a thin device without space, a bad sector), the data is moved back to
 * the old blocks.
 */
#ifndef E4L_BEHIND_H
#define E4L_BEHIND_H

#include <ext2fs/ext2fs.h>
#include "resident.h"

#define E4L_BEHIND	64

/*
 * @len blocks of a file, from @lblk on, that were exchanged with the donor's
 * blocks from @donor_lblk on.  @pblk is the file's first new physical block.
 */
struct e4l_exchange {
	uint64_t lblk, donor_lblk, pblk, len;
};

/*
 * A part: blocks of a file that were exchanged with blocks of a donor, and
 * whose data may not be on disk yet.
 */
struct e4l_moved {
	/* pages.fd is a descriptor from e4l_behind_open() */
	struct e4l_resident pages;
	ext2_ino_t ino;
	int donor_fd;			/* borrowed */
	struct e4l_exchange *v;		/* freed with the part */
	size_t n;
	uint32_t blocksize;
};

/* A queue of parts whose data may not be on disk.  @first: the oldest part. */
struct e4l_behind {
	struct e4l_moved v[E4L_BEHIND];
	size_t first, n, pages;
	bool broken;			/* a part could not be written */
	/*
	 * Called if a part could not be written.  @put_back is true if all data
	 * of the part is in the old physical blocks again.
	 */
	void (*failed)(ext2_ino_t ino, bool put_back, void *priv);
	void *priv;
};

/*
 * Returns another descriptor of the file of @fd.  With this descriptor, blocks
 * can be swapped back even if other programs change the file's mode or request
 * a lease.  If @shared is true, another unfinished part uses the open file
 * description of @fd.  The kernel reports a write error only once for each open
 * file description, so that the file is opened again.  If too many files are
 * open, unfinished parts of @b are finished.  Returns -1 with errno set if the
 * file cannot be opened.
 */
int e4l_behind_open(struct e4l_behind *b, int fd, bool shared);

/*
 * Locks the pages of a part in memory before the part is moved.  If the process
 * exceeds its limit for locked memory, finishes unfinished parts to unlock
 * their pages.
 */
void e4l_behind_hold(struct e4l_behind *b, struct e4l_resident *pages);

/*
 * Starts to write out @m, whose pages must be locked, and finishes old parts to
 * keep the queue short.  Takes ownership of @m.
 */
void e4l_behind_add(struct e4l_behind *b, struct e4l_moved *m);

/*
 * Waits until the data of all parts is on disk.  If the data of a part cannot
 * be written, moves the data back and calls failed().
 */
void e4l_behind_finish(struct e4l_behind *b);

/*
 * If @error is an errno for too many open files, finishes all parts, which
 * closes their descriptors.  Returns true if the caller may repeat the failed
 * open.
 */
bool e4l_behind_close_for(struct e4l_behind *b, int error);

#endif
