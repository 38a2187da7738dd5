/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints the tables of the report, and the block map. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "support/map_text.h"
#include "support/text.h"
#include "support/units.h"
#include "e4frag.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Number of columns in a table of files or directories. */
#define COLUMNS 7

/* The data from which a table is printed. */
struct table {
	const struct e4frag *frag;
	char *path;
	bool no_memory;			/* there was no memory for a path */
};

/*
 * Returns @path in escaped form.  If @path is NULL or memory runs out, returns
 * the inode number.
 */
static const char *path_cell(struct table *table, const char *path,
			     ext2_ino_t ino, char buf[TABLE_CELL])
{
	free(table->path);
	table->path = path ? text_escape(path, strlen(path),
					 TEXT_FOR_PEOPLE) : NULL;
	if (table->path)
		return table->path;
	table->no_memory |= path != NULL;
	snprintf(buf, TABLE_CELL, "(inode %u)", ino);
	return buf;
}

/*
 * Prints a table like table_print(), but never omits the column @sort, by which
 * the rows are sorted.  If there was no memory for a path, returns false.
 */
static bool print_sorted(FILE *out, const struct e4frag *frag,
			 const struct table_column columns[COLUMNS],
			 unsigned int sort, size_t rows, table_cell *cell)
{
	struct table_column shown[COLUMNS];
	struct table table = { .frag = frag };

	memcpy(shown, columns, sizeof(shown));
	shown[sort].drop = 0;
	table_print(out, shown, COLUMNS, rows, cell, &table);
	free(table.path);
	return !table.no_memory;
}

/* -------------------------------------------------------------------- files */

enum { WORST_EXCESS, WORST_EXTENTS, WORST_FRAGMENTS, WORST_IDEAL, WORST_SPLITS,
       WORST_SIZE, WORST_PATH };

static const struct table_column worst_columns[COLUMNS] = {
	[WORST_EXCESS] = { "excess", .drop = 1 },
	[WORST_EXTENTS] = { "extents", .drop = 2 },
	[WORST_FRAGMENTS] = { "fragments", .drop = 4 },
	[WORST_IDEAL] = { "ideal", .drop = 5 },
	[WORST_SPLITS] = { "splits", .drop = 6 },
	[WORST_SIZE] = { "size", .drop = 3 },
	[WORST_PATH] = { "path", .left = true, .cut = true },
};

static const unsigned int worst_sorts[] = {
	[E4L_SORT_EXCESS] = WORST_EXCESS,
	[E4L_SORT_EXTENTS] = WORST_EXTENTS,
	[E4L_SORT_FRAGMENTS] = WORST_FRAGMENTS,
	[E4L_SORT_SIZE] = WORST_SIZE,
};

static const char *worst_cell(size_t row, unsigned int column,
			      char buf[TABLE_CELL], const void *priv)
{
	struct table *table = (struct table *)priv;
	const struct e4l_worst_file *w = &table->frag->model.worst[row];
	const uint64_t counts[] = {
		[WORST_EXCESS] = e4frag_excess(&w->score),
		[WORST_EXTENTS] = w->score.extents,
		[WORST_FRAGMENTS] = w->score.fragments,
		[WORST_IDEAL] = w->score.ideal_extents,
		[WORST_SPLITS] = w->score.splits,
	};

	if (column < COUNT(counts))
		return units_count(counts[column], buf);
	if (column == WORST_SIZE)
		return units_size(w->size_bytes, buf);
	return path_cell(table, w->path, w->ino, buf);
}

bool e4frag_print_worst(FILE *out, const struct e4frag *frag)
{
	return print_sorted(out, frag, worst_columns, worst_sorts[frag->sort],
			    frag->n_worst, worst_cell);
}

/* -------------------------------------------------------------- directories */

enum { DIRS_EXCESS, DIRS_EXTENTS, DIRS_FRAGMENTS, DIRS_IDEAL, DIRS_FILES,
       DIRS_SIZE, DIRS_PATH };

