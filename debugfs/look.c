/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that only read the filesystem. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/internal.h"
#include "e4layout/format/tree_size.h"
#include "e4layout/read/dirs.h"
#include "e4layout/read/free_space.h"
#include "support/json_layout.h"
#include "support/say.h"
#include "support/units.h"
#include "e4debug.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Number of worst files to show. */
#define WORST 10

/* ------------------------------------------------------------ command stats */

static const char *journal_of(struct ext2_super_block *sb)
{
	if (!ext2fs_has_feature_journal(sb))
		return "none";
	if (ext2fs_has_feature_journal_needs_recovery(sb))
		return "needs recovery";
	return e4l_has_external_journal(sb) ? "external" : "internal";
}

static const char *state_of(const struct ext2_super_block *sb)
{
	if (sb->s_state & EXT2_ERROR_FS)
		return "errors";
	return sb->s_state & EXT2_VALID_FS ? "clean" : "not clean";
}

bool do_stats(struct shell *s, int argc, const char *const *argv)
{
	ext2_filsys fs = s->target.fs;
	struct ext2_super_block *sb = fs->super;
	const char *mounted = s->target.mount_point;
	json_t *object = json_filesystem(fs);
	json_t *label = shell_text(s, (const char *)sb->s_volume_name,
				   sizeof(sb->s_volume_name));
	json_t *more = json_pack("{s:o, s:I, s:i, s:s, s:s, s:o}",
				 "label", label,
				 "groups", (json_int_t)fs->group_desc_count,
				 "inode_size_bytes",
				 (int)EXT2_INODE_SIZE(sb),
				 "journal", journal_of(sb),
				 "state", state_of(sb),
				 "mounted_on", mounted ?
				 shell_text(s, mounted, strlen(mounted)) :
				 json_null());
	int failed = json_object_update(object, more);

	json_decref(more);
	return shell_show(s, json_checked(object, failed));
}

/* ------------------------------------------------------------- command frag */

static bool show_file(const struct shell *s, const struct file *f)
{
	json_t *object = json_pack("{s:I, s:s, s:i, s:b, s:I}",
				   "inode", (json_int_t)f->ino,
				   "map", json_map_name(f->map),
				   "depth", f->depth,
				   "damaged", f->damaged, "size_bytes",
				   (json_int_t)EXT2_I_SIZE(&f->inode));
	json_t *score = json_score(&f->score);
	int failed = json_object_update(object, score);

	json_decref(score);
	return shell_show(s, json_checked(object, failed));
}

static json_t *worst_array(const struct shell *s, const struct e4l_model *m)
{
	const struct e4l_worst_file *w = m->worst;
	json_t *array = json_array();
	int failed = 0;
	size_t i;

	for (i = 0; i < m->n_worst; i++, w++)
		failed |= json_array_append_new(array,
			json_pack("{s:I, s:I, s:I, s:I, s:o}",
				  "extents", (json_int_t)w->score.extents,
				  "ideal_extents",
				  (json_int_t)w->score.ideal_extents,
				  "fragments", (json_int_t)w->score.fragments,
				  "inode", (json_int_t)w->ino, "path",
				  w->path ? shell_text(s, w->path,
						       strlen(w->path)) :
					    json_null()));
	return json_checked(array, failed);
}

static bool show_model(const struct shell *s, const struct e4l_model *m)
{
	json_t *object = json_files(m);
	int failed = json_object_set_new(object, "damaged_count",
					 json_integer(m->damaged_count)) |
		     json_object_set_new(object, "worst", worst_array(s, m));

	return shell_show(s, json_checked(object, failed));
}

static void on_progress(dgrp_t group, dgrp_t groups, void *priv)
{
	shell_progress(priv, group, groups);
}

/*
 * Shows the layout of all files.  If @only is not NULL, shows the layout of the
 * files in @only.  Returns false after printing an error.
 */
static bool frag_many(struct shell *s, ext2fs_inode_bitmap only)
{
	struct e4l_model_options opt = {
		.only = only, .top = WORST,
		.progress = on_progress, .priv = s,
	};
	struct e4l_model model;
	errcode_t err;
	bool ok;

	progress_start(&s->progress, &s->args, "scanning");
	err = e4l_model_build(s->e, &opt, &model);
	progress_end(&s->progress);
	ok = err ? shell_fails_e4l(s, "cannot read the files", err) :
		   show_model(s, &model);
	e4l_model_free(&model);
	return ok;
}

