/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * map: draws the use of the block groups, or the location of a file's blocks,
 * in the width of the terminal.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "support/say.h"
#include "support/text.h"
#include "e4debug.h"

#define MARGIN		20	/* columns of "group 12345 [" and "] 100 %" */
#define MIN_CELLS	8
#define MAX_CELLS	512

struct drawing {
	struct shell *s;
	/* blocks per group; the last group can be smaller */
	uint32_t blocks;
	unsigned int cells;		/* characters that draw one group */
	/*
	 * Indexed by group and cell.  For free space, @counted is the number of
	 * free blocks.  For a file, @counted is the number of written blocks,
	 * and @unwritten the number of unwritten blocks.
	 */
	uint32_t *counted, *unwritten;
};

static unsigned int count_cells(void)
{
	unsigned int width = text_width(STDOUT_FILENO);

	if (width < MARGIN + MIN_CELLS)
		return MIN_CELLS;
	return width < MARGIN + MAX_CELLS ? width - MARGIN : MAX_CELLS;
}

static uint32_t group_blocks(const struct drawing *d, dgrp_t group)
{
	ext2_filsys fs = d->s->target.fs;

	return ext2fs_group_last_block2(fs, group) -
	       ext2fs_group_first_block2(fs, group) + 1;
}

/*
 * Returns the first block that cell @cell (a character of the drawing) shows,
 * counted from 0 in the group.
 */
static uint32_t cell_start(const struct drawing *d, unsigned int cell)
{
	return (uint64_t)cell * d->blocks / d->cells;
}

static unsigned int cell_of(const struct drawing *d, uint32_t offset)
{
	unsigned int cell = (uint64_t)offset * d->cells / d->blocks;

	while (cell + 1 < d->cells && cell_start(d, cell + 1) <= offset)
		cell++;
	return cell;
}

/*
 * Adds the @len blocks from @blk to the counts of their cells.  A damaged map
 * can contain blocks before group 0, which are ignored.
 */
static void count_run(const struct drawing *d, uint32_t *counts, blk64_t blk,
		      blk64_t len)
{
	ext2_filsys fs = d->s->target.fs;

	if (blk < fs->super->s_first_data_block)
		return;
	while (len) {
		dgrp_t group = ext2fs_group_of_blk2(fs, blk);
		uint32_t offset = blk - ext2fs_group_first_block2(fs, group);
		unsigned int cell = cell_of(d, offset);
		blk64_t n = cell_start(d, cell + 1) - offset;

		n = n < len ? n : len;
		counts[(size_t)group * d->cells + cell] += n;
		blk += n;
		len -= n;
	}
}

static bool start(struct drawing *d, struct shell *s)
{
	size_t n;

	d->s = s;
	d->blocks = group_blocks(d, 0);
	d->cells = count_cells();
	if (d->cells > d->blocks)
		d->cells = d->blocks;
	n = (size_t)d->cells * s->target.fs->group_desc_count;
	d->counted = calloc(n, sizeof(*d->counted));
	d->unwritten = calloc(n, sizeof(*d->unwritten));
	return d->counted && d->unwritten;
}

static void finish(struct drawing *d)
{
	free(d->counted);
	free(d->unwritten);
}

/* --------------------------------------------------------------- the groups */

static const char free_legend[] =
	"# full, + more than half, - less than half, . free";

static char free_cell(uint32_t blocks, uint32_t free_blocks)
{
	if (!blocks)
		return ' ';
	if (!free_blocks)
		return '#';
	if (free_blocks == blocks)
		return '.';
	return 2 * (uint64_t)free_blocks < blocks ? '+' : '-';
}

static uint64_t draw_group(const struct drawing *d, dgrp_t group, char *row)
{
	const uint32_t *counts = d->counted + (size_t)group * d->cells;
	uint32_t all = group_blocks(d, group), from, to;
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < d->cells; i++) {
		from = cell_start(d, i);
		to = cell_start(d, i + 1);
		to = to < all ? to : all;
		row[i] = free_cell(to > from ? to - from : 0, counts[i]);
		sum += counts[i];
	}
	row[i] = '\0';
	return sum;
}

