/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies a manifest, mtree(5), to the tree.  libarchive's reader is not
 * suitable: it does not report which keywords an entry has, it ignores extended
 * attributes, and it takes missing attributes from files with the same path in
 * the working directory.
 */
#include "config.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <nettle/base64.h>
#include "e4layout/base/stat.h"
#include "e4layout/base/array.h"
#include "e4layout/populate/layer.h"
#include "e4layout/populate/tree_edit.h"
#include "mke4fs_lines.h"
#include "mke4fs_source.h"
#include "support/say.h"

struct xattr {
	char *name;			/* name without "xattr." */
	uint8_t *value;
	size_t size;
};

/* The keywords of an entry. */
struct spec {
	/* change.set has HAS_* and CHANGE_* bits */
	struct change change;
	uint32_t type;			/* S_IF* */
	uint64_t size, rdev;
	struct e4l_time mtime;
	char *target, *content;
	struct xattr *xattrs;
	size_t n_xattrs;
};

enum {
	HAS_UID = CHANGE_UID, HAS_GID = CHANGE_GID, HAS_MODE = CHANGE_PERMS,
	HAS_TYPE = 0x08, HAS_SIZE = 0x10, HAS_DEVICE = 0x20, HAS_TIME = 0x40,
	HAS_TARGET = 0x80, HAS_CONTENT = 0x100,
};

struct mtree {
	struct load *l;
	struct lines lines;
	struct spec set;		/* keywords of /set */
	/* path of the directory of names that have no slash; "": the root */
	char *cwd;
};

/* ------------------------------------------------------------------ keywords */

/*
 * Decodes a string in the encoding of strvis(3) in place.  If the string is
 * invalid, returns false.
 */
static bool unvis(char *s)
{
	static const char letters[] = "sntrabvfE", values[] = " \n\t\r\a\b\v\f\033";
	const char *letter;
	char *out = s;
	int value, i;

	for (; *s; s++) {
		if (*s != '\\') {
			*out++ = *s;
			continue;
		}
		s++;
		if (*s >= '0' && *s <= '3' && isdigit((unsigned char)s[1])) {
			for (value = i = 0; i < 3 && *s >= '0' && *s <= '7';
			     i++)
				value = value * 8 + *s++ - '0';
			s--;
			if (i < 3 || !value || value > 255)
				return false;
			*out++ = value;
			continue;
		}
		letter = *s ? strchr(letters, *s) : NULL;
		if (!*s || (!letter && isalnum((unsigned char)*s)))
			return false;
		*out++ = letter ? values[letter - letters] : *s;
	}
	*out = '\0';
	return true;
}

static bool take_type(struct spec *s, const char *value)
{
	static const struct {
		const char *name;
		uint32_t type;
	} types[] = {
		{ "file", S_IFREG }, { "dir", S_IFDIR }, { "link", S_IFLNK },
		{ "char", S_IFCHR }, { "block", S_IFBLK }, { "fifo", S_IFIFO },
		{ "socket", S_IFSOCK },
	};
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (strcmp(types[i].name, value))
			continue;
		s->type = types[i].type;
		return true;
	}
	return false;
}

static bool take_mode(struct spec *s, const char *value)
{
	return take_u32(value, 8, MAX_PERMS, &s->change.perms);
}

static bool take_uid(struct spec *s, const char *value)
{
	return take_u32(value, 10, MAX_ID, &s->change.uid);
}

static bool take_gid(struct spec *s, const char *value)
{
	return take_u32(value, 10, MAX_ID, &s->change.gid);
}

static bool take_size(struct spec *s, const char *value)
{
	return take_number(value, 10, INT64_MAX, &s->size);
}

/*
 * Parses SECONDS[.NANOSECONDS].  As in libarchive, NANOSECONDS is an integer,
 * not a fraction: 1.5 means 1 s + 5 ns.  Returns false if the value is invalid.
 */