bool do_frag(struct shell *s, int argc, const char *const *argv)
{
	ext2fs_inode_bitmap only;
	struct file f;
	bool ok;

	if (argc == 1)
		return frag_many(s, NULL);
	ok = file_open(s, argv[1], &f);
	if (ok && LINUX_S_ISDIR(f.inode.i_mode) && argv[1][0] != '<') {
		ok = file_subtree(s, argv[1], &only);
		if (ok) {
			ok = frag_many(s, only);
			ext2fs_free_inode_bitmap(only);
		}
	} else if (ok) {
		ok = show_file(s, &f);
	}
	file_free(&f);
	return ok;
}

/* ------------------------------------------------------------------ extents */

/*
 * Returns a word that describes how @x continues the previous extent @last, or
 * why @x does not continue @last.  @last is NULL for the first extent.
 */
static const char *mark_of(const struct e4l_extent *last,
			   const struct e4l_extent *x)
{
	uint32_t max = x->unwritten ? E4L_UNWRITTEN_MAX_BLOCKS :
				      E4L_WRITTEN_MAX_BLOCKS;

	if (!last)
		return "first";
	if (last->pblk + last->len != x->pblk)
		return "moved";
	if (last->lblk + last->len != x->lblk)
		return "behind";
	if (last->unwritten != x->unwritten)
		return "split";
	return last->len + x->len <= max ? "mergeable" : "full";
}

static int add_hole(json_t *rows, uint64_t from, uint64_t to)
{
	if (from >= to)
		return 0;
	return json_array_append_new(rows,
			json_pack("{s:I, s:n, s:I, s:s, s:s}",
				  "logical", (json_int_t)from, "physical",
				  "blocks", (json_int_t)(to - from),
				  "state", "hole", "mark", ""));
}

static json_t *extents_array(const struct shell *s, const struct file *f)
{
	json_t *rows = json_array();
	uint64_t at = 0;
	int failed = 0;
	size_t i;

	for (i = 0; i < f->n_extents; i++) {
		const struct e4l_extent *x = &f->extents[i];

		failed |= add_hole(rows, at, x->lblk);
		failed |= json_array_append_new(rows,
			json_pack("{s:I, s:I, s:I, s:s, s:s}",
				  "logical", (json_int_t)x->lblk,
				  "physical", (json_int_t)x->pblk,
				  "blocks", (json_int_t)x->len, "state",
				  x->unwritten ? "unwritten" : "written",
				  "mark", mark_of(i ? x - 1 : NULL, x)));
		at = (uint64_t)x->lblk + x->len;
	}
	failed |= add_hole(rows, at, file_blocks(s, f));
	return json_checked(rows, failed);
}

bool do_extents(struct shell *s, int argc, const char *const *argv)
{
	struct file f;
	bool ok;

	ok = file_open(s, argv[1], &f) &&
	     shell_show(s, json_pack("{s:I, s:I, s:o}",
				     "inode", (json_int_t)f.ino,
				     "fragments",
				     (json_int_t)f.score.fragments,
				     "extents", extents_array(s, &f)));
	file_free(&f);
	return ok;
}

/* --------------------------------------------------------------------- tree */

/*
 * Returns the number of entries in tree node @i: child nodes, or extents in a
 * leaf.  *@extent is the index of the first extent that has not been counted
 * yet.
 */
static uint64_t count_entries(const struct file *f, size_t i, size_t *extent)
{
	const struct e4l_tree_block *b = &f->tree[i];
	uint64_t end = FILE_MAX_BLOCKS, n = 0;
	size_t j;

	for (j = i + 1; j < f->n_tree && f->tree[j].level < b->level; j++)
		n += f->tree[j].level + 1 == b->level;
	if (b->level)
		return n;
	if (j < f->n_tree)
		end = f->tree[j].lblk;
	for (; *extent < f->n_extents && f->extents[*extent].lblk < end;
	     ++*extent)
		n++;
	return n;
}

static uint64_t count_root(const struct file *f)
{
	uint64_t n = 0;
	size_t i;

	if (!f->depth)
		return f->n_extents;
	for (i = 0; i < f->n_tree; i++)
		n += f->tree[i].level + 1 == f->depth;
	return n;
}

static json_t *nodes_array(const struct shell *s, const struct file *f)
{
	uint32_t room = e4l_entries_per_block(s->target.fs->blocksize);
	json_t *rows = json_array();
	size_t i, extent = 0;
	int failed = 0;

	for (i = 0; i < f->n_tree; i++)
		failed |= json_array_append_new(rows,
			json_pack("{s:I, s:I, s:I, s:I, s:I}",
				  "level", (json_int_t)f->tree[i].level,
				  "physical", (json_int_t)f->tree[i].pblk,
				  "logical", (json_int_t)f->tree[i].lblk,
				  "entries",
				  (json_int_t)count_entries(f, i, &extent),
				  "room", (json_int_t)room));
	return json_checked(rows, failed);
}

