/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses the language of recipes.  A line is a directive, its arguments, and
 * options (`name value`, or `name`) in any order; see tests/recipes/README.md.
 */
#include "config.h"
#include <errno.h>
#include <string.h>
#include "lab.h"

#define NAME_BYTES 64 /* size of generated names */

/* The words of a line, with a mark for each used word. */
struct args {
	struct lab *l;
	char **word;
	bool *used;
	int n;
};

/* ---- words ---- */

static const char *arg(struct args *a, int i, const char *what)
{
	if (i >= a->n)
		lab_fail(a->l, "%s: no %s", a->word[0], what);
	a->used[i] = true;
	return a->word[i];
}

/* Returns the index of the option @name; 0: the option was not given. */
static int find_opt(struct args *a, const char *name)
{
	int i;

	for (i = 1; i < a->n; i++)
		if (!a->used[i] && !strcmp(a->word[i], name))
			break;
	if (i == a->n)
		return 0;
	a->used[i] = true;
	return i;
}

static bool opt(struct args *a, const char *name)
{
	return find_opt(a, name) != 0;
}

/* Returns the word after the option @name; NULL: the option was not given. */
static const char *opt_word(struct args *a, const char *name)
{
	int i = find_opt(a, name);

	return i ? arg(a, i + 1, name) : NULL;
}

/*
 * Returns the number at *@s, and sets *@s to the end of the number.  If @units
 * is true, the number may end in K, M, G or T (powers of 1024).
 */
static __u64 scan_number(struct lab *l, const char **s, int base, bool units)
{
	static const char letters[] = "KMGT";
	const char *start = *s, *unit;
	__u64 value;
	int shift;
	char *end;

	errno = 0;
	value = strtoull(start, &end, base);
	if (*start < '0' || *start > '9' || errno)
		lab_fail(l, "not a number: %s", start);
	unit = units && *end ? strchr(letters, *end) : NULL;
	if (unit) {
		shift = 10 * (unit - letters + 1);
		if (value << shift >> shift != value)
			lab_fail(l, "too large: %s", start);
		value <<= shift;
		end++;
	}
	*s = end;
	return value;
}

static __u64 number(struct lab *l, const char *word, int base, bool units)
{
	const char *s = word;
	__u64 value = scan_number(l, &s, base, units);

	if (*s)
		lab_fail(l, "not a number: %s", word);
	return value;
}

static __u64 opt_bytes(struct args *a, const char *name, __u64 otherwise)
{
	const char *word = opt_word(a, name);

	return word ? number(a->l, word, 10, true) : otherwise;
}

static __u32 opt_count(struct args *a, const char *name, __u32 otherwise)
{
	const char *word = opt_word(a, name);
	__u64 value = word ? number(a->l, word, 10, false) : otherwise;

	if (value > UINT32_MAX)
		lab_fail(a->l, "too large: %s", word);
	return value;
}

/* Returns a required number that is not 0. */
static __u32 need_count(struct args *a, const char *name)
{
	__u32 value = opt_count(a, name, 0);

	if (!value)
		lab_fail(a->l, "%s needs: %s N", a->word[0], name);
	return value;
}

static blk64_t need_blks(struct args *a, const char *name)
{
	__u64 bytes = opt_bytes(a, name, 0);

	if (!bytes)
		lab_fail(a->l, "%s needs: %s BYTES", a->word[0], name);
	return div_up(bytes, a->l->block_bytes);
}

/* ---- paths ---- */

struct range {
	__u64 least, most;
};

/* Returns the range of an option of the form `SIZE` or `SIZE-SIZE`. */
static struct range opt_range(struct args *a, const char *name)
{
	const char *word = opt_word(a, name);
	struct range r = { 0 };

	if (!word)
		return r;
	r.least = r.most = scan_number(a->l, &word, 10, true);
	if (*word == '-') {
		word++;
		r.most = scan_number(a->l, &word, 10, true);
	}
	if (*word || r.most < r.least)
		lab_fail(a->l, "not a range: %s", word);
	return r;
}

