/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "mke4fs_lines.h"
#include "support/say.h"

bool lines_open(const struct config *c, struct lines *l)
{
	bool is_stdin = !strcmp(l->path, "-");

	if (refuse_image(c, l->path, is_stdin ? "/dev/stdin" : l->path))
		return false;
	l->f = is_stdin ? stdin : fopen(l->path, "re");
	if (!l->f)
		say_error(l->path, "cannot open", errno);
	return l->f;
}

void lines_close(struct lines *l)
{
	if (l->f && l->f != stdin)
		fclose(l->f);
	free(l->text);
}

bool lines_refuse(const struct lines *l, const char *word, const char *why)
{
	say("%s: line %u: %s: %s", l->path, l->number, word, why);
	return false;
}

/*
 * Reads the next line, and stores it after the first @len bytes of l->text.
 * Returns -1 at the end of the file.
 */
static ssize_t append_line(struct lines *l, size_t len)
{
	char *next = NULL, *longer;
	size_t room = 0;
	ssize_t more = getline(&next, &room, l->f);

	longer = more < 0 ? NULL : realloc(l->text, len + more + 1);
	if (longer) {
		memcpy(longer + len, next, more + 1);
		l->text = longer;
		l->room = len + more + 1;
	}
	free(next);
	return longer ? more : -1;
}

bool lines_next(struct lines *l)
{
	ssize_t len = getline(&l->text, &l->room, l->f), more = len;

	while (more >= 0) {
		l->number++;
		if (len && l->text[len - 1] == '\n')
			l->text[--len] = '\0';
		if (!l->joins || !len || l->text[len - 1] != '\\')
			break;
		l->text[--len] = '\0';
		more = append_line(l, len);
		if (more > 0)
			len += more;
	}
	if (more >= 0 && strlen(l->text) == (size_t)len)
		return true;
	l->failed = !feof(l->f) || len >= 0;
	if (ferror(l->f))
		say_error(l->path, "cannot read", EIO);
	else if (l->failed)
		say("%s: line %u: the line has no newline, or contains a NUL "
		    "byte", l->path, l->number);
	return false;
}

bool take_number(const char *value, int base, uint64_t max, uint64_t *n)
{
	char *end;

	errno = 0;
	*n = strtoull(value, &end, base);
	return isdigit((unsigned char)*value) && !errno && !*end && *n <= max;
}

bool take_u32(const char *value, int base, uint32_t max, uint32_t *n)
{
	uint64_t wide;
	bool done = take_number(value, base, max, &wide);

	*n = wide;
	return done;
}

errcode_t change_entry(struct e4l_tree *t, uint32_t id,
		       const struct change *change)
{
	struct e4l_entry e;
	errcode_t err = e4l_tree_get(t, id, &e);

	if (!err && change->set & (CHANGE_UID | CHANGE_GID))
		err = e4l_tree_set_owner(t, id,
			change->set & CHANGE_UID ? change->uid : e.uid,
			change->set & CHANGE_GID ? change->gid : e.gid);
	if (!err && change->set & CHANGE_PERMS && !S_ISLNK(e.mode))
		err = e4l_tree_set_perms(t, id, change->perms);
	return err;
}
