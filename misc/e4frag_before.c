/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the report of --compare, which is untrusted input. */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "e4layout/base/stat.h"
#include "support/say.h"
#include "e4frag_page.h"

#define MAX_BYTES (256LL << 20)
#define MAX_BUCKETS 64
#define UUID_CHARS 36

static const char *const filesystem_keys[] = {
	"block_size_bytes", "blocks", NULL
};
static const char *const files_keys[] = {
	"count", "fragmented", "extents", "fragments", "ideal_extents",
	"excess_extents", "splits", "tree_blocks", NULL
};
static const char *const directories_keys[] = {
	"count", "itable_blocks", NULL
};
static const char *const free_space_keys[] = {
	"blocks", "extents", "largest_blocks", NULL
};
static const char *const free_bucket_keys[] = {
	"min_blocks", "extents", NULL
};
static const char *const extents_bucket_keys[] = {
	"min_extents", "max_extents", "files", NULL
};
static const char *const locality_bucket_keys[] = {
	"min_blocks", "max_blocks", "directories", NULL
};
static const char *const worst_keys[] = {
	"inode", "extents", "fragments", "ideal_extents", "splits",
	"size_bytes", NULL
};
static const char *const map_keys[] = {
	"first_block", "group_blocks", "groups", "groups_per_cell",
	"cells_per_group", "cells", NULL
};

/*
 * Returns a copy of the members @keys of @from.  If a member is missing, or is
 * not an integer of at least 0, returns NULL.
 */
static json_t *numbers(const json_t *from, const char *const *keys)
{
	json_t *to = json_object(), *value;
	int failed = 0;

	for (; *keys; keys++) {
		value = json_object_get(from, *keys);
		failed |= !json_is_integer(value) ||
			  json_integer_value(value) < 0 ||
			  json_object_set(to, *keys, value);
	}
	return json_checked(to, failed);
}

/*
 * Returns a copy of up to @max elements of the array @from, with only the
 * members @keys.  If a member is missing, or is not an integer of at least 0,
 * returns NULL.
 */
static json_t *rows(const json_t *from, const char *const *keys, size_t max)
{
	json_t *to = json_array();
	int failed = !json_is_array(from);
	size_t i;

	for (i = 0; i < json_array_size(from) && i < max; i++)
		failed |= json_array_append_new(to,
				numbers(json_array_get(from, i), keys));
	return json_checked(to, failed);
}

static json_t *worst_rows(const json_t *from, bool *cut)
{
	json_t *to = rows(from, worst_keys, PAGE_FILES), *path;
	int failed = 0;
	size_t i;

	for (i = 0; i < json_array_size(to); i++) {
		path = json_object_get(json_array_get(from, i), "path");
		failed |= json_object_set_new(json_array_get(to, i), "path",
				json_is_string(path) ?
				page_path(json_string_value(path), cut) :
				json_null());
	}
	return json_checked(to, failed);
}

static json_t *filesystem_object(const json_t *from)
{
	json_t *to = numbers(from, filesystem_keys);
	json_t *uuid = json_object_get(from, "uuid");

	return json_checked(to, json_string_length(uuid) != UUID_CHARS ||
				json_object_set(to, "uuid", uuid));
}

static json_t *free_space_object(const json_t *from)
{
	json_t *to = numbers(from, free_space_keys);

	return json_checked(to, json_object_set_new(to, "histogram",
			rows(json_object_get(from, "histogram"),
			     free_bucket_keys, MAX_BUCKETS)));
}

/* ---------------------------------------------------------------------- map */

/*
 * Returns a copy of @from, an array of one number for each of the @cells cells
 * of the block map.  If @from is invalid, returns NULL.
 */
static json_t *state_array(const json_t *from, size_t cells)
{
	json_t *to = json_array(), *value;
	int failed = json_array_size(from) != cells;
	size_t i;

	for (i = 0; i < cells && !failed; i++) {
		value = json_array_get(from, i);
		failed |= !json_is_integer(value) ||
			  json_integer_value(value) < 0 ||
			  json_array_append(to, value);
	}
	return json_checked(to, failed);
}

static uint64_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* Returns whether the numbers of cells and groups of @map are consistent. */
static bool is_divided(const json_t *map)
{
	uint64_t groups = number_of(map, "groups");
	uint64_t per_cell = number_of(map, "groups_per_cell");
	uint64_t per_group = number_of(map, "cells_per_group");
	uint64_t cells = number_of(map, "cells");

	return groups && groups <= UINT32_MAX && per_cell && per_group &&
	       (per_cell == 1 || per_group == 1) && cells &&
	       cells <= BLOCK_MAP_CELLS && per_group <= BLOCK_MAP_CELLS &&
	       per_cell <= groups &&
	       (cells - 1) / per_group == (groups - 1) / per_cell &&
	       number_of(map, "group_blocks");
}

static json_t *map_object(const json_t *from)
{
	json_t *map = numbers(from, map_keys), *blocks;
	json_t *states = json_object();
	int i, failed = !map || !is_divided(map);

	blocks = json_object_get(from, "blocks");
	for (i = 0; i < BLOCK_STATES && !failed; i++)
		failed |= json_object_set_new(states, block_state_names[i],
			state_array(json_object_get(blocks,
						    block_state_names[i]),
				    number_of(map, "cells")));
	failed |= json_object_set_new(map, "blocks",
				      json_checked(states, failed));
	return json_checked(map, failed);
}

/* --------------------------------------------------------- the whole report */

static json_t *all_of(const json_t *from, bool *cut)
{
	json_t *to = json_object();
	const json_t *schema = json_object_get(from, "schema");
	int failed = !json_is_string(schema) ||
		     strcmp(json_string_value(schema), "e4frag/1");

#define PUT(key, value) \
	(failed |= json_object_set_new(to, key, value))
#define FROM(key) json_object_get(from, key)
	PUT("filesystem", filesystem_object(FROM("filesystem")));
	PUT("files", numbers(FROM("files"), files_keys));
	PUT("directories", numbers(FROM("directories"), directories_keys));
	PUT("free_space", free_space_object(FROM("free_space")));
	PUT("extents_per_file", rows(FROM("extents_per_file"),
				     extents_bucket_keys, MAX_BUCKETS));
	PUT("locality", rows(FROM("locality"), locality_bucket_keys,
			     MAX_BUCKETS));
	PUT("worst", worst_rows(FROM("worst"), cut));
	if (FROM("map"))
		PUT("map", map_object(FROM("map")));
	if (FROM("paths"))
		PUT("paths", json_array());
#undef FROM
#undef PUT
	return json_checked(to, failed ||
			    json_dumpb(to, NULL, 0, JSON_COMPACT) >
			    PAGE_BEFORE_BYTES);
}

json_t *page_before(const char *path, bool *cut)
{
	struct stat st;
	json_error_t error;
	json_t *old, *page;

	if (e4l_stat(path, &st)) {
		say_error(path, "cannot read", errno);
		return NULL;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > MAX_BYTES) {
		say("%s: %s", path, S_ISREG(st.st_mode) ?
		    "a report of more than 256 MiB is not supported" :
		    "not a regular file");
		return NULL;
	}
	old = json_load_file(path, 0, &error);
	page = all_of(old, cut);
	if (!old)
		say("%s: cannot read: %s", path, error.text);
	else if (!page)
		say("%s: not a report of e4frag --json", path);
	json_decref(old);
	return page;
}
