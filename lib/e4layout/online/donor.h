/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * donor: free space to swap a file's blocks with, in files without a name, that
 * vanish when they are closed or, after a crash, when the journal is replayed.
 */
#ifndef E4L_DONOR_H
#define E4L_DONOR_H

#include "behind.h"
#include "file.h"

/* Blocks of the donor, contiguous in it and on the disk. */
struct e4l_slice {
	uint64_t lblk, pblk, len;
};

struct e4l_donor {
	int root_fd;		/* borrowed */
	struct e4l_behind *behind;	/* borrowed */
	uint32_t blocksize;
	uint64_t reserve_blocks;	/* that stay free */
	struct e4l_file file;	/* fd -1: none yet */
	struct e4l_slice *free;	/* not swapped yet */
	size_t n_free;
};

/* @behind is finished before blocks are given up, since it may need them. */
errcode_t e4l_donor_init(struct e4l_donor *d, int root_fd, uint32_t blocksize,
			 struct e4l_behind *behind);
void e4l_donor_close(struct e4l_donor *d);

/*
 * Finds @len blocks in fewer than @fragments slices, each of which begins at
 * the same place in a page as @lblk, and what precedes it, demand.
 * *@slices is to be freed.  Returns why there are none, or E4L_SKIP_NONE.
 */
enum e4l_skip e4l_donor_take(struct e4l_donor *d, uint64_t lblk, uint64_t len,
			   uint64_t fragments, struct e4l_slice **slices,
			   size_t *n);

/*
 * Whether there is a donor, and others still have half of the reserve; if they
 * do not, the donor's blocks are theirs at once.
 */
bool e4l_donor_has_room(struct e4l_donor *d);

#endif
