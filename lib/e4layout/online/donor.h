/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * donor: a file without a name that reserves free space for a run.  The kernel
 * exchanges blocks between the donor and other files, so that the run chooses
 * the new blocks of each file.  The kernel removes the donor when the run
 * closes the file or, after a crash, when the filesystem is mounted again.
 */
#ifndef E4L_DONOR_H
#define E4L_DONOR_H

#include "behind.h"
#include "file.h"

/* Blocks of the donor, contiguous in the file and on the disk. */
struct e4l_slice {
	uint64_t pblk; /* first member: the key of e4l_u64_cmp() */
	uint64_t lblk, len;
};

struct e4l_donor {
	int root_fd;			/* borrowed */
	struct e4l_behind *behind;	/* borrowed */
	uint32_t blocksize;
	/*
	 * The reserve: number of blocks that must stay free, in total, and for
	 * users other than root.
	 */
	uint64_t spare_blocks, spare_avail_blocks;
	struct e4l_open_file file; /* fd is -1 if nothing is reserved */
	struct e4l_slice *v; /* all slices, sorted by physical block */
	size_t n, max;
	/*
	 * blocks that files have taken from the donor, and blocks that files
	 * have left, since the last update of v
	 */
	struct e4l_slice *taken, *given;
	size_t n_taken, max_taken, n_given, max_given;
	uint64_t asked_nsec;	/* time of the last fstatvfs() */
	uint64_t gave_blocks;	/* blocks given back to other programs */
	/* minimum length of the largest free extent; set by the caller */
	uint64_t long_blocks;
};

/*
 * Initializes @d, without reserving space.  @d finishes the parts of @behind
 * before each commit, and before the donor is closed.  Returns an errno.
 */
errcode_t e4l_donor_init(struct e4l_donor *d, int root_fd, uint32_t blocksize,
			 struct e4l_behind *behind);
void e4l_donor_close(struct e4l_donor *d);

/* Returns how many more blocks could be reserved, or 0. */
uint64_t e4l_donor_reach(const struct e4l_donor *d);

/*
 * Allocates all free blocks except the reserve (d->spare_blocks) to an unnamed
 * file in the directory @dir, and maps the file.  Returns E4L_SKIP_NONE, or the
 * reason for a failure.
 */
enum e4l_skip e4l_donor_reserve(struct e4l_donor *d, const char *dir);

/*
 * Records the exchange @x with the file @f.  The map of @f must be older than
 * the exchange.  After ENOMEM, the caller must call e4l_donor_commit() with
 * @map true.
 */
errcode_t e4l_donor_note(struct e4l_donor *d, const struct e4l_open_file *f,
			 const struct e4l_exchange *x);

/*
 * Waits until the data of moved files and the transactions of the moves are on
 * disk.  The blocks that moved files have left are then usable.  If @map is
 * true, reads the donor's map from the kernel; otherwise, updates the map from
 * the recorded exchanges.  Returns an errno.
 */
int e4l_donor_commit(struct e4l_donor *d, bool map);

/*
 * Returns the number of blocks in a page, or 1 if a page is no larger than a
 * block.
 */
uint64_t e4l_donor_page_blocks(const struct e4l_donor *d);

/*
 * Sets *@slice to the blocks of a slice from @pblk on, at most @len blocks.
 * Returns false if @pblk does not belong to the donor.
 */
bool e4l_donor_at(const struct e4l_donor *d, uint64_t pblk, uint64_t len,
		  struct e4l_slice *slice);
/*
 * Returns whether the @len blocks from @pblk on belong to the donor, and can be
 * exchanged with a file's blocks from @lblk on.  In an exchange, the blocks of
 * the donor and of the file must have equal offsets in a page.
 */
bool e4l_donor_fits(const struct e4l_donor *d, uint64_t lblk, uint64_t pblk,
		    uint64_t len);
/*
 * Finds @len blocks for the file's blocks from @lblk on in the smallest slice
 * that is long enough, and sets *@pblk to the first block.  Returns false if no
 * slice is long enough, or if the largest free extent would shrink below
 * d->long_blocks.
 */
bool e4l_donor_find(struct e4l_donor *d, uint64_t lblk, uint64_t len,
		    uint64_t *pblk);

/*
 * Gives back all reserved blocks except @blocks blocks.  Gives back the ends of
 * the largest slices, so that free extents are not divided.  Returns an errno.
 */
int e4l_donor_keep(struct e4l_donor *d, uint64_t blocks);

/*
 * If free space is smaller than the reserve, gives blocks back to other
 * programs.  Returns false if the donor has no blocks left.
 */
bool e4l_donor_has_room(struct e4l_donor *d);

#endif
