/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/stat.h"
#include "mke4fs_output.h"
#include "mke4fs_source.h"
#include "support/replace.h"
#include "support/say.h"
#include "support/target.h"

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * Returns the directory of @path, which the caller frees.  If there is no
 * memory, returns NULL.
 */
static char *directory(const char *path)
{
	const char *name = file_name(path);

	return name == path ? strdup(".") : strndup(path, name - path);
}

/* Returns whether two paths name the same file, which need not exist. */
static bool same_place(const char *one, const char *other)
{
	char *a, *b;
	struct stat st_a, st_b;
	bool same;

	if (same_storage(one, other))
		return true;
	if (strcmp(file_name(one), file_name(other)))
		return false;
	a = directory(one);
	b = directory(other);
	same = a && b && !e4l_stat(a, &st_a) && !e4l_stat(b, &st_b) &&
	       e4l_same_file(&st_a, &st_b, false);
	free(a);
	free(b);
	return same;
}

static bool can_replace(const struct output *o)
{
	struct stat st;
	bool exists = !e4l_lstat(o->path, &st);
	int err = replace_prevented(o->path);

	if (!*o->path)
		return usage(o->option, o->path, "a file name");
	if (!*file_name(o->path) || (exists && !S_ISREG(st.st_mode))) {
		say("%s: %s: not a regular file", o->path, o->option);
		return false;
	}
	if (err) {
		say_error(o->path, "cannot write", err);
		return false;
	}
	return !exists || !target_is_attached(o->path);
}

bool outputs_apart(const struct config *c)
{
	struct output outputs[MAX_OUTPUTS];
	unsigned int n = list_outputs(c, outputs);

	while (n--) {
		if (!same_place(outputs[n].path, c->device))
			continue;
		say("%s: %s: the %s is the image itself", outputs[n].path,
		    outputs[n].option, outputs[n].what);
		return false;
	}
	return true;
}

bool outputs_allowed(const struct config *c)
{
	struct output outputs[MAX_OUTPUTS];
	unsigned int n = list_outputs(c, outputs), i;

	if (!outputs_apart(c))
		return false;
	for (i = 0; i < n; i++)
		if (!can_replace(&outputs[i]))
			return false;
	if (n < 2 || !same_place(outputs[0].path, outputs[1].path))
		return true;
	say("%s: %s and %s require different files", outputs[0].path,
	    outputs[0].option, outputs[1].option);
	return false;
}