static __u64 pick(struct lab *l, const struct range *r)
{
	return r->least + (r->most > r->least ?
			   lab_random(l, r->most - r->least + 1) : 0);
}

static struct node *make_dir(struct lab *l, struct node *parent,
			     const char *name, ext2_ino_t goal_ino)
{
	struct node *dir = node_new(l, LINUX_S_IFDIR | 0755, goal_ino);

	dir_init(l, dir, parent);
	dir_add(l, parent, name, dir);
	return dir;
}

/*
 * Returns the directory of @path, and creates the directory if it is missing.
 * Sets *@name to the last component.
 */
static struct node *walk_path(struct lab *l, const char *path,
			      const char **name)
{
	struct node *dir = &l->nodes[EXT2_ROOT_INO];
	char part[EXT2_NAME_LEN + 1];
	ext2_ino_t ino;
	size_t len;

	if (*path != '/')
		lab_fail(l, "a path begins with /: %s", path);
	for (path++; path[len = strcspn(path, "/")]; path += len + 1) {
		if (len >= sizeof(part))
			lab_fail(l, "a name is too long: %s", path);
		memcpy(part, path, len);
		part[len] = '\0';
		ino = dir_find(l, dir, part, len);
		dir = ino ? &l->nodes[ino] : make_dir(l, dir, part, 0);
		if (!dir->links || !node_is_dir(dir))
			lab_fail(l, "not a directory: %s", part);
	}
	*name = path;
	return dir;
}

static struct node *find_node(struct lab *l, const char *path)
{
	const char *name;
	struct node *dir = walk_path(l, path, &name);
	ext2_ino_t ino;

	if (!*name)
		return dir;
	ino = dir_find(l, dir, name, strlen(name));
	if (!ino || !l->nodes[ino].links)
		lab_fail(l, "no such file: %s", path);
	return &l->nodes[ino];
}

/* Returns the directory @path, which is created if missing. */
static struct node *find_dir(struct lab *l, const char *path)
{
	const char *name;
	struct node *dir = walk_path(l, path, &name);
	ext2_ino_t ino = *name ? dir_find(l, dir, name, strlen(name)) : 0;

	if (ino)
		dir = &l->nodes[ino];
	else if (*name)
		dir = make_dir(l, dir, name, 0);
	if (!dir->links || !node_is_dir(dir))
		lab_fail(l, "not a directory: %s", path);
	return dir;
}

/* ---- inodes ---- */

static __u32 opt_flags(struct args *a)
{
	static const struct {
		const char *name;
		__u32 flag;
	} names[] = {
		{ "append", EXT2_APPEND_FL },
		{ "immutable", EXT2_IMMUTABLE_FL },
		{ "noatime", EXT2_NOATIME_FL },
		{ "nodump", EXT2_NODUMP_FL },
		{ "encrypt", EXT4_ENCRYPT_FL },
		{ "projinherit", EXT4_PROJINHERIT_FL },
		{ "casefold", EXT4_CASEFOLD_FL },
		{ "verity", EXT4_VERITY_FL },
	};
	const char *word = opt_word(a, "flags");
	__u32 flags = 0;
	size_t len, i;

	for (; word && *word; word += len + (word[len] == ',')) {
		len = strcspn(word, ",");
		for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			if (len == strlen(names[i].name) &&
			    !memcmp(word, names[i].name, len))
				break;
		if (i == sizeof(names) / sizeof(names[0]))
			lab_fail(a->l, "no such flag: %s", word);
		flags |= names[i].flag;
	}
	return flags;
}

/* Parses the options that every type of inode can have. */
static void take_attributes(struct args *a, struct node *n)
{
	const char *mode = opt_word(a, "mode");
	__u32 uid = opt_count(a, "uid", 0), gid = opt_count(a, "gid", 0);
	__u32 projid = opt_count(a, "project", 0);
	struct extra *x;

	if (mode)
		n->mode = (n->mode & LINUX_S_IFMT) |
			  (number(a->l, mode, 8, false) & 07777);
	n->iflags |= opt_flags(a);
	if (n->iflags & EXT4_ENCRYPT_FL)
		node_encrypt(a->l, n);
	if (uid || gid || projid) {
		x = node_extra(a->l, n);
		x->uid = uid;
		x->gid = gid;
		x->projid = projid;
	}
}

