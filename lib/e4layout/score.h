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
 * An indirect-mapped file has no extents on disk.  Its fragments count as its
 * extents, splits and mergeable are 0, and ideal_extents is the number of
 * logical runs.  ideal_tree_blocks is tree_blocks, because the number of map
 * blocks depends on the mapped logical blocks alone.
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
 * Intermediate data of scoring one file.  Must be zeroed before the first
 * piece.  The caller reads @score only.
 */
struct e4l_scorer {
	struct e4l_file_score score;
	struct e4l_extent last;		/* len 0: no extent yet */
	/* blocks up to @last that are contiguous in the file, of one state */
	uint64_t state_run_blocks;
	blk64_t e2fsck_prev;		/* 0: no block yet */
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
 * block size and the group size and is unchanged.  Cannot fail.
 *
 * score.non_contiguous follows e2fsck's pass 1: a block of the file does not
 * follow the previous block on the disk, and i_blocks is less than a block
 * group.  Blocks of an indirect map count as blocks of the file, blocks of an
 * extent tree do not.  The resize inode and the bad blocks inode are never
 * non-contiguous.
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
