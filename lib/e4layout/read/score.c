/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * score: counts extents and fragments of a file as e4layout, filefrag, e4defrag
 * and e2fsck do.  Does no I/O.
 */
#include "config.h"
#include <e4layout/score.h>
#include "e4layout/base/internal.h"
#include "e4layout/format/tree_size.h"

/* number of leaf entries that fit in the inode */
#define ROOT_ENTRIES 4

static uint64_t div_up(uint64_t n, uint64_t d)
{
	return n / d + (n % d != 0);
}

static uint32_t max_len(bool unwritten)
{
	return unwritten ? E4L_UNWRITTEN_MAX_BLOCKS : E4L_WRITTEN_MAX_BLOCKS;
}

/*
 * Counts the next @len blocks of the file, from @pblk on, as e2fsck does.  Sets
 * s->discontiguous if @pblk does not follow the previous block.
 */
static void e2fsck_step(struct e4l_scorer *s, blk64_t pblk, uint32_t len)
{
	if (s->e2fsck_prev && s->e2fsck_prev + 1 != pblk)
		s->discontiguous = true;
	s->e2fsck_prev = pblk + len - 1;
}

/*
 * Returns whether filefrag counts the extent @last and the next extent @x as
 * one extent.  The extents must be adjacent on the disk or, if the file has a
 * hole between the extents, have a gap on the disk that is as long as the hole.
 */
static bool filefrag_expects(const struct e4l_extent *last,
			     const struct e4l_extent *x)
{
	return x->pblk == last->pblk + last->len ||
	       x->pblk == last->pblk + (x->lblk - last->lblk);
}

/*
 * Ends the current run, which is contiguous in the file and entirely written or
 * unwritten, and counts the ideal extents of the run.  Calls div_up(), which is
 * slow, only if the run does not fit in one extent.
 */
static void end_state_run(struct e4l_scorer *s)
{
	uint32_t max = max_len(s->last.unwritten);

	if (s->state_run_blocks > max)
		s->score.ideal_extents += div_up(s->state_run_blocks, max);
	else if (s->state_run_blocks)
		s->score.ideal_extents++;
	s->state_run_blocks = 0;
}

/*
 * Counts the adjacent extents @last and @x of one fragment.  If one extent is
 * written and the other unwritten, counts a split.  If the blocks fit in one
 * extent, counts a mergeable pair.
 */
static void count_joint(struct e4l_file_score *f, const struct e4l_extent *last,
			const struct e4l_extent *x)
{
	if (last->unwritten != x->unwritten) {
		f->splits++;
		f->fiemap_extents++;
	} else if (last->len + x->len <= max_len(x->unwritten)) {
		f->mergeable++;
	}
}

static void add_extent(struct e4l_scorer *s, const struct e4l_extent *x,
		       bool indirect)
{
	struct e4l_file_score *f = &s->score;
	const struct e4l_extent *last = &s->last;
	bool in_file = last->len &&
		       (uint64_t)last->lblk + last->len == x->lblk;
	bool on_disk = in_file && last->pblk + last->len == x->pblk;

	f->blocks += x->len;
	f->extents += !(indirect && on_disk);
	if (x->unwritten) {
		f->unwritten_blocks += x->len;
		f->unwritten_extents++;
	}
	if (!on_disk) {
		f->fragments++;
		f->fiemap_extents++;
	} else if (!indirect) {
		count_joint(f, last, x);
	}
	f->logical_runs += !in_file;
	f->filefrag_extents += !last->len || !filefrag_expects(last, x);
	if (!in_file || last->unwritten != x->unwritten)
		end_state_run(s);
	s->state_run_blocks += x->len;
	s->last = *x;
}

/*
 * Counts the data blocks @x of an indirect map like e2fsck, which counts each
 * map block directly before the first data block that the map block maps.  A
 * map block can therefore be counted between two data blocks of @x.  *@t is the
 * index in piece->tree of the first uncounted map block.
 */
static void e2fsck_indirect(struct e4l_scorer *s, const struct e4l_piece *piece,
			    struct e4l_extent x, size_t *t)
{
	for (; *t < piece->n_tree; (*t)++) {
		const struct e4l_tree_block *tree = &piece->tree[*t];
		uint32_t before;

		if (tree->lblk >= (uint64_t)x.lblk + x.len)
			break;
		before = tree->lblk > x.lblk ? tree->lblk - x.lblk : 0;
		if (before)
			e2fsck_step(s, x.pblk, before);
		x.lblk += before;
		x.pblk += before;
		x.len -= before;
		e2fsck_step(s, tree->pblk, 1);
	}
	e2fsck_step(s, x.pblk, x.len);
}

void e4l_score_piece(struct e4l_scorer *s, const struct e4l_piece *piece)
{
	bool indirect = piece->map == E4L_MAP_INDIRECT;
	size_t i, t = 0;

	s->score.tree_blocks += piece->n_tree;
	for (i = 0; i < piece->n_extents; i++) {
		add_extent(s, &piece->extents[i], indirect);
		if (indirect)
			e2fsck_indirect(s, piece, piece->extents[i], &t);
		else
			e2fsck_step(s, piece->extents[i].pblk,
				    piece->extents[i].len);
	}
	for (; indirect && t < piece->n_tree; t++)
		e2fsck_step(s, piece->tree[t].pblk, 1);
}

/*
 * Returns the number of clusters that e2fsck counts for an inode, including
 * tree blocks and extended attributes.  In a sound filesystem, i_blocks has
 * this number.
 */
static uint64_t inode_clusters(const struct ext2_inode_large *inode,
			       ext2_filsys fs)
{
	uint64_t n = inode->i_blocks;

	if (ext2fs_has_feature_huge_file(fs->super))
		n |= (uint64_t)inode->osd2.linux2.l_i_blocks_hi << 32;
	if (!ext2fs_has_feature_huge_file(fs->super) ||
	    !(inode->i_flags & EXT4_HUGE_FILE_FL))
		n >>= __builtin_ctz(fs->blocksize / 512);
	return n >> fs->cluster_ratio_bits;
}

void e4l_score_finish(struct e4l_scorer *s, const struct e4l_piece *last,
		      ext2_filsys fs)
{
	struct e4l_file_score *f = &s->score;

	end_state_run(s);
	f->ideal_tree_blocks = e4l_ideal_tree_blocks(f->ideal_extents,
						     fs->blocksize);
	if (last->map == E4L_MAP_INDIRECT) {
		f->ideal_extents = f->logical_runs;
		f->ideal_tree_blocks = f->tree_blocks;
	} else if (last->map == E4L_MAP_INLINE) {
		f->filefrag_extents = f->fiemap_extents = 1;
	}
	f->non_contiguous = s->discontiguous &&
		last->ino != EXT2_RESIZE_INO && last->ino != EXT2_BAD_INO &&
		inode_clusters(last->inode, fs) <
		fs->super->s_blocks_per_group;
}
