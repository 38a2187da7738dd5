/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <string.h>
#include <e4layout/e4layout.h>
#include "e4layout/base/internal.h"
#include "e4layout/format/tree_size.h"
#include "unit.h"

#define MAX_BLOCKS	400000
#define MAX_EXTENTS	24
#define MAX_TREE	8

/* The members that e4l_score_finish() reads. */
static struct ext2_super_block super = { .s_blocks_per_group = 32768 };
static struct struct_ext2_filsys fs = { .super = &super, .blocksize = 4096 };

struct file {
	enum e4l_map map;
	struct ext2_inode_large inode;
	struct e4l_extent extent[MAX_EXTENTS];
	size_t n_extents;
	struct e4l_tree_block tree[MAX_TREE];
	size_t n_tree;
};

static struct e4l_piece piece_of(const struct file *f)
{
	return (struct e4l_piece) {
		.ino = 12, .map = f->map, .inode = &f->inode,
		.extents = f->extent, .n_extents = f->n_extents,
		.tree = f->tree, .n_tree = f->n_tree,
	};
}

static struct e4l_file_score score(const struct file *f)
{
	struct e4l_piece piece = piece_of(f);
	struct e4l_scorer s = {};

	e4l_score_piece(&s, &piece);
	e4l_score_finish(&s, &piece, &fs);
	return s.score;
}

static void assert_same(const struct e4l_file_score *got,
			const struct e4l_file_score *want)
{
	ck_assert_mem_eq(got, want,
			 offsetof(struct e4l_file_score, non_contiguous));
	ck_assert_int_eq(got->non_contiguous, want->non_contiguous);
}

static uint32_t rnd(uint32_t n)
{
	return (uint32_t)random() % n;
}

/* -------------------------------------------------- values computed by hand */

START_TEST(scores_nothing)
{
	struct file f = { .map = E4L_MAP_NONE };
	struct e4l_file_score zero = {}, s = score(&f);

	assert_same(&s, &zero);
	f.map = E4L_MAP_INLINE;
	s = score(&f);
	ck_assert_uint_eq(s.filefrag_extents, 1);
	ck_assert_uint_eq(s.extents, 0);
}
END_TEST

START_TEST(scores_a_mosaic)
{
	struct file f = {
		.map = E4L_MAP_EXTENTS,
		.inode.i_blocks = 11 * 8,
		.extent = {
			{ .lblk = 0, .pblk = 100, .len = 2 },
			{ .lblk = 2, .pblk = 102, .len = 3, .unwritten = 1 },
			{ .lblk = 5, .pblk = 105, .len = 1 },
			{ .lblk = 6, .pblk = 106, .len = 1 },
			/* not contiguous on the disk */
			{ .lblk = 7, .pblk = 200, .len = 2 },
			/*
			 * the gap on the disk before this extent is as long as
			 * the hole before this extent
			 */
			{ .lblk = 19, .pblk = 212, .len = 1 },
		},
		.n_extents = 6,
		.tree = { { .pblk = 90 } },
		.n_tree = 1,
	};
	struct e4l_file_score s = score(&f);

	ck_assert_uint_eq(s.blocks, 10);
	ck_assert_uint_eq(s.unwritten_blocks, 3);
	ck_assert_uint_eq(s.extents, 6);
	ck_assert_uint_eq(s.unwritten_extents, 1);
	ck_assert_uint_eq(s.fragments, 3);
	ck_assert_uint_eq(s.logical_runs, 2);
	ck_assert_uint_eq(s.ideal_extents, 4);
	ck_assert_uint_eq(s.splits, 2);
	ck_assert_uint_eq(s.mergeable, 1);
	ck_assert_uint_eq(s.tree_blocks, 1);
	ck_assert_uint_eq(s.ideal_tree_blocks, 0);
	ck_assert_uint_eq(s.filefrag_extents, 2);
	ck_assert_uint_eq(s.fiemap_extents, 5);
	ck_assert(s.non_contiguous);
}
END_TEST

/*
 * Two entries of the maximum length cannot be merged.  An unwritten entry can
 * have one block less than a written entry.
 */