static bool take_time(struct spec *s, const char *value)
{
	unsigned long nsec;
	char *end;

	errno = 0;
	s->mtime.tv_sec = strtoll(value, &end, 10);
	s->mtime.tv_nsec = 0;
	if (errno || end == value || (*end && *end != '.'))
		return false;
	if (!*end)
		return true;
	nsec = strtoul(end + 1, &end, 10);
	s->mtime.tv_nsec = (uint32_t)nsec;
	return !*end && nsec < 1000000000;
}

/*
 * Parses FORMAT,MAJOR,MINOR (FORMAT is native or linux), or a device number in
 * the encoding of Linux.  If @value is invalid, returns false.
 */
static bool take_device(struct spec *s, const char *value)
{
	unsigned int major, minor;
	uint64_t n;
	char end;

	if (sscanf(value, "native,%u,%u%c", &major, &minor, &end) == 2 ||
	    sscanf(value, "linux,%u,%u%c", &major, &minor, &end) == 2) {
		s->rdev = makedev(major, minor);
		return major <= 0xfff && minor <= 0xfffff;
	}
	if (!take_number(value, 0, UINT32_MAX, &n))
		return false;
	s->rdev = n;
	return true;
}

static bool keep_text(char **text, const char *value)
{
	free(*text);
	*text = strdup(value);
	return *text && unvis(*text) && **text;
}

static bool take_target(struct spec *s, const char *value)
{
	return keep_text(&s->target, value);
}

static bool take_contents(struct spec *s, const char *value)
{
	return keep_text(&s->content, value);
}

static bool take_nothing(struct spec *s, const char *value)
{
	(void)s;
	(void)value;
	return true;
}

static const struct keyword {
	const char *name;
	uint32_t has;
	bool (*take)(struct spec *s, const char *value);
} keywords[] = {
	{ "type", HAS_TYPE, take_type },
	{ "mode", HAS_MODE, take_mode },
	{ "uid", HAS_UID, take_uid },
	{ "gid", HAS_GID, take_gid },
	{ "size", HAS_SIZE, take_size },
	{ "time", HAS_TIME, take_time },
	{ "device", HAS_DEVICE, take_device },
	{ "resdevice", 0, take_nothing },
	{ "link", HAS_TARGET, take_target },
	{ "contents", HAS_CONTENT, take_contents },
	{ "content", HAS_CONTENT, take_contents },
	/* Names of owners are ignored, because uid and gid are used. */
	{ "uname", 0, take_nothing }, { "gname", 0, take_nothing },
	/* Keywords for verification are ignored. */
	{ "cksum", 0, take_nothing }, { "inode", 0, take_nothing },
	{ "md5", 0, take_nothing }, { "md5digest", 0, take_nothing },
	{ "nlink", 0, take_nothing }, { "nochange", 0, take_nothing },
	{ "optional", 0, take_nothing }, { "ignore", 0, take_nothing },
	{ "rmd160", 0, take_nothing }, { "rmd160digest", 0, take_nothing },
	{ "ripemd160digest", 0, take_nothing },
	{ "sha1", 0, take_nothing }, { "sha1digest", 0, take_nothing },
	{ "sha256", 0, take_nothing }, { "sha256digest", 0, take_nothing },
	{ "sha384", 0, take_nothing }, { "sha384digest", 0, take_nothing },
	{ "sha512", 0, take_nothing }, { "sha512digest", 0, take_nothing },
	{ "tags", 0, take_nothing }, { "flags", 0, take_nothing },
};

static void free_spec(struct spec *s)
{
	while (s->n_xattrs--) {
		free(s->xattrs[s->n_xattrs].name);
		free(s->xattrs[s->n_xattrs].value);
	}
	free(s->xattrs);
	free(s->target);
	free(s->content);
}

static bool refuse(const struct mtree *m, const char *what, const char *arg)
{
	return lines_refuse(&m->lines, arg, what);
}

