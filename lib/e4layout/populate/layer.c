/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Resolves paths in the tree, and hides entries of earlier layers.  An image
 * can have as many whiteouts as files.  One pass over the tree at the end of a
 * layer therefore applies all whiteouts of the layer.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tree.h"

#define MAX_LINKS 40	/* MAXSYMLINKS in Linux */

/* -------------------------------------------------------------------- paths */

/* The state of resolving a path in a tree. */
struct way {
	struct e4l_tree *t;
	uint32_t at;		/* node of the current directory */
	/* component of the path that is being resolved; NULL: none */
	const char *name;
	size_t len;
	const char *rest;
	/*
	 * allocated path in which symbolic links are replaced by targets; NULL:
	 * no symbolic link so far
	 */
	char *expanded;
	unsigned int links;
	bool makes;		/* create missing directories */
};

static bool is_dots(const struct way *w, size_t n)
{
	return w->len == n && !memcmp(w->name, "..", n);
}

/*
 * Sets w->name to the next component of the path.  Returns false at the end of
 * the path.
 */
static bool next_component(struct way *w)
{
	w->rest += strspn(w->rest, "/");
	if (!*w->rest)
		return false;
	w->name = w->rest;
	w->len = strcspn(w->rest, "/");
	w->rest += w->len;
	return true;
}

/* Whether the rest of the path has only slashes and "." components. */
static bool is_last(const struct way *w)
{
	const char *at = w->rest;
	size_t len;

	for (at += strspn(at, "/"); *at; at += strspn(at, "/")) {
		len = strcspn(at, "/");
		if (len != 1 || *at != '.')
			return false;
		at++;
	}
	return true;
}

/*
 * Replaces the symbolic link @n, which is the current component, by the target
 * of the link.
 */
static errcode_t follow(struct way *w, const struct node *n)
{
	const char *target = w->t->names.v + n->pos;
	char *path;

	if (++w->links > MAX_LINKS)
		return E4L_ET_LINK_LOOP;
	if (asprintf(&path, "%.*s/%s", (int)n->size, target, w->rest) < 0)
		return ENOMEM;
	if (*target == '/')
		w->at = E4L_TREE_ROOT;
	free(w->expanded);
	w->rest = w->expanded = path;
	return 0;
}

/*
 * Resolves the current component: enters a directory, or continues with the
 * target of a symbolic link.  If the component does not exist, and w->makes is
 * true, makes a directory.
 */
static errcode_t step(struct way *w)
{
	struct e4l_tree *t = w->t;
	uint32_t id;
	errcode_t err;

	err = e4l_tree_find(t, w->at, w->name, w->len, &id);
	if (err)
		return err;
	if (id && S_ISLNK(t->nodes.v[id].mode))
		return follow(w, &t->nodes.v[id]);
	if (id && !S_ISDIR(t->nodes.v[id].mode))
		return e4l_tree_fail(t, E4L_ET_NOT_DIR, id, NULL, 0);
	if (!id && !w->makes)
		return E4L_ET_NO_PATH;
	if (!id)
		err = e4l_tree_make_dir(t, w->at, w->name, w->len, &id);
	if (!err)
		w->at = id;
	return err;
}

/* Enters the parent directory.  Only a link's target may contain "..". */
static errcode_t step_up(struct way *w)
{
	if (!w->expanded)
		return E4L_ET_DOT_DOT;
	if (w->at == E4L_TREE_ROOT)
		return E4L_ET_LEAVES_TREE;
	w->at = w->t->nodes.v[w->at].parent;
	return 0;
}

/*
 * Resolves @path.  If @whole is true, resolves all components.  If @whole is
 * false, resolves all components except the last, and sets w->name to the last
 * component.  If @path has no last component, such as "/", w->name is NULL.
 */
static errcode_t go(struct way *w, const char *path, bool whole)
{
	errcode_t err = 0;

	w->at = w->t->base;
	w->rest = path;
	while (!err && next_component(w)) {
		if (is_dots(w, 1))
			w->name = NULL;
		else if (is_dots(w, 2))
			err = step_up(w);
		else if (!whole && is_last(w))
			return 0;
		else
			err = step(w);
	}
	w->name = NULL;
	return err;
}

/*
 * Sets the detail of a failure to resolve @path, and frees the expanded path.
 */
