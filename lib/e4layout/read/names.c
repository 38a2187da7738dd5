/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * names: converts inodes to paths, and paths to inodes.
 *
 * Each name is stored with the inode number of its directory.  If only some
 * inodes are wanted, the names of their parent directories are found level by
 * level, up to the root.  To find the name of a directory, read ".." of the
 * directory, and search the parent directory for the name.
 */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "e4layout/base/array.h"
#include "e4layout/format/dir_block.h"
#include "e4layout/format/dirent.h"
#include "dirs.h"

/*
 * A path has at most PATH_MAX (4096) bytes, and a component has at least two
 * bytes, including the '/'.
 */
#define MAX_LEVELS 2048
#define MAX_PATH_BYTES (MAX_LEVELS * (EXT2_NAME_LEN + 1) + 1)

struct name {
	ext2_ino_t ino, parent;
	uint64_t offset : 54; /* offset of the name in names->text, in bytes */
	uint64_t on_path : 1;
	uint64_t lost : 1;	/* no path leads from the root to the inode */
	uint64_t len : 8;
};

/* A component of a path. */
struct level {
	size_t name;			/* index in names->names */
	/* length of the path up to the end of the name, in bytes */
	size_t bytes;
};

struct ino_vec {
	ext2_ino_t *v;
	size_t n;
};

struct e4l_names {
	struct e4l *e;
	struct name *names;		/* sorted by sort_names() */
	size_t n, max;
	char *text;
	size_t text_len, text_max;
	bool all;
	struct ino_vec wanted;	/* inodes whose names are wanted, sorted */
	/* bitmap: bit (inode number % 4096) is set for each wanted inode */
	uint64_t sieve[64];
	struct ino_vec parents;	/* parents of the directories in @wanted */
	size_t next; /* index in @names after the last result of find_next() */
	/* the last result of e4l_names_path(), and its components */
	char *path;
	struct level level[MAX_LEVELS];
	unsigned int depth;
};

static bool push(struct ino_vec *vec, ext2_ino_t ino)
{
	if (e4l_grow(&vec->v, vec->n, sizeof(*vec->v)))
		return false;
	vec->v[vec->n++] = ino;
	return true;
}

static void sort_unique(struct ino_vec *vec)
{
	size_t i, n = 0;

	e4l_sort(vec->v, vec->n, sizeof(*vec->v), e4l_u32_cmp);
	for (i = 0; i < vec->n; i++)
		if (!n || vec->v[n - 1] != vec->v[i])
			vec->v[n++] = vec->v[i];
	vec->n = n;
}

/*
 * Returns whether the name of @ino is wanted.  The bitmap names->sieve rejects
 * most unwanted inodes without a binary search.
 */
static bool is_wanted(const struct e4l_names *names, ext2_ino_t ino)
{
	return names->all ||
	       ((names->sieve[ino / 64 % 64] >> ino % 64 & 1) &&
		bsearch(&ino, names->wanted.v, names->wanted.n, sizeof(ino),
			e4l_u32_cmp));
}

/* -------------------------------------------------------------------- table */

static int name_cmp(const void *a, const void *b, void *arg)
{
	const struct name *x = a, *y = b;
	const char *text = arg;
	int cmp;

	if (x->ino != y->ino)
		return x->ino < y->ino ? -1 : 1;
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	cmp = memcmp(text + x->offset, text + y->offset,
		     x->len < y->len ? x->len : y->len);
	return cmp ? cmp : (int)x->len - (int)y->len;
}

/* Shortens names->path to its first @depth components. */
static void leave(struct e4l_names *names, unsigned int depth)
{
	while (names->depth > depth)
		names->names[names->level[--names->depth].name].on_path = false;
}

/* Sorts the names by inode, and keeps only the first name of each inode. */
static void sort_names(struct e4l_names *names)
{
	size_t i, n = 0;

	leave(names, 0);
	if (names->n)
		qsort_r(names->names, names->n, sizeof(*names->names),
			name_cmp, names->text);
	for (i = 0; i < names->n; i++)
		if (!n || names->names[n - 1].ino != names->names[i].ino)
			names->names[n++] = names->names[i];
	names->n = n;
}

static struct name *find(const struct e4l_names *names, ext2_ino_t ino)
{
	return names->n ? bsearch(&ino, names->names, names->n,
				  sizeof(*names->names), e4l_u32_cmp) : NULL;
}

