/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * model: reads the layout of the whole filesystem into one structure.
 *
 *  1. load the names of all inodes, if the caller wants a path for each file;
 *  2. scan: score each file and add up the scores; collect directories, and
 *     read the collected directories in batches;
 *  3. read the remaining directories, for locality and for the names of the
 *     worst files; find the paths of the worst files;
 *  4. read the free space.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <e4layout/model.h>
#include "free_space.h"
#include "e4layout/base/array.h"
#include "e4layout/format/dirent.h"
#include "dirs.h"

struct build {
	struct e4l *e;
	const struct e4l_model_options *opt;
	struct e4l_model *m;
	struct e4l_dirs *dirs;
	/* names of inodes; NULL: not yet loaded */
	struct e4l_names *names;
	struct e4l_scorer scorer;	/* scorer of the current file */
	bool damaged; /* the current file has damaged structures */
	/*
	 * directory entries were read and dropped, because the worst files,
	 * whose names are needed, were not known yet
	 */
	bool entries_missed;
};

static errcode_t note_damage(const struct e4l_damage *damage, void *priv)
{
	struct build *b = priv;
	struct e4l_model *m = b->m;

	m->damaged_count++;
	if (m->n_damaged == b->opt->max_damaged)
		return 0;
	if (e4l_grow(&m->damaged, m->n_damaged, sizeof(*m->damaged)))
		return ENOMEM;
	m->damaged[m->n_damaged++] = *damage;
	return 0;
}

/* ---------------------------------------------------------- the worst files */

static uint64_t badness(const struct build *b, const struct e4l_file_score *s,
			uint64_t size_bytes)
{
	switch (b->opt->sort) {
	case E4L_SORT_EXTENTS:
		return s->extents;
	case E4L_SORT_FRAGMENTS:
		return s->fragments;
	case E4L_SORT_SIZE:
		return size_bytes;
	case E4L_SORT_EXCESS:
		break;
	}
	return s->extents - s->ideal_extents;
}

/* Returns whether the layout of @x is worse than the layout of @y. */
static bool worse(const struct build *b, const struct e4l_worst_file *x,
		  const struct e4l_worst_file *y)
{
	uint64_t bx = badness(b, &x->score, x->size_bytes);
	uint64_t by = badness(b, &y->score, y->size_bytes);

	return bx != by ? bx > by : x->ino < y->ino;
}

/*
 * Restores the heap of the first @n worst files by moving the file at index @i
 * down.  In the heap, no file is worse than its children: the least bad file is
 * at the top.
 */
static void sink(const struct build *b, size_t i, size_t n)
{
	struct e4l_worst_file *w = b->m->worst, t;
	size_t child;

	for (; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && worse(b, &w[child], &w[child + 1]))
			child++;
		if (!worse(b, &w[i], &w[child]))
			return;
		t = w[i];
		w[i] = w[child];
		w[child] = t;
	}
}

static void rise(const struct build *b, size_t i)
{
	struct e4l_worst_file *w = b->m->worst, t;

	for (; i && worse(b, &w[(i - 1) / 2], &w[i]); i = (i - 1) / 2) {
		t = w[i];
		w[i] = w[(i - 1) / 2];
		w[(i - 1) / 2] = t;
	}
}

/*
 * Adds a file to the heap if the file is one of the worst files so far.  Files
 * come in ascending order of inode numbers.  Therefore, of equally bad files,
 * the heap keeps the files with the smallest inode numbers.
 */
static errcode_t offer(struct build *b, const struct e4l_piece *p,
		       const struct e4l_file_score *score)
{
	struct e4l_model *m = b->m;
	uint64_t bad = badness(b, score, EXT2_I_SIZE(p->inode));
	struct e4l_worst_file *to;

	if (!b->opt->top || !bad)
		return 0;
	if (m->n_worst == b->opt->top &&
	    bad <= badness(b, &m->worst[0].score, m->worst[0].size_bytes))
		return 0;
	if (m->n_worst < b->opt->top &&
	    e4l_grow(&m->worst, m->n_worst, sizeof(*m->worst)))
		return ENOMEM;
	to = &m->worst[m->n_worst < b->opt->top ? m->n_worst++ : 0];
	*to = (struct e4l_worst_file) {
		.ino = p->ino, .mode = p->inode->i_mode, .map = p->map,
		.size_bytes = EXT2_I_SIZE(p->inode), .score = *score,
	};
	if (to == m->worst)
		sink(b, 0, m->n_worst);
	else
		rise(b, to - m->worst);
	return 0;
}