static void take_inline(struct args *a, struct node *n)
{
	if (!opt(a, "inline"))
		return;
	if (!ext2fs_has_feature_inline_data(a->l->fs->super))
		lab_fail(a->l, "the filesystem has no inline data");
	n->iflags = (n->iflags & ~EXT4_EXTENTS_FL) | EXT4_INLINE_DATA_FL;
	node_extra(a->l, n)->is_inline = true;
}

/* Parses the options that describe the block map of a regular file. */
static void take_shape(struct args *a, struct node *n)
{
	__u32 depth = opt_count(a, "depth", 0);
	__u32 leaf = opt_count(a, "leaf", 0), index = opt_count(a, "index", 0);
	struct extra *x;

	if (opt(a, "indirect"))
		n->iflags &= ~EXT4_EXTENTS_FL;
	if (depth || leaf || index) {
		x = node_extra(a->l, n);
		x->min_depth = depth;
		x->leaf_max = leaf;
		x->index_max = index;
	}
}

/* Makes a new inode with the name of the line's first argument. */
static struct node *new_at_path(struct args *a, __u16 mode)
{
	const char *name;
	struct lab *l = a->l;
	struct node *dir = walk_path(l, arg(a, 1, "path"), &name), *n;

	if (!*name || dir_find(l, dir, name, strlen(name)))
		lab_fail(l, "it is there already: %s", a->word[1]);
	n = node_new(l, mode, opt_count(a, "inode", 0));
	if (LINUX_S_ISREG(mode) || LINUX_S_ISDIR(mode))
		take_inline(a, n);
	if (LINUX_S_ISREG(mode))
		take_shape(a, n);
	take_attributes(a, n);
	if (LINUX_S_ISDIR(mode))
		dir_init(l, n, dir);
	dir_add(l, dir, name, n);
	return n;
}

static struct node *new_file(struct args *a)
{
	return new_at_path(a, LINUX_S_IFREG | 0644);
}

/* Adds a regular file with the next generated name. */
static struct node *add_file(struct lab *l, struct node *dir,
			     const char *prefix, ext2_ino_t goal_ino)
{
	struct node *n = node_new(l, LINUX_S_IFREG | 0644, goal_ino);
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "%s%u", prefix, dir->x->serial++);
	dir_add(l, dir, name, n);
	return n;
}

static struct node *add_dir(struct lab *l, struct node *parent)
{
	char name[NAME_BYTES];

	snprintf(name, sizeof(name), "d%u", parent->x->serial++);
	return make_dir(l, parent, name, 0);
}

/* Sets the size of the file: the given size, or the end of the last extent. */
static void finish_file(struct args *a, struct node *n)
{
	n->size_bytes = opt_bytes(a, "isize", (__u64)node_end_lblk(n) *
				  a->l->block_bytes);
	node_settle(a->l, n);
}

static void grow_bytes(struct lab *l, struct node *n, __u64 bytes, int flags)
{
	node_grow(l, n, 0, div_up(bytes, l->block_bytes), flags);
	node_settle(l, n);
	n->size_bytes = bytes;
}

/* ---- directives ---- */

/* Runs another recipe, whose name is relative to this recipe's folder. */
static void do_include(struct args *a)
{
	const char *name = arg(a, 1, "file");
	const char *slash = strrchr(a->l->recipe_name, '/');
	int folder = slash && *name != '/' ? slash + 1 - a->l->recipe_name : 0;
	char *path = lab_alloc(a->l, folder + strlen(name) + 1);

	sprintf(path, "%.*s%s", folder, a->l->recipe_name, name);
	recipe_run(a->l, path);
	free(path);
}

static void do_size(struct args *a)
{
	a->l->size_bytes = number(a->l, arg(a, 1, "size"), 10, true);
}