static errcode_t leave(struct way *w, const char *path, errcode_t err)
{
	free(w->expanded);
	if (err == E4L_ET_DOT_DOT || err == E4L_ET_LEAVES_TREE ||
	    err == E4L_ET_LINK_LOOP)
		e4l_tree_fail(w->t, err, E4L_TREE_ROOT, path, strlen(path));
	return err;
}

errcode_t e4l_layer_find(struct e4l_tree *t, const char *path, uint32_t *id)
{
	struct way w = { .t = t };
	errcode_t err = go(&w, path, false);

	*id = w.at;
	if (!err && w.name)
		err = e4l_tree_find(t, w.at, w.name, w.len, id);
	if (err)
		*id = 0;
	return leave(&w, path, err == E4L_ET_NO_PATH ? 0 : err);
}

errcode_t e4l_layer_put(struct e4l_tree *t, const char *path,
			const struct e4l_entry *entry, uint32_t *id)
{
	struct way w = { .t = t, .makes = true };
	errcode_t err = go(&w, path, false);

	*id = 0;
	if (!err && w.name)
		err = e4l_tree_put(t, w.at, w.name, w.len, entry, id);
	else if (!err)
		err = e4l_tree_set(t, *id = w.at, entry);
	return leave(&w, path, err);
}

errcode_t e4l_layer_link(struct e4l_tree *t, const char *path,
			 const char *target, uint32_t *id)
{
	struct way w = { .t = t, .makes = true };
	errcode_t err = go(&w, path, false);
	uint32_t old = 0;

	*id = 0;
	if (!err && !w.name)
		err = E4L_ET_BAD_ARGUMENT;
	if (!err)
		err = e4l_layer_find(t, target, id);
	if (!err)
		err = e4l_tree_find(t, w.at, w.name, w.len, &old);
	if (!err && old && old != *id) {
		e4l_tree_remove(t, old);
		/* look again: removing the old entry can remove the target */
		err = e4l_layer_find(t, target, id);
	}
	if (!err && !*id)
		err = E4L_ET_NO_TARGET;
	if (!err && old != *id)
		err = e4l_tree_link(t, w.at, w.name, w.len, *id);
	return leave(&w, path, err);
}

errcode_t e4l_layer_check(struct e4l_tree *t)
{
	uint32_t i;

	for (i = E4L_TREE_ROOT + 1; t->has_removed && i < t->nodes.n; i++) {
		const struct node *n = &t->nodes.v[i];

		if (n->layer == tree_layer(t) && !(n->flags & NODE_REMOVED) &&
		    t->nodes.v[n->parent].flags & NODE_REMOVED)
			return e4l_tree_fail(t, ENOTEMPTY, i, NULL, 0);
	}
	return 0;
}

/* ---------------------------------------------------------------- whiteouts */

errcode_t e4l_layer_hide(struct e4l_tree *t, const char *path)
{
	uint32_t id;
	errcode_t err = e4l_layer_find(t, path, &id);

	if (err)
		return err;
	if (!id || id == E4L_TREE_ROOT)
		return E4L_ET_HIDES_NOTHING;
	if (vec_room(&t->hidden, 1))
		return ENOMEM;
	t->hidden.v[t->hidden.n++] = id;
	return 0;
}

errcode_t e4l_layer_hide_below(struct e4l_tree *t, const char *path)
{
	struct way w = { .t = t };
	errcode_t err = leave(&w, path, go(&w, path, true));

	if (err)
		return err == E4L_ET_NO_PATH ? E4L_ET_HIDES_NOTHING : err;
	if (vec_room(&t->emptied, 1))
		return ENOMEM;
	t->emptied.v[t->emptied.n++] = w.at;
	return 0;
}

/* Marks of an entry, which e4l_layer_end() sets and uses. */
/* a whiteout hides the entry, or a directory above the entry */
#define HIDDEN	0x1
#define EMPTIED	0x2	/* the entry is an opaque directory */
/* the entry is a directory, and the current layer has entries below it */
#define NEEDED	0x4

/*
 * Sets NEEDED for all directories above entries of the current layer.  The loop
 * runs backwards, because the node of a directory precedes the nodes of the
 * directory's entries.
 */
static void mark_needed(const struct e4l_tree *t, uint8_t *marks)
{
	size_t i;

	for (i = t->nodes.n; --i > E4L_TREE_ROOT;) {
		const struct node *n = &t->nodes.v[i];

		if (!(n->flags & NODE_REMOVED) &&
		    (n->layer == tree_layer(t) || marks[i] & NEEDED))
			marks[n->parent] |= NEEDED;
	}
}

