/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads the sources of an image. Each source is a layer of the tree. */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "e4layout/base/stat.h"
#include "e4layout/populate/layer.h"
#include "e4layout/populate/tree_edit.h"
#include "mke4fs_oci.h"
#include "support/say.h"

bool complain(const struct load *l, const char *what)
{
	say("%s: %s: %s", l->name, l->path ? l->path : "archive", what);
	return false;
}

bool complain_tree(const struct load *l, errcode_t err)
{
	return complain(l, err == E4L_ET_NOT_DIR ?
			"the parent of this path is not a directory" :
			error_message(err));
}

bool say_source(const char *name, struct e4l_tree *t, errcode_t err)
{
	const char *where = e4l_tree_where(t);

	say_error(name, *where ? where : "cannot read", err);
	return false;
}

bool begin_layer(const struct load *l, bool spooled)
{
	const struct e4l_entry dir = {
		.mode = S_IFDIR | 0755, .mtime.tv_sec = l->c->now,
		.atime.tv_sec = l->c->now, .ctime.tv_sec = l->c->now,
	};
	const struct e4l_layer layer = {
		.name = l->name, .below = l->below, .missing = &dir,
	};
	errcode_t err = e4l_layer_begin(l->t, &layer);

	if (err) {
		say_error(l->name, l->below ? l->below : "starting a layer",
			  err);
		return false;
	}
	if (spooled)
		e4l_tree_set_data_fd(l->t, l->spool->fd);
	return true;
}

const char *source_name(const struct config *c, const struct e4l_tree *t)
{
	const char *name = e4l_tree_where_source(t);

	if (name || c->from)
		return name ? name : c->from;
	return c->sources.n ? c->sources.v[0] :
	       c->manifests.n ? c->manifests.v[0] : NULL;
}

/* ------------------------------------------------------------------ sources */

static bool load_archive(struct load *l, const char *path)
{
	const struct tar_input in = { .path = path };

	return load_tar(l, &in);
}

static bool load_layer(struct load *l, const char *path)
{
	l->is_layer = true;
	return load_archive(l, path);
}

/*
 * Loads the directory or archive @path; "-" is an archive from standard input.
 * Returns false after printing an error.
 */
static bool load_files(struct load *l, const char *path)
{
	struct stat st;

	if (!strcmp(path, "-"))
		return load_archive(l, path);
	if (e4l_stat(path, &st)) {
		say_error(path, "cannot read", errno);
		return false;
	}
	return S_ISDIR(st.st_mode) ? load_dir(l, path) : load_archive(l, path);
}

/* The prefixes of -d, and the functions that load the sources. */
static const struct kind {
	const char *prefix;
	bool (*load)(struct load *l, const char *path);
} kinds[] = {
	{ "layer:", load_layer },
	{ "oci:", load_oci },
	{ "oci-archive:", load_oci_archive },
	{ "docker-archive:", load_docker_archive },
	/* must be last, because it matches all names */
	{ "", load_files },
};

/*
 * If @name does not exist, removes ":/PATH" from its end and returns "/PATH".
 * Otherwise, returns NULL.
 */
static char *cut_below(char *name)
{
	char *at = NULL, *next = name;
	struct stat st;

	while ((next = strstr(next, ":/"))) {
		at = next;
		next += 2;
	}
	if (!at || at == name || !e4l_stat(name, &st))
		return NULL;
	*at = '\0';
	return at + 1;
}

static bool load_one(struct load *l, const char *name)
{
	char *copy = strdup(name), *path = copy;
	const struct kind *kind = kinds;
	bool done;

	if (!copy) {
		say("out of memory");
		return false;
	}
	while (strncmp(path, kind->prefix, strlen(kind->prefix)))
		kind++;
	path += strlen(kind->prefix);
	l->name = name;
	l->path = NULL;
	l->is_layer = false;
	l->below = cut_below(path);
	/*
	 * In messages, the source is named without ":/PATH", which cut_below()
	 * has removed from @path.
	 */
	if (kind->load == load_files)
		l->name = path;
	done = kind->load(l, path);
	free(copy);
	return done;
}

static bool end_layers(struct e4l_tree *t)
{
	errcode_t err = e4l_layer_end(t);

	if (err)
		say("%s", error_message(err));
	return !err;
}

bool load_sources(struct config *c, struct e4l_tree *t, struct spool *spool)
{
	uint64_t taken = 0;
	struct load l = {
		.c = c, .t = t, .spool = spool, .taken = &taken,
		.config_text = &c->config_text, .config_len = &c->config_len,
	};
	bool done = true;
	size_t i;

	for (i = 0; i < c->sources.n && done; i++)
		done = load_one(&l, c->sources.v[i]);
	for (i = 0; i < c->manifests.n && done; i++)
		done = load_manifest(&l, c->manifests.v[i]);
	if (done && c->oci_config && !c->config_text) {
		say("--oci-config requires a container image as SOURCE");
		done = false;
	}
	return done && end_layers(t);
}
