/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints the JSON object of --json, and the lines of --files.
 * doc/schema describes the two formats.
 */
#include "config.h"
#include <string.h>
#include <sys/stat.h>
#include "support/json_layout.h"
#include "e4frag.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

#define DIRS(key) { #key, offsetof(struct e4l_model, directories.key) }
static const struct json_member directories_members[] = {
	DIRS(count), DIRS(inodes), DIRS(itable_blocks),
	DIRS(itable_blocks_ideal), DIRS(unused_inodes_read_by_fsck),
};

#define PEERS(key, member) { key, offsetof(struct e4l_model, peers.member) }
static const struct json_member filefrag_members[] = {
	PEERS("extents", filefrag_extents),
	PEERS("fragmented_files", filefrag_fragmented),
};
static const struct json_member e4defrag_members[] = {
	PEERS("extents", e4defrag_extents),
};
static const struct json_member e2fsck_members[] = {
	PEERS("non_contiguous_files", e2fsck_files),
	PEERS("non_contiguous_directories", e2fsck_directories),
};

#define GROUP(key) { #key, offsetof(struct e4l_group_row, key) }
static const struct json_member group_members[] = {
	GROUP(blocks),
	{ "free_blocks", offsetof(struct e4l_group_row, free_space.blocks) },
	{ "free_extents", offsetof(struct e4l_group_row, free_space.runs) },
	{ "largest_free_blocks",
	  offsetof(struct e4l_group_row, free_space.largest_blocks) },
	GROUP(files), GROUP(directories), GROUP(fragmented), GROUP(extents),
	GROUP(fragments), GROUP(ideal_extents),
};

/* --------------------------------------------------------------------- file */

static const char *type_of(unsigned int mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "regular";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symlink";
	default:
		return "special";
	}
}

static void add_file(struct json_line *line, ext2_ino_t ino, const char *path,
		     unsigned int mode, enum e4l_map map, uint64_t size_bytes,
		     const struct e4l_file_score *score)
{
	json_line_number(line, "inode", ino);
	json_line_name(line, "path", path);
	json_line_word(line, "type", type_of(mode));
	json_line_word(line, "map", json_map_name(map));
	json_line_number(line, "size_bytes", size_bytes);
	json_line_score(line, score);
}

bool e4frag_print_file(struct json_line *line, const struct e4l_file *file)
{
	add_file(line, file->ino, file->path, file->inode->i_mode, file->map,
		 EXT2_I_SIZE(file->inode), &file->score);
	json_line_number(line, "depth", file->depth);
	json_line_boolean(line, "damaged", file->damaged);
	return json_line_end(line);
}

/* ------------------------------------------------------------------ arrays */

static json_t *worst_array(const struct e4frag *frag)
{
	const struct e4l_worst_file *w = frag->model.worst;
	struct json_line line = { 0 };
	json_t *array = json_array();
	int failed = 0;
	size_t i;

	for (i = 0; i < frag->n_worst; i++, w++) {
		add_file(&line, w->ino, w->path, w->mode, w->map,
			 w->size_bytes, &w->score);
		failed |= json_array_append_new(array, json_line_value(&line));
	}
	json_line_free(&line);
	return json_checked(array, failed);
}

static json_t *damaged_array(const struct e4l_model *m)
{
	const struct e4l_damage *d = m->damaged;
	json_t *array = json_array();
	int failed = 0;
	size_t i;

	for (i = 0; i < m->n_damaged; i++, d++)
		failed |= json_array_append_new(array,
				json_pack("{s:o, s:o, s:s}",
					  "inode", json_number_or_null(d->ino,
								       d->ino),
					  "block", json_number_or_null(d->blk,
								       d->blk),
					  "why", error_message(d->why)));
	return json_checked(array, failed);
}

static json_t *group_object(const struct e4l_group_row *row, dgrp_t group)
{
	json_t *object = json_members(row, group_members,
				      COUNT(group_members));
	int failed = json_object_set_new(object, "group",
					 json_integer(group)) |
		     json_object_set_new(object, "inodes_used",
					 json_integer(row->inodes_used)) |
		     json_object_set_new(object, "unused_inodes_read_by_fsck",
				json_integer(row->unused_inodes_read_by_fsck));

	return json_checked(object, failed);
}