static void do_mke2fs(struct args *a)
{
	struct lab *l = a->l;
	size_t old = l->mke2fs_args ? strlen(l->mke2fs_args) : 0, add;
	int i;

	for (i = 1; i < a->n; i++) {
		add = strlen(arg(a, i, "option"));
		l->mke2fs_args = lab_realloc(l, l->mke2fs_args, old + add + 2);
		memcpy(l->mke2fs_args + old, a->word[i], add);
		old += add;
		memcpy(l->mke2fs_args + old++, " ", 2);
	}
}

static void do_journal(struct args *a)
{
	a->l->journal_bytes = number(a->l, arg(a, 1, "size"), 10, true);
}

static void do_htree(struct args *a)
{
	a->l->with_htree = true;
}

static void do_contents(struct args *a)
{
	const char *word = arg(a, 1, "on or off");

	if (strcmp(word, "on") && strcmp(word, "off"))
		lab_fail(a->l, "contents on, or contents off");
	a->l->no_contents = !strcmp(word, "off");
}

static void do_goal(struct args *a)
{
	struct lab *l = a->l;
	const char *group = opt_word(a, "group");
	__u64 at;

	if (group) {
		at = number(l, group, 10, false);
		if (at >= l->fs->group_desc_count)
			lab_fail(l, "no such group: %s", group);
		at = ext2fs_group_first_block2(l->fs, at);
	} else {
		at = number(l, arg(a, 1, "block"), 10, false);
	}
	if (at < l->fs->super->s_first_data_block || at >= l->end_blk)
		lab_fail(l, "no such block: %llu", (unsigned long long)at);
	l->goal_blk = at;
}

static void do_dir(struct args *a)
{
	new_at_path(a, LINUX_S_IFDIR | 0755);
}

/*
 * Adds one extent, which @word describes as LBLK+LENw or LBLK+LENu, optionally
 * followed by @PBLK.
 */
static void grow_extent(struct lab *l, struct node *n, const char *word)
{
	const char *s = word;
	__u64 lblk = scan_number(l, &s, 10, false), len;
	int flags;

	if (*s++ != '+')
		lab_fail(l, "not an extent: %s", word);
	len = scan_number(l, &s, 10, false);
	if ((*s != 'w' && *s != 'u') || !len)
		lab_fail(l, "not an extent: %s", word);
	flags = *s++ == 'u' ? GROW_UNWRITTEN : 0;
	if (!*s)
		node_grow(l, n, lblk, len, flags);
	else if (*s++ == '@')
		node_grow_at(l, n, lblk, len, flags, number(l, s, 10, false));
	else
		lab_fail(l, "not an extent: %s", word);
}

static void do_file(struct args *a)
{
	struct node *n = new_file(a);
	int i = find_opt(a, "extents");
	int flags = opt(a, "holes") ? GROW_HOLES : 0;
	__u64 bytes;

	if (opt(a, "unwritten"))
		flags |= GROW_UNWRITTEN;
	if (i) {
		while (++i < a->n && a->word[i][0] >= '0' &&
		       a->word[i][0] <= '9')
			grow_extent(a->l, n, arg(a, i, "extent"));
		finish_file(a, n);
	} else {
		bytes = opt_bytes(a, "size", 0);
		if (!(n->iflags & EXT4_INLINE_DATA_FL))
			grow_bytes(a->l, n, bytes, flags);
		n->size_bytes = opt_bytes(a, "isize", bytes);
	}
}

/*
 * Makes a file of alternating written and unwritten ranges on contiguous
 * blocks.
 */
static void do_mosaic(struct args *a)
{
	struct lab *l = a->l;
	struct node *n = new_file(a);
	blk64_t total = need_blks(a, "size"), at, len, start;
	blk64_t runs[2] = { need_blks(a, "written"),
			    need_blks(a, "unwritten") };
	bool random = opt(a, "random");
	int flags = 0;

	if (!(n->iflags & EXT4_EXTENTS_FL))
		lab_fail(l, "a mosaic needs extents");
	start = take_run(l, total);
	for (at = 0; at < total; at += len, flags ^= GROW_UNWRITTEN) {
		len = runs[flags == GROW_UNWRITTEN];
		if (random)
			len = 1 + lab_random(l, 2 * len - 1);
		if (len > total - at)
			len = total - at;
		node_push(l, n, at, len, flags, start + at);
	}
	finish_file(a, n);
}

