/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whiteouts: members of a layer that remove files of earlier layers. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/populate/layer.h"
#include "mke4fs_source.h"

/* Names of entries that remove entries of earlier layers. */
#define WHITEOUT	".wh."
#define WHITEOUT_META	".wh..wh."
#define WHITEOUT_OPAQUE	".wh..wh..opq"

/*
 * Returns the start of the last component of @path.  The result includes
 * slashes at the end of @path.
 */
static const char *last_component(const char *path)
{
	const char *end = path + strlen(path);

	while (end > path && end[-1] == '/')
		end--;
	while (end > path && end[-1] != '/')
		end--;
	return end;
}

/*
 * Returns whether the path is for internal use of AUFS: one of its components
 * begins with WHITEOUT_META, and is not WHITEOUT_OPAQUE at the end of the path.
 */
static bool is_aufs(const struct load *l)
{
	const char *at = l->path;
	bool found = false;

	for (at += strspn(at, "/"); *at; at += strspn(at, "/")) {
		found |= strcmp(at, WHITEOUT_OPAQUE) &&
			 !strncmp(at, WHITEOUT_META, strlen(WHITEOUT_META));
		at += strcspn(at, "/");
	}
	return found;
}

bool whiteout_is(const struct load *l)
{
	return l->is_layer && (is_aufs(l) ||
	       !strncmp(last_component(l->path), WHITEOUT, strlen(WHITEOUT)));
}

bool whiteout_take(const struct load *l)
{
	const char *name = last_component(l->path);
	size_t len = name - l->path;
	bool opaque = !strcmp(name, WHITEOUT_OPAQUE);
	char *path = NULL;
	errcode_t err = 0;

	if (is_aufs(l))
		return true;
	name += strlen(WHITEOUT);
	if (!opaque && (!*name || *name == '/' ||
			(*name == '.' && (!name[1] || name[1] == '/'))))
		return complain(l, "the whiteout has no file name");
	if (asprintf(&path, "%.*s%s", (int)len, l->path,
		     opaque ? "" : name) < 0)
		return complain(l, "out of memory");
	err = opaque ? e4l_layer_hide_below(l->t, path) :
		       e4l_layer_hide(l->t, path);
	free(path);
	if (err == E4L_ET_HIDES_NOTHING && opaque)
		/* the directory is new, so that it hides nothing */
		return true;
	if (err == E4L_ET_HIDES_NOTHING)
		return complain_tree(l, err) || true;
	return !err || complain_tree(l, err);
}
