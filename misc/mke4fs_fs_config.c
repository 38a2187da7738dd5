/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies files in the format of Android's fs_config: lines of "PATH UID GID
 * MODE [capabilities=NUMBER]".  The root directory is "/" or an empty path
 * before a space.
 */
#include "config.h"
#include <string.h>
#include <sys/stat.h>
#include "e4layout/format/format.h"
#include "mke4fs_lines.h"
#include "mke4fs_source.h"
#include "support/say.h"

#define SPACE " \t\r"

/* struct vfs_cap_data in Linux, of revision 2 */
#define CAP_BYTES	20
#define CAP_REVISION	0x02000000u
#define CAP_EFFECTIVE	0x000001u

/* The values of a line of an fs_config file. */
struct line {
	const char *path;
	struct change change;
	bool has_caps;
	/* permitted and effective capabilities, one bit for each capability */
	uint64_t caps;
};

struct fs_config {
	struct e4l_tree *t;
	struct lines lines;
	unsigned int entries, found;
};

static bool take_caps(const char *value, uint64_t *caps)
{
	return !strncasecmp(value, "0x", 2) ?
	       strspn(value + 2, "0123456789abcdefABCDEF") ==
			strlen(value + 2) &&
	       take_number(value, 16, UINT64_MAX, caps) :
	       take_number(value, 10, UINT64_MAX, caps);
}

/*
 * Parses a word after the mode.  selabel= is ignored, as Android does.  Returns
 * false after printing an error.
 */
static bool take_option(const struct lines *l, struct line *line,
			const char *word)
{
	static const char caps[] = "capabilities=";

	if (!strncmp(word, "selabel=", 8))
		return true;
	if (strncmp(word, caps, strlen(caps)))
		return lines_refuse(l, word, "expected capabilities=NUMBER");
	line->has_caps = true;
	return take_caps(word + strlen(caps), &line->caps) ||
	       lines_refuse(l, word, "invalid number after capabilities=");
}

/*
 * Returns the next word of *@rest, and advances *@rest.  Returns NULL at the
 * end.
 */
static char *next_word(char **rest)
{
	char *word;

	do {
		word = strsep(rest, SPACE);
	} while (word && !*word);
	return word;
}

static bool parse_line(const struct lines *l, struct line *line)
{
	char *rest = l->text, *words[3], *word;
	int i;

	*line = (struct line) {
		.change.set = CHANGE_UID | CHANGE_GID | CHANGE_PERMS,
	};
	line->path = *rest == ' ' ? "" : strsep(&rest, SPACE);
	for (i = 0; i < 3; i++) {
		words[i] = next_word(&rest);
		if (!words[i])
			return lines_refuse(l, *line->path ? line->path : "/",
					    "expected PATH UID GID MODE");
	}
	if (!take_u32(words[0], 10, MAX_ID, &line->change.uid))
		return lines_refuse(l, words[0], "invalid user ID");
	if (!take_u32(words[1], 10, MAX_ID, &line->change.gid))
		return lines_refuse(l, words[1], "invalid group ID");
	if (!take_u32(words[2], 8, MAX_PERMS, &line->change.perms))
		return lines_refuse(l, words[2], "invalid mode (expected an "
				    "octal number up to 7777)");
	while ((word = next_word(&rest)))
		if (!take_option(l, line, word))
			return false;
	return true;
}

/*
 * Sets the capabilities of the entry @id.  If @caps is 0, removes the
 * capabilities.
 */
static errcode_t set_caps(struct e4l_tree *t, uint32_t id, uint64_t caps)
{
	uint8_t value[CAP_BYTES] = { 0 };
	const struct e4l_tree_xattr x = {
		.name = "security.capability", .value = value,
		.size = caps ? sizeof(value) : 0,
	};

	/*
	 * 32 bits of permitted capabilities alternate with 32 bits of
	 * inheritable capabilities
	 */
	put_le32(value, CAP_REVISION | CAP_EFFECTIVE);
	put_le32(value + 4, caps);
	put_le32(value + 12, caps >> 32);
	return e4l_tree_set_xattr(t, id, &x);
}

static bool apply_line(struct fs_config *f, const struct line *line)
{
	struct e4l_entry e;
	uint32_t id;
	errcode_t err = e4l_tree_find_path(f->t, line->path, &id);

	f->entries++;
	if (!err && !id)
		return true;
	f->found++;
	if (!err)
		err = e4l_tree_get(f->t, id, &e);
	if (!err && line->caps && !S_ISREG(e.mode))
		return lines_refuse(&f->lines, line->path, "only regular files "
				    "can have capabilities");
	if (!err)
		err = change_entry(f->t, id, &line->change);
	if (!err && line->has_caps)
		err = set_caps(f->t, id, line->caps);
	return !err || lines_refuse(&f->lines, line->path, error_message(err));
}

bool apply_fs_config(const struct config *c, const char *path,
		     struct e4l_tree *t)
{
	struct fs_config f = { .t = t, .lines = { .path = path } };
	bool done = lines_open(c, &f.lines);
	struct line line;

	while (done && lines_next(&f.lines)) {
		if (!f.lines.text[strspn(f.lines.text, SPACE)] ||
		    *f.lines.text == '#')
			continue;
		done = parse_line(&f.lines, &line) && apply_line(&f, &line);
	}
	done = done && !f.lines.failed;
	lines_close(&f.lines);
	if (done && f.entries && !f.found)
		say("%s: no path in this file exists in the image: paths must "
		    "begin at the root of the image", path);
	return done;
}
