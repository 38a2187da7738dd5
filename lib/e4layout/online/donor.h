/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * donor: free space that is reserved for a run, in a file without a name.  The
 * kernel exchanges blocks between the donor and other files, so that the run
 * chooses the blocks of each file.  The kernel removes the donor when it is
 * closed or, after a crash, when the filesystem is mounted again.
 */
#ifndef E4L_DONOR_H
#define E4L_DONOR_H

#include "behind.h"
#include "file.h"

/* Blocks of the donor, contiguous in the file and on the disk. */
struct e4l_slice {
	uint64_t pblk;			/* must be first: see e4l_u64_cmp() */
	uint64_t lblk, len;
};

struct e4l_donor {
	int root_fd;			/* borrowed */
	struct e4l_behind *behind;	/* borrowed */
	uint32_t blocksize;
	/*
	 * The reserve: how many blocks must stay free, in total and for users
	 * other than root.
	 */
	uint64_t spare_blocks, spare_avail_blocks;
	struct e4l_open_file file; /* fd is -1 if nothing is reserved */
	struct e4l_slice *v; /* all slices, sorted by physical block */
	size_t n, max;
	/* blocks that files have taken and left, not yet applied to @v */
	struct e4l_slice *taken, *given;
	size_t n_taken, max_taken, n_given, max_given;
	uint64_t asked_nsec;	/* time of the last fstatvfs() */
	uint64_t gave_blocks;	/* blocks given back to other programs so far */
	uint64_t long_blocks;	/* set by the caller: see e4l_donor_find() */
};

/*
 * The parts of @behind are finished before each commit, and before the donor is
 * closed.  Returns an errno.
 */
errcode_t e4l_donor_init(struct e4l_donor *d, int root_fd, uint32_t blocksize,
			 struct e4l_behind *behind);
void e4l_donor_close(struct e4l_donor *d);

/* Returns how many more blocks could be reserved, or 0. */
uint64_t e4l_donor_reach(const struct e4l_donor *d);

/*
 * Reserves all free blocks except the reserve (see @d->spare_blocks) in an
 * unnamed file in the directory @dir, and maps the file.  Returns E4L_SKIP_NONE
 * or, after a failure, the reason.
 */
enum e4l_skip e4l_donor_reserve(struct e4l_donor *d, const char *dir);

/*
 * Records the exchange @x with the file @f, whose map must be from before the
 * exchange.  After ENOMEM, the donor must be mapped again.
 */
errcode_t e4l_donor_note(struct e4l_donor *d, const struct e4l_open_file *f,
			 const struct e4l_exchange *x);

/*
 * Waits until the data of moved files and the transactions of the moves are on
 * disk.  Afterwards, the blocks that moved files have left are usable.  If @map
 * is true, reads the donor's map from the kernel; otherwise, updates the map
 * from the recorded exchanges.  Returns an errno.
 */
int e4l_donor_commit(struct e4l_donor *d, bool map);

/*
 * Returns the number of blocks in a page, or 1 if a page is no larger than a
 * block.
 */
uint64_t e4l_donor_page_blocks(const struct e4l_donor *d);

/*
 * Sets *@slice to the part of a slice that begins at @pblk and has at most @len
 * blocks.  Returns false if @pblk does not belong to the donor.
 */
bool e4l_donor_at(const struct e4l_donor *d, uint64_t pblk, uint64_t len,
		  struct e4l_slice *slice);
/*
 * Whether the @len blocks from @pblk on belong to the donor, and can be
 * exchanged with the file's blocks from @lblk on.  For an exchange, both ranges
 * must begin at the same offset in a page.
 */
bool e4l_donor_fits(const struct e4l_donor *d, uint64_t lblk, uint64_t pblk,
		    uint64_t len);
/*
 * Finds @len blocks for @lblk in the smallest slice that is long enough, and
 * sets *@pblk to the first block.  Returns false if there is no such slice, or
 * if the largest free extent would shrink below @d->long_blocks.
 */
bool e4l_donor_find(struct e4l_donor *d, uint64_t lblk, uint64_t len,
		    uint64_t *pblk);

/*
 * Gives back all but @blocks blocks: from the ends of the largest slices, so
 * that free extents are not divided.  Returns an errno.
 */
int e4l_donor_keep(struct e4l_donor *d, uint64_t blocks);

/*
 * If other programs have used so much space that less than the reserve is free,
 * gives blocks back.  Returns false if the donor has no blocks left.
 */
bool e4l_donor_has_room(struct e4l_donor *d);

#endif
