/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * compact: rebuilds directories that have many more blocks than their entries
 * need, or that have several blocks and no index.
 *
 *  1. scan: find the directories with several blocks, and their extents;
 *  2. plan: read and check each directory, and compute its new size.  If a
 *     rebuild saves blocks or adds an index, find space for the new blocks: a
 *     free extent, or part of the directory's own blocks (dir_place.c);
 *  3. apply: read each directory again and rebuild it.  A transaction frees the
 *     old blocks and makes the inode point to the new blocks.
 *
 * The kernel never frees a directory's blocks, and splits a full leaf into
 * halves.  If a leaf is less than half full, entries were therefore removed.
 *
 * New leaves are filled to 80 %, so that new entries fit.  80 % is the default
 * of e2fsck -D: indexed_dir_slack_percentage in e2fsck.conf(5) is 20.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <e4layout/dirs.h>
#include "e4layout/apply/apply.h"
#include "compact.h"
#include "dir_place.h"
#include "e4layout/base/array.h"
#include "e4layout/base/io_pool.h"
#include "e4layout/format/dir_block.h"
#include "e4layout/format/dir_use.h"
#include "e4layout/format/dirent.h"
#include "e4layout/format/format.h"
#include "e4layout/journal/journal.h"
#include "e4layout/read/runs.h"
#include "e4layout/read/scan.h"

/* A rebuilt directory has at most 4 extents, which fit into the inode. */
#define MAX_BLOCKS	(4 * E4L_WRITTEN_MAX_BLOCKS)
/*
 * Memory that a rebuild needs for old blocks, entries and new blocks: bytes per
 * byte of the directory.
 */
#define MEM_FACTOR	5
/*
 * All rebuilds together may shorten the largest free extent by at most
 * 1/LOSS_PART.
 */
#define LOSS_PART	32

struct dir {
	struct e4l_dir_map map;
	enum e4l_skip why;		/* reason to skip the directory */
	/* number of blocks after the planned rebuild; 0: no rebuild */
	uint32_t new_blocks;
	bool indexed;			/* the rebuilt directory has an index */
	struct e4l_dir_place place;
};

struct compact {
	struct e4l *e; /* must be first, for e4l_refuse_damage() */
	struct e4l_repack_run *run;
	bool quiet;
	struct e4l_compact_result *result;
	ext2_ino_t lost_found;
	struct dir *dirs;
	size_t n_dirs;
	struct e4l_dir_maps maps;	/* extents of all directories */
	struct e4l_dir_seek seek;
	struct e4l_geometry geo;
};

/* The blocks and the entries of a directory. */
struct content {
	struct e4l_dir_builder b;
	/* space that the entries use in the old blocks */
	struct e4l_dir_use use;
	char *blocks;
	struct e4l_new_dirent *v; /* entries; the names point into @blocks */
};

/* ------------------------------------------------------------------ 1. scan */

/*
 * If the directory of piece @p can be rebuilt, returns E4L_SKIP_NONE.
 * Otherwise, returns the reason to skip the directory.
 */
static enum e4l_skip reason_to_keep(const struct compact *c,
				  const struct e4l_piece *p)
{
	const struct e4l_repack_what *what = &c->run->what;

	if (what->exclude && ext2fs_test_inode_bitmap2(what->exclude, p->ino))
		return E4L_SKIP_EXCLUDED;
	if (p->map != E4L_MAP_EXTENTS)
		return E4L_SKIP_INDIRECT;
	if (p->inode->i_flags & EXT2_IMMUTABLE_FL &&
	    !(what->flags & E4L_REPACK_MOVE_IMMUTABLE))
		return E4L_SKIP_IMMUTABLE;
	return E4L_SKIP_NONE;
}

/*
 * Reports that directory @dir is skipped, with the reason @why.  @saved is the
 * number of blocks that a rebuild would save, or 0 if the number is unknown.
 */
static void skip(struct compact *c, const struct dir *dir, enum e4l_skip why,
		 uint64_t saved)
{
	if (c->quiet)
		return;
	if (why == E4L_SKIP_NO_SPACE)
		e4l_run_lacks(c->run, dir->new_blocks);
	e4l_run_skip(c->run, E4L_SKIP_DIR, dir->map.ino, why, saved);
}

/*
 * Returns whether the inode of piece @p is a selected directory with more than
 * one block.  lost+found is never selected.
 */