START_TEST(knows_the_longest_entries)
{
	struct file f = {
		.map = E4L_MAP_EXTENTS,
		.extent = {
			{ .lblk = 0, .pblk = 100000, .len = 32768 },
			{ .lblk = 32768, .pblk = 132768, .len = 1 },
		},
		.n_extents = 2,
	};
	struct e4l_file_score s = score(&f);

	ck_assert_uint_eq(s.ideal_extents, 2);
	ck_assert_uint_eq(s.mergeable, 0);
	f.extent[0].len = f.extent[1].lblk = 32767;
	f.extent[1].pblk--;
	s = score(&f);
	ck_assert_uint_eq(s.ideal_extents, 1);
	ck_assert_uint_eq(s.mergeable, 1);
	f.extent[0].unwritten = f.extent[1].unwritten = 1;
	s = score(&f);
	ck_assert_uint_eq(s.ideal_extents, 2);
	ck_assert_uint_eq(s.mergeable, 0);
	ck_assert_uint_eq(s.fragments, 1);
}
END_TEST

/* Only the score for e2fsck counts the blocks of an indirect map. */
START_TEST(scores_an_indirect_map)
{
	struct file f = {
		.map = E4L_MAP_INDIRECT,
		.extent = { { .lblk = 0, .pblk = 100, .len = 20 } },
		.n_extents = 1,
		.tree = { { .pblk = 120, .lblk = 12 } },
		.n_tree = 1,
	};
	struct e4l_file_score s = score(&f);

	ck_assert_uint_eq(s.extents, 1);
	ck_assert_uint_eq(s.fragments, 1);
	ck_assert_uint_eq(s.ideal_extents, 1);
	ck_assert_uint_eq(s.ideal_tree_blocks, 1);
	ck_assert(s.non_contiguous);

	f.extent[0].len = 12;
	f.extent[1] = (struct e4l_extent) {
		.lblk = 12, .pblk = 113, .len = 8
	};
	f.n_extents = 2;
	f.tree[0].pblk = 112;
	s = score(&f);
	ck_assert_uint_eq(s.extents, 2);
	ck_assert_uint_eq(s.fragments, 2);
	ck_assert_uint_eq(s.ideal_extents, 1);
	ck_assert(!s.non_contiguous);
}
END_TEST

/*
 * e2fsck never counts two kinds of files as non-contiguous: files with at least
 * as many blocks as a group, and the resize inode.
 */
START_TEST(excuses_what_e2fsck_excuses)
{
	struct file f = {
		.map = E4L_MAP_EXTENTS,
		.extent = { { .lblk = 0, .pblk = 100, .len = 1 },
			    { .lblk = 1, .pblk = 200, .len = 1 } },
		.n_extents = 2,
		.inode.i_blocks = 32768 * 8,
	};
	struct e4l_piece piece = piece_of(&f);
	struct e4l_scorer s = {};

	ck_assert(!score(&f).non_contiguous);
	f.inode.i_blocks--;
	ck_assert(score(&f).non_contiguous);
	piece.ino = EXT2_RESIZE_INO;
	e4l_score_piece(&s, &piece);
	e4l_score_finish(&s, &piece, &fs);
	ck_assert(!s.score.non_contiguous);

	f.inode.i_flags = EXT4_HUGE_FILE_FL;
	ck_assert(score(&f).non_contiguous);
	super.s_feature_ro_compat = EXT4_FEATURE_RO_COMPAT_HUGE_FILE;
	ck_assert(!score(&f).non_contiguous);
	f.inode.i_blocks = 32767;
	ck_assert(score(&f).non_contiguous);
	f.inode.osd2.linux2.l_i_blocks_hi = 1;
	ck_assert(!score(&f).non_contiguous);
	super.s_feature_ro_compat = 0;
}
END_TEST

