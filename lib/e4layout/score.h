/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* score: the layout of one file, in numbers. */
#ifndef E4LAYOUT_SCORE_H
#define E4LAYOUT_SCORE_H

#include <e4layout/scan.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The layout of one file.  Terms:
 *  - state: written or unwritten (preallocated);
 *  - fragment: a maximal run of blocks that is contiguous in the file and on
 *    the disk, in extents of any state;
 *  - split: two adjacent extents of one fragment that differ in state;
 *  - mergeable: two adjacent extents of one fragment and of one state whose
 *    blocks fit in one extent;
 *  - logical run: a maximal run of blocks that is contiguous in the file; a
 *    file cannot have fewer fragments than logical runs;
 *  - ideal extents: the fewest extents that could hold the file's blocks and
 *    states if each logical run were one fragment.
 * An indirect-mapped file has no extents on disk.  For an indirect-mapped file,
 * extents is the number of fragments, splits and mergeable are 0, and
 * ideal_extents is the number of logical runs.  ideal_tree_blocks is equal to
 * tree_blocks, because the number of map blocks depends on the mapped logical
 * blocks alone.
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
	/* Numbers of extents that other programs report: */
	uint64_t filefrag_extents;	/* printed by filefrag */
	uint64_t fiemap_extents; /* returned by FIEMAP, and used by e4defrag */
	bool non_contiguous;	/* e2fsck counts the file as non-contiguous */
	uint64_t reserved[4];
};

/*
 * Intermediate data of scoring one file.  The caller zeroes the struct before
 * the first piece, and reads only the member score.
 */
struct e4l_scorer {
	struct e4l_file_score score;
	struct e4l_extent last;		/* last extent; len 0: none yet */
	/*
	 * number of blocks in the current run, which is contiguous in the file
	 * and has one state
	 */
	uint64_t state_run_blocks;
	/* previous block in e2fsck's order; 0: no block yet */
	blk64_t e2fsck_prev;
	bool discontiguous;
	uint64_t reserved[4];
};

/*
 * Adds a piece of a file, as passed to e4l_scan_ops.piece(), to @s.  Does no
 * I/O and cannot fail.
 */
void e4l_score_piece(struct e4l_scorer *s, const struct e4l_piece *piece);

/*
 * Completes s->score after the last piece of a file, @last.  @fs provides the
 * block size and the group size.  Cannot fail.
 *
 * As in e2fsck's pass 1, sets score.non_contiguous if a block of the file does
 * not follow the previous block on the disk, and i_blocks is less than
 * s_blocks_per_group clusters.  The blocks of an indirect map count as blocks
 * of the file; the blocks of an extent tree do not count.  The resize inode and
 * the bad blocks inode are never non-contiguous.
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
