/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * donor: free space that is reserved for a run, in a file without a name.  The
 * kernel exchanges blocks between the donor and other files, so that the donor
 * decides which block goes where.  The file vanishes when it is closed or, after
 * a crash, when the journal is replayed.
 */
#ifndef E4L_DONOR_H
#define E4L_DONOR_H

#include "behind.h"
#include "file.h"

/* Blocks of the donor, contiguous in the file and on the disk. */
struct e4l_slice {
	uint64_t pblk;			/* first: see e4l_u64_cmp() */
	uint64_t lblk, len;
};

struct e4l_donor {
	int root_fd;			/* borrowed */
	struct e4l_behind *behind;	/* borrowed */
	uint32_t blocksize;
	/* What stays free: of all, and of what is not reserved for root. */
	uint64_t spare_blocks, spare_avail_blocks;
	struct e4l_open_file file;		/* fd -1: none */
	struct e4l_slice *v;		/* by place, as of the last commit */
	size_t n, max;
	struct e4l_slice *taken, *given;	/* since @v was made */
	size_t n_taken, max_taken, n_given, max_given;
	bool gave_back;			/* others needed some of it */
};

/* @behind is finished before blocks are given back.  Returns an errno. */
errcode_t e4l_donor_init(struct e4l_donor *d, int root_fd, uint32_t blocksize,
			 struct e4l_behind *behind);
void e4l_donor_close(struct e4l_donor *d);

/*
 * Reserves all blocks but those that must stay for others, in a file in the
 * directory @dir, and maps them.  Returns why there are none, or E4L_SKIP_NONE.
 */
enum e4l_skip e4l_donor_reserve(struct e4l_donor *d, const char *dir);

/*
 * Notes that @x of the file @f, which is as it was mapped, was exchanged.  ENOMEM:
 * the donor must be mapped again.
 */
errcode_t e4l_donor_note(struct e4l_donor *d, const struct e4l_open_file *f,
			 const struct e4l_exchange *x);

/*
 * Makes the blocks usable that files have left: waits until the data of moved
 * files and the transactions that moved them are on the disk.  @map: asks the
 * kernel where the donor's blocks are, instead of trusting the notes.
 * Returns an errno.
 */
int e4l_donor_commit(struct e4l_donor *d, bool map);

/*
 * Finds the slice that begins at @pblk, of @len blocks at most.  False: the donor
 * does not have @pblk.
 */
bool e4l_donor_at(const struct e4l_donor *d, uint64_t pblk, uint64_t len,
		  struct e4l_slice *slice);
/*
 * Whether @len blocks from @pblk on belong to the donor, and can be exchanged with
 * a file's from @lblk on: both must begin at the same offset in a page.
 */
bool e4l_donor_fits(const struct e4l_donor *d, uint64_t lblk, uint64_t pblk,
		    uint64_t len);
/* Finds @len blocks for @lblk in the smallest slice that holds them. */
bool e4l_donor_find(struct e4l_donor *d, uint64_t lblk, uint64_t len,
		    uint64_t *pblk);

/*
 * Gives all but @blocks back, the largest slices first, and ends of slices, so that
 * free extents are not divided.  Returns an errno.
 */
int e4l_donor_keep(struct e4l_donor *d, uint64_t blocks);

/*
 * Gives blocks back if other programs have used so much space that less than the
 * reserve is left.  False: nothing of the donor is left.
 */
bool e4l_donor_has_room(struct e4l_donor *d);

#endif