START_TEST(knows_the_smallest_trees)
{
	ck_assert_uint_eq(e4l_ideal_tree_blocks(0, 4096), 0);
	ck_assert_uint_eq(e4l_ideal_tree_blocks(4, 4096), 0);
	ck_assert_uint_eq(e4l_ideal_tree_blocks(5, 4096), 1);
	ck_assert_uint_eq(e4l_ideal_tree_blocks(340, 4096), 1);
	ck_assert_uint_eq(e4l_ideal_tree_blocks(341, 4096), 2);
	ck_assert_uint_eq(e4l_ideal_tree_blocks(4 * 340, 4096), 4);
	ck_assert_uint_eq(e4l_ideal_tree_blocks(4 * 340 + 1, 4096), 6);
	ck_assert_uint_eq(e4l_ideal_tree_blocks(4 * 340 * 340 + 1, 4096),
			  4 * 340 + 1 + 5 + 1);
	ck_assert_uint_eq(e4l_ideal_tree_blocks(85, 1024), 2);
}
END_TEST

/* ----------------------------------------------- comparison with two models */

/*
 * Returns a random length of a written extent or, if @unwritten is true, of an
 * unwritten extent: mostly short, sometimes the maximum of an entry.
 */
static uint32_t random_len(bool unwritten)
{
	if (rnd(8))
		return 1 + rnd(6);
	return (unwritten ? 32767 : 32768) - rnd(2);
}

static struct file random_file(bool indirect)
{
	struct file f = {
		.map = indirect ? E4L_MAP_INDIRECT : E4L_MAP_EXTENTS,
		.n_extents = rnd(MAX_EXTENTS + 1),
	};
	uint32_t lblk = rnd(2) * rnd(20), gap;
	blk64_t pblk = 1000;
	size_t i;

	for (i = 0; i < f.n_extents; i++) {
		struct e4l_extent *x = &f.extent[i];

		x->unwritten = !indirect && rnd(2);
		x->len = random_len(x->unwritten);
		gap = rnd(4) ? 0 : 1 + rnd(3);
		x->lblk = lblk + gap;
		switch (rnd(4)) {
		case 0:
			pblk += 1 + rnd(3);
			break;
		case 1:
			pblk += gap;
			break;
		}
		if (indirect && i && !gap && f.extent[i - 1].pblk +
		    f.extent[i - 1].len == pblk)
			pblk++;
		x->pblk = pblk;
		lblk = x->lblk + x->len;
		pblk += x->len;
	}
	for (lblk = 0, i = rnd(MAX_TREE + 1); f.n_tree < i; ) {
		lblk += rnd(12);
		f.tree[f.n_tree++] = (struct e4l_tree_block) {
			.lblk = lblk,
			.pblk = f.n_extents && rnd(2) ?
				f.extent[0].pblk + lblk - f.extent[0].lblk :
				rnd(1000),
		};
	}
	return f;
}

/* A file as an array of blocks. */
static struct {
	blk64_t pblk;		/* 0: no block is mapped */
	bool unwritten;
	/* length of the extent that begins in the block; 0: no extent begins */
	uint32_t entry_len;
} block[MAX_BLOCKS];

static uint32_t lay_out(const struct file *f)
{
	uint32_t i, end = 0;
	size_t n;

	memset(block, 0, sizeof(block));
	for (n = 0; n < f->n_extents; n++) {
		const struct e4l_extent *x = &f->extent[n];

		end = x->lblk + x->len;
		ck_assert_uint_lt(end, MAX_BLOCKS);
		for (i = 0; i < x->len; i++) {
			block[x->lblk + i].pblk = x->pblk + i;
			block[x->lblk + i].unwritten = x->unwritten;
		}
		block[x->lblk].entry_len = x->len;
	}
	return end;
}

/* Computes the expected score of the file, block by block. */
static struct e4l_file_score score_blocks(const struct file *f)
{
	struct e4l_file_score s = { .tree_blocks = f->n_tree };
	bool indirect = f->map == E4L_MAP_INDIRECT;
	uint32_t end = lay_out(f), i, prev = 0, entry = 0, ideal_len = 0;
	bool any = false;