/* Sorts the heap so that the worst file comes first. */
static void sort_worst(struct build *b)
{
	struct e4l_worst_file *w = b->m->worst, t;
	size_t n = b->m->n_worst;

	while (n > 1) {
		t = w[--n];
		w[n] = w[0];
		w[0] = t;
		sink(b, 0, n);
	}
}

/* -------------------------------------------------------------------- files */

static void add_peers(struct e4l_model *m, const struct e4l_piece *p,
		      const struct e4l_file_score *s)
{
	bool reg = LINUX_S_ISREG(p->inode->i_mode);

	if (p->inode->i_flags & EXT4_EA_INODE_FL)
		return;		/* other programs cannot open EA inodes */
	if (reg || LINUX_S_ISDIR(p->inode->i_mode)) {
		m->peers.filefrag_extents += s->filefrag_extents;
		m->peers.filefrag_fragmented += s->filefrag_extents > 1;
	}
	if (reg && EXT2_I_SIZE(p->inode))
		m->peers.e4defrag_extents += s->fiemap_extents;
}

static void add_totals(struct e4l_model *m, const struct e4l_piece *p,
		       const struct e4l_file_score *s)
{
	m->files.count++;
	m->files.regular += LINUX_S_ISREG(p->inode->i_mode) != 0;
	m->files.directories += LINUX_S_ISDIR(p->inode->i_mode) != 0;
	m->files.fragmented += s->fragments > s->logical_runs;
	m->files.blocks += s->blocks;
	m->files.unwritten_blocks += s->unwritten_blocks;
	m->files.extents += s->extents;
	m->files.unwritten_extents += s->unwritten_extents;
	m->files.fragments += s->fragments;
	m->files.ideal_extents += s->ideal_extents;
	m->files.logical_runs += s->logical_runs;
	m->files.excess_extents += s->extents - s->ideal_extents;
	m->files.splits += s->splits;
	m->files.mergeable += s->mergeable;
	m->files.tree_blocks += s->tree_blocks;
	m->files.ideal_tree_blocks += s->ideal_tree_blocks;
	m->files.indirect_mapped += p->map == E4L_MAP_INDIRECT;
	m->files.inline_data += p->map == E4L_MAP_INLINE;
	if (p->map == E4L_MAP_INDIRECT)
		m->indirect.excess_extents += s->extents - s->ideal_extents;
}

static void add_to_group(struct build *b, const struct e4l_piece *p,
			 const struct e4l_file_score *s)
{
	struct e4l_group_row *row;

	if (!b->m->groups)
		return;
	row = &b->m->groups[ext2fs_group_of_ino(b->e->fs, p->ino)];
	row->files++;
	row->directories += LINUX_S_ISDIR(p->inode->i_mode) != 0;
	row->fragmented += s->fragments > s->logical_runs;
	row->extents += s->extents;
	row->fragments += s->fragments;
	row->ideal_extents += s->ideal_extents;
}

static errcode_t hand_out(const struct build *b, const struct e4l_piece *p)
{
	struct e4l_file file = {
		.ino = p->ino, .inode = p->inode, .map = p->map,
		.depth = p->depth, .damaged = b->damaged,
		.score = b->scorer.score,
	};

	if (b->opt->flags & E4L_MODEL_FILE_PATHS)
		file.path = e4l_names_path(b->names, p->ino);
	return b->opt->file(&file, b->opt->priv);
}

/* Counts and reports a file after its last piece. */
static errcode_t add_file(struct build *b, const struct e4l_piece *p)
{
	const struct e4l_file_score *score = &b->scorer.score;
	errcode_t err;

	add_totals(b->m, p, score);
	add_peers(b->m, p, score);
	add_to_group(b, p, score);
	if (score->extents < b->opt->min_extents)
		return 0;
	err = offer(b, p, score);
	return err || !b->opt->file ? err : hand_out(b, p);
}

