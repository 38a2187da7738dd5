/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Manages the nodes and names of the tree that describes a future image. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "e4layout/base/array.h"
#include "tree.h"

/* ----------------------------------------------------------- growing arrays */

errcode_t e4l_vec_grow(void *vec, size_t size, size_t more)
{
	VEC(char) *v = vec;

	return e4l_reserve(&v->v, v->n, &v->room, more, size);
}

errcode_t e4l_tree_keep(struct e4l_tree *t, const char *bytes, size_t len,
			uint32_t *at)
{
	if (vec_room(&t->names, len + 1))
		return ENOMEM;
	if (t->names.n + len + 1 > UINT32_MAX)
		return E4L_ET_TREE_TOO_LARGE;
	*at = t->names.n;
	memcpy(t->names.v + *at, bytes, len);
	t->names.v[*at + len] = 0;
	t->names.n += len + 1;
	return 0;
}

uint64_t e4l_tree_hash(const char *p, size_t len, uint64_t h)
{
	while (len--)
		h = (h ^ (uint8_t)*p++) * 0x100000001b3ULL;
	return h ^ h >> 29;
}

/* -------------------------------------------------------------------- times */

#define LEAST_SEC (-(1LL << 31))
/*
 * ext4 has two bits for the epoch.  e2fsck assumes that times of epoch 3
 * (2310-04-04 to 2378) are times before 1970 that an old kernel has written,
 * and changes such times.
 */
#define MOST_SEC ((3LL << 32) - (1LL << 31) - 1)
#define SECOND_NSEC 1000000000u
/*
 * nanoseconds of a time that e4l_pack_time() has replaced by LEAST_SEC or
 * MOST_SEC; no valid time has this value
 */
#define MARK_NSEC SECOND_NSEC

uint64_t e4l_pack_time(int64_t sec, uint32_t nsec)
{
	if (nsec >= SECOND_NSEC)
		nsec = 0;
	if (sec < LEAST_SEC || sec > MOST_SEC) {
		sec = sec < 0 ? LEAST_SEC : MOST_SEC;
		nsec = MARK_NSEC;
	}
	return (uint64_t)(sec - LEAST_SEC) << 30 | nsec;
}

static uint32_t low_bits(uint64_t packed)
{
	return packed & ((1u << 30) - 1);
}

bool e4l_time_is_marked(uint64_t packed)
{
	return low_bits(packed) == MARK_NSEC;
}

int64_t e4l_time_sec(uint64_t packed)
{
	return (int64_t)(packed >> 30) + LEAST_SEC;
}

uint32_t e4l_time_nsec(uint64_t packed)
{
	return e4l_time_is_marked(packed) ? 0 : low_bits(packed);
}

uint64_t e4l_pack_stamp(const struct e4l_time *t)
{
	return e4l_pack_time(t->tv_sec, t->tv_nsec);
}

/* -------------------------------------------------------------------- nodes */

static errcode_t add_stretches(struct e4l_tree *t, struct node *n,
			    const struct e4l_entry *e)
{
	if (!e->stretches)
		return 0;
	if (vec_room(&t->stretches, e->n_stretches) || vec_room(&t->maps, 1))
		return ENOMEM;
	n->map = t->maps.n;
	t->maps.v[t->maps.n++] = (struct map) {
		.stretch = t->stretches.n, .n_stretch = e->n_stretches,
	};
	if (e->n_stretches)
		memcpy(t->stretches.v + t->stretches.n, e->stretches,
		       e->n_stretches * sizeof(*e->stretches));
	t->stretches.n += e->n_stretches;
	return 0;
}

static errcode_t add_extra(struct e4l_tree *t, struct node *n,
			   const struct e4l_entry *e)
{
	if (!e->from_ext4)
		return 0;
	if (vec_room(&t->extras, 1))
		return ENOMEM;
	n->extra = t->extras.n;
	t->extras.v[t->extras.n++] = (struct extra) {
		.crtime = e4l_pack_stamp(&e->crtime), .flags = e->flags,
		.generation = e->generation, .projid = e->projid,
	};
	return 0;
}