	for (i = 0; i < end; i++) {
		bool mapped = i && block[i - 1].pblk;
		bool joined = mapped && block[i - 1].pblk + 1 == block[i].pblk;
		bool same = mapped &&
			    block[i - 1].unwritten == block[i].unwritten;
		uint32_t max = block[i].unwritten ? 32767 : 32768;

		if (!block[i].pblk)
			continue;
		s.blocks++;
		s.unwritten_blocks += block[i].unwritten;
		s.extents += block[i].entry_len != 0;
		s.unwritten_extents += block[i].entry_len && block[i].unwritten;
		s.fragments += !joined;
		s.logical_runs += !mapped;
		s.splits += joined && !same;
		s.mergeable += joined && same && block[i].entry_len &&
			       block[entry].entry_len + block[i].entry_len <=
			       max;
		s.fiemap_extents += !(joined && same);
		s.filefrag_extents += !any ||
			(block[i].pblk != block[prev].pblk + 1 &&
			 block[i].pblk != block[prev].pblk + (i - prev));
		if (!same || ideal_len == max) {
			s.ideal_extents++;
			ideal_len = 0;
		}
		ideal_len++;
		if (block[i].entry_len)
			entry = i;
		prev = i;
		any = true;
	}
	s.ideal_tree_blocks = e4l_ideal_tree_blocks(s.ideal_extents, 4096);
	if (indirect) {
		s.ideal_extents = s.logical_runs;
		s.ideal_tree_blocks = s.tree_blocks;
	}
	return s;
}

/*
 * Whether e2fsck counts the file as contiguous.  Like e2fsck, examines the
 * mapped blocks and the indirect blocks in logical order.
 */
static bool walk_is_contiguous(const struct file *f, uint32_t end)
{
	blk64_t prev = 0, pblk;
	bool contiguous = true;
	uint32_t i = 0;
	size_t t = 0;

	while (i < end || (f->map == E4L_MAP_INDIRECT && t < f->n_tree)) {
		if (f->map == E4L_MAP_INDIRECT && t < f->n_tree &&
		    (i >= end || f->tree[t].lblk <= i))
			pblk = f->tree[t++].pblk;
		else
			pblk = block[i++].pblk;
		if (!pblk)
			continue;
		if (prev && prev + 1 != pblk)
			contiguous = false;
		prev = pblk;
	}
	return contiguous;
}

/*
 * Scores the file in random pieces.  Runs of an indirect map are split
 * anywhere.
 */
static struct e4l_file_score score_cut(const struct file *f)
{
	struct e4l_piece piece = piece_of(f);
	struct e4l_scorer s = {};
	size_t i, t = 0;

	for (i = 0; i < f->n_extents; i++) {
		struct e4l_extent rest = f->extent[i], x;

		while (rest.len) {
			x = rest;
			piece.tree = f->tree + t;
			while (t < f->n_tree && f->tree[t].lblk <= x.lblk)
				t++;
			piece.n_tree = f->tree + t - piece.tree;
			if (f->map == E4L_MAP_INDIRECT && t < f->n_tree &&
			    f->tree[t].lblk < (uint64_t)x.lblk + x.len)
				x.len = f->tree[t].lblk - x.lblk;
			if (f->map == E4L_MAP_INDIRECT && rnd(2))
				x.len = 1 + rnd(x.len);
			piece.extents = &x;
			piece.n_extents = 1;
			e4l_score_piece(&s, &piece);
			rest.pblk += x.len;
			rest.lblk += x.len;
			rest.len -= x.len;
		}
	}
	piece.n_extents = 0;
	piece.tree = f->tree + t;
	piece.n_tree = f->n_tree - t;
	e4l_score_piece(&s, &piece);
	e4l_score_finish(&s, &piece, &fs);
	return s.score;
}

START_TEST(agrees_with_a_model_of_blocks)
{
	struct file f;
	struct e4l_file_score got, cut, want;

	srandom(_i);
	f = random_file(_i % 2);
	got = score(&f);
	want = score_blocks(&f);
	want.non_contiguous =
		!walk_is_contiguous(&f, lay_out(&f));
	cut = score_cut(&f);
	assert_same(&got, &want);
	assert_same(&cut, &want);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("score");
	TCase *tc = tcase_create("score");

	tcase_add_test(tc, scores_nothing);
	tcase_add_test(tc, scores_a_mosaic);
	tcase_add_test(tc, knows_the_longest_entries);
	tcase_add_test(tc, scores_an_indirect_map);
	tcase_add_test(tc, excuses_what_e2fsck_excuses);
	tcase_add_test(tc, knows_the_smallest_trees);
	tcase_add_loop_test(tc, agrees_with_a_model_of_blocks, 0, 300);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