/* --------------------------------------------------------------------- file */

static const char file_legend[] =
	"# written, u unwritten, + both, . other files or free";

static uint64_t draw_file(const struct drawing *d, dgrp_t group, char *row)
{
	size_t at = (size_t)group * d->cells;
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < d->cells; i++, at++) {
		uint32_t written = d->counted[at], not = d->unwritten[at];

		row[i] = written ? (not ? '+' : '#') : (not ? 'u' : '.');
		sum += written + not;
	}
	row[i] = '\0';
	return sum;
}

/* ------------------------------------------------------------------- output */

/* A kind of map: the free blocks of each group, or the blocks of a file. */
struct kind {
	uint64_t (*draw)(const struct drawing *d, dgrp_t group, char *row);
	const char *legend, *key;
	/* whether rows of groups without blocks of the file are drawn */
	bool all;
};

static const struct kind free_kind = {
	draw_group, free_legend, "free_blocks", true
};
static const struct kind file_kind = {
	draw_file, file_legend, "file_blocks", false
};

static json_t *groups_array(const struct drawing *d, const struct kind *k)
{
	json_t *rows = json_array();
	char row[MAX_CELLS + 1];
	int failed = 0;
	dgrp_t group;

	for (group = 0; group < d->s->target.fs->group_desc_count; group++) {
		uint64_t n = k->draw(d, group, row);

		if (n || k->all)
			failed |= json_array_append_new(rows,
				json_pack("{s:I, s:I, s:I, s:s}",
					  "group", (json_int_t)group,
					  "blocks",
					  (json_int_t)group_blocks(d, group),
					  k->key, (json_int_t)n, "cells", row));
	}
	return json_checked(rows, failed);
}

static void print_groups(const struct drawing *d, const struct kind *k)
{
	char row[MAX_CELLS + 1], share[UNITS_LEN];
	dgrp_t group;

	printf("%s\n", k->legend);
	for (group = 0; group < d->s->target.fs->group_desc_count; group++) {
		uint32_t all = group_blocks(d, group);
		uint64_t n = k->draw(d, group, row);

		if (n || k->all)
			printf("%6u [%s] %7s\n", group, row,
			       units_percent(k->all ? all - n : n, all,
					     share));
	}
}

static bool show(const struct drawing *d, const struct kind *k)
{
	if (d->s->args.json)
		return shell_show(d->s, json_pack("{s:s, s:o}",
						  "legend", k->legend,
						  "groups",
						  groups_array(d, k)));
	print_groups(d, k);
	return true;
}

static errcode_t count_free(const struct e4l_block_run *run, void *priv)
{
	const struct drawing *d = priv;

	count_run(d, d->counted, run->pblk, run->len);
	return 0;
}

static bool map_groups(struct drawing *d)
{
	errcode_t err = e4l_free_space(d->s->e, count_free, NULL, d);

	return err ? shell_fails_e4l(d->s, "cannot read the bitmaps", err) :
		     show(d, &free_kind);
}

static bool map_file(struct drawing *d, const char *path)
{
	struct e4l_es es = { 0 };
	uint64_t at;
	ext2_ino_t ino;
	errcode_t err;

	if (!file_find(d->s, path, &ino))
		return false;
	for (at = 0; at < FILE_MAX_BLOCKS; at = es.lblk + es.len) {
		err = file_block(d->s, ino, at, &es);
		if (err)
			return shell_fails_e4l(d->s, path, err);
		if (es.state == E4L_ES_WRITTEN)
			count_run(d, d->counted, es.pblk, es.len);
		else if (es.state == E4L_ES_UNWRITTEN)
			count_run(d, d->unwritten, es.pblk, es.len);
	}
	return show(d, &file_kind);
}

bool do_map(struct shell *s, int argc, const char *const *argv)
{
	struct drawing d = { 0 };
	bool ok;

	if (!start(&d, s))
		ok = shell_fails(s, "cannot draw", EXT2_ET_NO_MEMORY);
	else
		ok = argc == 1 ? map_groups(&d) : map_file(&d, argv[1]);
	finish(&d);
	return ok;
}