static void shuffle(struct lab *l, blk64_t *array, __u32 n)
{
	blk64_t swap;
	__u32 other;

	for (; n > 1; n--) {
		other = lab_random(l, n);
		swap = array[n - 1];
		array[n - 1] = array[other];
		array[other] = swap;
	}
}

static __u64 whole_clusters(const struct lab *l, __u64 blks)
{
	return div_up(blks, l->ratio_blks) * l->ratio_blks;
}

/* Makes a file of fragments, with free blocks between the fragments. */
static void do_scatter(struct args *a)
{
	struct lab *l = a->l;
	struct node *n = new_file(a);
	__u32 frags = need_count(a, "frags");
	__u64 len = whole_clusters(l, need_count(a, "blocks"));
	__u64 gap = whole_clusters(l, opt_count(a, "gap", len));
	__u64 hole = whole_clusters(l, opt_count(a, "hole", 0));
	bool alternate = opt(a, "alternate");
	blk64_t *pblk = lab_alloc(l, frags * sizeof(*pblk));
	__u32 i;

	for (i = 0; i < frags; i++) {
		pblk[i] = take_run(l, len);
		l->goal_blk += gap;
	}
	if (opt(a, "shuffle"))
		shuffle(l, pblk, frags);
	for (i = 0; i < frags; i++)
		node_push(l, n, i * (len + hole), len,
			  alternate && i % 2 ? GROW_UNWRITTEN : 0, pblk[i]);
	free(pblk);
	finish_file(a, n);
}

/* Makes files that grow alternately. */
static void do_interleave(struct args *a)
{
	struct lab *l = a->l;
	struct node *dir = find_dir(l, arg(a, 1, "path"));
	__u32 count = need_count(a, "count"), rounds = need_count(a, "rounds");
	__u32 len = need_count(a, "blocks"), round, i;
	struct node **files = lab_alloc(l, count * sizeof(*files));

	for (i = 0; i < count; i++)
		files[i] = add_file(l, dir, "f", 0);
	for (round = 0; round < rounds; round++) {
		for (i = 0; i < count; i++) {
			node_grow(l, files[i], node_end_lblk(files[i]), len,
				  GROW_MERGE);
			node_settle(l, files[i]);
		}
	}
	for (i = 0; i < count; i++)
		finish_file(a, files[i]);
	free(files);
}

static void do_append(struct args *a)
{
	struct lab *l = a->l;
	struct node *n = find_node(l, arg(a, 1, "path"));
	int flags = opt(a, "unwritten") ? GROW_UNWRITTEN : 0;

	if (!LINUX_S_ISREG(n->mode))
		lab_fail(l, "not a regular file: %s", a->word[1]);
	node_grow(l, n, node_end_lblk(n), need_blks(a, "size"),
		  flags | GROW_MERGE);
	finish_file(a, n);
}

/* Returns the number of free inodes. */
static __u32 count_free_inos(struct lab *l)
{
	ext2_ino_t last = l->fs->super->s_inodes_count, ino;
	__u32 n = 0;

	for (ino = EXT2_FIRST_INO(l->fs->super); ino <= last; ino++)
		n += !ext2fs_test_inode_bitmap2(l->fs->inode_map, ino);
	return n;
}

/*
 * Returns the number of files to make: the option `count`, or the number of
 * free inodes minus the option `left` and minus the inodes of new directories.
 */
static __u32 count_many(struct args *a, __u32 per_dir)
{
	__u32 left = opt_count(a, "left", UINT32_MAX), n;

	if (left == UINT32_MAX)
		return need_count(a, "count");
	n = count_free_inos(a->l);
	if (n <= left)
		lab_fail(a->l, "fewer inodes are free");
	n -= left;
	return per_dir ? n - (n + per_dir) / (per_dir + 1) : n;
}