/* Prints nodes indented below their parents. */
static void draw_tree(const struct file *f, json_t *object)
{
	json_t *node, *rows = json_object_get(object, "nodes");
	size_t i;

	printf("inode %u: %llu of 4 extent entries used\n", f->ino,
	       (unsigned long long)count_root(f));
	json_array_foreach(rows, i, node) {
		json_int_t level, pblk, lblk, entries, room;

		json_unpack(node, "{s:I, s:I, s:I, s:I, s:I}", "level", &level,
			    "physical", &pblk, "logical", &lblk, "entries",
			    &entries, "room", &room);
		printf("%*s+- block %lld: %lld of %lld %s used, first logical block "
		       "%lld\n",
		       3 * (int)(f->depth - 1 - level), "", pblk, entries,
		       room, level ? "entries" : "extents", lblk);
	}
}

static bool show_tree(const struct shell *s, const struct file *f)
{
	json_t *object = json_pack("{s:I, s:i, s:I, s:o}",
				   "inode", (json_int_t)f->ino,
				   "depth", f->depth, "root_entries",
				   (json_int_t)count_root(f),
				   "nodes", nodes_array(s, f));

	if (s->args.json || !object)
		return shell_show(s, object);
	draw_tree(f, object);
	json_decref(object);
	return true;
}

bool do_tree(struct shell *s, int argc, const char *const *argv)
{
	struct file f;
	bool ok = file_open(s, argv[1], &f);

	if (ok && f.map != E4L_MAP_EXTENTS) {
		say("tree: %s: the file has no extent tree: run extents %s",
		    argv[1], argv[1]);
		ok = false;
	}
	ok = ok && show_tree(s, &f);
	file_free(&f);
	return ok;
}

/* ---------------------------------------------------------------- freespace */

static errcode_t add_run(const struct e4l_block_run *run, void *priv)
{
	e4l_free_histogram_add(priv, run->len);
	return 0;
}

static errcode_t count_damage(const struct e4l_damage *damage, void *priv)
{
	return damage->why;
}

bool do_freespace(struct shell *s, int argc, const char *const *argv)
{
	struct e4l_free_histogram h = { 0 };
	errcode_t err = e4l_free_space(s->e, add_run, count_damage, &h);

	return err ? shell_fails_e4l(s, "cannot read the bitmaps", err) :
		     shell_show(s, json_free_space(&h));
}

/* ----------------------------------------------------------------- locality */

static errcode_t keep_locality(const struct e4l_dir_locality *l, void *priv)
{
	*(struct e4l_dir_locality *)priv = *l;
	return 0;
}

static errcode_t add_dir(const struct e4l_piece *piece, void *dirs)
{
	return e4l_dirs_add_piece(dirs, piece);
}

static errcode_t read_locality(const struct shell *s, ext2_ino_t ino,
			       struct e4l_dir_locality *l)
{
	struct e4l_dirs_ops ops = {
		.locality = keep_locality, .damage = count_damage,
	};
	struct e4l_dirs *dirs;
	errcode_t err = e4l_dirs_new(s->e, &ops, l, &dirs);

	if (err)
		return err;
	err = file_scan(s, ino, add_dir, dirs);
	if (!err)
		err = e4l_dirs_finish(dirs);
	e4l_dirs_free(dirs);
	return err;
}

bool do_locality(struct shell *s, int argc, const char *const *argv)
{
	struct e4l_dir_locality l = { 0 };
	ext2_ino_t ino;
	errcode_t err;

	if (!file_find(s, argv[1], &ino))
		return false;
	err = read_locality(s, ino, &l);
	if (!err && !l.dir)
		err = E4L_ET_NOT_DIR;
	if (err)
		return shell_fails_e4l(s, argv[1], err);
	return shell_show(s, json_pack("{s:I, s:I, s:I, s:I}",
				       "inode", (json_int_t)ino,
				       "inodes", (json_int_t)l.inodes,
				       "itable_blocks",
				       (json_int_t)l.itable_blocks,
				       "itable_blocks_ideal",
				       (json_int_t)l.itable_blocks_ideal));
}

/* ---------------------------------------------------------------- cachestat */

#define STAT(key) { #key, offsetof(struct e4l_es_stats, key) }
static const struct json_member stat_members[] = {
	STAT(inodes), STAT(entries), STAT(reclaimable), STAT(active),
	STAT(bytes), STAT(max_bytes), STAT(limit_bytes), STAT(hits),
	STAT(misses), STAT(scans), STAT(visited), STAT(max_visited),
	STAT(reclaimed),
};

bool do_cachestat(struct shell *s, int argc, const char *const *argv)
{
	struct e4l_es_stats stats;

	e4l_es_get_stats(s->cache, &stats);
	return shell_show(s, json_members(&stats, stat_members,
					  COUNT(stat_members)));
}