static errcode_t add_name(struct e4l_names *names,
			  const struct e4l_dirent *entry)
{
	struct name name = {
		.ino = entry->ino, .parent = entry->dir,
		.offset = names->text_len, .len = entry->name_len,
	};
	errcode_t err = e4l_append(&names->text, &names->text_len,
				   &names->text_max, entry->name,
				   entry->name_len, 1);

	return err ? err : e4l_append(&names->names, &names->n, &names->max,
				      &name, 1, sizeof(name));
}

bool e4l_names_wanted(const struct e4l_dirent *entry, void *priv)
{
	return is_wanted(priv, entry->ino) && !e4l_dirent_is_dotdot(entry);
}

errcode_t e4l_names_entry(const struct e4l_dirent *entry, void *priv)
{
	return add_name(priv, entry);
}

const struct e4l_dirs_ops e4l_names_ops = {
	.entry = e4l_names_entry, .wanted = e4l_names_wanted,
};

errcode_t e4l_names_new(struct e4l *e, struct e4l_names **ret)
{
	struct e4l_names *names = calloc(1, sizeof(*names));

	*ret = names;
	if (!names)
		return ENOMEM;
	names->e = e;
	names->path = malloc(MAX_PATH_BYTES);
	return names->path ? 0 : ENOMEM;
}

errcode_t e4l_names_want(struct e4l_names *names, const ext2_ino_t *wanted,
			 size_t n)
{
	size_t i;

	sort_names(names);
	names->wanted.n = 0;
	for (i = 0; i < n; i++)
		if (wanted[i] != EXT2_ROOT_INO && !find(names, wanted[i]) &&
		    !push(&names->wanted, wanted[i]))
			return ENOMEM;
	sort_unique(&names->wanted);
	memset(names->sieve, 0, sizeof(names->sieve));
	for (i = 0; i < names->wanted.n; i++)
		names->sieve[names->wanted.v[i] / 64 % 64] |=
			1ULL << names->wanted.v[i] % 64;
	return 0;
}

size_t e4l_names_missing(struct e4l_names *names)
{
	size_t i, n = 0;

	sort_names(names);
	for (i = 0; i < names->wanted.n; i++)
		n += !find(names, names->wanted.v[i]);
	return n;
}

/* ------------------------------------------------------------------- levels */

static bool is_dotdot(const struct e4l_dirent *entry, void *priv)
{
	return e4l_dirent_is_dotdot(entry);
}

static errcode_t note_dotdot(const struct e4l_dirent *entry, void *priv)
{
	struct e4l_names *names = priv;

	return push(&names->parents, entry->ino) ? 0 : ENOMEM;
}

static errcode_t read_some(struct e4l *e, const struct ino_vec *dirs,
			   const struct e4l_dirs_ops *ops, void *priv)
{
	ext2fs_inode_bitmap only;
	errcode_t err;
	size_t i;

	if (!dirs->n)
		return 0;
	err = ext2fs_allocate_inode_bitmap(e->fs, "directories", &only);
	if (err)
		return err;
	for (i = 0; i < dirs->n; i++)
		ext2fs_mark_inode_bitmap2(only, dirs->v[i]);
	err = e4l_dirs_read(e, only, ops, priv);
	ext2fs_free_inode_bitmap(only);
	return err;
}

/*
 * Finds the names of the parent directories of the named inodes.  Sets *@more
 * to false if all parent directories have names, or if no missing name was
 * found.  In a damaged filesystem, a name can be missing.
 */
static errcode_t resolve_level(struct e4l_names *names, bool *more)
{
	static const struct e4l_dirs_ops dotdot_ops = {
		.entry = note_dotdot, .wanted = is_dotdot,
	};
	struct ino_vec found = { 0 };
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < names->n && !err; i++)
		if (!push(&found, names->names[i].parent))
			err = ENOMEM;
	sort_unique(&found);
	if (!err)
		err = e4l_names_want(names, found.v, found.n);
	*more = !err && names->wanted.n;
	names->parents.n = 0;
	if (*more)
		err = read_some(names->e, &names->wanted, &dotdot_ops, names);
	sort_unique(&names->parents);
	if (*more && !err)
		err = read_some(names->e, &names->parents, &e4l_names_ops,
				names);
	if (*more && e4l_names_missing(names) == names->wanted.n)
		*more = false;
	free(found.v);
	return err;
}

errcode_t e4l_names_resolve(struct e4l_names *names)
{
	bool more = true;
	unsigned int level;
	errcode_t err = 0;

	sort_names(names);
	if (names->all)
		return 0;
	for (level = 0; level < MAX_LEVELS && more && !err; level++)
		err = resolve_level(names, &more);
	return err;
}