static errcode_t add_piece(const struct e4l_piece *piece, void *priv)
{
	struct build *b = priv;
	bool file = e4l_is_file(b->e->fs, piece->ino);
	errcode_t err = 0;

	if (piece->first) {
		b->scorer = (struct e4l_scorer) { 0 };
		b->damaged = false;
	}
	b->damaged |= piece->damaged;
	e4l_score_piece(&b->scorer, piece);
	if (file)
		err = e4l_dirs_add_piece(b->dirs, piece);
	if (piece->last)
		e4l_score_finish(&b->scorer, piece, b->e->fs);
	if (!err && b->opt->piece)
		err = b->opt->piece(piece, piece->last ? &b->scorer.score :
							 NULL, b->opt->sees);
	if (err || !piece->last)
		return err;
	if (b->scorer.score.non_contiguous) {
		if (LINUX_S_ISDIR(piece->inode->i_mode))
			b->m->peers.e2fsck_directories++;
		else
			b->m->peers.e2fsck_files++;
	}
	return file ? add_file(b, piece) : 0;
}

static void pass_progress(dgrp_t group, dgrp_t groups, void *priv)
{
	struct build *b = priv;

	if (b->opt->progress)
		b->opt->progress(group, groups, b->opt->priv);
}

/* -------------------------------------------------------------- directories */

static errcode_t add_locality(const struct e4l_dir_locality *l, void *priv)
{
	struct build *b = priv;

	b->m->directories.count++;
	b->m->directories.inodes += l->inodes;
	b->m->directories.itable_blocks += l->itable_blocks;
	b->m->directories.itable_blocks_ideal += l->itable_blocks_ideal;
	return b->opt->locality ? b->opt->locality(l, b->opt->sees) : 0;
}

static bool wants_entry(const struct e4l_dirent *entry, void *priv)
{
	struct build *b = priv;

	return !b->names || e4l_names_wanted(entry, b->names);
}

/*
 * If the worst files are known, adds the entry to the names.  If the worst
 * files are not yet known, records that an entry was missed.
 */
static errcode_t add_entry(const struct e4l_dirent *entry, void *priv)
{
	struct build *b = priv;

	if (b->names)
		return e4l_names_entry(entry, b->names);
	b->entries_missed = true;
	return 0;
}

static errcode_t want_worst(struct build *b)
{
	ext2_ino_t *wanted = calloc(b->m->n_worst + 1, sizeof(*wanted));
	errcode_t err;
	size_t i;

	if (!wanted)
		return ENOMEM;
	for (i = 0; i < b->m->n_worst; i++)
		wanted[i] = b->m->worst[i].ino;
	err = e4l_names_new(b->e, &b->names);
	if (!err)
		err = e4l_names_want(b->names, wanted, b->m->n_worst);
	free(wanted);
	return err;
}

static errcode_t put_paths(struct build *b)
{
	size_t i;

	for (i = 0; i < b->m->n_worst; i++) {
		struct e4l_worst_file *w = &b->m->worst[i];
		const char *path = e4l_names_path(b->names, w->ino);

		if (!path)
			continue;
		w->path = strdup(path);
		if (!w->path)
			return ENOMEM;
	}
	return 0;
}

/*
 * Reads the remaining directories, for locality and for the names of the worst
 * files.  The name of a worst file is missing if its directory was read before
 * the worst files were known, or if its directory is not in opt->only.  If
 * names are missing, reads all directories again, for names only.
 */
static errcode_t finish_dirs(struct build *b)
{
	bool have_names = b->names;
	errcode_t err = 0;

	sort_worst(b);
	if (!have_names)
		err = want_worst(b);
	if (!err)
		err = e4l_dirs_finish(b->dirs);
	if (!err && !have_names && e4l_names_missing(b->names) &&
	    (b->entries_missed || b->opt->only))
		err = e4l_dirs_read(b->e, NULL, &e4l_names_ops, b->names);
	if (!err && !have_names)
		err = e4l_names_resolve(b->names);
	return err ? err : put_paths(b);
}

