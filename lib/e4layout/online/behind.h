/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * behind: keeps moved data in memory until it is on disk.  Until then, the
 * donor keeps the file's old blocks: if the device cannot write the data to its
 * new place (a thin device without space, a bad sector), the data is moved back
 * and no byte is lost.
 */
#ifndef E4L_BEHIND_H
#define E4L_BEHIND_H

#include <ext2fs/ext2fs.h>
#include "resident.h"

#define E4L_BEHIND	64

/*
 * @len blocks of a file, from @lblk on, that were exchanged with the donor's
 * blocks from @donor_lblk on.  @pblk: their new place on the disk.
 */
struct e4l_exchange {
	uint64_t lblk, donor_lblk, pblk, len;
};

/* A part of a file that was exchanged with parts of a donor. */
struct e4l_moved {
	/* @pages.fd is a descriptor from e4l_behind_open() */
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
 * Returns another descriptor of the file of @fd, so that blocks can be swapped
 * back even if other programs change the file's mode or request a lease.  The
 * kernel reports a write error once for each open file description.  If
 * @shared, another part of the file uses the description of @fd, and the file
 * is opened again.  If too many files are open, unfinished parts of @b are
 * finished.  Returns -1 with errno set if the file cannot be opened.
 */
int e4l_behind_open(struct e4l_behind *b, int fd, bool shared);

/*
 * Locks in memory the pages of a part that is about to be moved.  If the
 * process's limit for locked memory is exceeded, finishes unfinished parts.
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
 * If @error, the errno of a failed open, means too many open files, finishes
 * all parts, which closes their descriptors.  Returns true if the open may be
 * repeated.
 */
bool e4l_behind_close_for(struct e4l_behind *b, int error);

#endif