static bool is_wanted(const struct compact *c, const struct e4l_piece *p)
{
	return LINUX_S_ISDIR(p->inode->i_mode) && p->inode->i_links_count &&
	       p->map != E4L_MAP_INLINE && p->ino != c->lost_found &&
	       EXT2_I_SIZE((struct ext2_inode *)p->inode) >
	       c->e->fs->blocksize &&
	       e4l_run_selects(c->run, p->ino);
}

static errcode_t scan_piece(const struct e4l_piece *p, void *priv)
{
	struct compact *c = priv;
	errcode_t err;

	if (!is_wanted(c, p))
		return 0;
	if (p->first) {
		err = e4l_grow(&c->dirs, c->n_dirs, sizeof(*c->dirs));
		if (err)
			return err;
		c->dirs[c->n_dirs++] = (struct dir) {
			.why = reason_to_keep(c, p),
		};
	}
	return e4l_dir_maps_add(&c->maps, &c->dirs[c->n_dirs - 1].map, p,
				c->e->fs->blocksize);
}

static void scan_progress(dgrp_t group, dgrp_t groups, void *priv)
{
	struct compact *c = priv;

	if (!c->quiet)
		e4l_run_scanned(c->run, group, groups);
}

static errcode_t scan(struct compact *c)
{
	static const struct e4l_scan_ops ops = {
		.piece = scan_piece, .damage = e4l_refuse_damage,
		.progress = scan_progress,
	};

	errcode_t err = e4l_lost_found(c->e, &c->lost_found);

	return err ? err : e4l_scan(c->e, 0, NULL, &ops, c);
}

/* --------------------------------------------------- content of a directory */

static void free_content(struct content *x)
{
	free(x->blocks);
	free(x->v);
	*x = (struct content) { 0 };
}

static bool keeps_hashes(const struct dir *dir)
{
	return dir->map.flags & EXT4_ENCRYPT_FL &&
	       dir->map.flags & EXT4_CASEFOLD_FL;
}

/*
 * Reads the two hashes that follow the name of entry @d.  The record of the
 * entry ends at @end.  If the record is too short for two hashes, returns
 * false.
 */
static bool read_hashes(struct e4l_new_dirent *d, const char *end)
{
	const char *at = d->name - DIRENT_HEAD_BYTES +
			 dirent_bytes(d->name_len);

	if (at + DIR_HASH_BYTES > end)
		return false;
	d->hash = get_le32(at);
	d->minor = get_le32(at + 4);
	return true;
}

/* Adds @entry to the array @x->v.  The record of @entry ends at @end. */
static errcode_t add_entry(struct content *x, const struct e4l_dirent *entry,
			   const char *end)
{
	struct e4l_new_dirent d = {
		.name = entry->name, .name_len = entry->name_len,
		.file_type = entry->file_type, .ino = entry->ino,
	};
	errcode_t err;

	if (x->b.hashes_on_disk && !read_hashes(&d, end))
		return E4L_ET_DAMAGED;
	err = e4l_grow(&x->v, x->b.n, sizeof(*x->v));
	if (err)
		return err;
	x->v[x->b.n++] = d;
	e4l_dir_use_add(&x->use, e4l_dirent_bytes(&x->b, d.name_len));
	return 0;
}

static errcode_t read_entries(struct compact *c, const struct dir *dir,
			      struct content *x)
{
	struct e4l_dir_walk w = {
		.fs = c->e->fs, .dir = dir->map.ino, .has_dots = true,
		.encrypted = dir->map.flags & EXT4_ENCRYPT_FL,
		.buf = x->blocks, .len = c->e->fs->blocksize,
	};
	enum e4l_dir_step step = DIR_END;
	struct e4l_dirent entry;
	errcode_t err = 0;
	uint64_t i;

	for (i = 0; i < dir->map.blocks && !err; i++) {
		w.off = 0;
		while (!err && (step = e4l_dir_next(&w, &entry)) == DIR_ENTRY) {
			if (w.has_dots && e4l_dirent_is_dotdot(&entry))
				x->b.parent = entry.ino;
			else
				err = add_entry(x, &entry, w.buf + w.off);
		}
		if (!err && step == DIR_BAD)
			err = E4L_ET_DAMAGED;
		w.has_dots = false;
		w.buf += w.len;
	}
	if (!err && !x->b.parent)
		err = E4L_ET_DAMAGED;
	return err ? e4l_fail(c->e, err, "reading a directory's entries",
			      dir->map.ino, 0) : 0;
}

