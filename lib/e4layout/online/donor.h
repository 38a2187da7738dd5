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

/*
 * Blocks of the donor (a file that reserves free space) that are contiguous in
 * the file and on the disk.
 */
struct e4l_slice {
	uint64_t pblk; /* must be first, for e4l_u64_cmp() */
	uint64_t lblk, len;
};

struct e4l_donor {
	int root_fd; /* descriptor of the root directory, borrowed */
	/* moved ranges of files whose data may not be on disk yet; borrowed */
	struct e4l_behind *behind;
	uint32_t blocksize;
	/*
	 * Number of blocks of the filesystem that must stay free: in total, and
	 * for users other than root.
	 */
	uint64_t spare_blocks, spare_avail_blocks;
	/* the donor file; fd is -1 if no space is reserved */
	struct e4l_open_file file;
	/*
	 * all slices (ranges of the donor's blocks), sorted by physical block
	 */
	struct e4l_slice *v;
	size_t n, max;
	/*
	 * blocks that files have taken from the donor (@taken), and blocks that
	 * files have left to the donor (@given), since the last update of @v
	 */
	struct e4l_slice *taken, *given;
	size_t n_taken, max_taken, n_given, max_given;
	uint64_t asked_nsec; /* time of the last fstatvfs(), in nanoseconds */
	/* number of blocks given back to other programs */
	uint64_t gave_blocks;
	/*
	 * minimum length of the largest free extent, in blocks; set by the
	 * caller
	 */
	uint64_t long_blocks;
};

/*
 * Initializes @d, without reserving space.  Before each commit, and before the
 * donor is closed, the donor waits until the data of all moved blocks in
 * @behind is on disk.  Returns 0 or an errno.
 */
errcode_t e4l_donor_init(struct e4l_donor *d, int root_fd, uint32_t blocksize,
			 struct e4l_behind *behind);
void e4l_donor_close(struct e4l_donor *d);

/* Returns how many more blocks the donor could reserve. */
uint64_t e4l_donor_reach(const struct e4l_donor *d);

/*
 * Allocates all free blocks, except d->spare_blocks, to an unnamed file in the
 * directory @dir, and reads the extents of the file.  Returns E4L_SKIP_NONE, or
 * the reason for a failure.
 */
enum e4l_skip e4l_donor_reserve(struct e4l_donor *d, const char *dir);

/*
 * Records that the exchange @x has swapped blocks of the file @f.  @f must have
 * the map from before the exchange.  After ENOMEM, the caller must call
 * e4l_donor_commit() with @map true.
 */
errcode_t e4l_donor_note(struct e4l_donor *d, const struct e4l_open_file *f,
			 const struct e4l_exchange *x);

/*
 * Waits until the data of moved files is on disk, and commits the transactions
 * of the moves.  The donor can then use the blocks that moved files have left.
 * If @map is true, reads the donor's map from the kernel; otherwise, updates
 * the map from the recorded exchanges.  Returns 0 or an errno.
 */
int e4l_donor_commit(struct e4l_donor *d, bool map);

/*
 * Returns the number of blocks in a page.  If a page is smaller than a block,
 * returns 1.
 */
uint64_t e4l_donor_page_blocks(const struct e4l_donor *d);

/*
 * Sets *@slice to the donor's blocks from physical block @pblk on: at most @len
 * blocks, and at most to the end of a slice.  If @pblk does not belong to the
 * donor, returns false.
 */
bool e4l_donor_at(const struct e4l_donor *d, uint64_t pblk, uint64_t len,
		  struct e4l_slice *slice);
/*
 * Returns whether the @len blocks from physical block @pblk on belong to the
 * donor, and can be exchanged with a file's blocks from logical block @lblk on.
 * In an exchange, the blocks of the donor and of the file must have equal
 * offsets in a page.
 */
bool e4l_donor_fits(const struct e4l_donor *d, uint64_t lblk, uint64_t pblk,
		    uint64_t len);
/*
 * Finds @len blocks of the donor for a file's blocks from logical block @lblk
 * on, in the smallest slice (range of the donor's blocks) that is long enough.
 * Sets *@pblk to the first block.  If no slice is long enough, or if the
 * largest free extent would become shorter than d->long_blocks, returns false.
 */
bool e4l_donor_find(struct e4l_donor *d, uint64_t lblk, uint64_t len,
		    uint64_t *pblk);

/*
 * Gives all reserved blocks except @blocks blocks back to other programs.
 * Gives back the ends of the largest slices (ranges of the donor's blocks), so
 * that free extents are not divided.  Returns 0 or an errno.
 */
int e4l_donor_keep(struct e4l_donor *d, uint64_t blocks);

/*
 * If less space is free than must stay free, gives blocks back to other
 * programs.  If the donor has no blocks left, returns false.
 */
bool e4l_donor_has_room(struct e4l_donor *d);

#endif