static errcode_t scan_files(struct build *b)
{
	static const struct e4l_scan_ops scan_ops = {
		.piece = add_piece, .damage = note_damage,
		.progress = pass_progress,
	};
	struct e4l_dirs_ops dirs_ops = {
		.locality = add_locality, .damage = note_damage,
	};
	errcode_t err = 0;

	if (b->opt->flags & E4L_MODEL_FILE_PATHS)
		err = e4l_names_load(b->e, NULL, 0, &b->names);
	else if (b->opt->top)
		dirs_ops.entry = add_entry, dirs_ops.wanted = wants_entry;
	if (!err)
		err = e4l_dirs_new(b->e, &dirs_ops, b, &b->dirs);
	if (!err)
		err = e4l_scan(b->e, 0, b->opt->only, &scan_ops, b);
	return err ? err : finish_dirs(b);
}

/* ------------------------------------------------------------------- groups */

/* Returns the number of unused inodes of @group that e2fsck must scan. */
static uint32_t unused_read(ext2_filsys fs, dgrp_t group)
{
	uint32_t unused = 0, free_inodes = ext2fs_bg_free_inodes_count(fs,
								      group);

	if (ext2fs_has_group_desc_csum(fs)) {
		if (ext2fs_bg_flags_test(fs, group, EXT2_BG_INODE_UNINIT))
			return 0;
		unused = ext2fs_bg_itable_unused(fs, group);
	}
	if (free_inodes > fs->super->s_inodes_per_group)
		free_inodes = fs->super->s_inodes_per_group;
	return free_inodes > unused ? free_inodes - unused : 0;
}

static errcode_t describe_groups(struct build *b)
{
	struct e4l_model *m = b->m;
	ext2_filsys fs = b->e->fs;
	dgrp_t g;

	if (b->opt->flags & E4L_MODEL_GROUPS) {
		m->groups = calloc(fs->group_desc_count, sizeof(*m->groups));
		if (!m->groups)
			return ENOMEM;
		m->n_groups = fs->group_desc_count;
	}
	for (g = 0; g < fs->group_desc_count; g++) {
		uint32_t unused = unused_read(fs, g);

		m->directories.unused_inodes_read_by_fsck += unused;
		if (!m->groups)
			continue;
		m->groups[g].blocks = ext2fs_group_blocks_count(fs, g);
		m->groups[g].unused_inodes_read_by_fsck = unused;
		m->groups[g].inodes_used = fs->super->s_inodes_per_group -
			ext2fs_bg_free_inodes_count(fs, g);
		if (m->groups[g].inodes_used > fs->super->s_inodes_per_group)
			m->groups[g].inodes_used = 0;
	}
	return 0;
}

static errcode_t add_free_run(const struct e4l_block_run *run, void *priv)
{
	struct build *b = priv;
	ext2_filsys fs = b->e->fs;
	blk64_t blk = run->pblk, left = run->len, n;

	e4l_free_histogram_add(&b->m->free_space, run->len);
	for (; b->m->groups && left; blk += n, left -= n) {
		dgrp_t g = ext2fs_group_of_blk2(fs, blk);

		n = ext2fs_group_last_block2(fs, g) - blk + 1;
		if (n > left)
			n = left;
		e4l_free_histogram_add(&b->m->groups[g].free_space, n);
	}
	return b->opt->free_run ? b->opt->free_run(run, b->opt->sees) : 0;
}

/* ---------------------------------------------------------- the whole model */

errcode_t e4l_model_build(struct e4l *e,
			  const struct e4l_model_options *options,
			  struct e4l_model *model)
{
	static const struct e4l_model_options none;
	struct build b = { .e = e, .opt = options ? options : &none,
			   .m = model };
	errcode_t err;

	e4l_clear(model);
	if (b.opt->flags & ~(E4L_MODEL_GROUPS | E4L_MODEL_FILE_PATHS) ||
	    (unsigned int)b.opt->sort > E4L_SORT_SIZE || E4L_HAS_UNKNOWN(b.opt))
		return e4l_fail(e, E4L_ET_OPTION, "reading the layout", 0, 0);
	err = describe_groups(&b);
	if (!err)
		err = scan_files(&b);
	if (!err)
		err = e4l_free_space(e, add_free_run, note_damage, &b);
	e4l_dirs_free(b.dirs);
	e4l_names_free(b.names);
	return err;
}

void e4l_model_free(struct e4l_model *model)
{
	size_t i;

	for (i = 0; i < model->n_worst; i++)
		free(model->worst[i].path);
	free(model->worst);
	free(model->damaged);
	free(model->groups);
	e4l_clear(model);
}