static bool is_mode(uint32_t mode)
{
	return !(mode & ~(uint32_t)(S_IFMT | 07777)) &&
	       (S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode) ||
		S_ISCHR(mode) || S_ISBLK(mode) || S_ISFIFO(mode) ||
		S_ISSOCK(mode));
}

/*
 * Whether the data ranges (stretches) of @e are in order and inside the file.
 * A file from an ext4 filesystem may have data beyond the end of the file: the
 * metadata of fs-verity.
 */
static bool are_in_file(const struct e4l_entry *e)
{
	uint64_t end = 0;
	size_t i;

	for (i = 0; i < e->n_stretches; i++) {
		const struct e4l_stretch *x = &e->stretches[i];

		if (x->offset < end || x->bytes > UINT64_MAX - x->offset)
			return false;
		end = x->offset + x->bytes;
		if (!x->unwritten && !e->from_ext4 && end > e->size)
			return false;
	}
	return true;
}

/*
 * Whether the data ranges (stretches) of @e are valid.  Only regular files can
 * have stretches.
 */
static bool has_good_map(const struct e4l_entry *e)
{
	if (!e->stretches)
		return !e->n_stretches;
	return S_ISREG(e->mode) && are_in_file(e);
}

/*
 * Returns whether the flags of @e are valid.  Flags are used only if from_ext4
 * is set.  Flags outside KEPT_FLAGS are invalid, because they describe how a
 * filesystem stores the content.
 */
static bool has_user_flags(const struct e4l_entry *e)
{
	return !e->from_ext4 || !(e->flags & ~KEPT_FLAGS);
}

/*
 * Whether the target of the symbolic link @e has a valid length and valid
 * bytes.  e2fsck removes symbolic links that have a NUL in the target.  An
 * encrypted target can contain any byte.
 */
static bool is_target(const struct e4l_entry *e)
{
	bool encrypted = e->from_ext4 && e->flags & EXT4_ENCRYPT_FL;

	return e->size && e->size < PATH_MAX &&
	       (encrypted || !memchr(e->target, 0, e->size));
}

/* Sets all members of @n except its name and its parent. */
static errcode_t describe(struct e4l_tree *t, struct node *n,
			  const struct e4l_entry *e)
{
	uint32_t target;
	errcode_t err;

	if (E4L_HAS_UNKNOWN(e))
		return E4L_ET_OPTION;
	if (!is_mode(e->mode) || !has_good_map(e) || !has_user_flags(e) ||
	    (e->path && !tree_source(t)->by_path))
		return E4L_ET_BAD_ARGUMENT;
	if (S_ISLNK(e->mode)) {
		err = is_target(e) ?
		      e4l_tree_keep(t, e->target, e->size, &target) :
		      E4L_ET_BAD_SYMLINK;
		if (err)
			return err;
		n->pos = target;
	} else if (S_ISREG(e->mode) && e->path) {
		err = e4l_tree_keep(t, e->path, strlen(e->path), &target);
		if (err)
			return err;
		n->pos = target;
	} else {
		n->pos = S_ISREG(e->mode) ? e->pos : e->rdev;
	}
	n->source = n->layer = tree_layer(t);
	n->mode = e->mode;
	n->uid = e->uid;
	n->gid = e->gid;
	n->size = S_ISREG(e->mode) || S_ISLNK(e->mode) ? e->size : 0;
	n->mtime = e4l_pack_stamp(&e->mtime);
	n->atime = e4l_pack_stamp(&e->atime);
	n->ctime = e4l_pack_stamp(&e->ctime);
	n->map = n->extra = 0;
	err = add_stretches(t, n, e);
	if (!err)
		err = add_extra(t, n, e);
	return err ? err : e4l_tree_intern(t, e->xattrs, e->n_xattrs,
					   &n->xattr);
}

static bool good_name(const char *name, size_t len)
{
	return len && !(len == 1 && name[0] == '.') &&
	       !(len == 2 && name[0] == '.' && name[1] == '.') &&
	       !memchr(name, '/', len) && !memchr(name, 0, len);
}

static errcode_t require_dir(const struct e4l_tree *t, uint32_t id)
{
	if (!e4l_tree_has(t, id))
		return E4L_ET_BAD_ARGUMENT;
	return S_ISDIR(t->nodes.v[id].mode) ? 0 : E4L_ET_NOT_DIR;
}