/* Compares two entries by hash, then by minor hash, then by name. */
static int by_hash(const void *va, const void *vb)
{
	const struct e4l_new_dirent *a = va, *b = vb;
	unsigned int len = a->name_len < b->name_len ? a->name_len :
						       b->name_len;
	int cmp;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->minor != b->minor)
		return a->minor < b->minor ? -1 : 1;
	cmp = memcmp(a->name, b->name, len);
	return cmp ? cmp : (int)a->name_len - b->name_len;
}

static void get_entry(uint32_t i, struct e4l_new_dirent *entry,
		      const void *priv)
{
	*entry = ((const struct content *)priv)->v[i];
}

/*
 * Returns the hash function of the directory's index.  If the directory has no
 * index, returns the hash function of an index that a rebuild would add.
 */
static uint8_t hash_version(const struct compact *c, const struct dir *dir,
			    const struct content *x)
{
	const struct ext2_dx_root_info *root = (const void *)
		(x->blocks + DX_INFO_AT);

	if (x->use.indexed)
		return root->hash_version;
	return x->b.hashes_on_disk ? EXT2_HASH_SIPHASH :
				     c->e->fs->super->s_def_hash_version;
}

/* Reads a directory into *@x.  Call free_content() even after an error. */
static errcode_t read_dir(struct compact *c, const struct dir *dir,
			  struct content *x)
{
	ext2_filsys fs = c->e->fs;
	errcode_t err;

	*x = (struct content) {
		.b = {
			.fs = fs, .ino = dir->map.ino,
			.generation = dir->map.generation,
			.hashes_on_disk = keeps_hashes(dir),
			.fill_percent = E4L_DIR_FILL_PERCENT,
			.entry = get_entry,
		},
		.use = {
			.fs = fs, .blocks = dir->map.blocks,
			.indexed = dir->map.flags & EXT2_INDEX_FL &&
				   ext2fs_has_feature_dir_index(fs->super),
		},
		.blocks = e4l_array_alloc(dir->map.blocks, fs->blocksize),
	};
	if (!x->blocks)
		return ENOMEM;
	err = e4l_dir_map_read(c->e, &c->maps, &dir->map, x->blocks);
	if (err)
		return err;
	x->b.hash_version = hash_version(c, dir, x);
	return read_entries(c, dir, x);
}

/* ------------------------------------------------------------------ 2. plan */

/* Sorts the entries by hash, the order that an index requires. */
static errcode_t sort_entries(const struct dir *dir, struct content *x)
{
	ext2_filsys fs = x->b.fs;
	int version = hash_version_of(fs->super, x->b.hash_version);
	struct e4l_new_dirent *d;
	errcode_t err = 0;

	for (d = x->v; !x->b.hashes_on_disk && d < x->v + x->b.n && !err; d++)
		err = ext2fs_dirhash2(version, d->name, d->name_len,
				      fs->encoding,
				      dir->map.flags & EXT4_CASEFOLD_FL,
				      fs->super->s_hash_seed, &d->hash,
				      &d->minor);
	if (!err)
		qsort(x->v, x->b.n, sizeof(*x->v), by_hash);
	return err;
}

/*
 * Computes the shape (number of blocks, index) of the rebuilt directory.  If
 * the directory gets an index, sorts the entries.
 */
static errcode_t find_shape(const struct dir *dir, struct content *x,
			    struct e4l_dir_shape *s)
{
	bool indexed = e4l_dir_wants_index(&x->use);
	errcode_t err = indexed ? sort_entries(dir, x) : 0;

	x->b.priv = x;
	return err ? err : e4l_dir_shape(&x->b, indexed, s);
}

/*
 * If a rebuild would save blocks or add an index, computes the shape of the
 * rebuilt directory.  If a rebuild would change nothing, leaves s->blocks at 0.
 */
static errcode_t find_better(const struct dir *dir, struct content *x,
			     struct e4l_dir_shape *s)
{
	bool outgrown = e4l_dir_is_outgrown(&x->use);
	errcode_t err;

	if (!outgrown && !e4l_dir_is_sparse(&x->use))
		return 0;
	err = find_shape(dir, x, s);
	if (!err && !outgrown && s->blocks >= dir->map.blocks)
		s->blocks = 0;
	return err;
}

/*
 * Finds space for the new blocks of the directory.  If the directory must be
 * skipped, sets *@why to the reason; otherwise, sets *@why to E4L_SKIP_NONE.
 */
static errcode_t find_place(struct compact *c, struct dir *dir,
			    enum e4l_skip *why)
{
	uint64_t written = c->result->planned_blocks + dir->new_blocks;

