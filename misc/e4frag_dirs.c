/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums by directory:
 *
 *  1. The directories are read before the model is built.  Each directory gets
 *     a row, and each inode is mapped to the row of its directory.
 *  2. The model's callback adds each file to the row of its directory.
 *  3. Each row is added to the row of its parent, beginning with rows without
 *     subdirectories.  Rows in a cycle are never added, so step 3 always ends.
 *  4. The worst rows are selected, and their paths are determined.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "e4layout/format/dirent.h"
#include "e4layout/read/dirs.h"
#include "e4frag_dirs.h"

#define UNIT_INODES 1024

struct dirs {
	struct e4l *e;
	/* one per directory, sorted by inode number */
	struct subtree *rows;
	size_t n_rows;
	/*
	 * for each inode: 1 + the index in @rows of the inode's directory; 0:
	 * the directory is unknown.  The array is divided into units of
	 * UNIT_INODES inodes; NULL: all elements of the unit are 0
	 */
	uint32_t **in;
	size_t n_units;
	/* row of the directory whose entries are being read */
	size_t last;
	struct e4l_dirs *reader;	/* reads the directories' entries */
	/* Results of dirs_finish(). */
	/* row numbers of the worst directories */
	uint32_t *worst;
	size_t n_worst;
	char **paths;
};

/* ----------------------------------------------------------- rows of inodes */

/*
 * Returns a pointer to the element of @ino in d->in.  If the unit of d->in that
 * contains the element is not allocated, and @make is true, allocates the unit.
 * If @make is false, or if memory runs out, returns NULL for such a unit.
 */
static uint32_t *row_of(struct dirs *d, ext2_ino_t ino, bool make)
{
	uint32_t **unit = &d->in[(ino - 1) / UNIT_INODES];

	if (!*unit && make)
		*unit = calloc(UNIT_INODES, sizeof(**unit));
	return *unit ? &(*unit)[(ino - 1) % UNIT_INODES] : NULL;
}

/*
 * Returns the row of the directory that contains @ino.  If the directory is
 * unknown, returns NULL.
 */
static struct subtree *parent_of(struct dirs *d, ext2_ino_t ino)
{
	uint32_t *row = row_of(d, ino, false);

	return row && *row ? &d->rows[*row - 1] : NULL;
}

static struct subtree *find_row(struct dirs *d, ext2_ino_t ino)
{
	return d->n_rows ? bsearch(&ino, d->rows, d->n_rows, sizeof(*d->rows),
				   e4l_u32_cmp) : NULL;
}

/*
 * Assigns the inode of @entry to the row of its directory.  An inode with
 * several names is assigned to the directory with the smallest inode number.
 */
static errcode_t on_entry(const struct e4l_dirent *entry, void *priv)
{
	struct dirs *d = priv;
	struct subtree *row = &d->rows[d->last];
	uint32_t *in;

	if (entry->ino == EXT2_ROOT_INO ||
	    (entry->name_len == 2 && !memcmp(entry->name, "..", 2)))
		return 0;
	if (row->ino != entry->dir)
		row = find_row(d, entry->dir);
	if (!row)
		return 0;
	d->last = row - d->rows;
	in = row_of(d, entry->ino, true);
	if (!in)
		return ENOMEM;
	if (!*in || d->last + 1 < *in)
		*in = d->last + 1;
	return 0;
}

static errcode_t on_directory(const struct e4l_piece *piece, void *priv)
{
	struct dirs *d = priv;

	if (!e4l_is_file(e4l_fs(d->e), piece->ino))
		return 0;
	if (piece->first) {
		if (e4l_grow(&d->rows, d->n_rows, sizeof(*d->rows)))
			return ENOMEM;
		d->rows[d->n_rows++] = (struct subtree) { .ino = piece->ino };
	}
	return e4l_dirs_add_piece(d->reader, piece);
}

static errcode_t read_directories(struct dirs *d, ext2fs_inode_bitmap only)
{
	static const struct e4l_dirs_ops dirs_ops = { .entry = on_entry };
	static const struct e4l_scan_ops scan_ops = { .piece = on_directory };
	errcode_t err = e4l_dirs_new(d->e, &dirs_ops, d, &d->reader);

	if (err)
		return err;
	err = e4l_scan(d->e, E4L_SCAN_DIRS, only, &scan_ops, d);
	if (!err)
		err = e4l_dirs_finish(d->reader);
	e4l_dirs_free(d->reader);
	return err;
}

errcode_t dirs_new(struct e4l *e, ext2fs_inode_bitmap only, struct dirs **ret)
{
	struct dirs *d = calloc(1, sizeof(*d));
	errcode_t err = ENOMEM;

	*ret = NULL;
	if (!d)
		return err;
	d->e = e;
	d->n_units = (e4l_fs(e)->super->s_inodes_count - 1) / UNIT_INODES + 1;
	d->in = calloc(d->n_units, sizeof(*d->in));
	if (d->in)
		err = read_directories(d, only);
	if (err)
		dirs_free(d);
	else
		*ret = d;
	return err;
}