static bool no_room(const struct mtree *m)
{
	return refuse(m, "out of memory", "manifest");
}

/*
 * Parses "NAME=VALUE" with a value in base64, as go-mtree and umoci write the
 * value.  Returns false after printing an error.
 */
static bool take_xattr(const struct mtree *m, struct spec *s, const char *word)
{
	const char *equals = strchr(word, '=');
	size_t len = equals ? strlen(equals + 1) : 0, size;
	struct base64_decode_ctx ctx;
	struct xattr *x;

	if (!equals || equals == word)
		return refuse(m, "expected xattr.NAME=VALUE", word);
	if (e4l_grow(&s->xattrs, s->n_xattrs, sizeof(*s->xattrs)))
		return no_room(m);
	x = &s->xattrs[s->n_xattrs++];
	size = BASE64_DECODE_LENGTH(len);
	*x = (struct xattr) {
		.name = strndup(word, equals - word), .value = malloc(size + 1),
	};
	if (!x->name || !x->value || !unvis(x->name))
		return no_room(m);
	base64_decode_init(&ctx);
	if (!base64_decode_update(&ctx, &size, x->value, len, equals + 1) ||
	    !base64_decode_final(&ctx))
		return refuse(m, "the value is not valid base64", x->name);
	x->size = size;
	return true;
}

static bool take_keyword(const struct mtree *m, struct spec *s, char *word)
{
	size_t len = strcspn(word, "="), i;
	const struct keyword *k;

	if (!strncmp(word, "xattr.", 6))
		return take_xattr(m, s, word + 6);
	for (i = 0; i < sizeof(keywords) / sizeof(*keywords); i++) {
		k = &keywords[i];
		if (strlen(k->name) != len || strncmp(k->name, word, len))
			continue;
		s->change.set |= k->has;
		return k->take(s, word + len + (word[len] == '=')) ||
		       refuse(m, "invalid value (see mtree(5))", word);
	}
	return refuse(m, "unknown keyword", word);
}

static bool take_keywords(const struct mtree *m, struct spec *s, char *words)
{
	char *word, *rest = words;

	while ((word = strsep(&rest, " \t")))
		if (*word && !take_keyword(m, s, word))
			return false;
	return true;
}