static errcode_t new_node(struct e4l_tree *t, uint32_t parent, const char *name,
			  size_t len, struct node **ret)
{
	uint32_t at;
	errcode_t err;

	if (len > EXT2_NAME_LEN)
		return E4L_ET_NAME_TOO_LONG;
	if (!good_name(name, len))
		return E4L_ET_BAD_NAME;
	err = require_dir(t, parent);
	if (err)
		return err;
	if (t->nodes.n >= UINT32_MAX)
		return E4L_ET_TREE_TOO_LARGE;
	err = e4l_tree_keep(t, name, len, &at);
	if (err)
		return err;
	if (vec_room(&t->nodes, 1))
		return ENOMEM;
	*ret = &t->nodes.v[t->nodes.n];
	**ret = (struct node) {
		.name = at, .name_len = len, .parent = parent,
		.priority = PRIORITY_NONE, .links = 1,
	};
	return 0;
}

errcode_t e4l_tree_add(struct e4l_tree *t, uint32_t parent, const char *name,
		       size_t len, const struct e4l_entry *entry, uint32_t *id)
{
	struct node *n;
	errcode_t err;

	*id = 0;
	err = new_node(t, parent, name, len, &n);
	if (!err)
		err = describe(t, n, entry);
	if (err)
		return e4l_tree_fail(t, err, parent, name, len);
	*id = t->nodes.n++;
	return 0;
}

/*
 * Removes @n from the link group of @n.  Afterwards, @n is the only name of a
 * separate inode.
 */
static void leave_group(struct e4l_tree *t, struct node *n)
{
	if (!(n->flags & NODE_GROUPED))
		return;
	t->groups.v[n->child].links--;
	n->flags &= ~NODE_GROUPED;
	n->child = 0;
}

errcode_t e4l_tree_set(struct e4l_tree *t, uint32_t id,
		       const struct e4l_entry *entry)
{
	struct node n;
	errcode_t err = 0;

	if (!e4l_tree_has(t, id))
		return E4L_ET_BAD_ARGUMENT;
	n = t->nodes.v[id];
	if (!S_ISDIR(n.mode) != !S_ISDIR(entry->mode))
		err = E4L_ET_NOT_DIR;
	if (!err)
		err = describe(t, &n, entry);
	if (err)
		return e4l_tree_fail(t, err, id, NULL, 0);
	leave_group(t, &n);
	t->nodes.v[id] = n;
	return 0;
}

errcode_t e4l_tree_put(struct e4l_tree *t, uint32_t parent, const char *name,
		       size_t len, const struct e4l_entry *entry, uint32_t *id)
{
	errcode_t err = e4l_tree_find(t, parent, name, len, id);

	if (err)
		return err;
	if (*id && !S_ISDIR(t->nodes.v[*id].mode) == !S_ISDIR(entry->mode))
		return e4l_tree_set(t, *id, entry);
	if (*id)
		e4l_tree_remove(t, *id);
	return e4l_tree_add(t, parent, name, len, entry, id);
}

void e4l_tree_remove(struct e4l_tree *t, uint32_t id)
{
	if (!e4l_tree_has(t, id) || id == E4L_TREE_ROOT)
		return;
	t->nodes.v[id].flags |= NODE_REMOVED;
	t->has_removed = true;
}

/*
 * One pass over the nodes is sufficient, because the node of a directory
 * precedes the nodes of the directory's entries.
 */
errcode_t e4l_tree_drop_removed(struct e4l_tree *t)
{
	uint32_t *moved, kept = E4L_TREE_ROOT, i;
	struct node *n;

	if (!t->has_removed)
		return 0;
	moved = calloc(t->nodes.n, sizeof(*moved));
	if (!moved)
		return ENOMEM;
	moved[E4L_TREE_ROOT] = kept++;
	for (i = kept; i < t->nodes.n; i++) {
		n = &t->nodes.v[i];
		if (n->flags & NODE_REMOVED || !moved[n->parent]) {
			leave_group(t, n);
			continue;
		}
		moved[i] = kept;
		n->parent = moved[n->parent];
		t->nodes.v[kept++] = *n;
	}
	free(moved);
	t->nodes.n = kept;
	t->has_removed = false;
	t->base = E4L_TREE_ROOT;
	free(t->name_table);
	t->name_table = NULL;
	return 0;
}