errcode_t e4l_names_load(struct e4l *e, const ext2_ino_t *wanted, size_t n,
			 struct e4l_names **ret)
{
	errcode_t err = e4l_names_new(e, ret);

	if (!err) {
		(*ret)->all = !wanted;
		err = e4l_names_want(*ret, wanted, n);
	}
	if (!err && (!wanted || (*ret)->wanted.n))
		err = e4l_dirs_read(e, NULL, &e4l_names_ops, *ret);
	if (!err)
		err = e4l_names_resolve(*ret);
	if (err) {
		e4l_names_free(*ret);
		*ret = NULL;
	}
	return err;
}

/* -------------------------------------------------------------------- paths */

/*
 * Finds the name of @ino.  Tries the name after the last found name first,
 * because callers often ask for paths in ascending order of inodes.
 */
static struct name *find_next(struct e4l_names *names, ext2_ino_t ino)
{
	struct name *name;

	if (names->next < names->n && names->names[names->next].ino == ino)
		name = &names->names[names->next];
	else
		name = find(names, ino);
	if (name)
		names->next = name - names->names + 1;
	return name;
}

/*
 * Returns the name of the directory that contains @name, or NULL if the
 * directory has no name.  Tries the last two components of names->path first.
 */
static struct name *parent_of(const struct e4l_names *names,
			      const struct name *name)
{
	unsigned int i;

	for (i = 1; i <= 2 && i <= names->depth; i++) {
		struct name *last = &names->names[names->level[names->depth -
							       i].name];

		if (last->ino == name->parent)
			return last;
	}
	return find(names, name->parent);
}

static size_t path_bytes(const struct e4l_names *names)
{
	return names->depth ? names->level[names->depth - 1].bytes : 0;
}

/* Appends @name to names->path. */
static void enter(struct e4l_names *names, struct name *name)
{
	char *to = names->path + path_bytes(names), *odd;
	unsigned int i;

	*to++ = '/';
	memcpy(to, names->text + name->offset, name->len);
	for (i = 0; i < 2; i++)
		while ((odd = memchr(to, "/"[i], name->len)))
			*odd = '?';
	name->on_path = true;
	names->level[names->depth++] = (struct level) {
		name - names->names, to + name->len - names->path,
	};
}

/*
 * Marks the @n names in @up as lost if no path leads from the root to these
 * names.  up[i + 1] is the name of the directory that contains up[i], and @next
 * is the name of the directory that contains the last name.  The names are
 * lost if @next is NULL (no name was found) or is in @up (a loop in a damaged
 * filesystem).
 */
static void note_lost(struct name *const *up, unsigned int n,
		      const struct name *next)
{
	unsigned int i;
	bool lost = !next;

	for (i = 0; i < n && !lost; i++)
		lost = up[i] == next;
	for (i = 0; i < n; i++)
		up[i]->lost |= lost;
}

/*
 * Reuses the part of the previous path that leads to a common directory.
 * Follows the parents of @ino up to a component of the previous path, or to the
 * root.  Then removes the components of the previous path below this directory,
 * and appends the names of the followed parents and of @ino.
 */
const char *e4l_names_path(struct e4l_names *names, ext2_ino_t ino)
{
	struct name *up[MAX_LEVELS], *name;
	unsigned int n = 0, left = names->depth;
	bool top = false;

	if (ino == EXT2_ROOT_INO)
		return "/";
	name = find_next(names, ino);
	while (name && !name->on_path && !name->lost && n < MAX_LEVELS) {
		up[n++] = name;
		top = name->parent == EXT2_ROOT_INO;
		if (top)
			break;
		name = parent_of(names, name);
	}
	if (!top && (!name || !name->on_path)) {
		note_lost(up, n, name && name->lost ? NULL : name);
		return NULL;
	}
	while (left && names->level[left - 1].name != name - names->names)
		left--;
	leave(names, left);
	if (left + n > MAX_LEVELS)
		return NULL;
	while (n)
		enter(names, up[--n]);
	names->path[path_bytes(names)] = '\0';
	return names->path;
}

void e4l_names_free(struct e4l_names *names)
{
	if (!names)
		return;
	free(names->names);
	free(names->text);
	free(names->wanted.v);
	free(names->parents.v);
	free(names->path);
	free(names);
}

/* ----------------------------------------------------------------- subtrees */

struct lookup {
	const char *name;
	size_t len;
	ext2_ino_t ino;			/* 0: not found */
	/* the inode in which @name is searched for has directory entries */
	bool is_dir;
	/* first damage; if damage.why is 0, no damage was found */
	struct e4l_damage damage;
};