	*why = dir->why;
	if (!*why && dir->new_blocks > MAX_BLOCKS)
		*why = E4L_SKIP_DIR_LARGE;
	if (!*why && written > c->run->limits.copy_blocks)
		*why = E4L_SKIP_COPY_LIMIT;
	return *why ? 0 : e4l_dir_place(&c->seek, &dir->map, dir->new_blocks,
					&dir->place, why);
}

/*
 * Plans a rebuild of @dir.  If no rebuild is possible, skips the directory and
 * reports the reason.  @indexed is true if the directory already has an index.
 */
static errcode_t add_dir(struct compact *c, struct dir *dir, bool indexed,
			 const struct e4l_dir_shape *s)
{
	uint64_t had = dir->map.blocks;
	uint64_t saved = had > s->blocks ? had - s->blocks : 0;
	enum e4l_skip why;
	errcode_t err;

	dir->new_blocks = s->blocks;
	dir->indexed = s->indexed;
	err = find_place(c, dir, &why);
	if (err)
		return err;
	if (why) {
		skip(c, dir, why, saved);
		dir->new_blocks = 0;
		return 0;
	}
	c->result->dirs_planned++;
	c->result->planned_blocks += dir->new_blocks;
	c->result->planned_given_blocks += dir->place.given;
	c->result->indexes_planned += s->indexed && !indexed;
	return 0;
}

static errcode_t plan_dir(struct compact *c, struct dir *dir)
{
	struct e4l_dir_shape s = { 0 };
	struct content x = { 0 };
	errcode_t err;

	if (c->run->limits.mem_bytes &&
	    dir->map.blocks > c->run->limits.mem_bytes / MEM_FACTOR /
			      c->e->fs->blocksize) {
		skip(c, dir, E4L_SKIP_MEMORY, 0);
		return 0;
	}
	if (!e4l_dir_map_is_whole(&c->maps, &dir->map)) {
		skip(c, dir, E4L_SKIP_DIR_HOLES, 0);
		return 0;
	}
	err = read_dir(c, dir, &x);
	if (!err)
		err = find_better(dir, &x, &s);
	if (err == E4L_ET_DIR_TOO_LARGE) {
		skip(c, dir, E4L_SKIP_DIR_ENTRIES, 0);
		err = 0;
	} else if (!err && s.blocks) {
		err = add_dir(c, dir, x.use.indexed, &s);
	}
	free(s.start);
	free_content(&x);
	return err;
}

static errcode_t add_free(const struct e4l_block_run *run, void *priv)
{
	struct compact *c = priv;

	return e4l_space_add_run(c->seek.disk.space, run,
				 c->geo.cluster_blocks);
}

static errcode_t plan(struct compact *c)
{
	struct e4l_space *space = e4l_space_new();
	uint64_t at;
	errcode_t err = space ? 0 : ENOMEM;
	size_t i;

	c->seek = (struct e4l_dir_seek) {
		.fs = c->e->fs, .maps = &c->maps,
		.disk = { .geo = &c->geo, .space = space },
	};
	if (!err)
		err = e4l_free_space(c->e, add_free, e4l_refuse_damage, c);
	if (!err)
		c->seek.longest = e4l_space_largest(space, &at);
	c->seek.disk.least_longest = c->seek.longest -
				     c->seek.longest / LOSS_PART;
	for (i = 0; i < c->n_dirs && !err; i++) {
		if (e4l_run_stop(c->run, false))
			err = E4L_ET_INTERRUPTED;
		else
			err = plan_dir(c, &c->dirs[i]);
	}
	return err;
}

/* ----------------------------------------------------------------- 3. apply */

/* Builds the directory's new blocks in *@blocks, which the caller must free. */
static errcode_t build(struct compact *c, const struct dir *dir,
		       char **blocks)
{
	size_t bs = c->e->fs->blocksize;
	struct e4l_dir_shape s = { 0 };
	struct content x = { 0 };
	uint32_t i;
	errcode_t err = read_dir(c, dir, &x);

	*blocks = NULL;
	if (!err)
		err = find_shape(dir, &x, &s);
	if (!err && (s.blocks != dir->new_blocks || s.indexed != dir->indexed))
		err = E4L_ET_CHANGED;
	if (!err)
		*blocks = calloc(s.blocks, bs);
	if (!err && !*blocks)
		err = ENOMEM;
	for (i = 0; !err && i < s.blocks; i++)
		e4l_dir_put_block(&x.b, &s, i, *blocks + i * bs);
	free(s.start);
	free_content(&x);
	return err;
}