/* Handles a line "/unset KEYWORD..." or "/unset all".  Always returns true. */
static bool unset(struct mtree *m, char *words)
{
	char *word, *rest = words;
	size_t i;

	while ((word = strsep(&rest, " \t"))) {
		if (!strcmp(word, "all"))
			m->set.change.set = 0;
		for (i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
			if (!strcmp(keywords[i].name, word))
				m->set.change.set &= ~keywords[i].has;
	}
	return true;
}

/* ------------------------------------------------------------------- entries */

static bool fail(const struct mtree *m, errcode_t err)
{
	return refuse(m, error_message(err), m->l->path);
}

/* Returns the file type that the keywords give or imply; 0: no type. */
static uint32_t type_of(const struct spec *s)
{
	if (s->change.set & HAS_TYPE)
		return s->type;
	return s->change.set & HAS_TARGET ? S_IFLNK :
	       s->change.set & HAS_CONTENT ? S_IFREG : 0;
}

/*
 * Sets the path and the size of @e to the path and the size of the file with
 * the contents.  Returns false after printing an error.
 */
static bool find_content(const struct mtree *m, const struct spec *s,
			 struct e4l_entry *e)
{
	struct stat st;

	e->path = s->content;
	if (e4l_stat(s->content, &st)) {
		say_error(m->l->name, s->content, errno);
		return false;
	}
	if (!S_ISREG(st.st_mode))
		return refuse(m, "not a regular file",
			      s->content);
	if (s->change.set & HAS_SIZE && s->size != (uint64_t)st.st_size)
		return refuse(m, "the size differs from size= in the manifest",
			      s->content);
	e->size = st.st_size;
	return !refuse_image(m->l->c, s->content, s->content);
}

/*
 * Adds a new entry.  An existing entry with the same path is replaced.  Returns
 * false after printing an error.
 */
static bool put_new(struct mtree *m, const struct spec *s, uint32_t type,
		    uint32_t *id)
{
	struct e4l_entry e = {
		.mode = type | (type == S_IFDIR ? 0755 :
				type == S_IFLNK ? 0777 : 0644),
		.mtime.tv_sec = m->l->c->now, .rdev = s->rdev,
		.target = s->target,
	};
	errcode_t err;

	if (!type)
		return refuse(m, "a new file requires type=",
			      m->l->path);
	if (type == S_IFLNK && !(s->change.set & HAS_TARGET))
		return refuse(m, "type=link requires link=", m->l->path);
	if ((type == S_IFCHR || type == S_IFBLK) &&
	    !(s->change.set & HAS_DEVICE))
		return refuse(m, "type=block and type=char require device=",
				 m->l->path);
	if (type == S_IFREG && s->change.set & HAS_SIZE && s->size &&
	    !(s->change.set & HAS_CONTENT))
		return refuse(m, "a new file with a size requires contents=",
				 m->l->path);
	if (type == S_IFLNK)
		e.size = strlen(s->target);
	if (type == S_IFREG && s->change.set & HAS_CONTENT &&
	    !find_content(m, s, &e))
		return false;
	if (s->change.set & HAS_TIME)
		e.mtime = s->mtime;
	e.atime = e.ctime = e.mtime;
	err = e4l_layer_put(m->l->t, m->l->path, &e, id);
	return !err || fail(m, err);
}

/*
 * Sets or removes the extended attributes of the entry @id, whose mode is
 * @mode.  Returns false after printing an error.
 */
static bool change_xattrs(struct mtree *m, const struct spec *s, uint32_t id,
			  uint32_t mode)
{
	const char *why;
	errcode_t err;
	size_t i;

	for (i = 0; i < s->n_xattrs; i++) {
		const struct e4l_tree_xattr x = {
			.name = s->xattrs[i].name, .value = s->xattrs[i].value,
			.size = s->xattrs[i].size,
		};

		why = xattr_check_change(&x, mode);
		if (why)
			return refuse(m, why, x.name);
		err = e4l_tree_set_xattr(m->l->t, id, &x);
		if (err)
			return fail(m, err);
	}
	return true;
}

/*
 * Applies the keywords to the entry @id, whose current state is @e.  Returns
 * false after printing an error.
 */
static bool change(struct mtree *m, const struct spec *s, uint32_t id,
		   const struct e4l_entry *e)
{
	struct e4l_tree *t = m->l->t;
	struct e4l_entry content = { 0 };
	errcode_t err = 0;

	if (s->change.set & HAS_CONTENT && S_ISREG(e->mode)) {
		if (!find_content(m, s, &content))
			return false;
		err = e4l_tree_set_content(t, id, &content);
	}
	if (!err)
		err = change_entry(t, id, &s->change);
	if (!err && s->change.set & HAS_TIME)
		err = e4l_tree_set_mtime(t, id, &s->mtime);
	return err ? fail(m, err) : change_xattrs(m, s, id, e->mode);
}

/*
 * Returns whether the entry @e already has the type, the link target and the
 * device number that @s gives.
 */
static bool is_same(const struct spec *s, uint32_t type,
		    const struct e4l_entry *e)
{
	if (type && type != (e->mode & S_IFMT))
		return false;
	if (S_ISLNK(e->mode) && s->change.set & HAS_TARGET)
		return !strcmp(e->target, s->target);
	if ((S_ISCHR(e->mode) || S_ISBLK(e->mode)) &&
	    s->change.set & HAS_DEVICE)
		return e->rdev == s->rdev;
	return true;
}

static bool apply(struct mtree *m, const struct spec *s)
{
	uint32_t type = type_of(s), id;
	struct e4l_entry e;
	errcode_t err;

	if (s->change.set & HAS_CONTENT && type != S_IFREG)
		return refuse(m, "contents= requires type=file", m->l->path);
	err = e4l_layer_find(m->l->t, m->l->path, &id);
	if (err)
		return fail(m, err);
	if (!id || e4l_tree_get(m->l->t, id, &e) || !is_same(s, type, &e)) {
		if (!put_new(m, s, type, &id))
			return false;
		e4l_tree_get(m->l->t, id, &e);
	} else if (S_ISREG(e.mode) && s->change.set & HAS_SIZE &&
		   !(s->change.set & HAS_CONTENT) && s->size != e.size) {
		return refuse(m, "the size differs from size= in the manifest",
			      m->l->path);
	}
	return change(m, s, id, &e);
}

/* --------------------------------------------------------------------- lines */

/*
 * Returns the path of the entry @name of the manifest.  A name without a slash
 * is relative to m->cwd.  If there is no memory, returns NULL.
 */
static char *find_path(const struct mtree *m, const char *name)
{
	char *path;

	if (strchr(name, '/') || !*m->cwd)
		return strdup(name);
	return asprintf(&path, "%s/%s", m->cwd, name) < 0 ? NULL : path;
}

static bool take_entry(struct mtree *m, char *name, char *words)
{
	struct spec s = m->set;
	bool is_full = strchr(name, '/'), done = false;
	char *path = NULL;

	s.target = m->set.target ? strdup(m->set.target) : NULL;
	s.content = NULL;
	if (!unvis(name)) {
		refuse(m, "invalid file name (see mtree(5))", name);
		goto out;
	}
	path = find_path(m, name);
	if (!path || (m->set.target && !s.target)) {
		no_room(m);
		goto out;
	}
	m->l->path = path;
	done = take_keywords(m, &s, words) && apply(m, &s);
	if (done && !is_full && type_of(&s) == S_IFDIR) {
		free(m->cwd);
		m->cwd = path;
		path = NULL;
	}
out:
	m->l->path = NULL;
	free_spec(&s);
	free(path);
	return done;
}

static bool go_up(struct mtree *m)
{
	char *slash = strrchr(m->cwd, '/');

	if (!*m->cwd)
		return refuse(m, "the entry leads above the root directory", "..");
	*(slash ? slash : m->cwd) = '\0';
	return true;
}

static bool take_line(struct mtree *m, char *line)
{
	char *words, *word;

	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return true;
	words = line;
	word = strsep(&words, " \t");
	if (!words)
		words = word + strlen(word);
	if (!strcmp(word, "/set")) {
		if (strstr(words, "xattr.") || strstr(words, "content"))
			return refuse(m,
				"contents and extended attributes are not "
				"allowed in /set", word);
		return take_keywords(m, &m->set, words);
	}
	if (!strcmp(word, "/unset"))
		return unset(m, words);
	if (!strcmp(word, ".."))
		return go_up(m);
	return take_entry(m, word, words);
}

bool load_manifest(struct load *l, const char *path)
{
	struct mtree m = {
		.l = l, .lines = { .path = path, .joins = true },
		.cwd = strdup(""),
	};
	bool done = false;
	errcode_t err;

	l->name = path;
	l->below = l->path = NULL;
	if (!m.cwd) {
		say_error(path, "cannot open", ENOMEM);
		return false;
	}
	/* contents= paths in the mtree are relative to the working directory */
	done = lines_open(l->c, &m.lines) && begin_layer(l, false);
	err = done ? e4l_layer_open_dir(l->t, ".") : 0;
	if (err) {
		say_error(path, "opening the working directory", err);
		done = false;
	}
	while (done && lines_next(&m.lines))
		done = take_line(&m, m.lines.text);
	done = done && !m.lines.failed;
	lines_close(&m.lines);
	free(m.cwd);
	free_spec(&m.set);
	return done;
}
