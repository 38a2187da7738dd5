/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * behind: keeps moved data in memory, and the file's old blocks in the donor,
 * until the data is on disk.  The donor is a file that reserves free space.  If
 * the device cannot write the data to the new blocks (a thin device without
 * space, a bad sector), the data is moved back to the old blocks.
 */
#ifndef E4L_BEHIND_H
#define E4L_BEHIND_H

#include <ext2fs/ext2fs.h>
#include "resident.h"

#define E4L_BEHIND	64

/*
 * An exchange: @len blocks of a file, from block @lblk on, were swapped with
 * the donor's blocks from block @donor_lblk on.  @pblk is the first new
 * physical block of the file.
 */
struct e4l_exchange {
	uint64_t lblk, donor_lblk, pblk, len;
};

/*
 * A part of a file that was moved: the data of its new blocks may not be on
 * disk yet.
 */
struct e4l_moved {
	/* pages.fd is a descriptor from e4l_behind_open() */
	struct e4l_resident pages;
	ext2_ino_t ino;
	int donor_fd;			/* descriptor of the donor, borrowed */
	/*
	 * exchanges that moved this part of the file; e4l_behind_add() takes
	 * ownership
	 */
	struct e4l_exchange *v;
	size_t n;
	uint32_t blocksize;
};

/*
 * A queue of moved parts of files.  The data of these parts may not be on disk
 * yet.  v[first] is the oldest part.
 */
struct e4l_behind {
	struct e4l_moved v[E4L_BEHIND];
	size_t first, n, pages;
	bool broken; /* the data of a moved part could not be written */
	/*
	 * Called if the data of a moved part of file @ino could not be written.
	 * @put_back is true if the part has its old physical blocks again.
	 */
	void (*failed)(ext2_ino_t ino, bool put_back, void *priv);
	void *priv;
};

/*
 * Returns another descriptor of the file of @fd.  With this descriptor, blocks
 * can be swapped back even if other programs change the file's mode or request
 * a lease.  If the file cannot be opened, returns -1 with errno set.
 *
 * @shared is true if the descriptor of an earlier moved part of the file has
 * the same open file description as @fd.  The file is then opened again,
 * because the kernel reports a write error only once for each open file
 * description.  If too many files are open, closes descriptors of earlier parts
 * of @b when their data is on disk.
 */
int e4l_behind_open(struct e4l_behind *b, int fd, bool shared);

/*
 * Locks the pages of a part of a file in memory before the part is moved.  If
 * the process exceeds its limit for locked memory, waits until the data of
 * earlier moved parts is on disk, and unlocks their pages.
 */
void e4l_behind_hold(struct e4l_behind *b, struct e4l_resident *pages);

/*
 * Starts to write out the data of @m, whose pages must be locked.  Finishes the
 * oldest parts to keep the queue short.  Takes ownership of @m.
 */
void e4l_behind_add(struct e4l_behind *b, struct e4l_moved *m);

/*
 * Waits until the data of all moved parts of files is on disk.  If the data of
 * a part cannot be written, moves the data back to the old blocks and calls
 * b->failed().
 */
void e4l_behind_finish(struct e4l_behind *b);

/*
 * If @error is an errno for too many open files, calls e4l_behind_finish(),
 * which closes the descriptors of all moved parts.  Returns true if the caller
 * may try the failed open again.
 */
bool e4l_behind_close_for(struct e4l_behind *b, int error);

#endif