/*
 * Stores the source path of node @id in the arena, so that later changes of the
 * node's name do not affect the source path.
 */
static errcode_t keep_path(struct e4l_tree *t, uint32_t id)
{
	char *path = e4l_tree_source_path(t, id);
	uint32_t at;
	errcode_t err;

	if (!path)
		return ENOMEM;
	err = e4l_tree_keep(t, path, strlen(path), &at);
	free(path);
	if (!err)
		t->nodes.v[id].pos = at;
	return err;
}

errcode_t e4l_tree_link(struct e4l_tree *t, uint32_t parent, const char *name,
			size_t len, uint32_t id)
{
	struct node *n, *old;
	uint32_t at;
	errcode_t err;

	err = new_node(t, parent, name, len, &n);
	if (!err && vec_room(&t->groups, 1))
		err = ENOMEM;
	if (!err && (!e4l_tree_has(t, id) || S_ISDIR(t->nodes.v[id].mode)))
		err = E4L_ET_BAD_ARGUMENT;
	if (err)
		return e4l_tree_fail(t, err, parent, name, len);
	old = &t->nodes.v[id];
	if (!(old->flags & NODE_GROUPED)) {
		old->flags |= NODE_GROUPED;
		old->child = t->groups.n;
		t->groups.v[t->groups.n++] = (struct link_group) { .links = 1 };
	}
	at = n->name;
	if (S_ISREG(old->mode) && !old->pos &&
	    t->sources.v[old->source].by_path && old->layer != tree_layer(t))
		err = keep_path(t, id);
	if (err)
		return e4l_tree_fail(t, err, parent, name, len);
	*n = *old;
	n->name = at;
	n->layer = tree_layer(t);
	n->name_len = len;
	n->parent = parent;
	n->priority = PRIORITY_NONE;
	t->groups.v[old->child].links++;
	t->nodes.n++;
	return 0;
}

errcode_t e4l_tree_change(struct e4l_tree *t, uint32_t id, struct node **ret)
{
	struct link_group *g;

	if (!e4l_tree_has(t, id))
		return E4L_ET_BAD_ARGUMENT;
	*ret = &t->nodes.v[id];
	if (!((*ret)->flags & NODE_GROUPED))
		return 0;
	g = &t->groups.v[(*ret)->child];
	if (!g->changed) {
		if (vec_room(&t->changed, 1))
			return ENOMEM;
		g->changed = t->changed.n;
		t->changed.v[t->changed.n++] = **ret;
	}
	*ret = &t->changed.v[g->changed];
	return 0;
}

static void copy_inode(struct node *to, const struct node *from)
{
	to->mode = from->mode;
	to->uid = from->uid;
	to->gid = from->gid;
	to->size = from->size;
	to->pos = from->pos;
	to->source = from->source;
	to->map = from->map;
	to->extra = from->extra;
	to->xattr = from->xattr;
	to->mtime = from->mtime;
	to->atime = from->atime;
	to->ctime = from->ctime;
}

void e4l_tree_share_change(struct e4l_tree *t, uint32_t id)
{
	struct node *n = &t->nodes.v[id];

	if (n->flags & NODE_GROUPED && t->groups.v[n->child].changed)
		copy_inode(n, &t->changed.v[t->groups.v[n->child].changed]);
}

void e4l_tree_share_changes(struct e4l_tree *t)
{
	size_t i;

	if (t->changed.n == 1)
		return;
	for (i = E4L_TREE_ROOT; i < t->nodes.n; i++)
		e4l_tree_share_change(t, i);
	for (i = 0; i < t->groups.n; i++)
		t->groups.v[i].changed = 0;
	t->changed.n = 1;
}