static errcode_t apply_dir(struct compact *c, struct e4l_apply *a,
			   const struct dir *dir)
{
	struct e4l_new_dir new = {
		.n = dir->new_blocks, .indexed = dir->indexed,
		.own = dir->place.own,
	};
	struct e4l_step step;
	errcode_t err = e4l_dir_step(&c->seek, &dir->map, dir->new_blocks,
				     &dir->place, &step);

	if (!err)
		err = e4l_apply_make_room(a, &step, new.own ? new.n : 0);
	if (!err)
		err = build(c, dir, &new.blocks);
	if (!err)
		err = e4l_apply_dir(a, &step, &new);
	e4l_dir_step_free(&step);
	return err;
}

/*
 * Rebuilds the planned directories.  If e4l_run_stop() returns true, sets
 * result->stopped, and commits the directories rebuilt so far.
 */
static errcode_t apply_dirs(struct compact *c, struct e4l_apply *a)
{
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < c->n_dirs && !err; i++) {
		if (!c->dirs[i].new_blocks)
			continue;
		if (!c->e->over && e4l_run_stop(c->run, false)) {
			c->result->stopped = true;
			break;
		}
		err = apply_dir(c, a, &c->dirs[i]);
		if (!err && !c->e->over)
			e4l_run_wrote(c->run, c->dirs[i].new_blocks);
	}
	return err ? err : e4l_apply_commit(a);
}

/*
 * Adds the numbers of extents, fragments and tree blocks of a directory, before
 * and after the rebuild, to the totals.
 */
static void count_maps(const struct compact *c, const struct dir *dir)
{
	struct e4l_map_size *old = &c->result->done_old_maps;
	struct e4l_map_size *new = &c->result->done_maps;
	uint64_t fragments = e4l_count_fragments(c->maps.extents +
						 dir->map.extent,
						 dir->map.n_extents, NULL);

	old->extents += dir->map.n_extents;
	old->fragments += fragments;
	old->fragmented += fragments > 1;
	old->tree_blocks += dir->map.n_tree;
	new->extents += (dir->new_blocks + E4L_WRITTEN_MAX_BLOCKS - 1) /
			E4L_WRITTEN_MAX_BLOCKS;
	new->fragments++;
}

/* Counts the rebuilds whose transactions are committed. */
static void count_done(struct compact *c, const struct e4l_apply_stats *stats)
{
	size_t i;

	c->result->transactions = stats->transactions;
	for (i = 0; c->result->dirs_done < stats->steps; i++) {
		if (!c->dirs[i].new_blocks)
			continue;
		c->result->dirs_done++;
		c->result->done_blocks += c->dirs[i].new_blocks;
		c->result->done_old_blocks += c->dirs[i].map.blocks;
		count_maps(c, &c->dirs[i]);
	}
}

static errcode_t carry_out(struct compact *c)
{
	struct e4l_apply_options opt = { .geo = &c->geo };
	struct e4l_apply_stats stats;
	struct e4l_apply *a = NULL;
	errcode_t err, err2;

	err = e4l_quota_new(c->e, &opt.quota);
	if (!err)
		err = e4l_journal_open(c->e, e4l_run_journal(c->run, c->e), &opt.journal);
	if (!err && !c->e->over && e4l_run_has(c->run, E4L_REPACK_DISCARD))
		e4l_journal_discard(opt.journal, &c->result->discarded);
	if (!err)
		err = e4l_apply_open(c->e, &opt, &a);
	if (!err) {
		err = apply_dirs(c, a);
		e4l_apply_stats(a, &stats);
		count_done(c, &stats);
	}
	e4l_apply_close(a);
	err2 = e4l_journal_close(opt.journal);
	e4l_quota_free(opt.quota);
	return err ? err : err2;
}

errcode_t e4l_compact_dirs(struct e4l *e, struct e4l_repack_run *run, bool dry,
			   bool quiet, struct e4l_compact_result *result)
{
	struct compact c = {
		.e = e, .run = run, .quiet = quiet, .result = result,
		.geo = e4l_geometry_of(e, e4l_run_journal(run, e)),
	};
	errcode_t err;

	*result = (struct e4l_compact_result) { 0 };
	e4l_fail(e, 0, NULL, 0, 0);
	err = scan(&c);
	if (!err)
		err = plan(&c);
	if (!err && result->dirs_planned && !dry)
		err = carry_out(&c);
	e4l_space_free(c.seek.disk.space);
	free(c.dirs);
	e4l_dir_maps_free(&c.maps);
	if (err && !e->detail.doing)
		e4l_fail(e, err, "compacting directories", 0, 0);
	return err;
}