/* ------------------------------------------------------------------- totals */

void dirs_piece(struct dirs *d, const struct e4l_piece *piece,
		const struct e4l_file_score *score)
{
	struct subtree *row = NULL;

	if (!score || !e4l_is_file(e4l_fs(d->e), piece->ino))
		return;
	if (LINUX_S_ISDIR(piece->inode->i_mode))
		row = find_row(d, piece->ino);
	else
		row = parent_of(d, piece->ino);
	if (!row)
		return;
	row->files++;
	row->blocks += score->blocks;
	row->extents += score->extents;
	row->fragments += score->fragments;
	row->ideal_extents += score->ideal_extents;
	row->splits += score->splits;
}

static void add_row(struct subtree *to, const struct subtree *row)
{
	to->files += row->files;
	to->blocks += row->blocks;
	to->extents += row->extents;
	to->fragments += row->fragments;
	to->ideal_extents += row->ideal_extents;
	to->splits += row->splits;
}

/*
 * Adds each row to the row of its parent.  @done must have space for the
 * numbers of all rows.
 */
static void add_up(struct dirs *d, uint32_t *done)
{
	struct subtree *to;
	size_t i, n = 0;

	for (i = 0; i < d->n_rows; i++) {
		to = parent_of(d, d->rows[i].ino);
		if (to)
			to->open++;
	}
	for (i = 0; i < d->n_rows; i++)
		if (!d->rows[i].open)
			done[n++] = i;
	for (i = 0; i < n; i++) {
		to = parent_of(d, d->rows[done[i]].ino);
		if (!to)
			continue;
		add_row(to, &d->rows[done[i]]);
		if (!--to->open)
			done[n++] = to - d->rows;
	}
}

/* -------------------------------------------------------- worst directories */

static uint64_t badness(const struct subtree *row, enum e4l_sort sort)
{
	switch (sort) {
	case E4L_SORT_EXTENTS:
		return row->extents;
	case E4L_SORT_FRAGMENTS:
		return row->fragments;
	case E4L_SORT_SIZE:
		return row->blocks;
	case E4L_SORT_EXCESS:
		break;
	}
	return row->extents - row->ideal_extents;
}

struct order {
	const struct subtree *rows;
	enum e4l_sort sort;
};

static int worse_first(const void *a, const void *b, void *arg)
{
	const uint32_t *x = a, *y = b;
	const struct order *o = arg;
	uint64_t bx = badness(&o->rows[*x], o->sort);
	uint64_t by = badness(&o->rows[*y], o->sort);

	return bx != by ? (bx > by ? -1 : 1) : *x < *y ? -1 : *x > *y;
}

static errcode_t find_paths(struct dirs *d)
{
	ext2_ino_t *wanted = calloc(d->n_worst + 1, sizeof(*wanted));
	struct e4l_names *names = NULL;
	const char *path;
	errcode_t err = ENOMEM;
	size_t i;

	d->paths = calloc(d->n_worst + 1, sizeof(*d->paths));
	if (!wanted || !d->paths)
		goto out;
	for (i = 0; i < d->n_worst; i++)
		wanted[i] = dirs_at(d, i)->ino;
	err = e4l_names_load(d->e, wanted, d->n_worst, &names);
	for (i = 0; !err && i < d->n_worst; i++) {
		path = e4l_names_path(names, wanted[i]);
		d->paths[i] = path ? strdup(path) : NULL;
		if (path && !d->paths[i])
			err = ENOMEM;
	}
	e4l_names_free(names);
out:
	free(wanted);
	return err;
}

errcode_t dirs_finish(struct dirs *d, enum e4l_sort sort, size_t top)
{
	struct order order = { .rows = d->rows, .sort = sort };
	size_t i;

	d->worst = calloc(d->n_rows + 1, sizeof(*d->worst));
	if (!d->worst)
		return ENOMEM;
	add_up(d, d->worst);
	for (i = 0; i < d->n_rows; i++)
		if (badness(&d->rows[i], sort))
			d->worst[d->n_worst++] = i;
	qsort_r(d->worst, d->n_worst, sizeof(*d->worst), worse_first, &order);
	if (d->n_worst > top)
		d->n_worst = top;
	return find_paths(d);
}

size_t dirs_count(const struct dirs *d)
{
	return d->n_worst;
}

const struct subtree *dirs_at(const struct dirs *d, size_t i)
{
	return &d->rows[d->worst[i]];
}

const char *dirs_path(const struct dirs *d, size_t i)
{
	return d->paths[i];
}

void dirs_free(struct dirs *d)
{
	size_t i;

	if (!d)
		return;
	for (i = 0; d->in && i < d->n_units; i++)
		free(d->in[i]);
	for (i = 0; d->paths && i < d->n_worst; i++)
		free(d->paths[i]);
	free(d->in);
	free(d->rows);
	free(d->worst);
	free(d->paths);
	free(d);
}