errcode_t e4l_tree_set_content(struct e4l_tree *t, uint32_t id,
			       const struct e4l_entry *entry)
{
	uint32_t path = 0;
	struct node *n;
	errcode_t err;

	if (E4L_HAS_UNKNOWN(entry))
		return E4L_ET_OPTION;
	if (!e4l_tree_has(t, id) || !S_ISREG(t->nodes.v[id].mode) ||
	    !are_in_file(entry) || (entry->path && !tree_source(t)->by_path))
		return E4L_ET_BAD_ARGUMENT;
	err = e4l_tree_change(t, id, &n);
	if (!err && entry->path)
		err = e4l_tree_keep(t, entry->path, strlen(entry->path), &path);
	if (!err) {
		n->map = 0;
		err = add_stretches(t, n, entry);
	}
	if (err)
		return e4l_tree_fail(t, err, id, NULL, 0);
	n->size = entry->size;
	n->pos = entry->path ? path : entry->pos;
	n->source = tree_layer(t);
	return 0;
}

errcode_t e4l_tree_get(const struct e4l_tree *t, uint32_t id,
		       struct e4l_entry *entry)
{
	const struct node *n = &t->nodes.v[id];

	*entry = (struct e4l_entry) { 0 };
	if (!e4l_tree_has(t, id))
		return E4L_ET_BAD_ARGUMENT;
	if (n->flags & NODE_GROUPED && t->groups.v[n->child].changed)
		n = &t->changed.v[t->groups.v[n->child].changed];
	entry->mode = n->mode;
	entry->uid = n->uid;
	entry->gid = n->gid;
	entry->size = n->size;
	entry->mtime.tv_sec = e4l_time_sec(n->mtime);
	entry->mtime.tv_nsec = e4l_time_nsec(n->mtime);
	if (S_ISLNK(n->mode))
		entry->target = t->names.v + n->pos;
	else if (!S_ISREG(n->mode))
		entry->rdev = n->pos;
	return 0;
}

errcode_t e4l_tree_set_mtime(struct e4l_tree *t, uint32_t id,
			     const struct e4l_time *mtime)
{
	struct node *n;
	errcode_t err = e4l_tree_change(t, id, &n);

	if (!err)
		n->mtime = e4l_pack_stamp(mtime);
	return err;
}

errcode_t e4l_tree_add_hidden(struct e4l_tree *t, const struct node *proto,
			      uint32_t *id)
{
	if (vec_room(&t->nodes, 1))
		return ENOMEM;
	*id = t->nodes.n;
	t->nodes.v[t->nodes.n++] = *proto;
	return 0;
}

/* -------------------------------------------------------------------- names */

static uint64_t name_key(uint32_t parent, const char *name, size_t len)
{
	return e4l_tree_hash(name, len, parent * 0x9e3779b97f4a7c15ULL);
}

/*
 * Adds the nodes with an index of at least t->named to the hash table
 * t->name_table.
 */
static errcode_t index_names(struct e4l_tree *t)
{
	size_t at, mask = t->name_mask;
	uint32_t *table;

	if (!t->name_table || t->nodes.n * 2 > mask) {
		while (mask < t->nodes.n * 3)
			mask = mask * 2 + 1;
		table = calloc(mask + 1, sizeof(*table));
		if (!table)
			return ENOMEM;
		free(t->name_table);
		t->name_table = table;
		t->name_mask = mask;
		t->named = 2;
	}
	for (; t->named < t->nodes.n; t->named++) {
		const struct node *n = &t->nodes.v[t->named];

		at = name_key(n->parent, node_name(t, n), n->name_len) & mask;
		while (t->name_table[at])
			at = (at + 1) & mask;
		t->name_table[at] = t->named;
	}
	return 0;
}

errcode_t e4l_tree_find(struct e4l_tree *t, uint32_t parent, const char *name,
			size_t len, uint32_t *id)
{
	errcode_t err = require_dir(t, parent);
	size_t at;

	*id = 0;
	if (!err)
		err = index_names(t);
	if (err)
		return err;
	at = name_key(parent, name, len) & t->name_mask;
	for (; t->name_table[at]; at = (at + 1) & t->name_mask) {
		const struct node *n = &t->nodes.v[t->name_table[at]];

		if (n->parent == parent && n->name_len == len &&
		    !(n->flags & NODE_REMOVED) &&
		    !memcmp(node_name(t, n), name, len)) {
			*id = t->name_table[at];
			return 0;
		}
	}
	return 0;
}

