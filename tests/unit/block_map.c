/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "support/block_map.h"
#include "unit.h"

/*
 * Geometries of filesystems, with the number of cells that their maps must
 * have.
 */
static const struct shape {
	uint32_t first, blocks, per_group;
	int cluster_bits;
	size_t max_cells;
	uint32_t cells_per_group, groups_per_cell;
	size_t n_cells;
} shapes[] = {
	{ 0, 4096, 1024, 0, 16, 4, 1, 16 },
	{ 0, 4096, 1024, 0, 17, 4, 1, 16 },
	{ 0, 4096, 1024, 0, 4, 1, 1, 4 },
	{ 0, 4096, 1024, 0, 3, 1, 2, 2 },
	{ 0, 4096, 1024, 0, 1, 1, 4, 1 },
	{ 1, 2900, 1000, 0, 50, 16, 1, 47 },
	{ 1, 2900, 1000, 0, 2, 1, 2, 2 },
	{ 1, 33, 8, 0, 1000, 8, 1, 32 },
	{ 0, 5000, 1024, 4, 64, 8, 1, 40 },
	{ 0, 5000, 1024, 6, 64, 8, 1, 40 },
};
#define N_SHAPES (int)(sizeof(shapes) / sizeof(*shapes))

static struct ext2_super_block super;
static struct struct_ext2_filsys filsys = { .super = &super };

static struct block_map *make(const struct shape *h)
{
	struct block_map *map;

	super = (struct ext2_super_block) {
		.s_first_data_block = h->first, .s_blocks_count = h->blocks,
		.s_blocks_per_group = h->per_group, .s_first_ino = 11,
		.s_rev_level = EXT2_DYNAMIC_REV, .s_journal_inum = 8,
	};
	filsys.group_desc_count = (h->blocks - h->first - 1) / h->per_group + 1;
	filsys.cluster_ratio_bits = h->cluster_bits;
	ck_assert_int_eq(block_map_new(&filsys, h->max_cells, &map), 0);
	return map;
}

START_TEST(test_cells)
{
	const struct shape *h = &shapes[_i];
	struct block_map *map = make(h);
	blk64_t group;
	size_t i;

	ck_assert_uint_eq(map->groups, filsys.group_desc_count);
	ck_assert_uint_eq(map->cells_per_group, h->cells_per_group);
	ck_assert_uint_eq(map->groups_per_cell, h->groups_per_cell);
	ck_assert_uint_eq(map->n_cells, h->n_cells);
	ck_assert_uint_eq(block_map_first(map, 0), h->first);
	ck_assert_uint_eq(block_map_first(map, map->n_cells), h->blocks);
	for (i = 0; i < map->n_cells; i++) {
		ck_assert_uint_gt(block_map_blocks(map, i), 0);
		if (i % map->cells_per_group)
			continue;
		group = (uint64_t)i / map->cells_per_group *
			map->groups_per_cell;
		ck_assert_uint_eq(block_map_first(map, i),
				  h->first + group * h->per_group);
	}
	block_map_finish(map);
	for (i = 0; i < map->n_cells; i++)
		ck_assert_uint_eq(map->cells[i].blocks[BLOCK_OTHER],
				  block_map_blocks(map, i));
	block_map_free(map);
}
END_TEST

/* Compares @map with the model, which has one byte per block. */
static void compare(const struct block_map *map, const unsigned char *state)
{
	uint64_t count[BLOCK_STATES];
	blk64_t blk;
	size_t i;
	int k;

	for (i = 0; i < map->n_cells; i++) {
		memset(count, 0, sizeof(count));
		for (blk = block_map_first(map, i);
		     blk < block_map_first(map, i + 1); blk++)
			count[state[blk]]++;
		for (k = 0; k < BLOCK_STATES; k++)
			ck_assert_uint_eq(map->cells[i].blocks[k], count[k]);
	}
}

/*
 * Adds a file of up to 8 extents, one extent at a time.  The blocks from @at on
 * are unused.  Returns the first block after the last cluster of the file.
 */