static json_t *groups_array(const struct e4l_model *m)
{
	json_t *array = json_array();
	int failed = 0;
	dgrp_t i;

	for (i = 0; i < m->n_groups; i++)
		failed |= json_array_append_new(array,
						group_object(&m->groups[i], i));
	return json_checked(array, failed);
}

/*
 * Writes the buckets up to the last bucket that is not empty.  @min and @max
 * are the keys of a bucket's limits, and @counted is the key of its count.
 */
static json_t *histogram_array(const struct look_histogram *h, const char *min,
			       const char *max, const char *counted)
{
	json_t *array = json_array();
	int failed = 0, i, n;

	for (n = LOOK_BUCKETS; n && !h->count[n - 1]; n--)
		;
	for (i = 0; i < n; i++)
		failed |= json_array_append_new(array,
				json_pack("{s:I, s:I, s:I}",
					  min, (json_int_t)look_bucket(i),
					  max,
					  (json_int_t)look_bucket(i + 1) - 1,
					  counted, (json_int_t)h->count[i]));
	return json_checked(array, failed);
}

static json_t *state_array(const struct block_map *map, int state)
{
	json_t *array = json_array();
	int failed = 0;
	size_t i;

	for (i = 0; i < map->n_cells; i++)
		failed |= json_array_append_new(array,
				json_integer(map->cells[i].blocks[state]));
	return json_checked(array, failed);
}

static json_t *map_object(const struct e4frag *frag)
{
	const struct ext2_super_block *sb = frag->target.fs->super;
	const struct block_map *map = frag->look.map;
	json_t *states = json_object();
	int failed = 0, i;

	for (i = 0; i < BLOCK_STATES; i++)
		failed |= json_object_set_new(states, block_state_names[i],
					      state_array(map, i));
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
			 "first_block", (json_int_t)sb->s_first_data_block,
			 "group_blocks", (json_int_t)sb->s_blocks_per_group,
			 "groups", (json_int_t)map->groups,
			 "groups_per_cell", (json_int_t)map->groups_per_cell,
			 "cells_per_group", (json_int_t)map->cells_per_group,
			 "cells", (json_int_t)map->n_cells,
			 "blocks", json_checked(states, failed));
}

#define SUBTREE(key) { #key, offsetof(struct subtree, key) }
static const struct json_member subtree_members[] = {
	SUBTREE(files), SUBTREE(blocks), SUBTREE(extents), SUBTREE(fragments),
	SUBTREE(ideal_extents), SUBTREE(splits),
};

static json_t *subtrees_array(const struct dirs *d)
{
	json_t *array = json_array(), *object;
	const char *path;
	int failed = 0;
	size_t i;

	for (i = 0; i < dirs_count(d); i++) {
		path = dirs_path(d, i);
		object = json_members(dirs_at(d, i), subtree_members,
				      COUNT(subtree_members));
		failed |= json_object_set_new(object, "inode",
					json_integer(dirs_at(d, i)->ino)) |
			  json_object_set_new(object, "path", path ?
					json_name(path) : json_null()) |
			  json_array_append_new(array, object);
	}
	return json_checked(array, failed);
}

static json_t *paths_array(const struct e4frag *frag)
{
	json_t *array = json_array();
	int failed = 0;
	size_t i;

	for (i = 0; i < frag->n_paths; i++)
		failed |= json_array_append_new(array,
						json_name(frag->paths[i]));
	return json_checked(array, failed);
}

/* ----------------------------------------------------------------- objects */

/*
 * Returns the figures that another tool reports for the same filesystem.  @word
 * names the things that the other tool counts, in the terms of e4frag.
 */
static json_t *peer_object(const struct e4l_model *m, const char *word,
			   const struct json_member *members, size_t n)
{
	json_t *object = json_members(m, members, n);

	return json_checked(object, json_object_set_new(object, "counts",
							json_string(word)));
}