static void do_many(struct args *a)
{
	struct lab *l = a->l;
	struct node *top = find_dir(l, arg(a, 1, "path")), *dir = top;
	__u32 per_dir = opt_count(a, "perdir", 0);
	__u32 count = count_many(a, per_dir), i;
	__u32 step = opt_count(a, "step", 1);
	struct range size = opt_range(a, "size");
	const char *prefix = opt_word(a, "name");
	struct node *n;

	if (prefix && strlen(prefix) > NAME_BYTES - 12)
		lab_fail(l, "the name is too long: %s", prefix);
	for (i = 0; i < count; i++) {
		if (per_dir && i % per_dir == 0)
			dir = add_dir(l, top);
		n = add_file(l, dir, prefix ? prefix : "f", 0);
		if (size.most)
			grow_bytes(l, n, pick(l, &size), 0);
		l->goal_ino += step - 1;
	}
}

/*
 * Makes directories whose files are created alternately, one file per directory
 * and round.
 */
static void do_tree(struct args *a)
{
	struct lab *l = a->l;
	struct node *top = find_dir(l, arg(a, 1, "path"));
	__u32 dirs = need_count(a, "dirs"), files = need_count(a, "files");
	struct range size = opt_range(a, "size");
	struct node **dir = lab_alloc(l, dirs * sizeof(*dir));
	__u32 d, f;

	for (d = 0; d < dirs; d++)
		dir[d] = add_dir(l, top);
	for (f = 0; f < files; f++)
		for (d = 0; d < dirs; d++)
			grow_bytes(l, add_file(l, dir[d], "f", 0),
				   pick(l, &size), 0);
	free(dir);
}

/*
 * Which regular files in and below a directory are removed: every file whose
 * number is a multiple of @every or, if @every is 0, @percent % of the files at
 * random.  @seen is the number of files that were counted so far.
 */
struct cull {
	__u32 every, percent, seen;
};

static bool cull_entry(struct lab *l, struct ext2_dir_entry *de, void *arg)
{
	struct cull *c = arg;
	struct node *n = &l->nodes[de->inode];

	if (n->links && node_is_dir(n))
		dir_each(l, n, cull_entry, c);
	if (!LINUX_S_ISREG(n->mode))
		return false;
	if (c->every ? ++c->seen % c->every : lab_random(l, 100) >= c->percent)
		return false;
	drop_link(l, n);
	return true;
}

static bool remove_named(struct lab *l, struct ext2_dir_entry *de, void *arg)
{
	const char *name = arg;
	size_t len = strlen(name);

	if (ext2fs_dirent_name_len(de) != len || memcmp(de->name, name, len))
		return false;
	drop_link(l, &l->nodes[de->inode]);
	return true;
}

static void do_delete(struct args *a)
{
	struct lab *l = a->l;
	struct cull c = { .every = opt_count(a, "every", 0),
			  .percent = opt_count(a, "percent", 0) };
	const char *path = arg(a, 1, "path"), *name;
	struct node *dir;

	if (c.every || c.percent) {
		dir_each(l, find_dir(l, path), cull_entry, &c);
		return;
	}
	find_node(l, path);
	dir = walk_path(l, path, &name);
	dir_each(l, dir, remove_named, (void *)name);
}

static void add_xattr(struct lab *l, struct node *n, const struct xattr *like)
{
	struct xattr *attr = lab_alloc(l, sizeof(*attr));
	struct extra *x = node_extra(l, n);

	if (n->iflags & EXT4_ENCRYPT_FL)
		lab_fail(l, "an encrypted file has no room for attributes");
	attr->name = lab_strdup(l, like->name);
	attr->value_bytes = like->value_bytes;
	attr->value = lab_alloc(l, div_up(like->value_bytes, 8) * 8);
	if (like->value)
		memcpy(attr->value, like->value, like->value_bytes);
	else
		emit_fill(attr->value, div_up(like->value_bytes, 8) * 8,
			  emit_key(l, node_ino(l, n), like->value_bytes));
	attr->next = x->xattrs;
	x->xattrs = attr;
}