static void hide_marked(struct e4l_tree *t, uint8_t *marks)
{
	size_t i;

	for (i = E4L_TREE_ROOT + 1; i < t->nodes.n; i++) {
		const struct node *n = &t->nodes.v[i];

		if (marks[n->parent] & (HIDDEN | EMPTIED))
			marks[i] |= HIDDEN;
		if (marks[i] & HIDDEN && !(marks[i] & NEEDED) &&
		    n->layer != tree_layer(t))
			e4l_tree_remove(t, i);
	}
}

errcode_t e4l_layer_end(struct e4l_tree *t)
{
	uint8_t *marks;
	size_t i;

	e4l_tree_share_changes(t);
	if (!t->hidden.n && !t->emptied.n)
		return 0;
	marks = calloc(t->nodes.n, sizeof(*marks));
	if (!marks)
		return ENOMEM;
	for (i = 0; i < t->hidden.n; i++)
		marks[t->hidden.v[i]] |= HIDDEN;
	for (i = 0; i < t->emptied.n; i++)
		marks[t->emptied.v[i]] |= EMPTIED;
	mark_needed(t, marks);
	hide_marked(t, marks);
	t->hidden.n = t->emptied.n = 0;
	free(marks);
	return 0;
}

/* ------------------------------------------------------------------- layers */

errcode_t e4l_tree_make_dir(struct e4l_tree *t, uint32_t parent,
			    const char *name, size_t len, uint32_t *id)
{
	struct e4l_entry dir = { .mode = S_IFDIR | 0755 };
	errcode_t err = e4l_tree_add(t, parent, name, len, &dir, id);
	struct node *n;

	if (err || !t->missing.mode)
		return err;
	n = &t->nodes.v[*id];
	n->mode = t->missing.mode;
	n->uid = t->missing.uid;
	n->gid = t->missing.gid;
	n->mtime = t->missing.mtime;
	n->atime = t->missing.atime;
	n->ctime = t->missing.ctime;
	return 0;
}

static void note_missing(struct e4l_tree *t, const struct e4l_entry *e)
{
	t->missing = (struct node) { 0 };
	if (!e)
		return;
	t->missing = (struct node) {
		.mode = S_IFDIR | (e->mode & 07777),
		.uid = e->uid, .gid = e->gid,
		.mtime = e4l_pack_stamp(&e->mtime),
		.atime = e4l_pack_stamp(&e->atime),
		.ctime = e4l_pack_stamp(&e->ctime),
	};
}

static uint32_t depth_of(const struct e4l_tree *t, uint32_t id)
{
	uint32_t n = 0;

	for (; id != E4L_TREE_ROOT; id = t->nodes.v[id].parent)
		n++;
	return n;
}

/*
 * Adds a source with the name @name for the new layer.  A new tree has one
 * empty source, which the source of the first layer replaces.
 */
static errcode_t add_source(struct e4l_tree *t, const char *name)
{
	struct source s = { .fd = -1 };
	errcode_t err = 0;

	if (t->sources.n > E4L_LAYER_MAX)
		return E4L_ET_TREE_TOO_LARGE;
	if (vec_room(&t->sources, 1))
		return ENOMEM;
	if (name)
		err = e4l_tree_keep(t, name, strlen(name), &s.name);
	if (err)
		return err;
	t->sources.n -= t->nodes.n == E4L_TREE_ROOT + 1 && t->sources.n == 1 &&
			t->sources.v[0].fd < 0;
	t->sources.v[t->sources.n++] = s;
	return 0;
}

errcode_t e4l_layer_begin(struct e4l_tree *t, const struct e4l_layer *layer)
{
	struct way w = { .t = t, .makes = true };
	const char *below = layer->below ? layer->below : "";
	errcode_t err;

	err = e4l_layer_end(t);
	if (!err)
		err = add_source(t, layer->name);
	if (err)
		return err;
	note_missing(t, layer->missing);
	t->base = E4L_TREE_ROOT;
	err = leave(&w, below, go(&w, below, true));
	t->base = w.at;
	tree_source(t)->depth = depth_of(t, t->base);
	return err;
}

errcode_t e4l_layer_open_dir(struct e4l_tree *t, const char *path)
{
	struct source *s = tree_source(t);

	if (s->fd >= 0)
		return E4L_ET_BAD_ARGUMENT;
	s->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->fd < 0)
		return errno;
	s->by_path = true;
	return 0;
}