static json_t *peers_object(const struct e4frag *frag)
{
	const struct e4l_model *m = &frag->model;
	json_t *e2fsck = peer_object(m, "files that are not contiguous",
				     e2fsck_members, COUNT(e2fsck_members));

	e2fsck = json_checked(e2fsck, json_object_set_new(e2fsck, "inodes_used",
					json_integer(e4frag_used_inodes(frag))));
	return json_pack("{s:o, s:o, s:o}",
			 "filefrag", peer_object(m, "fragments",
						 filefrag_members,
						 COUNT(filefrag_members)),
			 "e4defrag", peer_object(m, "extents",
						 e4defrag_members,
						 COUNT(e4defrag_members)),
			 "e2fsck", e2fsck);
}

/*
 * Returns upper bounds of the savings that grouping inodes by directory could
 * achieve.
 */
static json_t *spread_object(const struct e4frag *frag)
{
	return json_pack("{s:I, s:I, s:I}",
			 "count", (json_int_t)frag->spread.count,
			 "itable_blocks",
			 (json_int_t)frag->spread.itable_blocks,
			 "spare_itable_blocks",
			 (json_int_t)frag->spread.spare_blocks);
}

/* Returns upper bounds of the savings that a repack could achieve. */
static json_t *repack_object(const struct e4frag *frag)
{
	const struct e4l_model *m = &frag->model;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}",
			 "files", (json_int_t)frag->improvable.files,
			 "extents", (json_int_t)
			 (m->files.excess_extents -
			  m->indirect.excess_extents + m->files.splits),
			 "fragments", (json_int_t)frag->improvable.fragments,
			 "tree_blocks",
			 (json_int_t)frag->improvable.tree_blocks,
			 "free_extents", (json_int_t)
			 (m->free_space.runs ? m->free_space.runs - 1 : 0),
			 "directories",
			 json_pack("{s:I, s:I, s:I, s:I, s:o}",
				   "linear", (json_int_t)frag->linear,
				   "count", (json_int_t)frag->sparse.count,
				   "blocks", (json_int_t)frag->sparse.blocks,
				   "spare_blocks",
				   (json_int_t)frag->sparse.spare_blocks,
				   "spread", spread_object(frag)));
}

/* Adds the members that depend on options.  Returns 0, or -1 on failure. */
static int add_optional(json_t *report, const struct e4frag *frag)
{
	int failed = 0;

	if (frag->n_paths)
		failed |= json_object_set_new(report, "paths",
					      paths_array(frag));
	if (frag->look.map)
		failed |= json_object_set_new(report, "map", map_object(frag));
	if (frag->dirs)
		failed |= json_object_set_new(report, "subtrees",
					      subtrees_array(frag->dirs));
	if (frag->groups)
		failed |= json_object_set_new(report, "groups",
					      groups_array(&frag->model));
	return failed;
}

json_t *e4frag_report(const struct e4frag *frag)
{
	const struct e4l_model *m = &frag->model;
	json_t *report;

	report = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
			   "s:I, s:o}",
			   "schema", "e4frag/1",
			   "filesystem", json_filesystem(frag->target.fs),
			   "files", json_files(m),
			   "directories",
			   json_members(m, directories_members,
					COUNT(directories_members)),
			   "free_space", json_free_space(&m->free_space),
			   "extents_per_file",
			   histogram_array(&frag->look.extents, "min_extents",
					   "max_extents", "files"),
			   "locality",
			   histogram_array(&frag->look.locality, "min_blocks",
					   "max_blocks", "directories"),
			   "worst", worst_array(frag),
			   "repack", repack_object(frag),
			   "damaged", damaged_array(m),
			   "damaged_count", (json_int_t)m->damaged_count,
			   "peers", peers_object(frag));
	return json_checked(report, add_optional(report, frag));
}

bool e4frag_print_json(const struct e4frag *frag)
{
	return json_write(e4frag_report(frag));
}