static bool add_xattr_below(struct lab *l, struct ext2_dir_entry *de, void *arg)
{
	struct node *n = &l->nodes[de->inode];

	if (n->links && node_is_dir(n))
		dir_each(l, n, add_xattr_below, arg);
	else if (LINUX_S_ISREG(n->mode))
		add_xattr(l, n, arg);
	return false;
}

static void do_xattr(struct args *a)
{
	struct lab *l = a->l;
	struct node *n = find_node(l, arg(a, 1, "path"));
	bool below = opt(a, "below");
	struct xattr like = {
		.name = (char *)arg(a, 2, "name"),
		.value_bytes = opt_bytes(a, "size", 0),
	};

	if (!like.value_bytes) {
		like.value = (char *)arg(a, 3, "value");
		like.value_bytes = strlen(like.value);
	}
	if (below && node_is_dir(n))
		dir_each(l, n, add_xattr_below, &like);
	else
		add_xattr(l, n, &like);
}

static void do_share(struct args *a)
{
	struct lab *l = a->l;
	struct node *owner = find_node(l, arg(a, 1, "path"));
	struct node *n = find_node(l, arg(a, 2, "path"));

	node_extra(l, n)->xattrs_of = node_ino(l, owner);
}

static void do_link(struct args *a)
{
	struct lab *l = a->l;
	struct node *n = find_node(l, arg(a, 1, "path")), *dir;
	const char *name;

	if (node_is_dir(n))
		lab_fail(l, "a directory: %s", a->word[1]);
	dir = walk_path(l, arg(a, 2, "new path"), &name);
	if (!*name || dir_find(l, dir, name, strlen(name)))
		lab_fail(l, "it is there already: %s", a->word[2]);
	dir_add(l, dir, name, n);
}

static void do_symlink(struct args *a)
{
	struct lab *l = a->l;
	struct node *n = new_at_path(a, LINUX_S_IFLNK | 0777);
	__u32 len = opt_count(a, "length", 0);
	struct extra *x = node_extra(l, n);

	if (len) {
		x->target = lab_alloc(l, len + 1);
		memset(x->target, 'x', len);
	} else {
		x->target = lab_strdup(l, arg(a, 2, "target"));
		len = strlen(x->target);
	}
	if (len >= l->block_bytes)
		lab_fail(l, "the target is longer than a block");
	if (len >= EXT2_N_BLOCKS * sizeof(__u32))
		node_grow(l, n, 0, 1, 0);
	else
		n->iflags &= ~EXT4_EXTENTS_FL;
	n->size_bytes = len;
}

static void do_fifo(struct args *a)
{
	new_at_path(a, LINUX_S_IFIFO | 0644);
}

static void do_socket(struct args *a)
{
	new_at_path(a, LINUX_S_IFSOCK | 0755);
}

static void make_device(struct args *a, __u16 mode)
{
	struct node *n = new_at_path(a, mode);
	__u64 major = number(a->l, arg(a, 2, "major"), 10, false);
	__u64 minor = number(a->l, arg(a, 3, "minor"), 10, false);

	if (major > 0xFFF || minor > 0xFFFFF)
		lab_fail(a->l, "no such device number");
	node_extra(a->l, n)->dev = (minor & 0xFF) | major << 8 |
				   (minor & ~0xFFULL) << 12;
}

static void do_chardev(struct args *a)
{
	make_device(a, LINUX_S_IFCHR | 0600);
}

static void do_blockdev(struct args *a)
{
	make_device(a, LINUX_S_IFBLK | 0600);
}

/* ---- the table of directives ---- */