errcode_t e4l_tree_find_path(struct e4l_tree *t, const char *path, uint32_t *id)
{
	errcode_t err = 0;
	size_t len;

	for (*id = E4L_TREE_ROOT; !err && *id && *path; path += len) {
		len = strcspn(path, "/");
		if (len && strncmp(path, ".", len))
			err = e4l_tree_find(t, *id, path, len, id);
		len += path[len] == '/';
	}
	return err == E4L_ET_NOT_DIR ? 0 : err;
}

errcode_t e4l_tree_set_priority(struct e4l_tree *t, const char *path,
				int priority)
{
	uint32_t id;
	errcode_t err;

	if (priority <= PRIORITY_NONE || priority > INT16_MAX)
		return E4L_ET_BAD_ARGUMENT;
	err = e4l_tree_find_path(t, path, &id);
	if (!err && !id)
		err = E4L_ET_NO_PATH;
	if (!err)
		t->nodes.v[id].priority = priority;
	return err;
}

bool e4l_tree_path(const struct e4l_tree *t, uint32_t node, char *buf,
		   size_t size)
{
	size_t at = size - 1;
	const struct node *n;

	if (node == E4L_TREE_ROOT) {
		strcpy(buf, ".");
		return true;
	}
	buf[at] = 0;
	for (; node && node != E4L_TREE_ROOT; node = n->parent) {
		n = &t->nodes.v[node];
		if (at < n->name_len + 1u)
			return false;
		if (buf[at])
			buf[--at] = '/';
		at -= n->name_len;
		memcpy(buf + at, node_name(t, n), n->name_len);
	}
	memmove(buf, buf + at, size - at);
	return true;
}

char *e4l_tree_long_path(const struct e4l_tree *t, uint32_t node)
{
	size_t size = 2;
	uint32_t id;
	char *path;

	for (id = node; id && id != E4L_TREE_ROOT; id = t->nodes.v[id].parent)
		size += t->nodes.v[id].name_len + 1;
	path = malloc(size);
	if (path)
		e4l_tree_path(t, node, path, size);
	return path;
}

char *e4l_tree_source_path(const struct e4l_tree *t, uint32_t node)
{
	const struct node *n = &t->nodes.v[node];
	const struct source *s = &t->sources.v[n->source];
	char *path, *at, *slash;
	uint32_t i;

	if (S_ISREG(n->mode) && n->pos)
		return strdup(t->names.v + n->pos);
	path = e4l_tree_long_path(t, node);
	for (i = 0, at = path; path && i < s->depth; i++) {
		slash = strchr(at, '/');
		at = slash ? slash + 1 : at + strlen(at);
	}
	if (path && at != path)
		memmove(path, *at ? at : ".", *at ? strlen(at) + 1 : 2);
	return path;
}

bool e4l_tree_is_by_path(const struct e4l_tree *t)
{
	size_t i;

	for (i = 0; i < t->sources.n; i++)
		if (t->sources.v[i].fd >= 0 && !t->sources.v[i].by_path)
			return false;
	return t->sources.v[0].by_path;
}

int e4l_tree_open_dir(int root, char *path, int flags)
{
	const int always = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int at = root, next;
	char *end;

	for (;;) {
		end = strlen(path) < PATH_MAX ? NULL :
		      memrchr(path, '/', PATH_MAX);
		if (end)
			*end = 0;
		next = openat(at, path, (end ? O_PATH : flags) | always);
		if (at != root)
			close(at);
		if (!end || next < 0)
			return next;
		at = next;
		path = end + 1;
	}
}

errcode_t e4l_tree_fail(struct e4l_tree *t, errcode_t err, uint32_t node,
			const char *name, size_t name_len)
{
	size_t len;

	pthread_mutex_lock(&t->lock);
	t->attr[0] = 0;
	t->where_name = node && node < t->nodes.n ?
			t->sources.v[t->nodes.v[node].source].name :
			tree_source(t)->name;
	if (!node || node >= t->nodes.n)
		t->where[0] = 0;
	else if (!e4l_tree_path(t, node, t->where, sizeof(t->where)))
		strcpy(t->where, "(a path of more than 4095 bytes)");
	/* the path of an entry in the root is "NAME", not "./NAME" */
	len = node == E4L_TREE_ROOT && name ? 0 : strlen(t->where);
	if (name)
		snprintf(t->where + len, sizeof(t->where) - len, "%s%.*s",
			 len ? "/" : "", (int)name_len, name);
	pthread_mutex_unlock(&t->lock);
	return err;
}