static errcode_t look(const struct e4l_dirent *entry, void *priv)
{
	struct lookup *l = priv;

	l->is_dir = true;
	if (entry->name_len == l->len && !memcmp(entry->name, l->name, l->len))
		l->ino = entry->ino;
	return 0;
}

static errcode_t look_damaged(const struct e4l_damage *damage, void *priv)
{
	struct lookup *l = priv;

	if (!l->damage.why)
		l->damage = *damage;
	return 0;
}

/*
 * Sets the failure detail, and returns the reason why the lookup @l of a name
 * in directory @ino has failed.
 */
static errcode_t fail_lookup(struct e4l *e, const struct lookup *l,
			     ext2_ino_t ino)
{
	errcode_t err = l->is_dir ? E4L_ET_NO_PATH : E4L_ET_NOT_DIR;

	return e4l_fail(e, l->damage.why ? l->damage.why : err,
			"finding a path", ino, l->damage.blk);
}

/*
 * Finds the inode of @path.  @path begins at the root directory, even without a
 * leading '/'.
 */
static errcode_t find_path(struct e4l *e, const char *path, ext2_ino_t *ret)
{
	static const struct e4l_dirs_ops ops = {
		.entry = look, .damage = look_damaged,
	};
	ext2_ino_t ino = EXT2_ROOT_INO;
	struct lookup l;
	errcode_t err;

	for (;;) {
		path += strspn(path, "/");
		l = (struct lookup) {
			.name = path, .len = strcspn(path, "/"),
		};
		path += l.len;
		if (!l.len)
			break;
		if (l.len == 1 && *l.name == '.')
			continue;
		err = read_some(e, &(struct ino_vec) { .v = &ino, .n = 1 },
				&ops, &l);
		if (err)
			return err;
		if (!l.ino)
			return fail_lookup(e, &l, ino);
		ino = l.ino;
	}
	*ret = ino;
	return 0;
}

struct subtree {
	ext2fs_inode_bitmap found, level, next;
	bool any;			/* @next is not empty */
};

/*
 * Marks the inode of an entry as found.  If the inode was not yet marked and
 * may be a directory, adds the inode to the next level.
 */
static errcode_t descend(const struct e4l_dirent *entry, void *priv)
{
	struct subtree *s = priv;

	if (e4l_dirent_is_dotdot(entry) ||
	    ext2fs_mark_inode_bitmap2(s->found, entry->ino))
		return 0;
	if (entry->file_type == EXT2_FT_UNKNOWN ||
	    entry->file_type == EXT2_FT_DIR) {
		ext2fs_mark_inode_bitmap2(s->next, entry->ino);
		s->any = true;
	}
	return 0;
}

static errcode_t find_paths(struct e4l *e, const char *const *paths, size_t n,
			    size_t *bad, struct subtree *s)
{
	ext2_ino_t ino = 0;
	errcode_t err = 0;
	size_t i;

	for (i = 0; i < n && !err; i++) {
		err = find_path(e, paths[i], &ino);
		if (err && bad)
			*bad = i;
		if (err)
			break;
		ext2fs_mark_inode_bitmap2(s->found, ino);
		ext2fs_mark_inode_bitmap2(s->next, ino);
		s->any = true;
	}
	return err;
}

static errcode_t read_levels(struct e4l *e, struct subtree *s)
{
	static const struct e4l_dirs_ops ops = { .entry = descend };
	ext2fs_inode_bitmap level;
	errcode_t err = 0;

	while (s->any && !err) {
		level = s->level;
		s->level = s->next;
		s->next = level;
		ext2fs_clear_inode_bitmap(s->next);
		s->any = false;
		err = e4l_dirs_read(e, s->level, &ops, s);
	}
	return err;
}

errcode_t e4l_subtree(struct e4l *e, const char *const *paths, size_t n_paths,
		      size_t *bad, ext2fs_inode_bitmap *ret)
{
	struct subtree s = { 0 };
	errcode_t err;

	err = ext2fs_allocate_inode_bitmap(e->fs, "below", &s.found);
	if (!err)
		err = ext2fs_allocate_inode_bitmap(e->fs, "level", &s.level);
	if (!err)
		err = ext2fs_allocate_inode_bitmap(e->fs, "next", &s.next);
	if (!err)
		err = find_paths(e, paths, n_paths, bad, &s);
	if (!err)
		err = read_levels(e, &s);
	ext2fs_free_inode_bitmap(s.level);
	ext2fs_free_inode_bitmap(s.next);
	if (err)
		ext2fs_free_inode_bitmap(s.found);
	*ret = err ? NULL : s.found;
	return err;
}
