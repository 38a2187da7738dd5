/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * behind: moved data until it is on disk.  Until then, the donor keeps the
 * file's old blocks: if the device cannot write the data to its new place (a
 * thin device without space, a bad sector), the data is moved back and no byte
 * is lost.
 */
#ifndef E4L_BEHIND_H
#define E4L_BEHIND_H

#include <ext2fs/ext2fs.h>
#include "resident.h"

#define E4L_BEHIND	64

/*
 * Blocks of a file that are at @pblk, which was the place of the donor's
 * blocks.
 */
struct e4l_exchange {
	uint64_t lblk, donor_lblk, pblk, len;
};

/* A part of a file that was exchanged with parts of a donor. */
struct e4l_moved {
	/* with the descriptor of e4l_behind_open() */
	struct e4l_resident pages;
	ext2_ino_t ino;
	int donor_fd;			/* borrowed */
	struct e4l_exchange *v;		/* freed when the part is finished */
	size_t n;
	uint32_t blocksize;
};

/* The unfinished parts; the oldest is at @first. */
struct e4l_behind {
	struct e4l_moved v[E4L_BEHIND];
	size_t first, n, pages;
	bool broken;			/* a part could not be written */
	/*
	 * Called if a part could not be written; @put_back: the whole part is
	 * at its old place again.
	 */
	void (*failed)(ext2_ino_t ino, bool put_back, void *priv);
	void *priv;
};

/*
 * Opens the file of @fd again for reading and writing, so that blocks can be swapped
 * back while other programs change the file's mode or want a lease.  The kernel
 * reports a write error once to each open file: if @shared, another part of the file
 * uses the open file of @fd, and a new one is opened.  If too many files are open,
 * unfinished parts of @b are finished.  Returns a descriptor, or -1 with errno set.
 */
int e4l_behind_open(struct e4l_behind *b, int fd, bool shared);

/*
 * Holds the pages of a part that is about to be moved in memory.  If the limit
 * of the process is exceeded, unfinished parts are finished.
 */
void e4l_behind_hold(struct e4l_behind *b, struct e4l_resident *pages);

/*
 * Starts to write out @m, and finishes old parts to keep the queue short.
 * Takes ownership of @m, whose pages are held.
 */
void e4l_behind_add(struct e4l_behind *b, struct e4l_moved *m);

/* Finishes all parts. */
void e4l_behind_finish(struct e4l_behind *b);

/*
 * If @error, the errno of a failed open, means too many open files, finishes all
 * parts, which closes their descriptors.  Returns true if the open may be repeated.
 */
bool e4l_behind_close_for(struct e4l_behind *b, int error);

#endif