const char *e4l_tree_where(const struct e4l_tree *t)
{
	return t->where;
}

const char *e4l_tree_attribute(const struct e4l_tree *t)
{
	return t->attr;
}

const char *e4l_tree_where_source(const struct e4l_tree *t)
{
	return t->where_name ? t->names.v + t->where_name : NULL;
}

/* ----------------------------------------------------------------- the tree */

void e4l_tree_map_owners(struct e4l_tree *t,
			 void (*map)(uint32_t *uid, uint32_t *gid, void *priv),
			 void *priv)
{
	size_t i;

	e4l_tree_share_changes(t);
	for (i = E4L_TREE_ROOT; i < t->nodes.n; i++)
		map(&t->nodes.v[i].uid, &t->nodes.v[i].gid, priv);
}

errcode_t e4l_tree_set_owner(struct e4l_tree *t, uint32_t id, uint32_t uid,
			     uint32_t gid)
{
	struct node *n;
	errcode_t err = e4l_tree_change(t, id, &n);

	if (err)
		return err;
	n->uid = uid;
	n->gid = gid;
	return 0;
}

uint32_t e4l_tree_entries(const struct e4l_tree *t)
{
	return t->nodes.n - E4L_TREE_ROOT;
}

void e4l_tree_set_data_fd(struct e4l_tree *t, int fd)
{
	tree_source(t)->fd = fd;
}

void e4l_tree_free(struct e4l_tree *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->sources.n; i++)
		if (t->sources.v[i].by_path)
			close(t->sources.v[i].fd);
	free(t->sources.v);
	free(t->hidden.v);
	free(t->emptied.v);
	free(t->nodes.v);
	free(t->names.v);
	free(t->stretches.v);
	free(t->maps.v);
	free(t->extras.v);
	free(t->groups.v);
	free(t->changed.v);
	free(t->sets.v);
	free(t->xbytes.v);
	free(t->set_table);
	free(t->name_table);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* Reserves index 0 of each array, because index 0 means "none". */
static errcode_t reserve_zero(struct e4l_tree *t)
{
	if (vec_room(&t->nodes, 2) || vec_room(&t->sources, 1) || vec_room(&t->names, 1) ||
	    vec_room(&t->maps, 1) || vec_room(&t->extras, 1) ||
	    vec_room(&t->groups, 1) || vec_room(&t->sets, 1) ||
	    vec_room(&t->changed, 1))
		return ENOMEM;
	memset(t->nodes.v, 0, 2 * sizeof(*t->nodes.v));
	t->names.v[0] = 0;
	memset(t->maps.v, 0, sizeof(*t->maps.v));
	memset(t->extras.v, 0, sizeof(*t->extras.v));
	memset(t->groups.v, 0, sizeof(*t->groups.v));
	memset(t->sets.v, 0, sizeof(*t->sets.v));
	t->changed.n = 1;
	t->sources.v[t->sources.n++] = (struct source) { .fd = -1 };
	t->nodes.n = 2;
	t->names.n = t->maps.n = t->extras.n = t->groups.n = t->sets.n = 1;
	return e4l_tree_grow_sets(t);
}

errcode_t e4l_tree_new(struct e4l_tree **ret)
{
	struct e4l_tree *t = calloc(1, sizeof(*t));

	*ret = NULL;
	if (!t)
		return ENOMEM;
	e4l_init_errors();
	t->base = E4L_TREE_ROOT;
	t->set_mask = 31;
	t->name_mask = 63;
	pthread_mutex_init(&t->lock, NULL);
	if (reserve_zero(t)) {
		e4l_tree_free(t);
		return ENOMEM;
	}
	t->nodes.v[E4L_TREE_ROOT] = (struct node) {
		.mode = S_IFDIR | 0755, .links = 1, .priority = PRIORITY_NONE,
		.mtime = e4l_pack_time(0, 0), .atime = e4l_pack_time(0, 0),
		.ctime = e4l_pack_time(0, 0),
	};
	*ret = t;
	return 0;
}
