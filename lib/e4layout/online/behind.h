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

#define E4L_BEHIND	64

/* Blocks of a file that are at @pblk, where the donor's were. */
struct e4l_exchange {
	uint64_t lblk, donor_lblk, pblk, len;
};

/* A part of a file that was exchanged with parts of a donor. */
struct e4l_moved {
	struct e4l_resident pages;	/* whose fd is e4l_behind_open()'s */
	ext2_ino_t ino;
	int donor_fd;			/* borrowed */
	struct e4l_exchange *v;		/* freed when it is finished */
	size_t n;
	uint32_t blocksize;
};

/* What waits, the oldest at @first. */
struct e4l_behind {
	struct e4l_moved v[E4L_BEHIND];
	size_t first, n, pages;
	bool broken;			/* some of it could not be written */
	/* One could not be written; all of it is where it was, or is not. */
	void (*failed)(ext2_ino_t ino, bool put_back, void *priv);
	void *priv;
};

/*
 * The file of @fd once more, to be read and written: an error of writing it is
 * told to each once, and it can be swapped back whoever wants it meanwhile (a
 * lease, another mode).  What waits in @b is finished where too many files are
 * open.  -1: an errno.
 */
int e4l_behind_open(struct e4l_behind *b, int fd);

/*
 * Keeps in memory what is going to be moved; what the process may not hold
 * besides is finished.
 */
void e4l_behind_hold(struct e4l_behind *b, struct e4l_resident *pages);

/*
 * Has it written out; of what waits in @b, as much is finished that it stays
 * short.  Takes @m, which is held.
 */
void e4l_behind_add(struct e4l_behind *b, struct e4l_moved *m);

/* Finishes all of it. */
void e4l_behind_finish(struct e4l_behind *b);

/*
 * True when @error, an errno of opening a file, is for its open files: it has
 * none any more, and the file can be opened once more.
 */
bool e4l_behind_close_for(struct e4l_behind *b, int error);

#endif