static blk64_t add_file(struct block_map *map, unsigned char *state,
			const struct shape *h, blk64_t at, ext2_ino_t ino)
{
	static const struct e4l_file_score scores[] = {
		{ .fragments = 1, .logical_runs = 1 },
		{ .fragments = 2, .logical_runs = 1, .splits = 3 },
		{ .fragments = 1, .logical_runs = 1, .splits = 1 },
	};
	blk64_t mask = (1 << h->cluster_bits) - 1, end = at, blk;
	int n = 1 + random() % 8, kind = random() % 3;
	struct e4l_piece piece = { .ino = ino, .first = true, .n_extents = 1 };
	struct e4l_extent x;

	while (n--) {
		x = (struct e4l_extent) {
			.pblk = end + (random() % 3 ? 0 : random() % 40),
			.len = 1 + random() % 60, .unwritten = random() % 2,
		};
		if (x.pblk + x.len > h->blocks - mask) {
			x.pblk = end;
			x.len = 1;
			n = 0;
		}
		/*
		 * unmapped blocks before the extent, in the first cluster of
		 * the extent, get the state of the extent
		 */
		for (blk = (x.pblk & ~mask) > end ? x.pblk & ~mask : end;
		     blk < x.pblk + x.len; blk++)
			if (ino > 10)
				state[blk] = x.unwritten ? BLOCK_UNWRITTEN :
							   BLOCK_CONTIGUOUS +
							   kind;
		end = blk;
		for (; ino > 10 && blk & mask; blk++)
			state[blk] = state[end - 1];
		piece.extents = &x;
		piece.last = !n;
		block_map_piece(map, &piece, n ? NULL : &scores[kind]);
		piece.first = false;
	}
	return (end | mask) + 1;
}

START_TEST(test_states)
{
	const struct shape *h = &shapes[_i];
	blk64_t step = 1 << h->cluster_bits, at;
	struct e4l_block_run run;
	unsigned char *state;
	struct block_map *map;
	int draw;

	srandom(_i + 1);
	for (draw = 0; draw < 50; draw++) {
		map = make(h);
		state = calloc(h->blocks + step, 1);
		for (at = step; at + 8 * step < h->blocks;) {
			at = add_file(map, state, h, at,
				      random() % 4 ? 11 + random() % 9 : 8);
			run = (struct e4l_block_run) {
				.pblk = at, .len = random() % 50 * step,
			};
			if (at + run.len > h->blocks)
				break;
			block_map_free_run(map, &run);
			memset(state + at, BLOCK_FREE, run.len);
			at += run.len + random() % 3 * step;
		}
		block_map_finish(map);
		compare(map, state);
		block_map_free(map);
		free(state);
	}
}
END_TEST

/* If several files claim a block, no count of the cell becomes negative. */
START_TEST(test_damage)
{
	struct block_map *map = make(&shapes[0]);
	const struct e4l_extent x[] = {
		{ .pblk = 0, .len = 300 }, { .pblk = 100, .len = 300 },
		{ .pblk = 4000, .len = 96 },
	};
	const struct e4l_piece piece = {
		.ino = 12, .first = true, .last = true, .extents = x,
		.n_extents = 3,
	};
	const struct e4l_file_score score = { 0 };
	const struct e4l_block_run run = { .pblk = 0, .len = 5000 };

	block_map_piece(map, &piece, &score);
	block_map_free_run(map, &run);
	block_map_finish(map);
	ck_assert_uint_eq(map->cells[0].blocks[BLOCK_CONTIGUOUS], 412);
	ck_assert_uint_eq(map->cells[0].blocks[BLOCK_FREE], 256);
	ck_assert_uint_eq(map->cells[0].blocks[BLOCK_OTHER], 0);
	ck_assert_uint_eq(map->cells[15].blocks[BLOCK_FREE], 256);
	block_map_free(map);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("block_map");
	TCase *tc = tcase_create("block_map");

	tcase_add_loop_test(tc, test_cells, 0, N_SHAPES);
	tcase_add_loop_test(tc, test_states, 0, N_SHAPES);
	tcase_add_test(tc, test_damage);
	suite_add_tcase(suite, tc);
	return unit_main(suite);
}