static const struct table_column dirs_columns[COLUMNS] = {
	[DIRS_EXCESS] = { "excess", .drop = 1 },
	[DIRS_EXTENTS] = { "extents", .drop = 2 },
	[DIRS_FRAGMENTS] = { "fragments", .drop = 5 },
	[DIRS_IDEAL] = { "ideal", .drop = 6 },
	[DIRS_FILES] = { "files", .drop = 4 },
	[DIRS_SIZE] = { "on disk", .drop = 3 },
	[DIRS_PATH] = { "path", .left = true, .cut = true },
};

static const unsigned int dirs_sorts[] = {
	[E4L_SORT_EXCESS] = DIRS_EXCESS,
	[E4L_SORT_EXTENTS] = DIRS_EXTENTS,
	[E4L_SORT_FRAGMENTS] = DIRS_FRAGMENTS,
	[E4L_SORT_SIZE] = DIRS_SIZE,
};

static const char *dirs_cell(size_t row, unsigned int column,
			     char buf[TABLE_CELL], const void *priv)
{
	struct table *table = (struct table *)priv;
	const struct e4frag *frag = table->frag;
	const struct subtree *s = dirs_at(frag->dirs, row);
	const uint64_t counts[] = {
		[DIRS_EXCESS] = s->extents - s->ideal_extents,
		[DIRS_EXTENTS] = s->extents,
		[DIRS_FRAGMENTS] = s->fragments,
		[DIRS_IDEAL] = s->ideal_extents,
		[DIRS_FILES] = s->files,
	};

	if (column < COUNT(counts))
		return units_count(counts[column], buf);
	if (column == DIRS_SIZE)
		return units_size(s->blocks * frag->target.fs->blocksize, buf);
	return path_cell(table, dirs_path(frag->dirs, row), s->ino, buf);
}

static bool print_dirs(FILE *out, const struct e4frag *frag)
{
	if (!dirs_count(frag->dirs))
		return true;
	fprintf(out, "\nWorst subtrees, by %s\n",
		e4frag_sorts[frag->sort]);
	return print_sorted(out, frag, dirs_columns, dirs_sorts[frag->sort],
			    dirs_count(frag->dirs), dirs_cell);
}

/* ------------------------------------------------------------------- groups */

static const struct table_column group_columns[] = {
	{ .title = "group" }, { .title = "free" },
	{ "free extents", .drop = 1 },
	{ "largest", .drop = 4 }, { "inodes", .drop = 5 },
	{ "fragmented", .drop = 3 }, { "extents", .drop = 2 },
	{ .title = "ideal" },
};

static const char *group_cell(size_t row, unsigned int column,
			      char buf[TABLE_CELL], const void *priv)
{
	const struct e4l_group_row *g = &((const struct e4l_group_row *)
					  priv)[row];
	const uint64_t counts[] = {
		row, g->free_space.blocks, g->free_space.runs,
		g->free_space.largest_blocks, g->inodes_used, g->fragmented,
		g->extents, g->ideal_extents,
	};

	return units_count(counts[column], buf);
}

static void print_groups(FILE *out, const struct e4frag *frag)
{
	fprintf(out, "\nBlock groups (each file is counted in the group of its "
		     "inode)\n");
	table_print(out, group_columns, COUNT(group_columns),
		    frag->model.n_groups, group_cell, frag->model.groups);
}

bool e4frag_print_tables(FILE *out, const struct e4frag *frag)
{
	bool ok = true;

	if (frag->map) {
		putc('\n', out);
		map_print(out, "Block map", frag->look.map,
			  frag->target.fs->blocksize);
	}
	if (frag->n_worst) {
		fprintf(out, "\nWorst files, by %s\n",
			e4frag_sorts[frag->sort]);
		ok = e4frag_print_worst(out, frag);
	}
	if (frag->dirs)
		ok &= print_dirs(out, frag);
	if (frag->groups)
		print_groups(out, frag);
	return ok;
}