static const struct directive {
	const char *name;
	void (*run)(struct args *a);
	enum { ANYTIME, BEFORE_MKE2FS, AFTER_MKE2FS } when;
} directives[] = {
	{ "include", do_include, ANYTIME },
	{ "size", do_size, BEFORE_MKE2FS },
	{ "mke2fs", do_mke2fs, BEFORE_MKE2FS },
	{ "journal", do_journal, BEFORE_MKE2FS },
	{ "htree", do_htree, ANYTIME },
	{ "contents", do_contents, AFTER_MKE2FS },
	{ "goal", do_goal, AFTER_MKE2FS },
	{ "dir", do_dir, AFTER_MKE2FS },
	{ "file", do_file, AFTER_MKE2FS },
	{ "mosaic", do_mosaic, AFTER_MKE2FS },
	{ "scatter", do_scatter, AFTER_MKE2FS },
	{ "interleave", do_interleave, AFTER_MKE2FS },
	{ "append", do_append, AFTER_MKE2FS },
	{ "many", do_many, AFTER_MKE2FS },
	{ "tree", do_tree, AFTER_MKE2FS },
	{ "delete", do_delete, AFTER_MKE2FS },
	{ "xattr", do_xattr, AFTER_MKE2FS },
	{ "share", do_share, AFTER_MKE2FS },
	{ "link", do_link, AFTER_MKE2FS },
	{ "symlink", do_symlink, AFTER_MKE2FS },
	{ "fifo", do_fifo, AFTER_MKE2FS },
	{ "socket", do_socket, AFTER_MKE2FS },
	{ "chardev", do_chardev, AFTER_MKE2FS },
	{ "blockdev", do_blockdev, AFTER_MKE2FS },
};

static const struct directive *find_directive(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(directives) / sizeof(directives[0]); i++)
		if (!strcmp(directives[i].name, name))
			return &directives[i];
	return NULL;
}

static void run_directive(struct args *a)
{
	const struct directive *d = find_directive(arg(a, 0, "directive"));
	struct lab *l = a->l;
	int i;

	if (!d)
		lab_fail(l, "no such directive: %s", a->word[0]);
	if (d->when == BEFORE_MKE2FS && l->fs)
		lab_fail(l, "%s comes before everything else", d->name);
	if (d->when == AFTER_MKE2FS && !l->fs)
		image_open(l);
	d->run(a);
	for (i = 1; i < a->n; i++)
		if (!a->used[i])
			lab_fail(l, "%s does not know: %s", d->name,
				 a->word[i]);
}

/*
 * Replaces each % in @line by @turn, splits the line into words, and runs the
 * line.
 */
static void run_line(struct lab *l, const char *line, __u32 turn)
{
	size_t len = strlen(line);
	char *copy = lab_alloc(l, len * 10 + 1), *out = copy, *word, *rest;
	struct args a = { .l = l };

	for (; *line; line++)
		if (*line == '%')
			out += sprintf(out, "%u", turn);
		else
			*out++ = *line;
	a.word = lab_alloc(l, (len / 2 + 1) * sizeof(*a.word));
	a.used = lab_alloc(l, (len / 2 + 1) * sizeof(*a.used));
	for (word = strtok_r(copy, " \t", &rest); word;
	     word = strtok_r(NULL, " \t", &rest))
		a.word[a.n++] = word;
	if (a.n)
		run_directive(&a);
	free(a.word);
	free(a.used);
	free(copy);
}

static void run_repeated(struct lab *l, char *line)
{
	const char *rest = line;
	__u64 times = 1, turn;

	line[strcspn(line, "#\n")] = '\0';
	if (!strncmp(line, "repeat ", 7)) {
		rest += 7;
		times = scan_number(l, &rest, 10, false);
	}
	for (turn = 0; turn < times; turn++)
		run_line(l, rest, turn);
}

void recipe_run(struct lab *l, const char *path)
{
	const char *outer_name = l->recipe_name;
	unsigned int outer_line = l->line;
	FILE *file = strcmp(path, "-") ? fopen(path, "r") : stdin;
	char *line = NULL;
	size_t room = 0;

	lab_check(l, file ? 0 : errno, path);
	l->recipe_name = path;
	for (l->line = 1; getline(&line, &room, file) >= 0; l->line++)
		run_repeated(l, line);
	lab_check(l, ferror(file) ? EIO : 0, "reading the recipe");
	free(line);
	fclose(file);
	l->recipe_name = outer_name;
	l->line = outer_line;
}
