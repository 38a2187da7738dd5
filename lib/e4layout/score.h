/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* score: how one file is laid out. */
#ifndef E4LAYOUT_SCORE_H
#define E4LAYOUT_SCORE_H

#include <e4layout/scan.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * How one file is laid out.  The words:
 *  - fragment: a maximal run contiguous in the file and on the disk, whatever
 *    the states of its extents;
 *  - split: two adjacent extents of one fragment that differ in state;
 *  - mergeable: two adjacent extents of one fragment and of one state whose
 *    lengths fit in one entry;
 *  - logical run: a maximal run contiguous in the file, so the fewest
 *    fragments that the file's blocks could have;
 *  - ideal extents: the fewest entries that could hold the blocks and states
 *    if every logical run were one fragment.
 * In an indirect-mapped file, which has no entries, an extent is a fragment,
 * there are no splits and nothing is mergeable, the ideal is one extent for
 * each logical run, and ideal_tree_blocks is tree_blocks: the number of map
 * blocks depends on which logical blocks are mapped, not on where they lie.
 */
struct e4l_file_score {
	uint64_t blocks;		/* number of mapped blocks */
	uint64_t unwritten_blocks;
	uint64_t extents;
	uint64_t unwritten_extents;
	uint64_t fragments;
	uint64_t logical_runs;		/* not more than fragments */
	uint64_t ideal_extents;		/* not more than extents */
	uint64_t splits;
	uint64_t mergeable;
	uint64_t tree_blocks;
	uint64_t ideal_tree_blocks;
	/* as counted by other programs */
	uint64_t filefrag_extents;	/* filefrag: "extents found" */
	uint64_t fiemap_extents;	/* e4defrag, and ioctl FIEMAP */
	bool non_contiguous;		/* e2fsck: a non-contiguous file */
	uint64_t reserved[4];
};

/*
 * The state of scoring one file.  It begins with zeroes; only @score is for the
 * caller.
 */
struct e4l_scorer {
	struct e4l_file_score score;
	struct e4l_extent last;		/* len 0: no extent yet */
	/* extents of one state, contiguous in the file */
	uint64_t state_run_blocks;
	blk64_t e2fsck_prev;		/* 0: no block yet */
	bool discontiguous;
	uint64_t reserved[4];
};

/*
 * Adds a piece of a file, as e4l_scan() delivers it, to @s.  Pure: it reads and
 * writes nothing but its arguments, and cannot fail.
 */
void e4l_score_piece(struct e4l_scorer *s, const struct e4l_piece *piece);

/*
 * Completes s->score after the last piece of a file, @last.  @fs provides the
 * block size and the group size and is unchanged.  Cannot fail.
 *
 * non_contiguous follows e2fsck's pass 1: a block does not follow the block
 * before it in the file (the blocks of an indirect map count, those of an
 * extent tree do not), and i_blocks is less than a block group.  It is false
 * for the resize inode and the bad blocks inode.
 */
void e4l_score_finish(struct e4l_scorer *s, const struct e4l_piece *last,
		      ext2_filsys fs);

/* Returns whether a repack with enough free space would improve the file. */
static inline bool e4l_score_can_be_better(const struct e4l_file_score *s)
{
	return s->extents > s->ideal_extents || s->splits ||
	       s->tree_blocks > s->ideal_tree_blocks;
}

#ifdef __cplusplus
}
#endif
#endif
